"""Lines of memory that are asked for before their turn: further along, or in the row after this one.

Enters: what a kernel reads, as its survey tells. Leaves: prefetches beside the loads of a loop.

The processor looks ahead by itself, but not past the end of a page, and it takes a while to find out where a row goes
on. Results on their way to memory, or much to compute, leave it time to bring more: what is asked for in good time
fills that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .configure import Band
from .dispatch import KernelContext
from .indexing import LaneScope, Sym
from .loops import storage_bytes
from .survey import Access, Survey
from .target import Target

# Bytes of a row up to which the processor looks ahead far enough by itself.
_SHORT_ROW = 1024
_LINE = 64
# How far further along: so many bytes come from memory in the time that it takes to answer.
_BYTES_AHEAD = 2048
# Loops shorter than this (in bytes) would mostly ask for what they do not reach.
_LONG_LOOP = 4 * _BYTES_AHEAD


class LinesAhead:
    """What some accesses will read so many elements from where they are."""

    def __init__(self, distances: Iterable[tuple[Access, int]]):
        places = {(access.buffer, access.index): (access, distance) for access, distance in distances}
        self._places = list(places.values())

    def prefetch(self, scopes: Sequence[LaneScope], inner: Sym) -> None:
        """Asks for the lines that these neighbouring vectors of a loop over `inner` are so far from; points one by one
        have no need."""
        for access, distance in self._places:
            if access.coefficients.get(inner) != 1:
                continue
            asked = set()
            for scope in scopes:
                where = scope.resolve(access.index)
                if where.pattern is None:
                    continue
                first = where.offset + where.pattern[0]
                line = first * storage_bytes(access.buffer.elem) // _LINE
                if line not in asked:
                    asked.add(line)
                    scope.builder.prefetch(access.buffer, where.base, first + distance)


def next_row(found: Survey, rows: Band, target: Target) -> LinesAhead | None:
    """The row after one of `rows`, if any begin a step apart and are short enough for the second-level cache to hold
    several; None otherwise."""
    distances = []
    for access in found.accesses:
        step = access.coefficients.get(rows.inner, 0)
        if access.store or access.opaque or step.__class__ is not int or access.buffer.writable:
            continue
        if _SHORT_ROW <= step * access.bytes <= target.l2_bytes // 4:
            distances.append((access, step))
    return LinesAhead(distances) if distances else None


def further_along(found: Survey, band: Band, context: KernelContext, target: Target) -> LinesAhead | None:
    """What a loop over `band` reads later of operands that the second-level cache does not hold; None where that is
    nothing."""
    if band.extent.__class__ is not int or any(found.cuts.values()):
        return None
    distances = [
        (access, _BYTES_AHEAD // access.bytes)
        for access in found.accesses
        if not access.store
        and not access.opaque
        and not access.buffer.writable
        and access.coefficients.get(band.inner) == 1
        and band.extent * access.bytes >= _LONG_LOOP
        and context.bytes_of(access.buffer) > target.l2_bytes
    ]
    return LinesAhead(distances) if distances else None
