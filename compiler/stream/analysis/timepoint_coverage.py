"""Coverage: which timepoints have been reached when another one is.

Enters: timepoints of a host function with structured control flow. Leaves: whether one covers another.

Work that awaits a timepoint covers it with its own; a join covers its operands. Inside a loop "covers" speaks of all
iterations so far: the timepoint that a loop carries covers whatever the timepoint that an iteration hands on covers, if
that one covers the carried one in turn (the iterations form a chain). A timepoint from outside of a loop covers what
earlier runs of the whole loop did, and nothing of the run that is on: this is lost where it is awaited inside.
"""

from __future__ import annotations

from collections.abc import Callable

from pyiree.compiler.dialects import scf
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, OpResult, Value
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.types import TimepointType


class TimepointCoverage:
    """The order of the timepoints of a host function. It is computed on demand, and not again after changes.

    What a timepoint covers is a set of bits, one for each timepoint that was met. The sets are the least that fulfil
    every op's rule: they grow, sweep by sweep over all that a timepoint depends on, until nothing changes.
    """

    def __init__(self) -> None:
        self._bits: dict[Value, int] = {}
        self._cover: dict[Value, int] = {}
        #: Of the timepoints that were met those inside a block, at any depth.
        self._inside: dict[Block, int] = {}

    def covers(self, timepoint: Value | None, other: Value) -> bool:
        """Whether `other` has been reached, in all iterations so far, when `timepoint` is."""
        if timepoint is None:
            return False
        if timepoint not in self._cover:
            self._solve(timepoint)
        return bool(self._cover[timepoint] & self._bits.get(other, 0))

    def covers_in(self, loop: Operation, timepoint: Value | None, other: Value) -> bool:
        """Whether `other` has been reached in all iterations so far of the run of a loop that is on."""
        return timepoint is not None and loop in _loops_around(timepoint) and self.covers(timepoint, other)

    def covers_here(self, timepoint: Value, other: Value) -> bool:
        """Whether `other` has been reached when `timepoint` is, at a place that sees both."""
        return self.covers(timepoint, other) and _loops_around(other) <= _loops_around(timepoint)

    def last_of(self, times: list[Value]) -> list[Value]:
        """Those of some timepoints that no other one of them covers."""
        return [
            time
            for time in times
            if not any(other is not time and self.covers_here(other, time) for other in times)
        ]

    def _solve(self, timepoint: Value) -> None:
        rules = self._rules(timepoint)
        changed = True
        while changed:
            changed = False
            for value, rule in rules:
                before = self._cover[value]
                after = before | rule()
                if after != before:
                    self._cover[value] = after
                    changed = True

    def _rules(self, timepoint: Value) -> list[tuple[Value, Callable[[], int]]]:
        """How all that a timepoint depends on, and is not known yet, follows from the rest; the first ones first."""
        made: list[tuple[Value, Callable[[], int]]] = []
        pending: list[tuple[Value, Callable[[], int] | None]] = [(timepoint, None)]
        while pending:
            value, rule = pending.pop()
            if rule is not None:
                made.append((value, rule))
            elif value not in self._cover:
                self._meet(value)
                rule, sources = self._rule(value)
                pending.append((value, rule))
                pending.extend((source, None) for source in sources)
        return made

    def _meet(self, value: Value) -> None:
        self._cover[value] = self._bits[value] = bit = 1 << len(self._bits)
        block: Block | None = value.block  # type: ignore[attr-defined]
        while block is not None:
            self._inside[block] = self._inside.get(block, 0) | bit
            parent = block.parent_op
            block = None if parent is None else parent.block

    def _rule(self, value: Value) -> tuple[Callable[[], int], list[Value]]:
        """What a timepoint covers besides itself, as a function of what its sources cover, and the sources."""
        if isinstance(value, BlockArgument):
            return self._carried(value)
        assert isinstance(value, OpResult)
        op, cover = value.op, self._cover
        if isinstance(op, scf.ForOp):
            argument, init, handed_on = op.iter_args[value.index], op.init_args[value.index], op.yielded[value.index]

            def after() -> int:
                if cover[handed_on] & self._bits[argument]:
                    return cover[handed_on] | cover[init]
                return cover[handed_on] & cover[init]

            return after, [argument, init, handed_on]
        if isinstance(op, scf.WhileOp):
            return self._union([op.condition.args[value.index]], value)
        if isinstance(op, scf.IfOp | scf.IndexSwitchOp):
            return self._branches(op, value.index)
        return self._union(awaited_timepoints(op), value)

    def _seen_from(self, source: Value, value: Value) -> Callable[[], int]:
        """What a source covers where it is awaited for `value`: less than it does outside of the loops in between."""
        cover = self._cover
        entered = _loops_around(value) - _loops_around(source)
        if not entered:
            return lambda: cover[source]
        blocks = [block for loop in entered for region in loop.regions for block in region.blocks]

        def seen() -> int:
            found = cover[source]
            for block in blocks:
                found &= ~self._inside.get(block, 0)
            return found

        return seen

    def _union(self, sources: list[Value], value: Value) -> tuple[Callable[[], int], list[Value]]:
        parts = [self._seen_from(source, value) for source in sources]

        def all_of_them() -> int:
            found = 0
            for part in parts:
                found |= part()
            return found

        return all_of_them, sources

    def _carried(self, argument: BlockArgument) -> tuple[Callable[[], int], list[Value]]:
        """The argument of a loop's block: iterations are a chain if the next value covers this one."""
        loop, block = argument.block.parent_op, argument.block
        if isinstance(loop, scf.ForOp) and block is loop.body_block:
            init, handed_on = loop.init_args[argument.index - 1], loop.yielded[argument.index - 1]
        elif isinstance(loop, scf.WhileOp) and block is loop.after_block:
            return self._union([loop.condition.args[argument.index]], argument)
        elif isinstance(loop, scf.WhileOp):
            init, handed_on = loop.inits[argument.index], loop.after_block.terminator.operands[argument.index]
        else:
            return self._union([], argument)
        cover, at_start = self._cover, self._seen_from(init, argument)

        def so_far() -> int:
            return cover[handed_on] | at_start() if cover[handed_on] & self._bits[argument] else 0

        return so_far, [init, handed_on]

    def _branches(self, op: scf.IfOp | scf.IndexSwitchOp, index: int) -> tuple[Callable[[], int], list[Value]]:
        """What every branch covers, and of its own work what each does."""
        ends = [(r.entry, r.entry.terminator.operands[index]) for r in op.regions if not r.is_empty]

        def found() -> int:
            common, own = -1, 0
            for block, end in ends:
                common &= self._cover[end]
                own |= self._cover[end] & self._inside.get(block, 0)
            return common | own

        return found, [end for _, end in ends]


def _loops_around(value: Value) -> set[Operation]:
    """The loops whose iterations a value belongs to."""
    found: set[Operation] = set()
    block: Block | None = value.block  # type: ignore[attr-defined]
    while block is not None and block.parent_op is not None:
        if isinstance(block.parent_op, scf.ForOp | scf.WhileOp):
            found.add(block.parent_op)
        block = block.parent_op.block
    return found


def awaited_timepoints(op: object) -> list[Value]:
    """The timepoints that the work of an op comes after."""
    if isinstance(op, ops.TimepointJoinOp):
        return list(op.await_timepoints)
    before = getattr(op, "await_timepoint", None)
    return [] if before is None else [before]


def is_timepoint(value: Value) -> bool:
    """Whether a value is a timepoint."""
    return isinstance(value.type, TimepointType)
