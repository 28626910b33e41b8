"""pyiree-flow-sort-by-halves: what is sorted by 64-bit numbers with its places is sorted by each half of them.

Before: %1:2 = iree_linalg_ext.sort … outs(%x, %y : tensor<1000xf64>, tensor<1000xi64>), by a number of 64 bits
After:  %low, %high = linalg.generic … the halves of that number for each element of %x
        %2:2 = iree_linalg_ext.sort … outs(%low, %places), by the low half
        %3 = linalg.generic … the elements of %high in the order of %2#1
        %4:2 = iree_linalg_ext.sort … outs(%3, %2#1), by the high half
        %5 = linalg.generic … the elements of %x and %y in the order of %4#1

Sorts are stable, so those with equal high halves stay in the order of their low ones. A number of 32 bits and a place
are sorted as one, many times faster than numbers of 64 bits can be moved about with what belongs to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, IndexCastOp, ShRUIOp, TruncIOp
from pyiree.compiler.dialects.iree_linalg_ext import SortOp
from pyiree.compiler.dialects.iree_linalg_ext import YieldOp as SortYieldOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp, YieldOp
from pyiree.compiler.dialects.linalg_interface import PARALLEL, IteratorTypeAttr
from pyiree.compiler.dialects.sort_orders import SortOrder, sort_order
from pyiree.compiler.dialects.tensor import EmptyOp, ExtractOp
from pyiree.compiler.flow.op_kinds import element_count
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import ComplexType, TensorType, Type, i32, i64, index

#: Fewer elements are sorted by one kernel in less time than more kernels take to start.
_FEW = 64


@register_pass("pyiree-flow-sort-by-halves", on=("util.func", "util.initializer"))
def sort_by_halves(func: Operation, context: PassContext) -> None:
    """Sorts by the halves of 64-bit numbers."""
    for op in list(func.walk_type(SortOp)):
        shape = op.outputs[0].type.shape  # type: ignore[attr-defined]
        order = sort_order(op.region.entry)
        if order is None or order.bits != 64 or None in shape or (len(op.outputs) == 1 and order.has_element_keys):
            continue
        is_complex = any(isinstance(v.type.element_type, ComplexType) for v in op.outputs)  # type: ignore[attr-defined]
        if not is_complex and element_count(shape) >= _FEW and shape[op.dimension] < 1 << 31:
            _Halves(op, order).replace()


class _Halves:
    def __init__(self, op: SortOp, order: SortOrder):
        self.op, self.order = op, order
        self.builder = Builder.before(op, op.location)
        self.shape = list(op.outputs[0].type.shape)  # type: ignore[attr-defined]

    def replace(self) -> None:
        op, order = self.op, self.order
        source = op.outputs[order.number]
        low, high = (self._generic([source], i32, self._half(shift)) for shift in (0, 32))
        signs = "s" if order.is_signed else "u"
        way = "gt" if order.falls else "lt"
        places = self._sorted(low, self._generic([], i32, self._place), "u" + way)
        places = self._sorted(self._generic([places], i32, self._taken(high)), places, signs + way)
        for value, result in zip(op.outputs, op.results):
            element = value.type.element_type  # type: ignore[attr-defined]
            if result.has_uses:
                result.replace_all_uses_with(self._generic([places], element, self._taken(value)))
        op.erase()

    def _generic(self, inputs: Sequence[Value], element: Type, body) -> Value:
        """A tensor whose elements `body` makes of those of others."""
        b, rank = self.builder, len(self.shape)
        target = b.insert(EmptyOp([], result=TensorType(self.shape, element))).result
        block = Block([*[v.type.element_type for v in inputs], element])  # type: ignore[attr-defined]
        inner = Builder.at_end(block, self.op.location)
        inner.insert(YieldOp([body(inner, block.arguments)]))
        maps = ArrayAttr([AffineMap.identity(rank)] * (len(inputs) + 1))
        kinds = ArrayAttr([IteratorTypeAttr(PARALLEL)] * rank)
        made = GenericOp(list(inputs), [target], maps, kinds, body=Region(block), result_types=[target.type])
        return b.insert(made).results[0]

    def _half(self, shift: int):
        """A half of the number of an element."""

        def body(b: Builder, arguments: Sequence[Value]) -> Value:
            mapping: dict[Value, Value] = {self.order.argument: arguments[0]}
            for made in self._ops_of_number():
                b.insert(made.clone(mapping))
            number = mapping[self.order.value]
            if shift:
                number = b.insert(ShRUIOp(number, b.insert(ConstantOp(IntegerAttr(shift, i64))).result)).result
            return b.insert(TruncIOp(number, out=i32)).result

        return body

    def _ops_of_number(self) -> list[Operation]:
        """The ops of the body that the number follows from, in order."""
        body, needed = self.order.body, {self.order.value.defining_op}
        for op in body.reversed_ops:
            if op in needed:
                needed.update(v.defining_op for v in op.operands)
        return [op for op in body.ops if op in needed]

    def _place(self, b: Builder, arguments: Sequence[Value]) -> Value:
        return b.insert(IndexCastOp(b.insert(IndexOp(self.op.dimension)).result, out=i32)).result

    def _taken(self, value: Value):
        """The element of a tensor at a place along the dim that is sorted."""

        def body(b: Builder, arguments: Sequence[Value]) -> Value:
            places = [b.insert(IndexOp(d)).result for d in range(len(self.shape))]
            places[self.op.dimension] = b.insert(IndexCastOp(arguments[0], out=index)).result
            return b.insert(ExtractOp(value, places)).result

        return body

    def _sorted(self, numbers: Value, places: Value, predicate: str) -> Value:
        """The places in the order of numbers."""
        block = Block([i32] * 4)
        inner = Builder.at_end(block, self.op.location)
        less = inner.insert(CmpIOp(block.arguments[0], block.arguments[1], predicate)).result
        inner.insert(SortYieldOp([less]))
        values = [numbers, places]
        made = SortOp([], values, self.op.dimension, Region(block), result_types=[v.type for v in values])
        return self.builder.insert(made).results[1]
