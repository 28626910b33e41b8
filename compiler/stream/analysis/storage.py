"""Which memory the values of an execution region live in, and from when to when.

Enters: an execution region at the async level, concurrency regions inside. Leaves: for every value the storage that it
is a name of, and for every storage the moments of its first and last use.

A moment is the position of an op in the region's block; all that stands in one concurrency region happens at the
moment of that region. Storage has one name that was first: a captured resource, or the result of the op that makes it.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block, BlockArgument, Operation, OpResult, Value
from pyiree.compiler.stream.interfaces import tied_operand
from pyiree.compiler.stream.ops import AsyncConcurrentOp, AsyncExecuteOp
from pyiree.compiler.stream.types import is_resource


class StorageAnalysis:
    """The storage of the values of an execution region."""

    def __init__(self, execute: AsyncExecuteOp) -> None:
        self._execute = execute
        self._block: Block = execute.body.entry
        self._roots: dict[Value, Value] = {}
        self._live: dict[Value, tuple[int, int]] = {}
        for moment, op in enumerate(self._block.ops):
            for nested in op.walk():
                for value in (*nested.operands, *nested.results):
                    if is_resource(value.type):
                        self._touch(self.root(value), moment)

    def root(self, value: Value) -> Value:
        """The first name of the storage that a value lives in."""
        found = self._roots.get(value)
        if found is None:
            before = self._previous_name(value)
            found = self._roots[value] = value if before is None else self.root(before)
        return found

    def _previous_name(self, value: Value) -> Value | None:
        if isinstance(value, BlockArgument):
            wave: Any = value.block.parent_op
            return None if wave is self._execute else wave.resource_operands[value.index]
        if isinstance(value, OpResult) and isinstance(value.op, AsyncConcurrentOp):
            return value.op.body.entry.terminator.resource_operands[value.index]  # type: ignore[attr-defined]
        return tied_operand(value)

    def _touch(self, root: Value, moment: int) -> None:
        first, _ = self._live.get(root, (moment, moment))
        self._live[root] = (first, moment)

    def roots(self) -> list[Value]:
        """Every storage that is used, in the order of first use."""
        return list(self._live)

    def made_inside(self) -> list[OpResult]:
        """The storages that ops of the region make."""
        return [root for root in self._live if isinstance(root, OpResult)]

    def interval(self, root: Value) -> tuple[int, int]:
        """The first and the last moment at which a storage is used."""
        return self._live[root]

    def __str__(self) -> str:
        names = {root: i for i, root in enumerate(self._live)}
        return "\n".join(f"storage {names[root]}: [{a}, {b}]" for root, (a, b) in self._live.items())


def made_by(root: Value) -> Operation | None:
    """The op that makes a storage; None for captured resources."""
    return root.op if isinstance(root, OpResult) else None
