"""iree-stream-elide-timepoints: nothing waits for what it knows to be done.

Before: joins may name a timepoint twice or one that another operand covers; work and the host may wait for timepoints
        that are always reached, or that the host has waited for already.
After:  joins name only what no other operand covers, and a join of one is that one; such waits are gone. A timepoint
        that blocks only ever receive as reached is no value any more.

    %t1 = stream.cmd.execute await(%t0) => …
    %j = stream.timepoint.join max(%t0, %t1)                                        →  %t1
    %r1 = stream.timepoint.await %t1 => %r  …  %r2 = stream.timepoint.await %t0 => %r1      →  %r2 is %r1
    stream.cmd.execute await(%t1) => …                                              →  stream.cmd.execute …

Works on blocks and branches.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import cf
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.dominance import Dominance
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.timepoint_coverage import TimepointCoverage, is_timepoint
from pyiree.compiler.stream.types import timepoint

#: Work that needs no timepoint to start.
_WORK = (ops.CmdExecuteOp, ops.ResourceAllocaOp, ops.ResourceDeallocaOp, ops.FileReadOp, ops.FileWriteOp)


@register_pass("iree-stream-elide-timepoints", on=("util.func", "util.initializer"))
def elide_timepoints(host: Operation, context: PassContext) -> None:
    """Removes waits and joins of a host function that say nothing."""
    _resolve_arguments(host)
    for op in list(host.walk()):
        if isinstance(op, ops.TimepointJoinOp):
            _simplify_join(op)
    waits = _HostWaits()
    for op in list(host.walk()):
        if isinstance(op, ops.TimepointAwaitOp):
            if _is_immediate(op.await_timepoint) or waits.are_over(op.await_timepoint, op):
                op.replace_all_uses_with(list(op.resource_operands))
                op.erase()
            else:
                waits.add(op)
        elif isinstance(op, _WORK) and op.await_timepoint is not None:
            if _is_immediate(op.await_timepoint) or waits.are_over(op.await_timepoint, op):
                op.await_timepoint = None


def _is_immediate(value: Value) -> bool:
    return isinstance(value.defining_op, ops.TimepointImmediateOp)


# Timepoints that blocks receive.


def _resolve_arguments(host: Operation) -> None:
    """Block arguments that are immediate on every way in are immediate."""
    region = host.regions[0]
    incoming: dict[BlockArgument, list[Value]] = {}
    for block in region.blocks[1:]:
        for argument in block.arguments:
            if is_timepoint(argument):
                incoming[argument] = [v for p in block.predecessors for v in _passed(p, block, argument.index)]
    immediate = set(incoming)
    changed = True
    while changed:
        # Arguments start out as immediate, and lose that as soon as one way in is not.
        lost = [a for a in immediate if not all(v in immediate or _is_immediate(v) for v in incoming[a])]
        immediate.difference_update(lost)
        changed = bool(lost)
    for argument in incoming:
        if argument in immediate:
            builder = Builder.at_start(argument.block)
            now = builder.insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
            argument.replace_all_uses_with(now)


def _passed(predecessor: Block, block: Block, index: int) -> list[Value]:
    """What a block gives another one as an argument, once for each way."""
    end: Any = predecessor.terminator
    if isinstance(end, cf.BranchOp):
        return [end.dest_operands[index]]
    if isinstance(end, cf.CondBranchOp):
        ways = ((end.true_dest, end.true_operands), (end.false_dest, end.false_operands))
    else:
        cases = [end.operands_of_case(i) for i in range(len(end.values))]
        ways = tuple(zip(end.dests, [end.default_operands, *cases]))
    return [operands[index] for dest, operands in ways if dest is block]


# Joins.


def _simplify_join(op: ops.TimepointJoinOp) -> None:
    coverage = TimepointCoverage()
    times: dict[Value, None] = {}
    pending = list(reversed(op.await_timepoints))
    while pending:
        time = pending.pop()
        if isinstance(time.defining_op, ops.TimepointJoinOp):
            pending.extend(reversed(time.defining_op.await_timepoints))
        elif not _is_immediate(time):
            times[time] = None
    needed = coverage.last_of(list(times))
    if len(needed) > 1:
        op.await_timepoints = needed
        return
    if needed:
        op.result_timepoint.replace_all_uses_with(needed[0])
    else:
        now = Builder.before(op).insert(ops.TimepointImmediateOp(result_timepoint=timepoint))
        op.result_timepoint.replace_all_uses_with(now.result_timepoint)
    op.erase()


# What the host has waited for.


class _HostWaits:
    """The waits of the host so far: a timepoint is over where one that covers it has been waited for on every path."""

    def __init__(self) -> None:
        self._dominance = Dominance()
        self._waits: list[ops.TimepointAwaitOp] = []
        self._coverage = TimepointCoverage()

    def add(self, op: ops.TimepointAwaitOp) -> None:
        """Notes a wait."""
        self._waits.append(op)

    def are_over(self, time: Value, at: Operation) -> bool:
        """Whether the host knows at an op that a timepoint is reached."""
        return any(
            self._coverage.covers_here(wait.await_timepoint, time) and self._dominance.op_dominates(wait, at)
            for wait in self._waits
        )
