"""SSA values: results of ops and arguments of blocks, with the ops that use them.

What enters: types and owners. What leaves: values that know their users, so that replacing one costs what there is
to change. Import these from `core`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.types import Type

if TYPE_CHECKING:
    from pyiree.compiler.ir.blocks import Block
    from pyiree.compiler.ir.core import Operation


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
        found = []
        for op, count in self._uses.items():
            at = -1
            for _ in range(count):
                at = op._operands.index(self, at + 1)
                found.append(Use(op, at))
        return found

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
