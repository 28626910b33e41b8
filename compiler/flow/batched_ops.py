"""Tensor ops with one more dim in front, whose index counts the iterations of a loop.

Enters: the ops of a loop's body, in order. Leaves: ops outside of the loop; a tensor that differs from iteration to
iteration has a `batched` one there, of one more dim, and any other value is there as it is. Numbers of the host that
follow the counter are computed where they are used, from the index of the new dim. What has no such form raises
`CannotBatch`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, IndexCastOp, MulIOp
from pyiree.compiler.dialects.fourier import is_transform
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp, SoftmaxOp, YieldOp
from pyiree.compiler.dialects.linalg_generalize import generalize
from pyiree.compiler.dialects.linalg_interface import IteratorTypeAttr, LinalgOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.scf import ForOp
from pyiree.compiler.dialects.scf import YieldOp as LoopYieldOp
from pyiree.compiler.dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp, ExtractOp
from pyiree.compiler.dialects.tensor_slices import ConcatOp, ExtractSliceOp, InsertSliceOp, PadOp
from pyiree.compiler.dialects.tensor_slices import YieldOp as PaddingYieldOp
from pyiree.compiler.ir.affine import AffineDim, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.types import TensorType, bit_width, i64, index
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Bytes of a batched tensor that its readers may compute for themselves, and of any other.
_MOST_FUSED = 1 << 31
_MOST_STORED = 1 << 27


class CannotBatch(Exception):
    """Something has no form with one more dim."""


@dataclass(frozen=True)
class Counter:
    """The counter of a loop: `first + t * stride` for the index `t` of the new dim."""

    value: Value
    first: int
    stride: int
    trips: int

    def linear(self, value: Value) -> tuple[int, int] | None:
        """The factor and the constant by which a number follows the index of the new dim."""
        if value is self.value:
            return self.stride, self.first
        op = value.defining_op
        if isinstance(op, ConstantOp):
            return (0, op.value.value) if isinstance(op.value, IntegerAttr) else None
        if op is None:
            return None
        if op.name in ("arith.index_cast", "arith.extsi"):
            return self.linear(op.operands[0])
        if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
            return None
        x, y = (self.linear(v) for v in op.operands)
        if x is None or y is None:
            return None
        if op.name == "arith.muli":
            return (x[0] * y[1] + y[0] * x[1], x[1] * y[1]) if 0 in (x[0], y[0]) else None
        sign = 1 if op.name == "arith.addi" else -1
        return x[0] + sign * y[0], x[1] + sign * y[1]


class BatchedOps:
    """What the values of a body are outside of it."""

    def __init__(self, counter: Counter, builder: Builder) -> None:
        self.counter, self.builder = counter, builder
        #: Values that are the same for all iterations.
        self.same: dict[Value, Value] = {}
        self.batched: dict[Value, Value] = {}
        #: Numbers that follow the counter, and tensors of one element filled with them.
        self.numbers: set[Value] = {counter.value}
        self.filled: dict[Value, Value] = {}

    def differs(self, value: Value) -> bool:
        """Whether a value is not the same for all iterations."""
        return value in self.numbers or value in self.filled or value in self.batched

    def add(self, op: Operation) -> None:
        """One more op of the body."""
        if not is_pure(op):
            raise CannotBatch(op.name)
        if not any(self.differs(v) for v in (*op.operands, *_captured(op))):
            self.builder.insert(op.clone(self.same))
        elif isinstance(op, FillOp) and op.inputs[0] in self.numbers and not op.outputs[0].type.shape:  # type: ignore
            self.filled[op.results[0]] = op.inputs[0]
        elif isinstance(op, LinalgOp) and not isinstance(op, SoftmaxOp) and not is_transform(op):
            self._linalg(op)
        elif all(not isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
            if op.regions or not op.name.startswith("arith."):
                raise CannotBatch(op.name)
            self.numbers.update(op.results)
        elif isinstance(op, ExtractSliceOp):
            self._extract_slice(op)
        elif isinstance(op, (CollapseShapeOp, ExpandShapeOp)):
            self._reshape(op)
        elif isinstance(op, InsertSliceOp):
            self._insert_slice(op)
        elif isinstance(op, PadOp):
            self._pad(op)
        elif isinstance(op, ForOp):
            self._loop(op)
        elif isinstance(op, ConcatOp):
            inputs = [self.tensor(v) for v in op.inputs]
            self._put(op.result, self.builder.insert(ConcatOp(inputs, dim=op.dim + 1)).result)
        else:
            raise CannotBatch(op.name)

    def outside(self, value: Value) -> Value:
        """A value that is the same for all iterations, outside of the loop."""
        if self.differs(value):
            raise CannotBatch("a value that differs from iteration to iteration")
        return self.same.get(value, value)

    def tensor(self, value: Value) -> Value:
        """A tensor with the new dim."""
        found = self.batched.get(value)
        if found is not None:
            return found
        type = value.type
        block = Block([type.element_type])  # type: ignore[attr-defined]
        body = Builder.at_end(block)
        if value in self.filled:
            body.insert(YieldOp([self._number(self.filled[value], body, {})]))
            return self._generic([], [], block, self._batch_type(type))
        block.insert_argument(0, type.element_type)  # type: ignore[attr-defined]
        body.insert(YieldOp([block.arguments[0]]))
        rank = len(type.shape)  # type: ignore[attr-defined]
        return self._generic([self.outside(value)], [_shifted(AffineMap.identity(rank))], block, self._batch_type(type))

    def _batch_type(self, type: Any, *, is_stored: bool = False) -> TensorType:
        shape = (self.counter.trips, *type.shape)
        if None in shape:
            raise CannotBatch("a shape that varies")
        element = type.element_type
        width = bit_width(element) if not isinstance(element, TensorType) else 64
        if math.prod(shape) * max(8, width) // 8 > (_MOST_STORED if is_stored else _MOST_FUSED):
            raise CannotBatch("a large tensor")
        return TensorType(shape, element)

    def _put(self, value: Value, batched: Value) -> None:
        self._batch_type(value.type, is_stored=len(list(value.users)) > 1)
        self.batched[value] = batched

    def _generic(self, inputs: Sequence[Value], maps: Sequence[AffineMap], block: Block, type: TensorType) -> Value:
        """An elementwise op over all dims of its result."""
        empty = self.builder.insert(EmptyOp([], result=type)).result
        rank = len(type.shape)
        all_maps = ArrayAttr([*maps, AffineMap.identity(rank)])
        made = GenericOp(inputs, [empty], all_maps, _parallel(rank), body=Region(block), result_types=[type])
        return self.builder.insert(made).results[0]

    # Numbers.

    def _number(self, value: Value, body: Builder, known: dict[Value, Value]) -> Value:
        """A number of an iteration, in the body of an op."""
        if value in known:
            return known[value]
        if value is self.counter.value:
            number = body.insert(IndexOp(0)).result
            for op, by, neutral in ((MulIOp, self.counter.stride, 1), (AddIOp, self.counter.first, 0)):
                if by != neutral:
                    constant = body.insert(ConstantOp(IntegerAttr(by, index))).result
                    number = body.insert(op(number, constant)).result  # type: ignore[abstract]
            if not value.type.is_index:
                number = body.insert(IndexCastOp(number, out=value.type)).result
        elif value not in self.numbers:
            number = self._constant_or_outside(value, body)
        else:
            op: Any = value.defining_op
            if op.name == "arith.index_cast" and op.operands[0] is self.counter.value and value.type.is_index:
                # The index is one already.
                cast = self._number(op.operands[0], body, known).defining_op
                number = cast.operands[0]  # type: ignore[union-attr]
            else:
                mapping = {v: self._number(v, body, known) for v in op.operands}
                number = body.insert(op.clone(mapping)).results[value.index]
        known[value] = number
        return number

    def _constant_or_outside(self, value: Value, body: Builder) -> Value:
        op = value.defining_op
        return body.insert(op.clone()).results[0] if isinstance(op, ConstantOp) else self.outside(value)

    # Ops.

    def _linalg(self, op: LinalgOp) -> None:
        named = not isinstance(op, GenericOp)
        generic = generalize(op) if named else op
        inputs, maps = [], []
        block = Block()
        body = Builder.at_end(block, op.location)
        mapping: dict[Value, Value] = {}
        numbers: dict[Value, Value] = {}
        old = generic.body_block
        for argument, value, map_ in zip(old.arguments, op.inputs, op.maps()):
            if value in self.filled:
                mapping[argument] = self._number(self.filled[value], body, numbers)
                continue
            if value in self.numbers:
                mapping[argument] = self._number(value, body, numbers)
                continue
            mapping[argument] = block.add_argument(argument.type)
            inputs.append(self.batched.get(value) or self.outside(value))
            maps.append(_shifted(map_, has_new=value in self.batched))
        outputs = [self._output(v, a.has_uses) for v, a in zip(op.outputs, old.arguments[len(op.inputs) :])]
        for argument in old.arguments[len(op.inputs) :]:
            mapping[argument] = block.add_argument(argument.type)
        maps += [_shifted(map_, has_new=True) for map_ in op.maps()[len(op.inputs) :]]
        for inner in old.ops:
            self._body_op(inner, body, mapping, numbers)
        if named:
            generic.drop_all_references()
        iterators = ArrayAttr([*_parallel(1).value, *generic.iterator_types.value])
        new = GenericOp(
            inputs, outputs, ArrayAttr(maps), iterators, body=Region(block), result_types=[v.type for v in outputs],
            attributes=dict(op.attributes), location=op.location,
        )  # fmt: skip
        self.builder.insert(new)
        is_stored = any(kind != "parallel" for kind in op.iterators())
        for result, made in zip(op.results, new.results):
            self._batch_type(result.type, is_stored=is_stored)
            self._put(result, made)

    def _body_op(self, op: Operation, body: Builder, mapping: dict[Value, Value], numbers: dict[Value, Value]) -> None:
        if op.regions:
            raise CannotBatch(op.name)
        for value in op.operands:
            if value in self.numbers:
                mapping[value] = self._number(value, body, numbers)
            elif value in self.same:
                mapping[value] = self.same[value]
        if isinstance(op, IndexOp):
            mapping[op.result] = body.insert(IndexOp(op.dim + 1)).result
        elif isinstance(op, ExtractOp) and op.operands[0] in self.batched:
            places = [body.insert(IndexOp(0)).result, *[mapping.get(v, v) for v in op.operands[1:]]]
            mapping[op.result] = body.insert(ExtractOp(self.batched[op.operands[0]], places)).result
        elif any(self.differs(v) and v not in self.numbers for v in op.operands):
            raise CannotBatch(op.name)
        else:
            body.insert(op.clone(mapping))

    def _output(self, value: Value, is_read: bool) -> Value:
        """What an op with the new dim writes into."""
        type = self._batch_type(value.type)
        if value in self.batched:
            return self.batched[value]
        if not is_read:
            return self.builder.insert(EmptyOp([], result=type)).result
        op = self.outside(value).defining_op
        if isinstance(op, FillOp):
            empty = self.builder.insert(EmptyOp([], result=type)).result
            return self.builder.insert(FillOp([op.inputs[0]], [empty])).results[0]
        return self.tensor(value)

    def _extract_slice(self, op: ExtractSliceOp) -> None:
        if op.sizes or op.strides or op.dropped_dims():
            raise CannotBatch("a slice of varying form")
        if not any(v in self.numbers for v in op.offsets):
            # The source is batched.
            offsets = [v if isinstance(v, int) else self.outside(v) for v in op.mixed_offsets]
            slice_ = ExtractSliceOp.of(
                self.batched[op.source], [0, *offsets], [self.counter.trips, *op.static_sizes], [1, *op.static_strides]
            )
            self._put(op.result, self.builder.insert(slice_).result)
        elif (rows := self._rows(op)) is not None:
            self._put(op.result, rows)
        else:
            self._put(op.result, self._gather(op))

    def _rows(self, op: ExtractSliceOp) -> Value | None:
        """One row of the source after the other is a part of it."""
        first, *others = op.mixed_offsets
        place = None if isinstance(first, int) else self.counter.linear(first)
        is_only = op.static_sizes[0] == 1 and not any(v in self.numbers for v in others)
        if op.source in self.batched or place is None or not is_only:
            return None
        factor, start = place
        shape = op.source.type.shape  # type: ignore[attr-defined]
        trips = self.counter.trips
        if factor <= 0 or start < 0 or shape[0] is None or start + factor * (trips - 1) >= shape[0]:
            return None
        offsets = [start, *[v if isinstance(v, int) else self.outside(v) for v in others]]
        sizes, strides = [trips, *op.static_sizes[1:]], [factor, *op.static_strides[1:]]
        part = self.builder.insert(ExtractSliceOp.of(self.outside(op.source), offsets, sizes, strides)).result
        wide = TensorType((trips, *op.result.type.shape), op.result.type.element_type)  # type: ignore[attr-defined]
        groups = [[0, 1], *[[d + 1] for d in range(1, len(sizes))]]
        return self.builder.insert(
            ExpandShapeOp(part, (), index_groups(groups), list(wide.shape), result=wide)  # type: ignore[arg-type]
        ).result

    def _gather(self, op: ExtractSliceOp) -> Value:
        """A slice at places that follow the counter, element for element."""
        type = self._batch_type(op.result.type)
        block = Block([type.element_type])
        body = Builder.at_end(block, op.location)
        known: dict[Value, Value] = {}
        places = []
        for d, (offset, stride) in enumerate(zip(op.mixed_offsets, op.static_strides)):
            at = body.insert(IndexOp(d + 1)).result
            if stride != 1:
                at = body.insert(MulIOp(at, body.insert(ConstantOp(IntegerAttr(stride, index))).result)).result
            if isinstance(offset, int):
                start = body.insert(ConstantOp(IntegerAttr(offset, index))).result if offset else None
            else:
                start = self._number(offset, body, known)
            places.append(at if start is None else body.insert(AddIOp(start, at)).result)
        if op.source in self.batched:
            places.insert(0, body.insert(IndexOp(0)).result)
        source = self.batched.get(op.source) or self.outside(op.source)
        body.insert(YieldOp([body.insert(ExtractOp(source, places)).result]))
        return self._generic([], [], block, type)

    def _reshape(self, op: CollapseShapeOp | ExpandShapeOp) -> None:
        wide = op.src if isinstance(op, CollapseShapeOp) else op.result
        rank = len(wide.type.shape)  # type: ignore[attr-defined]
        # Without dims, all others are one element.
        inner = [[d + 1 for d in group] for group in op.groups]
        groups = index_groups([[0], *inner] if inner else [list(range(rank + 1))])
        source, type = self.tensor(op.src), self._batch_type(op.result.type)
        if isinstance(op, CollapseShapeOp):
            made: Any = CollapseShapeOp(source, groups, result=type)
        else:
            made = ExpandShapeOp(source, (), groups, list(type.shape), result=type)
        self._put(op.result, self.builder.insert(made).result)

    def _pad(self, op: PadOp) -> None:
        value = op.region.entry.terminator.operands[0]
        if op.low or op.high or value.block is op.region.entry:
            raise CannotBatch("padding of varying form")
        type = self._batch_type(op.result.type)
        block = Block([index] * len(type.shape))
        Builder.at_end(block).insert(PaddingYieldOp(self.outside(value)))
        low, high = [0, *op.static_low], [0, *op.static_high]
        made = PadOp(self.tensor(op.source), (), (), low, high, region=Region(block), result=type)
        self._put(op.result, self.builder.insert(made).result)

    def _loop(self, op: ForOp) -> None:
        """A loop in every iteration that carries tensors becomes one that carries them for all iterations."""
        if any(not isinstance(v.type, TensorType) for v in op.init_args):
            raise CannotBatch("a loop that carries numbers")
        bounds = [self.outside(v) for v in (op.lower_bound, op.upper_bound, op.step)]
        inits = [self.tensor(v) for v in op.init_args]
        body = Block([op.induction_var.type, *[v.type for v in inits]])
        made = self.builder.insert(ForOp(*bounds, inits, op.unsignedCmp, body))
        outer, self.builder = self.builder, Builder.at_end(body, op.location)
        self.same[op.induction_var] = body.arguments[0]
        self.batched.update(zip(op.iter_args, body.arguments[1:]))
        for inner in op.body_block.ops:
            if inner is not op.body_block.terminator:
                self.add(inner)
        self.builder.insert(LoopYieldOp([self.tensor(v) for v in op.yielded]))
        self.builder = outer
        for result, value in zip(op.results, made.results):
            self._batch_type(result.type, is_stored=True)
            self._put(result, value)

    def _insert_slice(self, op: InsertSliceOp) -> None:
        if op.sizes or op.strides or op.dropped_dims() or any(v in self.numbers for v in op.offsets):
            raise CannotBatch("a slice of varying form")
        offsets = [v if isinstance(v, int) else self.outside(v) for v in op.mixed_offsets]
        made = InsertSliceOp.of(
            self.tensor(op.source), self.tensor(op.dest), [0, *offsets], [self.counter.trips, *op.static_sizes],
            [1, *op.static_strides],
        )  # fmt: skip
        self._put(op.result, self.builder.insert(made).result)


def _captured(op: Operation) -> list[Value]:
    """Values from outside that the regions of an op read."""
    return [v for inner in op.nested_ops() for v in inner.operands] if op.regions else []


def _parallel(rank: int) -> ArrayAttr:
    return ArrayAttr([IteratorTypeAttr("parallel")] * rank)


def _shifted(map_: AffineMap, *, has_new: bool = False) -> AffineMap:
    """A map over one more dim in front, which is an index of the tensor or not."""
    replacements = [AffineDim(d + 1) for d in range(map_.num_dims)]
    results = [e.substitute(replacements) for e in map_.results]
    return AffineMap(map_.num_dims + 1, 0, [AffineDim(0), *results] if has_new else results)


def index_groups(groups: Iterable[Sequence[int]]) -> ArrayAttr:
    """The dims that a reshape joins or splits, as an attribute."""
    return ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in group]) for group in groups])


def moved_dim(builder: Builder, value: Value, to: int) -> Value:
    """A tensor whose first dim stands at another place."""
    if to == 0:
        return value
    shape = value.type.shape  # type: ignore[attr-defined]
    order = [*range(1, to + 1), 0, *range(to + 1, len(shape))]
    type = TensorType([shape[d] for d in order], value.type.element_type)  # type: ignore[attr-defined]
    empty = builder.insert(EmptyOp([], result=type)).result
    block = Block([type.element_type] * 2)
    Builder.at_end(block).insert(YieldOp([block.arguments[0]]))
    # Loop `k` of the result is dim `order[k]` of the source.
    source = AffineMap(len(shape), 0, [AffineDim(order.index(d)) for d in range(len(shape))])
    maps = ArrayAttr([source, AffineMap.identity(len(shape))])
    return builder.insert(
        GenericOp([value], [empty], maps, _parallel(len(shape)), body=Region(block), result_types=[type])
    ).results[0]
