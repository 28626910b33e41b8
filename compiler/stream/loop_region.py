"""Loops in blocks, with whatever branches and loops are inside of them.

Enters: the first block of a loop. Leaves: a `LoopRegion`: the blocks that it goes through, the one edge by which it is
entered and the one by which it is left; or None where there are several.

    ^header(%a, …):                  the arguments are what the loop carries
      cf.cond_br %c, ^body, ^exit
    ^body:                           blocks of any kind, of which some go back to the header
      …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """A loop: `blocks` begin with its header; `entry` comes from before it, `exit` goes behind it."""

    blocks: list[Block]
    entry: Edge
    exit: Edge

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
        return _block_of(value) in self.blocks

    def block_around(self, op: Operation) -> Block | None:
        """The block of the loop that an op is in, in a region of another op perhaps."""
        at: Operation | None = op
        while at is not None and at.block not in self.blocks:
            at = at.parent_op
        return None if at is None else at.block


def loops_of(blocks: Sequence[Block]) -> Iterator[LoopRegion]:
    """The loops of a function with one way in and one way out, outer ones first."""
    places = {block: number for number, block in enumerate(blocks)}
    for header in blocks:
        # Blocks stand in the order in which they are entered first, so that what goes back does so to an earlier one.
        latches = [b for b in header.predecessors if places[b] >= places[header]]
        found = _natural_loop(header, latches) if latches else None
        if found is None:
            continue
        inside = sorted(found, key=places.__getitem__)
        entries = [e for b in header.predecessors if b not in found for e in edges_of(b) if e.dest is header]
        exits = [edge for block in inside for edge in edges_of(block) if edge.dest not in found]
        if len(entries) == 1 and len(exits) == 1:
            yield LoopRegion(inside, entries[0], exits[0])


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


def _block_of(value: Value) -> Block:
    return value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr,return-value]
