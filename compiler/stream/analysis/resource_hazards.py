"""Hazards: which ops of an execution region must wait for which others.

Enters: the block of a region, in program order. Leaves: for each op the earlier ops that it must come after.

Two ops conflict when they touch overlapping bytes of one memory and one of them writes. That an op takes over the
result of another one is no reason to wait if their ranges are apart: the pieces of a concatenation run side by side.
"""

from __future__ import annotations

from collections import defaultdict

from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.interfaces import AccessRange, access_ranges, storage_root


class ResourceHazardAnalysis:
    """The conflicts between the ops of a block."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._waits_for: dict[Operation, list[Operation]] = {}
        reads: dict[Value, list[tuple[Operation, AccessRange]]] = defaultdict(list)
        writes: dict[Value, list[tuple[Operation, AccessRange]]] = defaultdict(list)
        for op in block.ops:
            ranges = access_ranges(op)
            found: dict[Operation, None] = {}
            for access in ranges:
                root = storage_root(access.resource)
                against = writes[root] + reads[root] if access.writes else writes[root]
                found.update(dict.fromkeys(other for other, earlier in against if may_overlap(access, earlier)))
            self._waits_for[op] = list(found)
            for access in ranges:
                root = storage_root(access.resource)
                if access.writes:
                    if _covers_all(access):
                        reads[root], writes[root] = [], []
                    writes[root].append((op, access))
                if access.reads:
                    reads[root].append((op, access))

    def waits_for(self, op: Operation) -> list[Operation]:
        """The earlier ops of the block that an op must come after."""
        return self._waits_for[op]

    def waves(self, ops: list[Operation]) -> list[list[Operation]]:
        """The given ops, each as early as it may run; those of one wave may run at the same time."""
        level: dict[Operation, int] = {}
        waves: list[list[Operation]] = []
        for op in ops:
            at = max([level[other] + 1 for other in self._waits_for[op] if other in level], default=0)
            level[op] = at
            while len(waves) <= at:
                waves.append([])
            waves[at].append(op)
        return waves

    def __str__(self) -> str:
        number = {op: i for i, op in enumerate(self._block.ops)}
        lines = []
        for op, others in self._waits_for.items():
            after = ", ".join([f"#{number[o]}" for o in others])
            lines.append(f"#{number[op]} {op.name} after {after}" if others else f"#{number[op]} {op.name}")
        return "\n".join(lines)


def may_overlap(a: AccessRange, b: AccessRange) -> bool:
    """Whether two ranges of one memory may have a byte in common."""
    return not (_ends_before(a, b) or _ends_before(b, a))


def _ends_before(a: AccessRange, b: AccessRange) -> bool:
    if b.start is None:
        return False
    if a.end is b.start:
        return True
    end, start = constant_value(a.end), constant_value(b.start)
    return end is not None and start is not None and end <= start


def _covers_all(access: AccessRange) -> bool:
    """Whether a write leaves nothing of what was there."""
    starts = access.start is None or constant_value(access.start) == 0
    if not starts or access.reads:
        return False
    if access.end is access.size:
        return True
    end, size = constant_value(access.end), constant_value(access.size)
    return end is not None and end == size
