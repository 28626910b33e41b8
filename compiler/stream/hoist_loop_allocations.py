"""pyiree-stream-hoist-loop-allocations: loops reuse memory instead of allocating in every iteration.

Before: an iteration allocates what it hands on, and its transients.
After:  transients are allocated in front of the loop; of what is handed on there are two buffers that swap places, or
        more where an iteration hands on older ones too.

    %r:2 = scf.for … iter_args(%x = %x0, %t = %t0) {
      %new, %t1 = stream.resource.alloca uninitialized await(%t) => …{%n}
      %t2 = stream.cmd.execute await(%t1) => with(%x as %a, %new as %b) { … }
      scf.yield %new, %t2
    }
    →
    %a, %b = both allocated here
    %r:4 = scf.for … iter_args(%x = %x0, %t = %t0, %new = %a, %other = %b) {
      %t2 = stream.cmd.execute await(%t) => with(%x as %a, %new as %b) { … }
      scf.yield %new, %t2, %other, %new
    }

What the loop starts with is read in the first iteration only, and never written: it may belong to somebody else. If it
is the function's own memory and nobody else looks at it, it serves as one of the two buffers. Nothing changes where the
order of uses is not certain. What is small and handed on in another way, such as twice, is copied. Inner loops go
first, so what they needed may leave the outer ones as well; so do branches (`branch_allocations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import index as index_type
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.resource_uses import ResourceUses, resource_uses
from pyiree.compiler.stream.analysis.settled import is_settled
from pyiree.compiler.stream.analysis.timepoint_coverage import TimepointCoverage, is_timepoint
from pyiree.compiler.stream.branch_allocations import (
    MOST_COPIED,
    affinity_in,
    copy_at_end,
    hoist_out_of_branch,
    remove_deallocations,
    size_of,
)
from pyiree.compiler.stream.types import timepoint

Loop = scf.ForOp | scf.WhileOp


@register_pass("pyiree-stream-hoist-loop-allocations", on=("util.func", "util.initializer"))
def hoist_loop_allocations(host: Operation, context: PassContext) -> None:
    """Moves allocations out of the loops and of the branches in them, inner ones first."""
    for op in list(host.walk(post_order=True)):
        if isinstance(op, scf.IfOp | scf.IndexSwitchOp):
            hoist_out_of_branch(op)
        elif isinstance(op, scf.ForOp | scf.WhileOp) and _time_of(op) is not None:
            loop: Any = op
            made = _made_by_iterations(loop)
            for carried in range(len(_inits(loop))):
                grown = _swap_buffers(loop, carried)
                if grown is None and carried in made:
                    grown = _copy_and_swap(loop, carried)
                loop = grown or loop
            _hoist_transients(loop)
        elif isinstance(op, scf.ForOp | scf.WhileOp) and not any(map(is_timepoint, _inits(op))):
            _hoist_settled(op)


# What loops have in common.


def _inits(loop: Loop) -> list[Value]:
    return list(loop.init_args if isinstance(loop, scf.ForOp) else loop.inits)


def _arguments(loop: Loop) -> list[Any]:
    """The carried values at the start of an iteration."""
    return list(loop.iter_args if isinstance(loop, scf.ForOp) else loop.before_block.arguments)


def _end(loop: Loop) -> scf.YieldOp:
    """The op that hands on the carried values."""
    return (loop.body_block if isinstance(loop, scf.ForOp) else loop.after_block).terminator  # type: ignore[return-value]


def _time_of(loop: Loop) -> int | None:
    """Which carried value is the loop's timepoint; None if there isn't exactly one."""
    found = [i for i, value in enumerate(_inits(loop)) if is_timepoint(value)]
    return found[0] if len(found) == 1 else None


def _is_invariant(value: Value, loop: Loop) -> bool:
    return (value.defining_op is not None and isinstance(value.defining_op, ConstantOp)) or not _inside(value, loop)


def _inside(value: Value, loop: Loop) -> bool:
    block: Block | None = value.block  # type: ignore[attr-defined]
    parent = None if block is None else block.parent_op
    return parent is not None and loop.is_ancestor_of(parent)


def _before_loop(value: Value, loop: Loop) -> Value:
    """An invariant value as it is in front of the loop."""
    op = value.defining_op
    if op is None or not _inside(value, loop):
        return value
    return Builder.before(loop).insert(op.clone()).results[0]


def _allocate(alloca: ops.ResourceAllocaOp, loop: Loop, time: Value) -> ops.ResourceAllocaOp:
    """The same allocation in front of the loop."""
    new = ops.ResourceAllocaOp(
        _before_loop(alloca.storage_size, loop), time, alloca.indeterminate_lifetime, alloca.affinity,
        result_=alloca.results[0].type, result_timepoint=timepoint, location=alloca.location,
    )  # fmt: skip
    return Builder.before(loop).insert(new)


def _start_after(loop: Loop, index: int, times: Sequence[Value]) -> None:
    """The loop starts when these timepoints are reached; they cover the one at which it did."""
    if len(times) == 1:
        start = times[0]
    else:
        join = ops.TimepointJoinOp(list(times), result_timepoint=timepoint)
        start = Builder.before(loop).insert(join).result_timepoint
    inits = _inits(loop)
    inits[index] = start
    if isinstance(loop, scf.ForOp):
        loop.init_args = inits
    else:
        loop.inits = inits


def _drop_alloca(alloca: ops.ResourceAllocaOp, memory: Value) -> None:
    """Uses other memory; whoever waited for the allocation waits for what it waited for."""
    assert alloca.await_timepoint is not None
    alloca.results[0].replace_all_uses_with(memory)
    alloca.result_timepoint.replace_all_uses_with(alloca.await_timepoint)
    alloca.erase()


def _comes_after(
    alloca: ops.ResourceAllocaOp, uses: Sequence[ResourceUses], loop: Loop, coverage: TimepointCoverage
) -> bool:
    """Lets the allocation, and so all that uses it, come after these uses in all earlier iterations; False if it
    can't. Work on what was known before the loop waits for nothing of the loop by itself."""
    times = [op.result_timepoint for each in uses for op in each.work]
    pending = [time for time in times if not is_settled(time, loop, coverage)]
    awaited = alloca.await_timepoint
    # The loop's own timepoint: in the first iteration the memory is there when that is reached.
    started = _arguments(loop)[_time_of(loop)]  # type: ignore[index]
    if awaited is not None and all(coverage.covers_in(loop, awaited, time) for time in (started, *pending)):
        return True
    begins = _time_at_start(loop, alloca.block)
    if begins is None or not all(coverage.covers_in(loop, begins, time) for time in pending):
        return False
    if awaited is not None:
        join = ops.TimepointJoinOp([awaited, begins], result_timepoint=timepoint)
        begins = Builder.before(alloca).insert(join).result_timepoint
    alloca.await_timepoint = begins
    return True


def _time_at_start(loop: Loop, block: Block | None) -> Value | None:
    """The timepoint that the loop carries, as a block of it sees it."""
    index = _time_of(loop)
    assert index is not None
    if isinstance(loop, scf.WhileOp) and block is loop.before_block:
        return loop.before_block.arguments[index]
    return _carried_in_body(loop, index)


# Buffers that swap places.


def _swap_buffers(loop: Loop, carried: int) -> Loop | None:
    """Lets a carried value alternate between buffers; the new loop, or None if it can't."""
    alloca = _end(loop).operands[carried].defining_op
    if not isinstance(alloca, ops.ResourceAllocaOp) or alloca.block is not _end(loop).block:
        return None
    if not _is_invariant(alloca.storage_size, loop):
        return None
    coverage = TimepointCoverage()
    new = resource_uses(alloca.results[0], loop)
    if [(use.owner, use.index) for use in new.escapes] != [(_end(loop), carried)]:
        return None
    olds = _uses_until_forgotten(loop, carried)
    if olds is None or not _comes_after(alloca, (new, *olds), loop, coverage):
        return None
    index = _time_of(loop)
    start = _inits(loop)[index]  # type: ignore[index]
    is_own = len(olds) == 1 and _carried_in_body(loop, carried) is not None
    is_own = is_own and _owns_start(loop, carried, start, alloca, coverage)
    # One more than values are remembered, so that what is written is none of them.
    made = [_allocate(alloca, loop, start) for _ in range(1 if is_own else 1 + len(olds))]
    _start_after(loop, index, [op.result_timepoint for op in made])  # type: ignore[arg-type]
    grown, spare = _with_carried(loop, [op.results[0] for op in made])
    end = _end(grown)
    _drop_alloca(alloca, spare[0])
    # If the loop owns what it starts with, what was there before is the spare buffer of the next iteration.
    following: Any = [_carried_in_body(grown, carried)] if is_own else [*spare[1:], spare[0]]
    end.operands = [*end.operands, *following]
    return grown


def _made_by_iterations(loop: Loop) -> set[int]:
    """Which carried values may lie in memory that the iteration allocates."""
    end = _end(loop)
    found: set[int] = set()
    for op in end.block.ops:  # type: ignore[union-attr]
        if isinstance(op, ops.ResourceAllocaOp):
            found.update(use.index for use in resource_uses(op.results[0], loop).escapes if use.owner is end)
    return found


def _copy_and_swap(loop: Loop, carried: int) -> Loop | None:
    """Copies what is handed on, such as what an inner loop leaves in one of several buffers, so that all the memory of
    the iteration is transient; the copies alternate between buffers."""
    end, index = _end(loop), _time_of(loop)
    assert index is not None
    value, time = end.operands[carried], _carried_in_body(loop, index)
    size = size_of(value)
    if time is None or size is None or size > MOST_COPIED:
        return None
    before, given = end.prev_op, list(end.operands)
    builder, affinity = Builder.before(end), affinity_in(loop)
    bytes_ = builder.insert(ConstantOp(IntegerAttr(size, index_type))).result
    memory = builder.insert(
        ops.ResourceAllocaOp(
            bytes_, time, None, affinity, result_=value.type, result_timepoint=timepoint, location=loop.location
        )
    )
    copy_at_end(end, value, memory, bytes_, index, affinity)
    operands = list(end.operands)
    operands[carried] = memory.results[0]
    end.operands = operands
    grown = _swap_buffers(loop, carried)
    if grown is None:
        end.operands = given
        while end.prev_op is not before:
            end.prev_op.erase()  # type: ignore[union-attr]
    return grown


def _uses_until_forgotten(loop: Loop, carried: int) -> list[ResourceUses] | None:
    """The uses of a carried value in this iteration, and in later ones if it is handed on as another carried value,
    until one hands it on no more; None if it goes elsewhere."""
    found: list[ResourceUses] = []
    seen: set[int] = set()
    while True:
        seen.add(carried)
        old = resource_uses(_arguments(loop)[carried], loop)
        if isinstance(loop, scf.WhileOp) and not _follow_condition(loop, old):
            return None
        found.append(old)
        if not old.escapes:
            return found
        (first, *others) = old.escapes
        if others or first.owner is not _end(loop) or first.index in seen:
            return None
        carried = first.index


def _follow_condition(loop: scf.WhileOp, old: ResourceUses) -> bool:
    """Adds the uses of a carried value in the second region; False if it is passed on there in several places."""
    passed = [use for use in old.escapes if use.owner is loop.condition]
    if not passed:
        return True
    if len(passed) != 1:
        return False
    inner = resource_uses(loop.after_block.arguments[passed[0].index - 1], loop)
    old.work.extend(inner.work)
    old.escapes = [use for use in old.escapes if use is not passed[0]] + inner.escapes
    return True


def _carried_in_body(loop: Loop, carried: int) -> Value | None:
    """A carried value in the block that hands on the next one, if it is known there."""
    if isinstance(loop, scf.ForOp):
        return loop.iter_args[carried]
    argument, passed = loop.before_block.arguments[carried], list(loop.condition.args)
    return loop.after_block.arguments[passed.index(argument)] if argument in passed else None


def _owns_start(
    loop: Loop, carried: int, start: Value, alloca: ops.ResourceAllocaOp, coverage: TimepointCoverage
) -> bool:
    """Whether the memory that the loop starts with is the function's own, of the same size, and used only before."""
    value = _inits(loop)[carried]
    owner = value.defining_op
    if not isinstance(owner, ops.ResourceAllocaOp) or owner.block is not loop.block:
        return False
    if owner.affinity is not alloca.affinity or value.type is not alloca.results[0].type:
        return False
    if not _same_size(owner.storage_size, alloca.storage_size):
        return False
    uses = [use for use in value.uses if use.owner is not loop]
    if len([use for use in value.uses if use.owner is loop]) != 1:
        return False
    return all(
        isinstance(use.owner, ops.CmdExecuteOp)
        and use.owner.block is loop.block
        and use.owner.is_before_in_block(loop)
        and coverage.covers(start, use.owner.result_timepoint)
        for use in uses
    )


def _same_size(a: Value, b: Value) -> bool:
    if a is b:
        return True
    x, y = a.defining_op, b.defining_op
    return isinstance(x, ConstantOp) and isinstance(y, ConstantOp) and x.value is y.value


def _with_carried(loop: Loop, extra: Sequence[Value]) -> tuple[Any, list[Value]]:
    """The loop with further carried values that are not handed on yet; these as the body that hands on sees them."""
    regions = [Region() for _ in loop.regions]
    builder = Builder.before(loop)
    types = [v.type for v in extra]
    new: Any
    if isinstance(loop, scf.ForOp):
        new = scf.ForOp(
            loop.lower_bound, loop.upper_bound, loop.step, [*loop.init_args, *extra], loop.unsignedCmp, *regions
        )
    else:
        new = scf.WhileOp([*loop.inits, *extra], *regions, results=[*loop.result_types, *types])
    new.attributes.update(loop.attributes)
    for target, source in zip(new.regions, loop.regions):
        target.take_body(source)
    arguments: list[Value] = [new.regions[-1].entry.add_argument(t) for t in types]
    if isinstance(new, scf.WhileOp):
        passed = [new.before_block.add_argument(t) for t in types]
        new.condition.args = [*new.condition.args, *passed]
    builder.insert(new)
    for old, result in zip(loop.results, new.results):
        old.replace_all_uses_with(result)
    loop.erase()
    return new, arguments


# Transients.


def _hoist_transients(loop: Loop) -> None:
    """Allocates in front of the loop what no iteration hands on."""
    index = _time_of(loop)
    assert index is not None
    coverage = TimepointCoverage()
    found = []
    for block in [b for region in loop.regions for b in region.blocks]:
        for op in block.ops:
            if isinstance(op, ops.ResourceAllocaOp) and _is_transient(op, loop, coverage):
                found.append(op)
    if not found:
        return
    start = _inits(loop)[index]
    times = []
    for alloca in found:
        new = _allocate(alloca, loop, start)
        times.append(new.result_timepoint)
        freed = remove_deallocations(alloca.results[0])
        _drop_alloca(alloca, new.results[0])
        if freed:
            _free_after(loop, index, new)
    _start_after(loop, index, times)


def _hoist_settled(loop: Loop) -> None:
    """Allocates in front of a loop that hands on no timepoint what the host has waited for when it goes on."""
    coverage = TimepointCoverage()
    for block in [b for region in loop.regions for b in region.blocks]:
        for op in list(block.ops):
            if not isinstance(op, ops.ResourceAllocaOp) or not _is_invariant(op.storage_size, loop):
                continue
            uses = resource_uses(op.results[0], loop)
            times = [work.result_timepoint for work in uses.work if not isinstance(work, ops.ResourceDeallocaOp)]
            if uses.escapes or not all(is_settled(time, loop, coverage) for time in times):
                continue
            start = Builder.before(loop).insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
            new = _allocate(op, loop, start)
            # It is given back where all memory is that nobody has given back by then.
            remove_deallocations(op.results[0])
            op.results[0].replace_all_uses_with(new.results[0])
            ready = new.result_timepoint
            if op.await_timepoint is not None:
                # Who waited for the allocation waited for this too.
                join = ops.TimepointJoinOp([op.await_timepoint, ready], result_timepoint=timepoint)
                ready = Builder.before(op).insert(join).result_timepoint
            op.result_timepoint.replace_all_uses_with(ready)
            op.erase()


def _is_transient(alloca: ops.ResourceAllocaOp, loop: Loop, coverage: TimepointCoverage) -> bool:
    """Whether an allocation serves one iteration, and may serve them all in turn."""
    if not _is_invariant(alloca.storage_size, loop):
        return False
    uses = resource_uses(alloca.results[0], loop)
    return not uses.escapes and _comes_after(alloca, [uses], loop, coverage)


def _free_after(loop: Loop, index: int, alloca: ops.ResourceAllocaOp) -> None:
    """Frees the memory when the loop is done; what waits for the loop waits for that too."""
    done = loop.results[_result_of_time(loop, index)]
    free = ops.ResourceDeallocaOp(
        alloca.results[0], alloca.storage_size, done, False, alloca.affinity, result_timepoint=timepoint,
        location=alloca.location,
    )  # fmt: skip
    Builder.after(loop).insert(free)
    done.replace_uses_if(free.result_timepoint, lambda use: use.owner is not free)


def _result_of_time(loop: Loop, index: int) -> int:
    """Which result of the loop is its timepoint."""
    if isinstance(loop, scf.ForOp):
        return index
    return next(i for i, value in enumerate(loop.results) if is_timepoint(value))
