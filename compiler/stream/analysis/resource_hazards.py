"""Hazards: which ops of an execution region must wait for which others.

Enters: the block of a region, in program order. Leaves: for each op the earlier ops that it must come after.

Two ops conflict when they touch overlapping bytes of one memory and one of them writes. That an op takes over the
result of another one is no reason to wait if their ranges are apart: the pieces of a concatenation run side by side.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.interfaces import AccessRange, StorageRoots, access_ranges

#: So many accesses of unknown bounds are compared one by one; a write after more of them waits for all.
_CROWDED = 32


class _Accesses:
    """Accesses of one memory so far: those of known bounds that are apart in order, all others as they came.

    Everything that comes later waits for `barrier`.
    """

    def __init__(self, barrier: Operation | None = None) -> None:
        self._barrier = [] if barrier is None else [barrier]
        self._starts: list[int] = []
        self._known: list[tuple[int, Operation]] = []
        self._others: list[tuple[AccessRange, Operation]] = []

    def overlapping(self, access: AccessRange) -> Iterator[Operation]:
        """The ops that may have touched a byte of a range."""
        yield from self._barrier
        bounds = _bounds(access)
        if bounds is None:
            yield from (op for _, op in self._known)
        else:
            first = max(bisect_right(self._starts, bounds[0]) - 1, 0)
            for i in range(first, len(self._starts)):
                if self._starts[i] >= bounds[1]:
                    break
                if self._known[i][0] > bounds[0]:
                    yield self._known[i][1]
        yield from (op for other, op in self._others if may_overlap(access, other))

    @property
    def is_crowded(self) -> bool:
        """Whether comparing with each of them would take too long."""
        return len(self._others) > _CROWDED

    def all(self) -> list[Operation]:
        """The ops of all of them."""
        return [*self._barrier, *[op for _, op in self._known], *[op for _, op in self._others]]

    def add(self, access: AccessRange, op: Operation) -> None:
        """Notes an access."""
        bounds = _bounds(access)
        if bounds is None or len(list(self.overlapping(access))) > len(self._barrier):
            self._others.append((access, op))
            return
        at = bisect_right(self._starts, bounds[0])
        self._starts.insert(at, bounds[0])
        self._known.insert(at, (bounds[1], op))


def _bounds(access: AccessRange) -> tuple[int, int] | None:
    start = 0 if access.start is None else constant_value(access.start)
    end = constant_value(access.end)
    return None if start is None or end is None else (start, end)


class ResourceHazardAnalysis:
    """The conflicts between the ops of a block."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._waits_for: dict[Operation, list[Operation]] = {}
        roots = StorageRoots()
        reads: dict[Value, _Accesses] = defaultdict(_Accesses)
        writes: dict[Value, _Accesses] = defaultdict(_Accesses)
        for op in block.ops:
            ranges = [(roots[access.resource], access) for access in access_ranges(op)]
            found: dict[Operation, None] = {}
            for root, access in ranges:
                if access.writes and (writes[root].is_crowded or reads[root].is_crowded):
                    found.update(dict.fromkeys([*writes[root].all(), *reads[root].all()]))
                    reads[root], writes[root] = _Accesses(op), _Accesses(op)
                    continue
                found.update(dict.fromkeys(writes[root].overlapping(access)))
                if access.writes:
                    found.update(dict.fromkeys(reads[root].overlapping(access)))
            found.pop(op, None)
            self._waits_for[op] = list(found)
            for root, access in ranges:
                if access.writes:
                    if _covers_all(access):
                        reads[root], writes[root] = _Accesses(), _Accesses()
                    writes[root].add(access, op)
                if access.reads:
                    reads[root].add(access, op)

    def waits_for(self, op: Operation) -> list[Operation]:
        """The earlier ops of the block that an op must come after."""
        return self._waits_for[op]

    def waves(self, ops: list[Operation]) -> list[list[Operation]]:
        """The given ops, each as early as it may run; those of one wave may run at the same time.

        An op that takes a value without touching what its maker wrote comes in the wave of the maker or later.
        """
        level: dict[Operation, int] = {}
        waves: list[list[Operation]] = []
        for op in ops:
            makers = [value.defining_op for value in op.operands]
            at = max(
                [
                    *[level[maker] for maker in makers if maker in level],
                    *[level[other] + 1 for other in self._waits_for[op] if other in level],
                ],
                default=0,
            )
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
