"""Rows that the data picks, asked for before their turn.

Enters: a survey of a kernel that goes along rows whose places come from what it loads, as `table[rows]` does.
Leaves: at the start of each row, prefetches of one that comes later.

The processor finds out by itself how a row goes on, but not where the next one begins, so that each row would wait for
memory anew. Where a later row lies is known as soon as its number is loaded.
"""

from __future__ import annotations

from collections.abc import Callable

from .configure import Band
from .dispatch import KernelContext
from .indexing import Index, Lanes, LaneScope
from .loops import Buffer, storage_bytes
from .nest import Range
from .survey import Access, Survey
from .target import Target

_LINE = 64
# As many bytes should be on their way as memory gives in the time that it takes to answer: several short rows.
_BYTES_AHEAD = 512
# The first lines of a long row are enough: the processor finds the others.
_MOST_BYTES = 4096


class RowsAhead:
    """Prefetches the rows that later rounds of the loop over `picking` go along in the loop over `row` in it."""

    def __init__(
        self,
        context: KernelContext,
        buffers: frozenset[Buffer],
        picking: tuple[Band, Range],
        row: tuple[Band, Range],
        visit: Callable[[LaneScope], None],
    ):
        self._builder = context.builder
        self._buffers = buffers
        self._picking, self._rounds = picking
        self._row, self._along = row
        self._visit = visit

    def prefetch(self, scope: LaneScope) -> None:
        """The lines of a later row, from a scope where the loop over rows is at one."""
        builder, length = self._builder, self._along.size
        for buffer, index, later in self._places(scope):
            bytes_each = storage_bytes(buffer.elem)
            where = later.resolve(index)
            with builder.for_(0, min(length, _MOST_BYTES // bytes_each), _LINE // bytes_each) as loop:
                builder.prefetch(buffer, builder.add(where.base, loop.index), where.offset)

    def _places(self, scope: LaneScope):
        """Where later rows begin: a buffer, an index, and the scope that says what is in it."""
        builder = self._builder
        row_bytes = self._along.size * max([storage_bytes(buffer.elem) for buffer in self._buffers])
        later = builder.add(scope.lanes_of(self._picking.syms).base, max(1, _BYTES_AHEAD // row_bytes))
        last = builder.sub(self._rounds.stop, 1)
        ahead = _Touching(scope)
        ahead.bind(self._picking.syms, Lanes(builder.min(later, last)))
        ahead.bind(self._row.syms, Lanes(self._along.start))
        self._visit(ahead)
        return [(buffer, index, ahead) for buffer, index in ahead.places if buffer in self._buffers]


class _Touching(LaneScope):
    """Writes down what is loaded; the values themselves are not used."""

    def __init__(self, scope: LaneScope):
        super().__init__(scope.builder, 1)
        self.take(scope)
        self.places: dict[tuple[Buffer, Index], None] = {}

    def touch(self, buffer: Buffer, index: Index, store: bool) -> None:
        if not store:
            self.places[buffer, index] = None


def rows_ahead(
    context: KernelContext,
    found: Survey,
    picking: tuple[Band, Range],
    row: tuple[Band, Range],
    target: Target,
    visit: Callable[[LaneScope], None],
) -> RowsAhead | None:
    """What prefetches rows of tables that the second-level cache does not hold; None where there are none. `visit`
    evaluates a point."""
    (outer, rounds), (inner, along) = picking, row
    if along.size is None or rounds.size == 1:
        return None

    def is_picked(access: Access) -> bool:
        is_row = access.coefficients.get(inner.inner) == 1 and access.opaque.isdisjoint(inner.syms)
        return (
            not access.store
            and is_row
            and not access.opaque.isdisjoint(outer.syms)
            and along.size * access.bytes >= 2 * _LINE
            and context.bytes_of(access.buffer) > target.l2_bytes
        )

    buffers = frozenset([access.buffer for access in found.accesses if is_picked(access)])
    return RowsAhead(context, buffers, picking, row, visit) if buffers else None
