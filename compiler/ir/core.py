"""Operations, values, blocks and regions: the graph that everything else works on.

What enters: op classes made by `definition.py` and their operands. What leaves: a mutable SSA graph with parent
links and use lists. An op sits in a doubly linked list of its block, so insertion, removal and moving are O(1); a
value knows its users, so replacing and erasing cost what there is to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.types import Type


class Use(NamedTuple):
    """One operand slot that reads a value."""

    owner: Operation
    index: int


class Value:
    """Something an op can read; `_uses` counts for each user how many of its operands it is."""

    __slots__ = ("_uses", "type")

    def __init__(self, type: Type) -> None:
        self.type = type
        self._uses: dict[Operation, int] = {}

    @property
    def defining_op(self) -> Operation | None:
        """The op whose result this is, or None for a block argument."""
        return None

    @property
    def users(self) -> list[Operation]:
        """The ops that read it, each once, in the order in which they began to."""
        return list(self._uses)

    @property
    def uses(self) -> list[Use]:
        """Every operand slot that reads it."""
        return [Use(op, i) for op in self._uses for i, operand in enumerate(op._operands) if operand is self]

    @property
    def has_uses(self) -> bool:
        """Whether anything reads it."""
        return bool(self._uses)

    @property
    def has_one_use(self) -> bool:
        """Whether exactly one operand slot reads it."""
        return len(self._uses) == 1 and next(iter(self._uses.values())) == 1

    def replace_all_uses_with(self, other: Value) -> None:
        """Makes every user read `other` instead."""
        if other is self:
            return
        for op in list(self._uses):
            op._exchange(self, other)

    def replace_uses_if(self, other: Value, condition: Callable[[Use], bool]) -> None:
        """Makes those users read `other` for whose slot `condition` holds."""
        for use in self.uses:
            if condition(use):
                use.owner.set_operand(use.index, other)


class OpResult(Value):
    """Result number `index` of `op`."""

    __slots__ = ("index", "op")

    def __init__(self, type: Type, op: Operation, index: int) -> None:
        self.type = type
        self._uses = {}
        self.op = op
        self.index = index

    @property
    def defining_op(self) -> Operation | None:
        return self.op

    @property
    def block(self) -> Block | None:
        """The block of the op."""
        return self.op.block

    @property
    def location(self) -> Location:
        """The location of the op."""
        return self.op.location

    def __repr__(self) -> str:
        return f"<result {self.index} of {self.op.name} : {self.type}>"


class BlockArgument(Value):
    """Argument number `index` of `block`."""

    __slots__ = ("block", "index", "location")

    def __init__(self, type: Type, block: Block, index: int, location: Location = UNKNOWN) -> None:
        self.type = type
        self._uses = {}
        self.block = block
        self.index = index
        self.location = location

    def __repr__(self) -> str:
        return f"<block argument {self.index} : {self.type}>"


def _add_use(value: Value, op: Operation) -> None:
    uses = value._uses
    uses[op] = uses.get(op, 0) + 1


def _drop_use(value: Value, op: Operation) -> None:
    uses = value._uses
    count = uses[op]
    if count == 1:
        del uses[op]
    else:
        uses[op] = count - 1


class Operation:
    """An operation. Declared ops are subclasses (`definition.Op`); others are `UnregisteredOp`.

    `properties` holds the attributes that belong to the op's declaration, `attributes` the discardable ones. The
    segment tuples say how many operands (results) each declared group has; they are None where counting suffices.
    """

    __slots__ = (
        "__weakref__", "_next", "_operands", "_order", "_prev", "_results", "_successors", "attributes", "block",
        "location", "operand_segments", "properties", "regions", "result_segments",
    )  # fmt: skip
    name: ClassVar[str] = ""
    traits: ClassVar[frozenset] = frozenset()
    #: The dialect prefix that ops inside this op's regions leave out in text.
    default_dialect: ClassVar[str] = ""

    def build(
        self,
        operands: Iterable[Value] = (),
        result_types: Iterable[Type] = (),
        properties: dict[str, Attribute] | None = None,
        attributes: dict[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
        successors: Iterable[Block] = (),
        location: Location = UNKNOWN,
        operand_segments: tuple[int, ...] | None = None,
        result_segments: tuple[int, ...] | None = None,
    ) -> Any:
        """Fills a fresh op (made by `cls.__new__(cls)`) from its parts; returns it."""
        self.block = self._prev = self._next = None
        self._order = 0
        self.location = location
        self.properties = {} if properties is None else properties
        self.attributes = {} if attributes is None else attributes
        self.operand_segments = operand_segments
        self.result_segments = result_segments
        self._operands = operands = tuple(operands)
        try:
            for value in operands:
                uses = value._uses
                uses[self] = uses.get(self, 0) + 1
        except AttributeError:
            raise TypeError(f"{self.name}: an operand must be a Value, not {type(value).__name__}") from None
        self._successors = successors = tuple(successors)
        for target in successors:
            target._users[self] = target._users.get(self, 0) + 1
        self.regions = regions = list(regions)
        for region in regions:
            region.parent_op = self
        self._results = tuple([OpResult(t, self, i) for i, t in enumerate(result_types)])
        return self

    # Operands, results and successors.

    def set_operands(self, operands: Iterable[Value]) -> None:
        """Replaces all operands; with segments use the fields' setters, which keep them right."""
        operands = tuple(operands)
        for value in self._operands:
            _drop_use(value, self)
        self._operands = operands
        for value in operands:
            _add_use(value, self)

    operands: Any = property(attrgetter("_operands"), set_operands, doc="All operands, as a tuple.")
    results: Any = property(attrgetter("_results"), doc="All results, as a tuple.")

    def set_operand(self, index: int, value: Value) -> None:
        """Replaces one operand."""
        operands = list(self._operands)
        _drop_use(operands[index], self)
        _add_use(value, self)
        operands[index] = value
        self._operands = tuple(operands)

    def _exchange(self, old: Value, new: Value) -> None:
        self._operands = tuple([new if operand is old else operand for operand in self._operands])
        new._uses[self] = new._uses.get(self, 0) + old._uses.pop(self)

    def set_successors(self, successors: Iterable[Block]) -> None:
        """Replaces all successors."""
        for target in self._successors:
            _drop_branch(target, self)
        self._successors = tuple(successors)
        for target in self._successors:
            target._users[self] = target._users.get(self, 0) + 1

    successors: Any = property(attrgetter("_successors"), set_successors, doc="Successor blocks, as a tuple.")

    @property
    def result(self) -> OpResult:
        """The only result."""
        if len(self._results) != 1:
            raise ValueError(f"{self.name} has {len(self._results)} results, not one")
        return self._results[0]

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of all results."""
        return tuple([r.type for r in self._results])

    @property
    def operand_types(self) -> tuple[Type, ...]:
        """The types of all operands."""
        return tuple([v.type for v in self._operands])

    # Attributes.

    def get_attr(self, name: str) -> Attribute | None:
        """An inherent or else a discardable attribute by name."""
        found = self.properties.get(name)
        return self.attributes.get(name) if found is None else found

    def set_attr(self, name: str, value: Attribute) -> None:
        """Sets an attribute by name: inherent if the op declares it, else discardable."""
        (self.properties if self.is_inherent(name) else self.attributes)[name] = value

    def remove_attr(self, name: str) -> Attribute | None:
        """Removes an attribute by name and returns it."""
        found = self.properties.pop(name, None)
        return self.attributes.pop(name, None) if found is None else found

    @classmethod
    def is_inherent(cls, name: str) -> bool:
        """Whether the op's declaration has an attribute of this name."""
        return False

    def has_trait(self, trait: Any) -> bool:
        """Whether the op is declared with a trait."""
        return trait in self.traits

    # Place.

    @property
    def parent_region(self) -> Region | None:
        """The region that the op is in."""
        return None if self.block is None else self.block.region

    @property
    def parent_op(self) -> Operation | None:
        """The op around this one."""
        region = self.parent_region
        return None if region is None else region.parent_op

    def parent_of_type(self, cls: type) -> Any:
        """The nearest op around this one that is an instance of `cls`, or None."""
        op = self.parent_op
        while op is not None and not isinstance(op, cls):
            op = op.parent_op
        return op

    def ancestors(self) -> Iterator[Operation]:
        """The ops around this one, nearest first."""
        op = self.parent_op
        while op is not None:
            yield op
            op = op.parent_op

    def is_ancestor_of(self, other: Operation) -> bool:
        """Whether `other` is this op or inside it."""
        return other is self or any(op is self for op in other.ancestors())

    @property
    def next_op(self) -> Operation | None:
        """The op after this one in its block."""
        return self._next

    @property
    def prev_op(self) -> Operation | None:
        """The op before this one in its block."""
        return self._prev

    def is_before_in_block(self, other: Operation) -> bool:
        """Whether this op comes before `other`, which is in the same block."""
        block = self.block
        if block is None or block is not other.block:
            raise ValueError(f"{self.name} and {other.name} are not in the same block")
        block._number_ops()
        return self._order < other._order

    def detach(self) -> Any:
        """Takes the op out of its block; it keeps its operands and uses. Returns the op."""
        block = self.block
        if block is not None:
            prev, following = self._prev, self._next
            if prev is None:
                block._first = following
            else:
                prev._next = following
            if following is None:
                block._last = prev
            else:
                following._prev = prev
            block._count -= 1
            self.block = self._prev = self._next = None
        return self

    def move_before(self, other: Operation) -> None:
        """Moves the op to just before `other`."""
        if other is not self:
            self.detach()
            other.block.insert_before(other, self)  # type: ignore[union-attr]

    def move_after(self, other: Operation) -> None:
        """Moves the op to just after `other`."""
        if other is not self:
            self.detach()
            other.block.insert_after(other, self)  # type: ignore[union-attr]

    def move_to_end(self, block: Block) -> None:
        """Moves the op to the end of `block`."""
        self.detach()
        block.append(self)

    # Ends.

    def replace_all_uses_with(self, values: Sequence[Value] | Operation) -> None:
        """Replaces each result by the value at its place."""
        new = values._results if isinstance(values, Operation) else values
        if len(new) != len(self._results):
            raise ValueError(f"{self.name} has {len(self._results)} results, given {len(new)} replacements")
        for old, value in zip(self._results, new):
            old.replace_all_uses_with(value)

    def drop_all_references(self) -> None:
        """Forgets operands and successors, of the ops inside too."""
        for value in self._operands:
            _drop_use(value, self)
        self._operands = ()
        for target in self._successors:
            _drop_branch(target, self)
        self._successors = ()
        for region in self.regions:
            for block in region.blocks:
                for op in block.ops:
                    op.drop_all_references()

    def erase(self) -> None:
        """Takes the op out and forgets it; its results must have no uses left."""
        for result in self._results:
            if result._uses:
                user = next(iter(result._uses))
                raise ValueError(f"cannot erase {self.name}: result {result.index} is still used by {user.name}")
        self.drop_all_references()
        self.detach()

    # Traversal and copies.

    def walk(self, post_order: bool = False) -> Iterator[Operation]:
        """This op and all ops inside; the op just yielded may be erased or moved."""
        if not post_order:
            yield self
        for region in tuple(self.regions):
            for block in tuple(region.blocks):
                op = block._first
                while op is not None:
                    following = op._next
                    if op.regions:
                        yield from op.walk(post_order)
                    else:
                        yield op
                    op = following
        if post_order:
            yield self

    def walk_type(self, cls: Any) -> Iterator[Any]:
        """The ops inside (and this one) that are instances of `cls` (a class or tuple of classes)."""
        return (op for op in self.walk() if isinstance(op, cls))

    def clone(self, mapping: dict[Any, Any] | None = None, *, regions: bool = True) -> Any:
        """A detached copy; `mapping` (values and blocks) says what operands become and learns the new results.

        With `regions=False` the copy has empty regions.
        """
        if mapping is None:
            mapping = {}
        get = mapping.get
        copy = self._copy_shell([get(v, v) for v in self._operands], [get(b, b) for b in self._successors])
        for old, new in zip(self._results, copy._results):
            mapping[old] = new
        copy.regions = [Region() for _ in self.regions]
        for source, target in zip(self.regions, copy.regions):
            target.parent_op = copy
            if regions:
                source.clone_into(target, mapping)
        return copy

    def _copy_shell(self, operands: list[Value], successors: list[Block]) -> Any:
        copy = self.__class__.__new__(self.__class__)
        return copy.build(
            operands, self.result_types, dict(self.properties), dict(self.attributes), (), successors,
            self.location, self.operand_segments, self.result_segments,
        )  # fmt: skip

    def __str__(self) -> str:
        from pyiree.compiler.ir.printer import print_operation

        return print_operation(self)

    def __repr__(self) -> str:
        return f"<{self.name} at {self.location}>"


class UnregisteredOp(Operation):
    """An op whose dialect is not registered; it has the generic form only."""

    __slots__ = ("name",)

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self.name = name  # type: ignore[misc]
        self.build(*args, **kwargs)

    def _copy_shell(self, operands: list[Value], successors: list[Block]) -> Any:
        return UnregisteredOp(
            self.name, operands, self.result_types, dict(self.properties), dict(self.attributes), (), successors,
            self.location, self.operand_segments, self.result_segments,
        )  # fmt: skip


def _drop_branch(block: Block, op: Operation) -> None:
    count = block._users[op]
    if count == 1:
        del block._users[op]
    else:
        block._users[op] = count - 1


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

    def clone_into(self, target: Region, mapping: dict[Any, Any]) -> None:
        """Appends copies of the blocks to `target`; see `Operation.clone` for `mapping`."""
        copies = []
        for block in self.blocks:
            copy = mapping[block] = target.append(Block())
            copies.append(copy)
            for argument in block.arguments:
                mapping[argument] = copy.add_argument(argument.type, argument.location)
        for block, copy in zip(self.blocks, copies):
            for op in block.ops:
                copy.append(op.clone(mapping))
        # An operand may be defined in a block further down the list, or further down a graph region.
        for copy in copies:
            for root in copy.ops:
                for op in root.walk():
                    if any(v in mapping for v in op._operands):
                        op.set_operands([mapping.get(v, v) for v in op._operands])

    def is_ancestor_of(self, op: Operation) -> bool:
        """Whether `op` is somewhere inside this region."""
        region = op.parent_region
        while region is not None and region is not self:
            parent = region.parent_op
            region = None if parent is None else parent.parent_region
        return region is self
