"""pyiree-flow-batch-loops: iterations that do not wait for each other are one more dim.

Before: %r = scf.for %i = %c0 to %c31 step %c1 iter_args(%y = %init) -> (tensor<31x8xf32>) {
          %x = tensor.extract_slice %a[%i, 0] [1, 8] [1, 1]
          %z = linalg.generic … ["parallel", "parallel"] ins(%x : tensor<1x8xf32>) …
          %n = tensor.insert_slice %z into %y[%i, 0] [1, 8] [1, 1]
          scf.yield %n }
After:  %x = tensor.expand_shape %a [[0, 1], [2]] output_shape [31, 1, 8]
        %z = linalg.generic … ["parallel", "parallel", "parallel"] ins(%x : tensor<31x1x8xf32>) …
        %r = tensor.collapse_shape %z [[0, 1], [2]]

So workgroups share the iterations, and dispatches are formed across them. Each carried tensor is one that iterations
only put slices into, each at a place of its own that follows the counter; what they read of it is the slice that they
replace. Inner loops go first. A loop stays if its iterations together would need much memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.scf import ForOp
from pyiree.compiler.dialects.tensor import CollapseShapeOp
from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp, InsertSliceOp
from pyiree.compiler.flow.batched_ops import BatchedOps, CannotBatch, Counter, index_groups, moved_dim
from pyiree.compiler.flow.fold_integer_ranges import fold_ranges
from pyiree.compiler.flow.loop_counters import without_counters
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@register_pass("pyiree-flow-batch-loops", on="util.func")
def batch_loops(func: Operation, context: PassContext) -> None:
    """Replaces loops by ops with one more dim, inner loops first."""
    changed = False
    for loop in reversed(list(func.walk_type(ForOp))):
        changed |= _batch(without_counters(loop))
    if changed:
        fold_ranges(func)
        canonicalize(func, context)


@dataclass(frozen=True)
class _Place:
    """Where an iteration puts slices into a tensor: along `dim`, at `factor * t + start`, so many elements."""

    dim: int
    factor: int
    start: int
    size: int


def _batch(loop: ForOp) -> bool:
    """Replaces a loop if that may be."""
    counter = _counter(loop)
    if counter is None:
        return False
    block = Block()
    try:
        results = _Batching(loop, counter, Builder.at_end(block, loop.location)).run()
    except CannotBatch:
        for op in reversed(list(block.ops)):
            op.erase()
        return False
    for op in list(block.ops):
        op.move_before(loop)
    loop.replace_all_uses_with(results)
    loop.erase()
    return True


def _counter(loop: ForOp) -> Counter | None:
    lower, upper, step = (_constant(v) for v in (loop.lower_bound, loop.upper_bound, loop.step))
    if loop.unsignedCmp or lower is None or upper is None or step is None or step <= 0:
        return None
    trips = -(-(upper - lower) // step)
    return Counter(loop.induction_var, lower, step, trips) if trips > 1 else None


def _constant(value: Value) -> int | None:
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None


class _Batching:
    """One loop on its way into ops with one more dim."""

    def __init__(self, loop: ForOp, counter: Counter, builder: Builder) -> None:
        self.loop, self.counter, self.builder = loop, counter, builder
        self.updates: list[list[InsertSliceOp]] = []
        self.places: list[_Place | None] = []

    def run(self) -> list[Value]:
        """The results of the loop, computed by the ops that it becomes."""
        loop = self.loop
        self.updates = [_updates(*pair) for pair in zip(loop.iter_args, loop.yielded)]
        self._find_places()
        ops = BatchedOps(self.counter, self.builder)
        ops.same.update(zip(loop.iter_args, loop.init_args))
        moved = {update for updates in self.updates for update in updates}
        for op in loop.body_block.ops:
            if op is not loop.body_block.terminator and op not in moved:
                ops.add(op)
        return [
            self._with_all(ops, init, updates, place)
            for init, updates, place in zip(loop.init_args, self.updates, self.places)
        ]

    def _find_places(self) -> None:
        """Where iterations put slices. All follow the counter upwards, or else it is turned round."""
        for turned in (False, True):
            if turned:
                last = self.counter.first + (self.counter.trips - 1) * self.counter.stride
                self.counter = replace(self.counter, first=last, stride=-self.counter.stride)
            self.places = [
                self._place(argument, updates) if updates else None
                for argument, updates in zip(self.loop.iter_args, self.updates)
            ]
            if all(place is None or place.factor > 0 for place in self.places):
                return
        raise CannotBatch("places in both directions")

    def _place(self, argument: Value, updates: Sequence[InsertSliceOp]) -> _Place:
        """The place of all slices that go into a carried tensor."""
        places = {self._place_of(update) for update in updates}
        if len(places) != 1:
            raise CannotBatch("several places")
        (place,) = places
        for value in (argument, *[update.result for update in updates[:-1]]):
            for user in value.users:
                # An iteration may read what it replaces, before it does.
                is_own = value is argument and isinstance(user, ExtractSliceOp) and self._place_of(user) == place
                if user not in updates and not is_own:
                    raise CannotBatch("a carried tensor is read")
        if len(list(updates[-1].result.users)) != 1:
            raise CannotBatch("a carried tensor is read")
        return place

    def _place_of(self, op: InsertSliceOp | ExtractSliceOp) -> _Place:
        if op.sizes or op.strides:
            raise CannotBatch("slices of varying sizes")
        found = []
        for dim, offset in enumerate(op.mixed_offsets):
            linear = None if isinstance(offset, int) else self.counter.linear(offset)
            if linear is not None and linear[0] != 0:
                found.append(_Place(dim, *linear, op.static_sizes[dim]))
        if len(found) != 1 or op.static_strides[found[0].dim] != 1:
            raise CannotBatch("slices at no place of their own")
        (place,) = found
        if place.size != 1 and place.size != abs(place.factor):
            raise CannotBatch("slices with gaps between them, or that overlap")
        whole = (op.dest if isinstance(op, InsertSliceOp) else op.source).type.shape  # type: ignore[attr-defined]
        ends = (place.start, place.start + place.factor * (self.counter.trips - 1))
        if whole[place.dim] is None or min(ends) < 0 or max(ends) + place.size > whole[place.dim]:
            raise CannotBatch("slices out of bounds")
        return place

    def _with_all(self, ops: BatchedOps, init: Value, updates: Sequence[InsertSliceOp], place: _Place | None) -> Value:
        """A carried tensor after all iterations."""
        value = init
        for update in updates:
            assert place is not None
            trips, kept = self.counter.trips, list(range(len(update.static_sizes)))
            dropped = set(update.dropped_dims())
            at = sum(d not in dropped for d in kept[: place.dim])
            source = moved_dim(self.builder, ops.tensor(update.source), at)
            if place.dim not in dropped:
                shape = source.type.shape  # type: ignore[attr-defined]
                joined = [[d] for d in range(at)] + [[at, at + 1]] + [[d] for d in range(at + 2, len(shape))]
                type = TensorType([_product(shape, group) for group in joined], source.type.element_type)  # type: ignore
                source = self.builder.insert(CollapseShapeOp(source, index_groups(joined), result=type)).result
            offsets = list(update.mixed_offsets)
            offsets[place.dim] = place.start
            offsets = [v if isinstance(v, int) else ops.outside(v) for v in offsets]
            sizes, strides = list(update.static_sizes), list(update.static_strides)
            sizes[place.dim] = trips * place.size
            strides[place.dim] = place.factor if place.size == 1 else 1
            value = self.builder.insert(InsertSliceOp.of(source, value, offsets, sizes, strides)).result
        return value


def _product(shape: Sequence[int], group: Sequence[int]) -> int:
    size = 1
    for d in group:
        size *= shape[d]
    return size


def _updates(argument: Value, following: Value) -> list[InsertSliceOp]:
    """The slices that are put into a carried value to make the next one, in order."""
    updates: list[InsertSliceOp] = []
    while following is not argument:
        op = following.defining_op
        if not isinstance(op, InsertSliceOp):
            raise CannotBatch("an iteration waits for the one before")
        updates.append(op)
        following = op.dest
    return updates[::-1]
