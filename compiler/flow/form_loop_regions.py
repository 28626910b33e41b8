"""pyiree-flow-form-loop-regions: loops whose iterations work on every point alone run inside a kernel.

Before: %1 = scf.for … iter_args(%x = %0) -> (tensor<1024xf32>) { … elementwise … }
After:  %1 = flow.dispatch.region -> (tensor<1024xf32>) { scf.for … ; flow.return … }

Each workgroup then does all iterations for its points, and what the loop carries stays in registers. A carried tensor
that iterations put slices into stays in memory: the region's result is written over what the loop starts with, which
is a tensor of its own. A loop of many iterations is done some at a time, by a loop on the host around the region, so
that a program can be interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, MinUIOp, SubIOp
from pyiree.compiler.dialects.linalg_generalize import generalize
from pyiree.compiler.dialects.linalg_named import CopyOp
from pyiree.compiler.dialects.pointwise_loops import PointwiseLoop, pointwise_loop
from pyiree.compiler.dialects.scf import ForOp, YieldOp
from pyiree.compiler.dialects.tensor import EmptyOp
from pyiree.compiler.flow.loop_counters import without_counters
from pyiree.compiler.flow.op_kinds import cost_of, is_copied
from pyiree.compiler.flow.ops import DispatchRegionOp, ReturnOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass

#: Instructions of one point after which a kernel gives the host a chance to look up: some milliseconds.
_LONG = 5e6
#: A body of more instructions would be a large kernel.
_MAX_COST = 4000.0


@register_pass("pyiree-flow-form-loop-regions", on=("util.func", "util.initializer"))
def form_loop_regions(func: Operation, context: PassContext) -> None:
    """Puts the loops that a kernel can run into dispatch regions."""
    for loop in reversed(list(func.walk_type(ForOp))):
        without_counters(loop)
    for loop in list(func.walk_type(ForOp)):
        # A loop inside of one that was moved is gone.
        found = points_in_a_kernel(loop) if func.is_ancestor_of(loop) else None
        if found is not None:
            in_memory = [number for number, carried in enumerate(found.carried) if carried.updates]
            for number in in_memory:
                _own_start(loop, number)
            _form(_in_pieces(loop, _cost(loop, found)), in_memory)


def points_in_a_kernel(loop: ForOp) -> PointwiseLoop | None:
    """The points of a loop that is to run inside a kernel; None for other loops."""
    found = pointwise_loop(loop) if any(r.has_uses for r in loop.results) else None
    return found if found is not None and _cost(loop, found) <= _MAX_COST else None


def _cost(loop: ForOp, found: PointwiseLoop) -> float:
    """Rough instructions of one iteration for one point."""
    elements = max([carried.count for carried in found.carried])
    return max(1.0, elements * sum([cost_of(op) for op in loop.body_block.ops]))


def _in_pieces(loop: ForOp, cost: float) -> ForOp:
    """The loop, or the one inside of it that does some of its iterations."""
    most = max(1, int(_LONG / cost))
    lower, upper, step = (_constant(v) for v in (loop.lower_bound, loop.upper_bound, loop.step))
    assert step is not None
    if lower is not None and upper is not None and upper - lower <= most * step:
        return loop
    b = Builder.before(loop, loop.location)
    type = loop.lower_bound.type
    piece = b.insert(ConstantOp(IntegerAttr(min(most * step, (1 << 30) // step * step), type))).result
    body = Block([type, *[v.type for v in loop.init_args]])
    counter, *carried = body.arguments
    inner = Builder.at_end(body, loop.location)
    # As unsigned numbers: what is left may be more than the largest signed one.
    left = inner.insert(SubIOp(loop.upper_bound, counter)).result
    end = inner.insert(AddIOp(counter, inner.insert(MinUIOp(left, piece)).result)).result
    moved = Block([type, *[v.type for v in loop.init_args]])
    mapping = dict(zip(loop.body_block.arguments, moved.arguments))
    at = Builder.at_end(moved, loop.location)
    for op in loop.body_block.ops:
        at.insert(op.clone(mapping))
    some = inner.insert(ForOp(counter, end, loop.step, carried, body=moved))
    inner.insert(YieldOp(list(some.results)))
    whole = b.insert(ForOp(loop.lower_bound, loop.upper_bound, piece, list(loop.init_args), body=body))
    loop.replace_all_uses_with(whole.results)
    loop.erase()
    return some


def _constant(value: Value) -> int | None:
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None


def _own_start(loop: ForOp, number: int) -> None:
    """Makes what a carried tensor starts with a tensor that the loop reads nowhere else, outside of its kernel."""
    value = loop.init_args[number]
    op = value.defining_op
    if op is not None and is_copied(op):
        own = Builder.before(loop).insert(op.clone()).results[0]
    elif sum(use.owner is loop or loop.is_ancestor_of(use.owner) for use in value.uses) > 1:
        empty = Builder.before(loop).insert(EmptyOp([], result=value.type)).result
        copy = CopyOp([value], [empty])
        own = Builder.before(loop).insert(generalize(copy)).results[0]
        copy.drop_all_references()
    else:
        return
    inits = list(loop.init_args)
    inits[number] = own
    loop.init_args = inits


def _form(loop: ForOp, in_memory: Sequence[int]) -> None:
    """Puts a loop, and the constants that it reads, into a region of its own."""
    place = Builder.before(loop, loop.location)
    body = Block()
    builder = Builder.at_end(body, loop.location)
    starts = {loop.init_args[number] for number in in_memory}
    mapping: dict[Value, Value] = {}
    for op in loop.walk():
        for operand in op.operands:
            if operand not in starts:
                _copy(operand, loop, builder, mapping)
    copy = builder.insert(loop.clone(mapping))
    used = [number for number, result in enumerate(loop.results) if result.has_uses or number in in_memory]
    builder.insert(ReturnOp([copy.results[number] for number in used]))
    region = place.insert(DispatchRegionOp((), (), body, results=[loop.results[number].type for number in used]))
    for number, result in zip(used, region.results):
        loop.results[number].replace_all_uses_with(result)
    loop.erase()


def _copy(value: Value, loop: ForOp, builder: Builder, mapping: dict[Value, Value]) -> None:
    op = value.defining_op
    if op is None or value in mapping or loop.is_ancestor_of(op) or not is_copied(op):
        return
    for operand in op.operands:
        _copy(operand, loop, builder, mapping)
    builder.insert(op.clone(mapping))


