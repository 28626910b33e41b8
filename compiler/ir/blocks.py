"""Blocks and regions.

What enters: detached ops and blocks. What leaves: ordered lists of ops with O(1) insertion and removal, and regions
of blocks. Import these from `core`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.types import Type
from pyiree.compiler.ir.values import BlockArgument

if TYPE_CHECKING:
    from pyiree.compiler.ir.core import Operation


class Block:
    """Arguments and a linked list of ops; `_users` counts the branches to it."""

    __slots__ = ("__weakref__", "_count", "_first", "_last", "_numbered", "_users", "arguments", "region")

    def __init__(self, argument_types: Iterable[Type] = (), ops: Iterable[Operation] = ()) -> None:
        self._first: Operation | None = None
        self._last: Operation | None = None
        self._count = 0
        self._numbered = True
        self._users: dict[Operation, int] = {}
        self.region: Region | None = None
        self.arguments = [BlockArgument(t, self, i) for i, t in enumerate(argument_types)]
        for op in ops:
            self.append(op)

    # Ops.

    @property
    def ops(self) -> Iterator[Operation]:
        """The ops in order; the one just yielded may be erased or moved."""
        op = self._first
        while op is not None:
            following = op._next
            yield op
            op = following

    @property
    def reversed_ops(self) -> Iterator[Operation]:
        """The ops in reverse order; the one just yielded may be erased or moved."""
        op = self._last
        while op is not None:
            previous = op._prev
            yield op
            op = previous

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True

    @property
    def first_op(self) -> Operation | None:
        """The first op."""
        return self._first

    @property
    def last_op(self) -> Operation | None:
        """The last op."""
        return self._last

    @property
    def terminator(self) -> Operation:
        """The last op; an error if the block is empty."""
        if self._last is None:
            raise ValueError("the block is empty and has no terminator")
        return self._last

    def _adopt(self, op: Operation) -> None:
        if op.block is not None:
            raise ValueError(f"{op.name} is in a block already; detach it first")
        op.block = self
        self._count += 1

    def append(self, op: Operation) -> None:
        """Puts a detached op at the end."""
        self._adopt(op)
        last = self._last
        op._prev = last
        if last is None:
            self._first = op
            op._order = 0
        else:
            last._next = op
            op._order = last._order + 1
        self._last = op

    def prepend(self, op: Operation) -> None:
        """Puts a detached op at the start."""
        if self._first is None:
            self.append(op)
        else:
            self.insert_before(self._first, op)

    def insert_before(self, anchor: Operation | None, op: Operation) -> None:
        """Puts a detached op just before `anchor`; None is the end."""
        if anchor is None:
            self.append(op)
            return
        if anchor.block is not self:
            raise ValueError(f"{anchor.name} is not in this block")
        self._adopt(op)
        previous = anchor._prev
        op._prev, op._next, anchor._prev = previous, anchor, op
        if previous is None:
            self._first = op
        else:
            previous._next = op
        self._numbered = False

    def insert_after(self, anchor: Operation, op: Operation) -> None:
        """Puts a detached op just after `anchor`."""
        if anchor._next is None and anchor.block is self:
            self.append(op)
        else:
            self.insert_before(anchor._next, op)

    def _number_ops(self) -> None:
        if not self._numbered:
            op, order = self._first, 0
            while op is not None:
                op._order = order
                order += 1
                op = op._next
            self._numbered = True

    # Arguments.

    def add_argument(self, type: Type, location: Location = UNKNOWN) -> BlockArgument:
        """Appends an argument."""
        argument = BlockArgument(type, self, len(self.arguments), location)
        self.arguments.append(argument)
        return argument

    def insert_argument(self, index: int, type: Type, location: Location = UNKNOWN) -> BlockArgument:
        """Puts an argument at a position."""
        argument = BlockArgument(type, self, index, location)
        self.arguments.insert(index, argument)
        self._number_arguments()
        return argument

    def replace_argument(self, index: int, type: Type, location: Location = UNKNOWN) -> BlockArgument:
        """Puts a new argument where another one is, which keeps its uses but belongs to no block any more."""
        argument = self.arguments[index] = BlockArgument(type, self, index, location)
        return argument

    def erase_argument(self, index: int) -> None:
        """Removes an argument that has no uses."""
        if self.arguments[index]._uses:
            raise ValueError(f"block argument {index} is still used")
        del self.arguments[index]
        self._number_arguments()

    def _number_arguments(self) -> None:
        for i, argument in enumerate(self.arguments):
            argument.index = i

    @property
    def argument_types(self) -> tuple[Type, ...]:
        """The types of the arguments."""
        return tuple([a.type for a in self.arguments])

    # Place and control flow.

    @property
    def parent_op(self) -> Operation | None:
        """The op whose region holds this block."""
        return None if self.region is None else self.region.parent_op

    @property
    def is_entry(self) -> bool:
        """Whether it is the first block of its region."""
        return self.region is not None and self.region.blocks[0] is self

    @property
    def predecessors(self) -> list[Block]:
        """The blocks that branch here, each once."""
        return list(dict.fromkeys(op.block for op in self._users if op.block is not None))

    @property
    def successors(self) -> tuple[Block, ...]:
        """The blocks that the terminator branches to."""
        return () if self._last is None else self._last._successors

    def split_before(self, op: Operation) -> Block:
        """Moves `op` and all after it into a new block that follows this one; nothing branches there yet."""
        if self.region is None:
            raise ValueError("a block outside of a region cannot be split")
        rest = Block()
        self.region.insert(self.region.blocks.index(self) + 1, rest)
        current: Operation | None = op
        while current is not None:
            following = current._next
            current.move_to_end(rest)
            current = following
        return rest

    def erase(self) -> None:
        """Removes the block with its ops; nothing may branch here or use its values."""
        if self._users:
            raise ValueError("cannot erase a block that is branched to")
        self.clear()
        if self.region is not None:
            self.region.blocks.remove(self)
            self.region = None

    def clear(self) -> None:
        """Erases all ops, last first."""
        for op in self.reversed_ops:
            op.erase()


class Region:
    """A list of blocks; the first is the entry."""

    __slots__ = ("__weakref__", "blocks", "parent_op")

    def __init__(self, blocks: Block | Iterable[Block] = ()) -> None:
        self.parent_op: Operation | None = None
        self.blocks: list[Block] = []
        for block in (blocks,) if isinstance(blocks, Block) else blocks:
            self.append(block)

    def append(self, block: Block) -> Block:
        """Adds a block at the end and returns it."""
        return self.insert(len(self.blocks), block)

    def insert(self, index: int, block: Block) -> Block:
        """Adds a block at a position and returns it."""
        if block.region is not None:
            raise ValueError("the block is in a region already")
        block.region = self
        self.blocks.insert(index, block)
        return block

    @property
    def entry(self) -> Block:
        """The first block; an error if there is none."""
        if not self.blocks:
            raise ValueError("the region is empty")
        return self.blocks[0]

    @property
    def is_empty(self) -> bool:
        """Whether there are no blocks."""
        return not self.blocks

    @property
    def ops(self) -> Iterator[Operation]:
        """The ops of all blocks, not those nested further."""
        for block in tuple(self.blocks):
            yield from block.ops

    def walk(self, post_order: bool = False) -> Iterator[Operation]:
        """All ops inside."""
        for op in self.ops:
            yield from op.walk(post_order)

    def take_body(self, other: Region) -> None:
        """Moves all blocks of `other` to the end of this region."""
        for block in other.blocks:
            block.region = self
        self.blocks.extend(other.blocks)
        other.blocks = []

    def move_blocks_before(self, block: Block) -> None:
        """Moves all blocks of this region to just before `block`, in its region."""
        target = block.region
        if target is None:
            raise ValueError("the block is in no region")
        at = target.blocks.index(block)
        for moved in self.blocks:
            moved.region = target
        target.blocks[at:at] = self.blocks
        self.blocks = []

    def clone_into(self, target: Region, mapping: dict[Any, Any]) -> None:
        """Appends copies of the blocks to `target`; see `Operation.clone` for `mapping`."""
        unresolved: list[Operation] = []
        self._clone_blocks(target, mapping, unresolved)
        # An operand may be defined in a block further down the list, or further down a graph region.
        get = mapping.get
        for op in unresolved:
            if any(v in mapping for v in op._operands):
                op.set_operands([get(v, v) for v in op._operands])

    def _clone_blocks(self, target: Region, mapping: dict[Any, Any], unresolved: list[Operation]) -> None:
        """Copies the blocks; `unresolved` gets the copies that have operands without a copy yet."""
        copies = []
        for block in self.blocks:
            copy = mapping[block] = target.append(Block())
            copies.append(copy)
            for argument in block.arguments:
                mapping[argument] = copy.add_argument(argument.type, argument.location)
        for block, copy in zip(self.blocks, copies):
            op = block._first
            while op is not None:
                missing = not all(v in mapping for v in op._operands)
                clone = op.clone(mapping, regions=False)
                if missing:
                    unresolved.append(clone)
                for source, inner in zip(op.regions, clone.regions):
                    source._clone_blocks(inner, mapping, unresolved)
                copy.append(clone)
                op = op._next

    def is_ancestor_of(self, op: Operation) -> bool:
        """Whether `op` is somewhere inside this region."""
        region = op.parent_region
        while region is not None and region is not self:
            parent = region.parent_op
            region = None if parent is None else parent.parent_region
        return region is self
