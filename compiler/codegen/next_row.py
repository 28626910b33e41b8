"""The row after this one, asked for while this one is gone through for the last time.

Enters: what a row-wise kernel reads along its rows. Leaves: prefetches of the same elements of the row after it, in the
loops that say where they are.

A core waits for few lines at once, and a loop that writes past the caches, or computes a lot, does not keep all of them
busy: what it leaves free brings the next row. Only its first loop would have to wait for it otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from .configure import Band
from .indexing import LaneScope, Sym
from .loops import storage_bytes
from .survey import Access, Survey
from .target import Target

# Bytes of a row up to which the processor looks ahead far enough by itself.
_SHORT_ROW = 1024
_LINE = 64


class NextRow:
    """What `accesses` read, a step of `rows` further."""

    def __init__(self, rows: Sym, accesses: Sequence[Access]):
        self._rows = rows
        self._accesses = list({(access.buffer, access.index): access for access in accesses}.values())

    def prefetch(self, scopes: Sequence[LaneScope], band: Band) -> None:
        """The lines of the next row that are where these neighbouring vectors of the loop over `band` are in theirs."""
        for access in self._accesses:
            if access.coefficients.get(band.inner) != 1:
                continue
            asked = set()
            step = access.coefficients[self._rows]
            for scope in scopes:
                where = scope.resolve(access.index)
                first = where.offset + (where.pattern if where.pattern.__class__ is int else where.pattern[0])
                line = first * storage_bytes(access.buffer.elem) // _LINE
                if line not in asked:
                    asked.add(line)
                    scope.builder.prefetch(access.buffer, where.base, first + step)


def next_row(found: Survey, rows: Band, target: Target) -> NextRow | None:
    """The row after one of `rows`, if any begin a step apart and are short enough for the second-level cache to hold
    several; None otherwise."""
    accesses = []
    for access in found.accesses:
        step = access.coefficients.get(rows.inner, 0)
        if access.store or access.opaque or step.__class__ is not int or access.buffer.writable:
            continue
        if _SHORT_ROW <= step * access.bytes <= target.l2_bytes // 4:
            accesses.append(access)
    return NextRow(rows.inner, accesses) if accesses else None
