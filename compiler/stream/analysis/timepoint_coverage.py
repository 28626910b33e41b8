"""Coverage: which timepoints have been reached when another one is.

Enters: timepoints of a host function with structured control flow. Leaves: whether one covers another.

Work that awaits a timepoint covers it with its own; a join covers its operands. Inside a loop "covers" speaks of all
iterations so far: the timepoint that a loop carries covers whatever the timepoint that an iteration hands on covers, if
that one covers the carried one in turn (the iterations form a chain). What the host has waited for is settled: all that
is issued later comes after it.
"""

from __future__ import annotations

from pyiree.compiler.dialects import scf
from pyiree.compiler.ir.core import Block, BlockArgument, OpResult, Value
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.types import TimepointType


class TimepointCoverage:
    """The order of the timepoints of a host function. It is computed on demand, and not again after changes."""

    def __init__(self) -> None:
        #: What is known, by timepoint and by the loops whose iterations are being looked at meanwhile.
        self._cover: dict[tuple[Value, tuple[Block, ...]], frozenset[Value]] = {}
        #: Blocks of loops whose iterations are being looked at: their arguments stand for themselves meanwhile.
        self._open: tuple[Block, ...] = ()
        #: For the arguments of a block that a loop repeats, what they cover, by the loops open around it.
        self._loops: dict[tuple[Block, tuple[Block, ...]], dict[Value, frozenset[Value]]] = {}

    def covers(self, timepoint: Value | None, other: Value) -> bool:
        """Whether `other` has been reached, in all iterations so far, when `timepoint` is."""
        return timepoint is not None and other in self.cover(timepoint)

    def cover(self, timepoint: Value) -> frozenset[Value]:
        """All timepoints that a timepoint covers, itself among them."""
        key = (timepoint, self._open)
        found = self._cover.get(key)
        if found is None:
            found = self._cover[key] = frozenset(self._compute(timepoint))
        return found

    def _compute(self, timepoint: Value) -> set[Value]:
        found = {timepoint}
        if isinstance(timepoint, BlockArgument):
            if timepoint.block not in self._open:
                found.update(self._carried(timepoint))
            return found
        assert isinstance(timepoint, OpResult)
        op = timepoint.op
        if isinstance(op, scf.ForOp):
            found.update(self._after_for(op, timepoint.index))
        elif isinstance(op, scf.WhileOp):
            found.update(self.cover(op.condition.args[timepoint.index]))
        elif isinstance(op, scf.IfOp | scf.IndexSwitchOp):
            found.update(self._after_branches(op, timepoint.index))
        else:
            for before in awaited_timepoints(op):
                found.update(self.cover(before))
        return found

    def _carried(self, argument: BlockArgument) -> frozenset[Value]:
        """What the argument of a loop's block covers."""
        loop, block = argument.block.parent_op, argument.block
        if isinstance(loop, scf.ForOp) and block is loop.body_block:
            carried = list(zip(block.arguments[1:], loop.init_args, loop.yielded))
        elif isinstance(loop, scf.WhileOp) and block is loop.after_block:
            return self.cover(loop.condition.args[argument.index])
        elif isinstance(loop, scf.WhileOp):
            carried = list(zip(block.arguments, loop.inits, loop.after_block.terminator.operands))
        else:
            return frozenset()
        key = (block, self._open)
        if key not in self._loops:
            self._loops[key] = self._iterations(block, [entry for entry in carried if is_timepoint(entry[0])])
        return self._loops[key][argument]

    def _iterations(
        self, block: Block, carried: list[tuple[Value, Value, Value]]
    ) -> dict[Value, frozenset[Value]]:
        """For each timepoint that a loop carries (argument, initial value, next value) what it covers."""
        outer, self._open = self._open, (*self._open, block)
        found = {argument: set(self.cover(handed_on)) for argument, _, handed_on in carried}
        self._open = outer
        initial = {argument: init for argument, init, _ in carried}
        changed = True
        while changed:
            changed = False
            for cover in found.values():
                before = len(cover)
                for other in [o for o in cover if o in found and o in found[o]]:
                    cover |= found[other]
                    cover |= self.cover(initial[other])
                changed = changed or len(cover) != before
        return {argument: frozenset(c) if argument in c else frozenset() for argument, c in found.items()}

    def _after_for(self, op: scf.ForOp, index: int) -> frozenset[Value]:
        argument = op.iter_args[index]
        if argument in self.cover(op.yielded[index]):
            return self.cover(op.yielded[index]) | self.cover(op.init_args[index])
        return self.cover(op.yielded[index]) & self.cover(op.init_args[index])

    def _after_branches(self, op: scf.IfOp | scf.IndexSwitchOp, index: int) -> set[Value]:
        """What every branch covers, and of its own work what each does."""
        covers = [
            (region.entry, self.cover(region.entry.terminator.operands[index]))
            for region in op.regions
            if not region.is_empty
        ]
        found = set(covers[0][1]).intersection(*[cover for _, cover in covers])
        for block, cover in covers:
            found.update([t for t in cover if _is_inside(t, block)])
        return found


def awaited_timepoints(op: object) -> list[Value]:
    """The timepoints that the work of an op comes after."""
    if isinstance(op, ops.TimepointJoinOp):
        return list(op.await_timepoints)
    before = getattr(op, "await_timepoint", None)
    return [] if before is None else [before]


def _is_inside(value: Value, block: Block) -> bool:
    at = value.block  # type: ignore[attr-defined]
    while at is not None:
        if at is block:
            return True
        parent = at.parent_op
        at = None if parent is None else parent.block
    return False


def is_timepoint(value: Value) -> bool:
    """Whether a value is a timepoint."""
    return isinstance(value.type, TimepointType)


def is_settled(timepoint: Value, coverage: TimepointCoverage) -> bool:
    """Whether the host waits for a timepoint before it leaves the block where that is made."""
    block: Block | None = timepoint.block  # type: ignore[attr-defined]
    return block is not None and any(
        isinstance(op, ops.TimepointAwaitOp) and coverage.covers(op.await_timepoint, timepoint) for op in block.ops
    )
