"""Operations, values, blocks and regions: the graph that everything else works on.

What enters: op classes made by `definition.py` and their operands. What leaves: a mutable SSA graph with parent
links and use lists. An op sits in a doubly linked list of its block, so insertion, removal and moving are O(1).
Values are in `values.py`, blocks and regions in `blocks.py`; all are imported from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.blocks import Block, Region
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.types import Type
from pyiree.compiler.ir.values import BlockArgument, OpResult, Use, Value, _add_use, _drop_use

__all__ = ["Block", "BlockArgument", "OpResult", "Operation", "Region", "UnregisteredOp", "Use", "Value"]


def _drop_branch(block: Block, op: Operation) -> None:
    count = block._users[op]
    if count == 1:
        del block._users[op]
    else:
        block._users[op] = count - 1


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
        result_types: Sequence[Type] = (),
        properties: dict[str, Attribute] | None = None,
        attributes: dict[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
        successors: Sequence[Block] = (),
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
        if successors:
            self._successors = tuple(successors)
            for target in self._successors:
                target._users[self] = target._users.get(self, 0) + 1
        else:
            self._successors = ()
        self.regions = list(regions)
        for region in self.regions:
            region.parent_op = self
        self._results = tuple([OpResult(t, self, i) for i, t in enumerate(result_types)]) if result_types else ()
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
        count = old._uses.pop(self)
        operands, at = list(self._operands), -1
        for _ in range(count):
            at = operands.index(old, at + 1)
            operands[at] = new
        self._operands = tuple(operands)
        new._uses[self] = new._uses.get(self, 0) + count

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

    def add_result(self, type: Type) -> OpResult:
        """One more result, behind the others; for ops whose last group of results may have any number."""
        result = OpResult(type, self, len(self._results))
        self._results = (*self._results, result)
        return result

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
        self.take_apart()

    def take_apart(self) -> None:
        """Undoes the cycles between an op that nobody needs any more, its results and what is inside of it: its memory
        is free as soon as the last reference goes, without the collector."""
        self._results = ()
        for region in self.regions:
            region.parent_op = None
            for block in region.blocks:
                op = block._first
                while op is not None:
                    following = op._next
                    op.block = op._prev = op._next = None
                    op._operands = op._successors = ()
                    op.take_apart()
                    op = following
                block._first = block._last = block.region = None
                block.arguments = []

    # Traversal and copies.

    def walk(self, post_order: bool = False) -> Iterator[Operation]:
        """This op and all ops inside; the op just yielded may be erased or moved."""
        if post_order:
            yield from self._walk_inner_first()
            return
        yield from self.walk_type(Operation)

    def _walk_inner_first(self) -> Iterator[Operation]:
        for region in tuple(self.regions):
            for block in tuple(region.blocks):
                op = block._first
                while op is not None:
                    following = op._next
                    if op.regions:
                        yield from op._walk_inner_first()
                    else:
                        yield op
                    op = following
        yield self

    def nested_ops(self) -> list[Operation]:
        """All ops inside, as `walk` would meet them now; faster than it."""
        found: list[Operation] = []
        _collect_ops(self, found)
        return found

    def walk_type(self, cls: Any) -> Iterator[Any]:
        """This op and all ops inside that are instances of `cls` (a class or tuple of classes); as with `walk`, the one
        just yielded may be erased or moved."""
        if isinstance(self, cls):
            yield self
        # What is still to visit: blocks from their start, ops with those that follow them. One generator for the whole
        # tree, because nested ones cost a call a level for each op.
        pending: list[Any] = [block for region in reversed(self.regions) for block in reversed(region.blocks)]
        while pending:
            place = pending.pop()
            op = place._first if place.__class__ is Block else place
            while op is not None:
                following = op._next
                if isinstance(op, cls):
                    yield op
                if op.regions:
                    if following is not None:
                        pending.append(following)
                    pending += [block for region in reversed(op.regions) for block in reversed(region.blocks)]
                    break
                op = following

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
        if self.regions:
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
        return registry.operation_text(self)

    def __repr__(self) -> str:
        return f"<{self.name} at {self.location}>"


def _collect_ops(parent: Operation, found: list[Operation]) -> None:
    append = found.append
    for region in parent.regions:
        for block in region.blocks:
            op = block._first
            while op is not None:
                append(op)
                if op.regions:
                    _collect_ops(op, found)
                op = op._next


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
