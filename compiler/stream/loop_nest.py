"""Loops in blocks, and the loops inside of them.

Enters: the first block of a loop. Leaves: a `LoopNest`, whose iterations are blocks and inner loops one after the
other; or None where control goes other ways.

    ^header(%a, …):                  the arguments are what the loop carries
      cf.cond_br %c, ^body, ^exit
    ^body:                           a block, or one up to an inner loop, which comes next, and the block after it, …
      cf.br ^header(%b, …)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from pyiree.compiler.dialects.arith import AddIOp, AndIOp, CmpIOp, ConstantOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.integer_ranges import range_of
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.stream.types import timepoint
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@dataclass
class LoopNest:
    """A loop: `header` decides, `parts` do an iteration, the last of them hands on `handed_on`."""

    header: Block
    entry: Operation
    """The terminator that the loop is entered by."""
    time: int
    """The number of the timepoint that it carries."""
    parts: list[Block | LoopNest] = field(default_factory=list)
    handed_on: Sequence[Value] = ()

    @property
    def end(self) -> CondBranchOp:
        """The op that decides."""
        return self.header.terminator  # type: ignore[return-value]

    @property
    def inner(self) -> list[LoopNest]:
        """The loops that an iteration consists of."""
        return [part for part in self.parts if isinstance(part, LoopNest)]

    @property
    def starts(self) -> Sequence[Value]:
        """What the loop begins with, if it is entered by a branch that goes nowhere else."""
        return self.entry.dest_operands if isinstance(self.entry, BranchOp) else ()

    def blocks(self) -> list[Block]:
        """All blocks, in the order in which they are entered first."""
        found = [self.header]
        for part in self.parts:
            found += part.blocks() if isinstance(part, LoopNest) else [part]
        return found

    def nests(self) -> Iterator[LoopNest]:
        """This loop and all inside of it."""
        yield self
        for inner in self.inner:
            yield from inner.nests()

    def edges(self) -> Iterator[tuple[BlockArgument, Value]]:
        """What the arguments of its blocks may be, but for those that this loop begins with."""
        yield from zip(self.header.arguments, self.handed_on)
        for inner in self.inner:
            yield from zip(inner.header.arguments, inner.starts)
            yield from inner.edges()
            if inner.end.false_dest is not self.header:
                yield from zip(inner.end.false_dest.arguments, inner.end.false_operands)


def nest_at(header: Block) -> LoopNest | None:
    """The loop that a block begins."""
    end, before = header.terminator, header.predecessors
    times = [a.index for a in header.arguments if a.type is timepoint]
    if not isinstance(end, CondBranchOp) or end.true_operands or len(before) != 2 or len(times) != 1:
        return None
    if end.true_dest is header or end.true_dest is end.false_dest:
        return None
    parts: list[Block | LoopNest] = []
    previous, block = header, end.true_dest
    while True:
        if block.predecessors != [previous] or block in parts:
            return None
        parts.append(block)
        latch: Operation = block.terminator
        if not isinstance(latch, BranchOp):
            return None
        handed_on: Sequence[Value] = latch.dest_operands
        if latch.dest is not header:
            inner = nest_at(latch.dest)
            if inner is None or inner.entry is not latch:
                return None
            parts.append(inner)
            previous, block, handed_on = inner.header, inner.end.false_dest, inner.end.false_operands
            if block is not header:
                continue
        last = previous if latch.dest is not header else block
        outside = [b for b in before if b is not last]
        if len(outside) != 1:
            return None
        return LoopNest(header, outside[0].terminator, times[0], parts, handed_on)


def most_iterations(nest: LoopNest) -> int | None:
    """How often a loop goes round at most, as far as its condition holds for a counter below a bound only."""
    for condition in _conjuncts(nest.end.condition):
        compare = condition.defining_op
        if not isinstance(compare, CmpIOp) or compare.predicate != "slt":
            continue
        counter = compare.lhs
        if not isinstance(counter, BlockArgument) or counter.block is not nest.header or not nest.starts:
            continue
        step = counter_step(nest.handed_on[counter.index], counter)
        low, high = range_of(nest.starts[counter.index]), range_of(compare.rhs)
        if step is not None and low is not None and high is not None:
            return max(0, -(-(high[1] - low[0]) // step))
    return None


def counter_step(following: Value, counter: Value) -> int | None:
    """By how much a counter grows in an iteration that hands on `following`; None if it may not."""
    add = following.defining_op
    if not isinstance(add, AddIOp) or add.lhs is not counter:
        return None
    step = constant_of(add.rhs)
    return step if step is not None and step > 0 else None


def constant_of(value: Value) -> int | None:
    """The integer that a constant is."""
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr) else None


def _conjuncts(condition: Value) -> Iterator[Value]:
    op = condition.defining_op
    if isinstance(op, AndIOp):
        yield from _conjuncts(op.lhs)
        yield from _conjuncts(op.rhs)
    else:
        yield condition
