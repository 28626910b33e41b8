"""Reductions down long columns that lie side by side in memory.

Enters: a `RowKernel` of one stage whose results are columns, and the band of the columns. Leaves: strips as wide as a
page; what has been accumulated for a strip is in local memory, and some rows at a time are added to it.

A strip that fits the registers reads a few lines of each row and then jumps to the next: memory is read in pieces too
short for the processor to look ahead, and each is in another page. In local memory, which is the first-level cache, the
accumulators of a whole page cost little, as one load and one store of them serve several rows.

    for row in 0, 8, …:  for column in strip:  local[column] += in[row, column] + … + in[row + 7, column]
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import configure
from ..configure import Tiles
from ..indexing import LaneScope
from ..loops import Buffer, Value
from ..nest import loop_nest, tile_ranges, vector_loop
from ..plan import Plan, count_factors
from ..reducers import BodyReducer, State, reducers_of
from ..row_kernel import RowKernel
from ..stages import LONG_SUM, Row, StageLoops, bound

# Bytes of a strip's row: of a page, as long as there are strips enough for many threads.
_MOST_BYTES = 4096
_LEAST_BYTES = 1024
_STRIPS = 8
# Rows that are added up in registers; each is a stream that the processor follows.
_ROWS = 8
# Columns shorter than this have no time to gain.
_LEAST_ROWS = 64


class WideColumns:
    def __init__(self, kernel: RowKernel, columns: int):
        self.kernel, self.columns = kernel, columns
        self.builder, self.bands = kernel.builder, kernel.row_bands
        self.stage = kernel.stages[0]
        self.lanes = configure.lanes_for(kernel.target, kernel.survey.element_bits)

    def pays(self) -> bool:
        """Whether memory that the second-level cache does not hold is read in rows longer than a strip in registers."""
        kernel, column = self.kernel, self.bands[self.columns]
        if len(kernel.stages) != 1 or kernel.domain.spread or kernel.memory.values or len(self.stage.bands) != 1:
            return False
        (rows,) = self.stage.bands
        extents = [band.extent for band in (*self.bands, rows)]
        if any(extent.__class__ is not int for extent in extents) or rows.extent < _LEAST_ROWS:
            return False
        reducers = [r for reduction in self.stage.reductions for r in reducers_of(self.builder, reduction.view)]
        if not self.stage.any_order or any(isinstance(reducer, BodyReducer) for reducer in reducers):
            return False

        def is_far_apart(access) -> bool:
            step = access.coefficients.get(rows.inner, 0)
            if access.store or access.opaque or access.coefficients.get(column.inner) != 1:
                return False
            return step.__class__ is int and step * access.bytes >= _LEAST_BYTES

        far = [access for access in kernel.survey.accesses if is_far_apart(access)]
        read = math.prod(extents) * max([access.bytes for access in far], default=0)
        return column.extent * max([a.bytes for a in far], default=0) >= _LEAST_BYTES and read > kernel.target.l2_bytes

    def build(self) -> Plan:
        kernel, builder, bands = self.kernel, self.builder, self.bands
        sizes = [1] * len(bands)
        sizes[self.columns] = self._width()
        tiles = Tiles([size if size < band.extent else 0 for size, band in zip(sizes, bands, strict=True)])
        ranges = tile_ranges(builder, bands, tiles)
        outer = [k for k in range(len(bands)) if k != self.columns]
        self.range = ranges[self.columns]
        self.plan = kernel.vector_plan(self.lanes, self.columns)
        loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], self._strip)
        return Plan(builder.finish(), count_factors(kernel.context, [b.extent for b in bands], tiles.sizes) or [1])

    def _width(self) -> int:
        """The columns of a strip, whole vectors."""
        column = self.bands[self.columns].extent
        others = math.prod([band.extent for band in self.bands]) // column
        bytes_each = max([access.bytes for access in self.kernel.survey.accesses])
        width = _MOST_BYTES // bytes_each
        while width * bytes_each > _LEAST_BYTES and others * -(-column // width) < _STRIPS:
            width //= 2
        return max(width, self.lanes)

    def _strip(self, scope: LaneScope) -> None:
        """All rows of a strip."""
        builder = self.builder
        (rows,) = self.stage.bands
        self.is_long = rows.extent > LONG_SUM
        whole = rows.extent - rows.extent % _ROWS
        self.totals: list[list[Buffer]] | None = None
        self._along(scope, self._begin)
        with builder.for_(0, whole, _ROWS) as loop:
            self._along(scope, lambda inner: self._add(inner, loop.index, _ROWS))
        if whole < rows.extent:
            self._along(scope, lambda inner: self._add(inner, whole, rows.extent - whole))
        self._along(scope, self._finish)

    def _along(self, scope: LaneScope, body: Callable[[LaneScope], None]) -> None:
        def each(scopes: list[LaneScope]) -> None:
            for inner in scopes:
                body(inner)

        vector_loop(scope, self.bands[self.columns], self.range, self.plan, each)

    def _loops(self, scope: LaneScope) -> StageLoops:
        return StageLoops(self.stage, [Row(self.kernel.context, scope)], None, 1, self.kernel.memory, 0)

    # -- one vector of columns

    def _begin(self, scope: LaneScope) -> None:
        reducers = [reducer for _, _, reducer in self._loops(scope).reducers]
        states = [r.begin_total(scope.lanes) if self.is_long else r.begin(scope.lanes) for r in reducers]
        if self.totals is None:
            self.totals = [[self._local(value) for value in state] for state in states]
        self._store(scope, states)

    def _local(self, value: Value) -> Buffer:
        elem = value.type.elem
        return self.builder.local(f"totals{len(self.builder.buffers)}", elem, self._width() + self.lanes)

    def _add(self, scope: LaneScope, row, count: int) -> None:
        """Some rows, summed up on their own where the sum is long."""
        loops = self._loops(scope)
        totals = self._load(scope)
        reducers = [reducer for _, _, reducer in loops.reducers]
        chunks = [r.begin_chunk(t) if self.is_long else t for r, t in zip(reducers, totals, strict=True)]
        steps = [[bound(scope, self.stage.bands[0], row, number)] for number in range(count)]
        chunks = loops.take(chunks, steps)
        if self.is_long:
            chunks = [r.end_chunk(t, c) for r, t, c in zip(reducers, totals, chunks, strict=True)]
        self._store(scope, chunks)

    def _finish(self, scope: LaneScope) -> None:
        loops = self._loops(scope)
        loops.provide(self._load(scope), self.is_long)
        self.kernel.store_row(loops.rows[0])

    def _place(self, scope: LaneScope) -> tuple:
        """Where a vector of columns is in the strip."""
        at = scope.lanes_of(self.bands[self.columns].syms)
        first = at.pattern if at.pattern.__class__ is int else at.pattern[0]
        return self.builder.sub(at.base, self.range.start), first

    def _load(self, scope: LaneScope) -> list[State]:
        base, first = self._place(scope)
        return [[self.builder.load(b, base, first, scope.lanes) for b in buffers] for buffers in self.totals]

    def _store(self, scope: LaneScope, states: list[State]) -> None:
        base, first = self._place(scope)
        for buffers, state in zip(self.totals, states, strict=True):
            for buffer, value in zip(buffers, state, strict=True):
                self.builder.store(value, buffer, base, first)
