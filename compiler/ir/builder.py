"""Insertion points: where new ops go and which location they get.

What enters: a place in a block and detached ops. What leaves: ops in the block, in order of insertion, with the
builder's location where they have none of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pyiree.compiler.ir.core import Block, Operation, Region
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.types import Type

OpT = TypeVar("OpT", bound=Operation)


class Builder:
    """Inserts ops before `anchor` in `block`; an anchor of None is the end of the block."""

    def __init__(
        self, block: Block | None = None, anchor: Operation | None = None, location: Location = UNKNOWN
    ) -> None:
        self.block = block
        self.anchor = anchor
        self.location = location

    @classmethod
    def before(cls, op: Operation, location: Location | None = None) -> Builder:
        """Inserts before `op`, with its location unless another is given."""
        return cls(op.block, op, op.location if location is None else location)

    @classmethod
    def after(cls, op: Operation, location: Location | None = None) -> Builder:
        """Inserts after `op`, with its location unless another is given."""
        return cls(op.block, op.next_op, op.location if location is None else location)

    @classmethod
    def at_start(cls, block: Block, location: Location = UNKNOWN) -> Builder:
        """Inserts at the start of a block."""
        return cls(block, block.first_op, location)

    @classmethod
    def at_end(cls, block: Block, location: Location = UNKNOWN) -> Builder:
        """Inserts at the end of a block."""
        return cls(block, None, location)

    @classmethod
    def before_terminator(cls, block: Block, location: Location = UNKNOWN) -> Builder:
        """Inserts before the last op of a block."""
        return cls(block, block.terminator, location)

    def move_before(self, op: Operation) -> None:
        """Goes on before `op`."""
        self.block, self.anchor = op.block, op

    def move_after(self, op: Operation) -> None:
        """Goes on after `op`."""
        self.block, self.anchor = op.block, op.next_op

    def move_to_start(self, block: Block) -> None:
        """Goes on at the start of a block."""
        self.block, self.anchor = block, block.first_op

    def move_to_end(self, block: Block) -> None:
        """Goes on at the end of a block."""
        self.block, self.anchor = block, None

    def insert(self, op: OpT) -> OpT:
        """Inserts a detached op and returns it."""
        if self.block is None:
            raise ValueError(f"there is no insertion point for {op.name}")
        if op.location is UNKNOWN:
            op.location = self.location
        self.block.insert_before(self.anchor, op)
        return op

    @contextmanager
    def at_location(self, location: Location) -> Iterator[Builder]:
        """Ops inserted inside the `with` get this location."""
        outer, self.location = self.location, location
        try:
            yield self
        finally:
            self.location = outer

    @contextmanager
    def restored(self) -> Iterator[Builder]:
        """After the `with`, inserts again where it did before."""
        block, anchor, location = self.block, self.anchor, self.location
        try:
            yield self
        finally:
            self.block, self.anchor, self.location = block, anchor, location

    def create_block(
        self, region: Region, argument_types: Sequence[Type] = (), index: int | None = None
    ) -> Block:
        """Adds a block to a region (at its end, or at `index`) and goes on at its end."""
        block = Block(argument_types)
        for argument in block.arguments:
            argument.location = self.location
        region.insert(len(region.blocks) if index is None else index, block)
        self.move_to_end(block)
        return block

    def clone(self, op: OpT, mapping: dict[Any, Any] | None = None) -> OpT:
        """Inserts a copy of an op; see `Operation.clone`."""
        return self.insert(op.clone(mapping))
