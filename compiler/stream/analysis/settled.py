"""Settled work: what the host has waited for when it goes on.

Enters: the timepoint of work in a loop. Leaves: whether the host waits for it in the same iteration, so that all that
is issued later comes after it. What an inner loop does may be waited for by the condition of the iteration after it,
which is computed once more when the loop is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects import scf
from pyiree.compiler.ir.core import Block, BlockArgument, OpResult, Value
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.timepoint_coverage import TimepointCoverage, awaited_timepoints


def is_settled(time: Value, loop: scf.ForOp | scf.WhileOp, coverage: TimepointCoverage) -> bool:
    """Whether the host waits for a timepoint, that is made in `loop`, before it leaves the block where it is made, or
    before it leaves the loop around that block if that is an inner one."""
    block: Block | None = time.block  # type: ignore[attr-defined]
    if block is None:
        return False
    if any(_comes_behind(awaited, time, block, coverage) for awaited in _awaited_in(block)):
        return True
    inner = block.parent_op
    if not isinstance(inner, scf.WhileOp) or inner is loop or block is not inner.after_block:
        return False
    handed_on = inner.after_block.terminator.operands
    return any(
        _comes_behind(value, time, block, coverage)
        and any(_comes_behind(awaited, argument, None, coverage) for awaited in _awaited_in(inner.before_block))
        for argument, value in zip(inner.before_block.arguments, handed_on)
    )


def _awaited_in(block: Block) -> Iterator[Value]:
    """The timepoints that the host waits for whenever it goes through a block."""
    for op in block.ops:
        if isinstance(op, ops.TimepointAwaitOp):
            yield op.await_timepoint
        elif isinstance(op, scf.WhileOp):
            # The condition is computed at least once.
            yield from _awaited_in(op.before_block)


def _comes_behind(value: Value, time: Value, block: Block | None, coverage: TimepointCoverage) -> bool:
    """Whether `time` has been reached when `value` is, and not only in iterations before the one of `block`."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if value is time:
            return True
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.block is not block:
                pending.extend(_started_from(value, coverage))
            continue
        assert isinstance(value, OpResult)
        op = value.op
        if isinstance(op, scf.WhileOp):
            pending.append(op.condition.args[value.index])
        else:
            pending.extend(awaited_timepoints(op))
    return False


def _started_from(argument: BlockArgument, coverage: TimepointCoverage) -> list[Value]:
    """What a timepoint that a loop carries comes behind in each iteration."""
    loop = argument.block.parent_op
    if not isinstance(loop, scf.WhileOp):
        return []
    if argument.block is loop.after_block:
        return [loop.condition.args[argument.index]]
    handed_on = loop.after_block.terminator.operands[argument.index]
    return [loop.inits[argument.index]] if coverage.covers(handed_on, argument) else []
