"""Which values are live where in a function.

Enters: a function (any op with a body of blocks). Leaves: for each block the values that are live at its start and at
its end, and for each op the operands that nothing reads after it. Sets are bit masks over numbered values.

A branch reads its operands at the end of its block; arguments are defined at the start of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyiree.compiler.ir.core import Block, Operation, Value


class Liveness:
    """Liveness of the values of one function, as it is when this is made."""

    def __init__(self, blocks: list[Block]) -> None:
        self.values: list[Value] = []
        self.numbers: dict[Value, int] = {}
        for block in blocks:
            self._number(block.arguments)
            for op in block.ops:
                self._number(op.results)
        self.live_in: dict[Block, int] = {}
        self.live_out: dict[Block, int] = {}
        self._solve(blocks)

    def _number(self, values: Iterable[Value]) -> None:
        for value in values:
            self.numbers[value] = len(self.values)
            self.values.append(value)

    def mask(self, values: Iterable[Value]) -> int:
        """The set of some values."""
        mask, numbers = 0, self.numbers
        for value in values:
            mask |= 1 << numbers[value]
        return mask

    def members(self, mask: int) -> Iterator[Value]:
        """The values of a set, in order of definition."""
        while mask:
            low = mask & -mask
            yield self.values[low.bit_length() - 1]
            mask ^= low

    def contains(self, mask: int, value: Value) -> bool:
        """Whether a value is in a set."""
        return bool(mask >> self.numbers[value] & 1)

    def test(self, mask: int) -> Callable[[Value], bool]:
        """A function that says whether a value is in a set."""
        numbers = self.numbers
        return lambda value: bool(mask >> numbers[value] & 1)

    def _solve(self, blocks: list[Block]) -> None:
        reads: dict[Block, int] = {}
        defines: dict[Block, int] = {}
        for block in blocks:
            defined, read = self.mask(block.arguments), 0
            for op in block.ops:
                read |= self.mask(op.operands) & ~defined
                defined |= self.mask(op.results)
            reads[block], defines[block] = read, defined
            self.live_in[block], self.live_out[block] = read, 0
        changed = True
        while changed:
            changed = False
            for block in reversed(blocks):
                out = 0
                for successor in block.successors:
                    out |= self.live_in[successor]
                if out != self.live_out[block]:
                    self.live_out[block] = out
                    before = self.live_in[block]
                    self.live_in[block] = reads[block] | (out & ~defines[block])
                    changed = changed or self.live_in[block] != before

    def live_after(self, block: Block) -> Iterator[tuple[Operation, int]]:
        """Each op of a block, last first, with what is live just after it; the ops may be moved meanwhile."""
        live = self.live_out[block]
        for op in block.reversed_ops:
            yield op, live
            live = live & ~self.mask(op.results) | self.mask(op.operands)


def branch_targets(op: Any) -> list[tuple[Block, tuple[Value, ...]]]:
    """The successors of a terminator with what it passes to each."""
    return [(block, op.branch_operands(i)) for i, block in enumerate(op.successors)]


def edge_keeps(live: Liveness, target: Block, passed: tuple[Value, ...], value: Value) -> bool:
    """Whether a value goes on over an edge: as itself, or as an argument of the block that follows."""
    return value in passed or live.contains(live.live_in[target], value)
