"""iree-stream-layout-slices: slices that are never alive together share the bytes of a slab.

Before: `stream.resource.pack` of slices, each with the interval in which it is alive.
After:  offsets and the total length are constants, or arithmetic on the sizes that are only known at run time.

    %total, %a, %b, %c = stream.resource.pack slices({ [0, 1] = %c64, [1, 2] = %c128, [2, 3] = %c64 }) : index
    →
    %total = 192, %a = 0, %b = 64, %c = 0

Slices of known size are placed first, the largest first, each at the lowest offset where it meets no slice that is
alive with it (first fit). Behind them slices of one and the same unknown size share places when their lives allow it.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from operator import itemgetter

from pyiree.compiler.dialects.util import AlignOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.encoding import IndexLike, IndexMath, constant_value
from pyiree.compiler.stream.ops import ResourcePackOp
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Where slices begin: devices want bindings at multiples of this.
SLICE_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes that are needed from a first to a last moment."""

    size: int
    first: int
    last: int

    def meets(self, other: Slice) -> bool:
        """Whether there is a moment at which both are needed."""
        return self.first <= other.last and other.first <= self.last


def pack_slices(slices: Sequence[Slice], alignment: int) -> tuple[list[int], int]:
    """An offset for each slice so that no two that meet overlap, and the bytes that all take together."""
    offsets = [0] * len(slices)
    placed: list[tuple[int, int, Slice]] = []  # offset, the next one after it, in the order of offsets
    total = 0
    for i in sorted(range(len(slices)), key=lambda i: (-slices[i].size, slices[i].first)):
        mine, offset = slices[i], 0
        for start, end, other in placed:
            if end > offset and other.meets(mine):
                if offset + mine.size <= start:
                    break
                offset = end
        offsets[i] = offset
        end = offset + align(mine.size, alignment)
        bisect.insort(placed, (offset, end, mine), key=itemgetter(0))
        total = max(total, end)
    return offsets, total


def align(value: int, alignment: int) -> int:
    """The next multiple of an alignment."""
    return (value + alignment - 1) // alignment * alignment


@register_pass("iree-stream-layout-slices", on=("util.func", "util.initializer"))
def layout_slices(host: Operation, context: PassContext) -> None:
    """Lays out every pack of a host function."""
    for pack in list(host.walk_type(ResourcePackOp)):
        _layout(pack)


def _layout(pack: ResourcePackOp) -> None:
    math = IndexMath(Builder.before(pack))
    base: IndexLike = 0 if pack.offset is None else pack.offset
    sizes = [_known_size(s) for s in pack.dynamic_slice_sizes]
    intervals = pack.intervals
    known = [i for i, size in enumerate(sizes) if size is not None]
    offsets, total = pack_slices([Slice(sizes[i], *intervals[i]) for i in known], SLICE_ALIGNMENT)  # type: ignore[arg-type]
    for i, offset in zip(known, offsets):
        pack.packed_offsets[i].replace_all_uses_with(math.value(math.add(base, offset)))
    end = math.add(base, total)
    unknown = [i for i, size in enumerate(sizes) if size is None]
    for size, members in _by_size(pack, unknown).items():
        length = _aligned(math, pack, size)
        for row in _rows([(i, *intervals[i]) for i in members]):
            for i in row:
                pack.packed_offsets[i].replace_all_uses_with(math.value(end))
            end = math.add(end, length)
    pack.total_length.replace_all_uses_with(math.value(end))
    pack.erase()


def _known_size(size: Value) -> int | None:
    """The number of bytes, seen through a rounding to whole slices."""
    op = size.defining_op
    if isinstance(op, AlignOp):
        inner, step = constant_value(op.value), constant_value(op.alignment)
        return None if inner is None or step is None else align(inner, step)
    return constant_value(size)


def _by_size(pack: ResourcePackOp, members: Sequence[int]) -> dict[Value, list[int]]:
    """Slices grouped by the value that is their size."""
    found: dict[Value, list[int]] = {}
    for i in members:
        found.setdefault(pack.dynamic_slice_sizes[i], []).append(i)
    return found


def _aligned(math: IndexMath, pack: ResourcePackOp, size: Value) -> Value:
    op = size.defining_op
    if isinstance(op, AlignOp) and constant_value(op.alignment) == SLICE_ALIGNMENT:
        return size
    return Builder.before(pack).insert(AlignOp(size, math.value(SLICE_ALIGNMENT))).result


def _rows(members: Sequence[tuple[int, int, int]]) -> list[list[int]]:
    """Slices of one size in as few places as there are moments in common (interval graph coloring)."""
    rows: list[tuple[int, list[int]]] = []
    for i, first, last in sorted(members, key=lambda m: m[1]):
        for k, (end, row) in enumerate(rows):
            if end < first:
                row.append(i)
                rows[k] = (last, row)
                break
        else:
            rows.append((last, [i]))
    return [row for _, row in rows]
