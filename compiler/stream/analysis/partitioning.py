"""Partitioning: which async ops of a block run as one piece of work.

Enters: a block of async ops and host ops in program order. Leaves: partitions, each of ops for one device, with the
place in the block where all that it needs is there and nothing of it is needed yet.

Greedy, in one walk: an op joins the earliest partition of its device that it may run in. A partition is bounded from
above by the host ops that its ops read, and from below by the first host op that reads one of its results (a load of a
number, a loop, an export). Partitions are kept in the order of what they depend on.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.stream.interfaces import StorageRoots, execution_affinity, is_streamable, tied_results
from pyiree.compiler.stream.ops import TensorExportOp
from pyiree.compiler.stream.types import is_resource


class Partition:
    """Ops that run as one piece of work."""

    def __init__(self, affinity: Attribute | None, order: int, end: int) -> None:
        self.affinity = affinity
        self.order = order
        self.ops: list[Operation] = []
        #: The position of the last host op that it reads, and of the first one that reads it.
        self.after = -1
        self.before = end
        self.needs: set[Partition] = set()

    def __str__(self) -> str:
        names = ", ".join(op.name.removeprefix("stream.async.") for op in self.ops)
        return f"partition {self.order} on {self.affinity}: {names}"


class Partitioning:
    """The partitions of a block, in the order in which they run."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self.host_ops: list[Operation] = []
        self._partition_of: dict[Operation, Partition] = {}
        self._position: dict[Operation, int] = {}
        self.partitions: list[Partition] = []
        #: For each memory, by the first of its names, who used it so far: partitions, and the last host op.
        self._used_by: dict[Value, set[Partition]] = {}
        self._used_at: dict[Value, int] = {}
        self._roots = StorageRoots()
        ops = list(block.ops)
        self._end = _first_of_trailing_exports(ops)
        for position, op in enumerate(ops):
            self._position[op] = position
            if is_streamable(op):
                self._place(op)
            else:
                self._bound(op, position)
                self.host_ops.append(op)
            for value in captured_values(op):
                if is_resource(value.type):
                    self._note_use(self._roots[value], op)

    def partition_of(self, op: Operation) -> Partition | None:
        """The partition that an op is in."""
        return self._partition_of.get(op)

    def position(self, op: Operation) -> int:
        """Where an op stood in the block."""
        return self._position[op]

    def _dependencies(self, op: Operation) -> tuple[set[Partition], int]:
        """The partitions that an op depends on, and the position of the last host op that it reads."""
        needs: set[Partition] = set()
        after = -1
        # An op that writes in place comes after all that read what it overwrites.
        for _, operand in tied_results(op):
            root = self._roots[operand]
            needs.update(self._used_by.get(root, ()))
            after = max(after, self._used_at.get(root, -1))
        for value in captured_values(op):
            definer = _in_block(value.defining_op, self._block)
            if definer is None:
                continue
            partition = self._partition_of.get(definer)
            if partition is None:
                after = max(after, self._position[definer])
            else:
                needs.add(partition)
        return needs, after

    def _note_use(self, root: Value, op: Operation) -> None:
        partition = self._partition_of.get(op)
        if partition is None:
            self._used_at[root] = self._position[op]
        else:
            self._used_by.setdefault(root, set()).add(partition)

    def _place(self, op: Operation) -> None:
        needs, after = self._dependencies(op)
        affinity = execution_affinity(op)
        chosen = next((p for p in self.partitions if p.affinity is affinity and self._may_join(p, needs, after)), None)
        if chosen is None:
            chosen = Partition(affinity, len(self.partitions), self._end)
            self.partitions.append(chosen)
        chosen.ops.append(op)
        chosen.after = max(chosen.after, after)
        chosen.needs.update(needs - {chosen})
        self._partition_of[op] = chosen
        for other in chosen.needs:
            self._bring_forward(other, chosen.before)
            chosen.after = max(chosen.after, other.after)

    def _may_join(self, partition: Partition, needs: set[Partition], after: int) -> bool:
        """Whether an op fits: what it reads exists before the first host op that reads the partition."""
        if after >= partition.before:
            return False
        return all(
            need is partition or (need.order < partition.order and need.after < partition.before) for need in needs
        )

    def _bring_forward(self, partition: Partition, before: int) -> None:
        """A partition runs before whatever depends on it is read."""
        if before < partition.before:
            partition.before = before
            for need in partition.needs:
                self._bring_forward(need, before)

    def _bound(self, op: Operation, position: int) -> None:
        """A host op ends the partitions that it reads."""
        for value in captured_values(op):
            definer = _in_block(value.defining_op, self._block)
            partition = None if definer is None else self._partition_of.get(definer)
            if partition is not None:
                self._bring_forward(partition, position)

    def __str__(self) -> str:
        return "\n".join(map(str, self.partitions))


def _first_of_trailing_exports(ops: list[Operation]) -> int:
    """The position from which on a block only hands its results to the outside: all work starts before it."""
    position = len(ops) - 1
    while position > 0 and isinstance(ops[position - 1], TensorExportOp):
        position -= 1
    return position


def captured_values(op: Operation) -> Iterable[Value]:
    """The operands of an op and of all that is inside it."""
    if not op.regions:
        return op.operands
    return [value for nested in op.walk() for value in nested.operands]


def _in_block(op: Operation | None, block: Block) -> Operation | None:
    """The op, if it stands directly in the block."""
    return op if op is not None and op.block is block else None
