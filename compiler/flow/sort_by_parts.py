"""pyiree-flow-sort-by-parts: sorts by several numbers, or by one of 64 bits with places, go by one part after another.

Before: %1:2 = iree_linalg_ext.sort … outs(%x, %y : tensor<1000xf64>, tensor<1000xi64>), by a number of 64 bits
After:  %low, %high = linalg.generic … the halves of that number for each element of %x
        %2:2 = iree_linalg_ext.sort … outs(%low, %places), by the low half
        %3 = linalg.generic … the elements of %high in the order of %2#1
        %4:2 = iree_linalg_ext.sort … outs(%3, %2#1), by the high half
        %5 = linalg.generic … the elements of %x and %y in the order of %4#1

Sorts are stable, so those with equal high halves stay in the order of their low ones; in the same way the last of
several numbers comes first. A number of 32 bits and a place are sorted as one, many times faster than wider numbers can
be moved about with what belongs to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, ExtSIOp, ExtUIOp, IndexCastOp, ShRUIOp, TruncIOp
from pyiree.compiler.dialects.iree_linalg_ext import SortOp
from pyiree.compiler.dialects.iree_linalg_ext import YieldOp as SortYieldOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp, YieldOp
from pyiree.compiler.dialects.linalg_interface import PARALLEL, IteratorTypeAttr
from pyiree.compiler.dialects.sort_orders import SortOrder, nested_orders, ops_of
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


@register_pass("pyiree-flow-sort-by-parts", on=("util.func", "util.initializer"))
def sort_by_parts(func: Operation, context: PassContext) -> None:
    """Sorts by parts of what is compared."""
    for op in list(func.walk_type(SortOp)):
        shape = op.outputs[0].type.shape  # type: ignore[attr-defined]
        orders = nested_orders(op.region.entry)
        if orders and None not in shape and element_count(shape) >= _FEW and shape[op.dimension] < 1 << 31:
            if _goes_by_parts(op, orders):
                _Parts(op, orders).replace()


def _goes_by_parts(op: SortOp, orders: Sequence[SortOrder]) -> bool:
    if len(orders) == 1 and len(op.outputs) == 1 and orders[0].has_element_keys:
        return False
    is_complex = any(isinstance(v.type.element_type, ComplexType) for v in op.outputs)  # type: ignore[attr-defined]
    return len(orders) > 1 or orders[0].bits == 64 or is_complex


class _Parts:
    def __init__(self, op: SortOp, orders: Sequence[SortOrder]):
        self.op, self.orders = op, orders
        self.builder = Builder.before(op, op.location)
        self.shape = list(op.outputs[0].type.shape)  # type: ignore[attr-defined]

    def replace(self) -> None:
        op = self.op
        places = self._generic([], i32, self._place)
        for order, shift in self._parts():
            numbers = self._generic([op.outputs[order.number]], i32, self._part(order, shift))
            if order is not self.orders[-1] or shift:
                numbers = self._generic([places], i32, self._taken(numbers))
            signs = "s" if order.is_signed and (shift or order.bits < 64) else "u"
            places = self._sorted(numbers, places, signs + ("gt" if order.falls else "lt"))
        for value, result in zip(op.outputs, op.results):
            element = value.type.element_type  # type: ignore[attr-defined]
            if result.has_uses:
                result.replace_all_uses_with(self._generic([places], element, self._taken(value)))
        op.erase()

    def _parts(self) -> Iterator[tuple[SortOrder, int]]:
        """The numbers, those that count least first, and which half of one."""
        for order in reversed(self.orders):
            yield order, 0
            if order.bits == 64:
                yield order, 32

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

    def _part(self, order: SortOrder, shift: int):
        """The number of an element in 32 bits, or half of it."""

        def body(b: Builder, arguments: Sequence[Value]) -> Value:
            mapping: dict[Value, Value] = {order.argument: arguments[0]}
            for made in ops_of(order.value, order.body):
                b.insert(made.clone(mapping))
            number = mapping[order.value]
            if shift:
                number = b.insert(ShRUIOp(number, b.insert(ConstantOp(IntegerAttr(shift, i64))).result)).result
            if order.bits == 32:
                return number
            cast = TruncIOp if order.bits > 32 else ExtSIOp if order.is_signed else ExtUIOp
            return b.insert(cast(number, out=i32)).result

        return body

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
