"""Loops in blocks, with whatever branches and loops are inside of them.

Enters: the blocks of a function, and which of them the device can do. Leaves: `LoopRegion`s: blocks that the device can
do, with the edges by which they are entered and left. A loop comes from one place and goes on to one; the host may have
blocks of its own in it, as long as there are iterations without them.

    ^header(%a, …):                  the arguments are what the loop carries
      cf.cond_br %c, ^body, ^exit
    ^body:                           blocks of any kind, of which some go back to the header
      …
      cf.cond_br %d, ^host, ^next
    ^host:                           a block that only the host can do: the loop is left, and entered again
      util.call @…
      cf.br ^next
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp, SwitchOp
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


class Edge(NamedTuple):
    """One of the ways out of a block."""

    source: Block
    number: int
    dest: Block
    operands: tuple[Value, ...]

    @property
    def assignments(self) -> Iterator[tuple[BlockArgument, Value]]:
        """What the arguments of the block that it goes to become."""
        return zip(self.dest.arguments, self.operands)


def edges_of(block: Block) -> list[Edge]:
    """The ways out of a block, in the order of its terminator's blocks."""
    end = block.terminator
    if isinstance(end, BranchOp):
        ways = [(end.dest, end.dest_operands)]
    elif isinstance(end, CondBranchOp):
        ways = [(end.true_dest, end.true_operands), (end.false_dest, end.false_operands)]
    elif isinstance(end, SwitchOp):
        cases = [(dest, end.operands_of_case(number)) for number, dest in enumerate(end.dests[1:])]
        ways = [(end.dests[0], end.default_operands), *cases]
    else:
        ways = []
    return [Edge(block, number, dest, tuple(operands)) for number, (dest, operands) in enumerate(ways)]


@dataclass(frozen=True)
class LoopRegion:
    """A loop: `blocks` begin with its header; the first of `entries` comes from before it, the first of `exits` goes
    behind it; the others come from `hosted`, blocks of the host, and go there."""

    blocks: list[Block]
    entries: list[Edge]
    exits: list[Edge]
    hosted: list[Block]

    @property
    def header(self) -> Block:
        """The block that it is entered by."""
        return self.blocks[0]

    def edges(self) -> Iterator[Edge]:
        """All edges between its blocks."""
        for block in self.blocks:
            for edge in edges_of(block):
                if edge.dest in self.blocks:
                    yield edge

    def is_inside(self, value: Value) -> bool:
        """Whether a value is made in the loop."""
        return block_of(value) in self.blocks

    def block_around(self, op: Operation) -> Block | None:
        """The block of the loop that an op is in, in a region of another op perhaps."""
        return _block_around(op, self.blocks)

    def host_around(self, op: Operation) -> Block | None:
        """As `block_around`, among the blocks of the host."""
        return _block_around(op, self.hosted)

    def stays_with_host(self, source: Block, dest: Block) -> bool:
        """Whether the host comes to a block of its own from one of its own alone, without the loop in between."""
        seen, pending = {source}, [dest]
        while pending:
            block = pending.pop()
            if block not in self.hosted:
                return False
            if block not in seen:
                seen.add(block)
                pending.extend(block.predecessors)
        return True


def loops_of(blocks: Sequence[Block], can_do: Callable[[Block], bool]) -> Iterator[LoopRegion]:
    """The loops of a function with one way in and one way out, outer ones first; `can_do` says which blocks the device
    can do."""
    places = {block: number for number, block in enumerate(blocks)}
    for header in blocks:
        # Blocks stand in the order in which they are entered first, so that what goes back does so to an earlier one.
        latches = [b for b in header.predecessors if places[b] >= places[header]]
        found = _natural_loop(header, latches) if latches else None
        if found is None:
            continue
        inside = [block for block in sorted(found, key=places.__getitem__) if can_do(block)]
        hosted = [block for block in found if block not in inside]
        entries = [e for b in header.predecessors if b not in found for e in edges_of(b) if e.dest is header]
        leaving = [edge for block in found for edge in edges_of(block) if edge.dest not in found]
        if len(entries) != 1 or len(leaving) != 1 or leaving[0].source in hosted or not _goes_round(header, inside):
            continue
        entries += [edge for block in hosted for edge in edges_of(block) if edge.dest in inside]
        leaving += [edge for block in inside for edge in edges_of(block) if edge.dest in hosted]
        yield LoopRegion(inside, entries, leaving, hosted)


def _block_around(op: Operation, blocks: Sequence[Block]) -> Block | None:
    at: Operation | None = op
    while at is not None and at.block not in blocks:
        at = at.parent_op
    return None if at is None else at.block


def _goes_round(header: Block, inside: Sequence[Block]) -> bool:
    """Whether some blocks are a loop."""
    if header not in inside:
        return False
    seen: set[Block] = set()
    pending = [edge.dest for edge in edges_of(header)]
    while pending:
        block = pending.pop()
        if block is header:
            return True
        if block in inside and block not in seen:
            seen.add(block)
            pending.extend(edge.dest for edge in edges_of(block))
    return False


def _natural_loop(header: Block, latches: Sequence[Block]) -> set[Block] | None:
    """The blocks from which a latch is reached without the header; None if others lead into the middle."""
    found, pending = {header}, list(latches)
    while pending:
        block = pending.pop()
        if block not in found:
            found.add(block)
            pending.extend(block.predecessors)
            if block.is_entry:
                return None
    return found


def block_of(value: Value) -> Block:
    """The block that a value is made in."""
    return value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr,return-value]
