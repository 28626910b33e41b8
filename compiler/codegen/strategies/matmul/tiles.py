"""Matrix products of known size, blocked for registers and caches.

Enters: a dispatch whose contraction is a `MatmulShape`. Leaves: a kernel in which each workgroup has a block of rows
and columns. The summed dim is cut into blocks; for each, the column factor is packed into panels in local memory, and
every few rows of the row factor into a small buffer beside it, converted on the way if they have to be. In the
innermost loop a tile of accumulators stays in registers: every step loads the vectors of one panel row and broadcasts
one element of each row. What follows the product is applied when a tile's last block is done.

A factor that is plain in memory and small, or used too seldom for packing to pay, is read in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ...configure import Band
from ...indexing import Dim, Lanes, LaneScope
from ...loops import BOOL, Value, vector
from ...nest import Range
from ...plan import Plan
from ...row_kernel import RowKernel
from .factors import column_parts, column_source, row_source
from .results import Block, Results, plan_workgroups
from .shape import MatmulShape
from .sums import Place, has_epilogue, sums_of
from .tile_sizes import UNITS_OF_A_ROUND, choose_sizes


class TiledMatmul:
    def __init__(self, kernel: RowKernel, shape: MatmulShape, lanes: int):
        self.kernel, self.shape, self.lanes = kernel, shape, lanes
        self.builder = kernel.builder
        self.sizes = sizes = choose_sizes(kernel, shape, lanes)
        self.columns = column_source(kernel, shape, sizes, lanes)
        self.rows = row_source(kernel, shape, sizes, lanes)
        sums = sums_of(kernel, shape, sizes.kept_rows, sizes.column_vectors * lanes) if sizes.keeps_sums else None
        self.results = Results(kernel, shape, lanes, sums)

    def build(self) -> Plan:
        return plan_workgroups(self.kernel, self.shape, self.sizes.tiles, self._workgroup)

    # -- loops

    def _workgroup(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        block = Block(scope, rows, columns, 0, self.shape.products.extent)
        self._outer_products(block, list(self.shape.outer_products))

    def _outer_products(self, block: Block, bands: list[Band]) -> None:
        """Loops over the outer summed dims and, inside, over blocks of the inner one."""
        builder, extent, depth = self.builder, self.shape.products.extent, self.sizes.depth
        if bands:
            with builder.for_(0, bands[0].extent, 1, covered=True) as loop:
                scope = block.scope.copy()
                scope.bind(bands[0].syms, Lanes(loop.index))
                begins = self._both(block.begins, loop.index, 0)
                ends = self._both(block.ends, loop.index, bands[0].extent - 1)
                self._outer_products(replace(block, scope=scope, begins=begins, ends=ends), bands[1:])
        elif depth >= extent:
            self._block(block)
        else:
            with builder.for_(0, extent, depth, covered=True) as loop:
                count = depth if extent % depth == 0 else builder.min(depth, builder.sub(extent, loop.index))
                begins = self._both(block.begins, loop.index, 0)
                ends = self._both(block.ends, builder.add(loop.index, count), extent)
                self._block(replace(block, first=loop.index, count=count, begins=begins, ends=ends))

    def _both(self, condition: Value | None, index: Dim, wanted: int) -> Value:
        """A condition, and that an index is the wanted one."""
        builder = self.builder
        equal = builder.op("arith.cmpi", (builder.index(index), builder.index(wanted)), BOOL, "eq")
        return builder.and_(condition, equal)

    def _block(self, block: Block) -> None:
        """One block of products for all tiles of the workgroup."""
        self.columns.fill(block.scope, block.columns, block.first, block.count)

        def strip(here: Block, row: Dim, height: int) -> None:
            self._panels(block.columns, lambda column, width: self._tile(here, row, height, column, width))
            if self.sizes.finishes_in_loop:
                self._when_summed_up(block, lambda: self.results.finish_kept(block, row, height))

        def packed(rows: Range) -> None:
            here = replace(block, packed=rows)
            self.rows.fill(here)
            self._strips(rows, lambda row, height: strip(here, row, height))

        if self.sizes.packs_rows and self.sizes.packed_rows > self.sizes.height:
            self._groups(block.rows, packed)
        elif self.sizes.packs_rows:
            self._strips(block.rows, lambda row, height: packed(Range(row, self.builder.add(row, height), height, 1)))
        else:
            packed(block.rows)

    def _groups(self, rows: Range, body: Callable[[Range], None]) -> None:
        """The rows that are packed together."""
        builder, count = self.builder, self.sizes.packed_rows
        with builder.for_(rows.start, rows.stop, count, covered=True) as loop:
            end = builder.add(loop.index, count)
            exact = rows.size is not None and rows.size % count == 0
            body(Range(loop.index, end if exact else builder.min(end, rows.stop), count if exact else None, 1))

    def _strips(self, rows: Range, body: Callable[[Dim, int], None]) -> None:
        """Blocks of `height` rows, then the rest, which only the last rows have."""
        builder, height = self.builder, self.sizes.height
        if self.shape.rows is None or rows.size == self.kernel.row_bands[self.shape.rows].extent % height:
            body(rows.start, rows.size)
            return
        length = rows.size if rows.size is not None else builder.sub(rows.stop, rows.start)
        main = builder.add(rows.start, builder.round_down(length, height))
        if length == height:
            body(rows.start, height)
        elif length.__class__ is not int or length > height:
            with builder.for_(rows.start, main, height, covered=True) as loop:
                body(loop.index, height)
        rest = self.kernel.row_bands[self.shape.rows].extent % height
        if rest and (length.__class__ is not int or length % height):
            with builder.for_(main, rows.stop, rest, covered=True) as loop:
                body(loop.index, rest)

    def _panels(self, columns: Range, body: Callable[[Dim, int], None]) -> None:
        """Panels of whole vectors by their first column, then the narrower last one."""
        band = self.kernel.row_bands[self.shape.columns]
        for begin, end, step, width in column_parts(self.builder, band, columns, self.sizes.width * self.lanes):
            with self.builder.for_(begin, end, step, covered=True) as loop:
                body(loop.index, width)

    def _when_summed_up(self, block: Block, body: Callable[[], None], otherwise: Callable[[], None] | None = None):
        """Runs `body` in the last block of products, and `otherwise` in those before."""
        builder = self.builder
        if block.ends is None:
            body()
            return
        with builder.if_(block.ends):
            body()
        if otherwise is not None:
            with builder.if_(builder.op("arith.xori", (block.ends, builder.const(1, BOOL)), BOOL)):
                otherwise()

    # -- one tile

    def _tile(self, block: Block, row: Dim, height: int, column: Dim, width: int) -> None:
        """Some rows against one panel of `width` columns."""
        builder, results = self.builder, self.results
        vectors = range(0, width, self.lanes)
        places = [Place(row, number, column, offset) for number in range(height) for offset in vectors]
        corners = [results.corner(block, place, width) for place in places]
        state = [builder.const(0, vector(self.shape.reducer.state_elem, self.lanes))] * len(places)
        units, main = self.sizes.elements.units(block.count), 0

        def step(sums: list[Value], at: Dim, number: int = 0) -> list[Value]:
            return self._step(block, sums, row, height, column, width, at, number)

        if self.sizes.asks_ahead:
            main = builder.round_down(units, UNITS_OF_A_ROUND)
            with builder.for_(0, main, UNITS_OF_A_ROUND, state) as loop:
                self._ask_ahead(block, row, height, column, width, loop.index)
                with builder.for_(0, UNITS_OF_A_ROUND, self.sizes.steps, loop.carried) as inner:
                    at, sums = builder.add(loop.index, inner.index), inner.carried
                    for number in range(self.sizes.steps):
                        sums = step(sums, at, number)
                    inner.yield_(*sums)
                loop.yield_(*inner.results)
            state = loop.results
        else:
            results.prefetch(corners)
        if not self.sizes.asks_ahead or self.sizes.has_rest:
            with builder.for_(main, units, 1, state, covered=True) as loop:
                loop.yield_(*step(loop.carried, loop.index))
            state = loop.results
        totals = self._add_kept(block, places, corners, state)

        def keep() -> None:
            for corner, place, value in zip(corners, places, totals, strict=True):
                results.sums.store(block.rows, block.columns, corner, place, value)

        def finish() -> None:
            for corner, value in zip(corners, totals, strict=True):
                results.finish(corner, value)

        if self.sizes.finishes_in_loop:
            keep()
        elif has_epilogue(self.kernel, self.shape):
            self._when_summed_up(block, finish, keep)
        else:
            finish()

    def _ask_ahead(self, block: Block, row: Dim, height: int, column: Dim, width: int, at: Dim) -> None:
        """What the round from unit `at` on of a tile asks for: its share of the results, into which the sums go next,
        and of the rows that are packed after these."""
        builder, sizes = self.builder, self.sizes
        rounds = sizes.elements.units(sizes.depth) // UNITS_OF_A_ROUND
        rows = math.ceil(height / rounds)
        first = builder.add(row, builder.mul(builder.div(at, UNITS_OF_A_ROUND), rows))
        places = [Place(first, k, column, offset) for k in range(rows) for offset in range(0, width, self.lanes)]
        self.results.prefetch([self.results.corner(block, place, width) for place in places])
        self.rows.ask_ahead(block, row, column, at)

    def _add_kept(
        self, block: Block, places: list[Place], corners: list[LaneScope], totals: list[Value]
    ) -> list[Value]:
        """The sums of a tile with what earlier blocks, if any, have summed up: they were asked for before this block
        began, so that none of its products had to wait for them."""
        if block.begins is None:
            return totals
        builder, found = self.builder, []
        with builder.for_(0, builder.select(block.begins, builder.index(0), builder.index(1)), 1, totals) as once:
            for corner, place, total in zip(corners, places, once.carried, strict=True):
                kept = self.results.sums.load(block.rows, block.columns, corner, place)
                found.append(builder.op(self.shape.reducer.name, (total, kept), total.type))
            once.yield_(*found)
        return once.results

    def _step(
        self, block: Block, sums: list[Value], row: Dim, height: int, column: Dim, width: int, at: Dim, step: int
    ) -> list[Value]:
        """The sums of a tile after unit `at + step` of products."""
        panel = self.columns.vectors(block.scope, block.columns, column, width, block.first, at, step)
        following: list[Value] = []
        for number in range(height):
            element = self.rows.element(block, row, number, at, step)
            element = self.builder.splat(element, self.lanes)
            for values in panel:
                following.append(self.sizes.elements.accumulate(sums[len(following)], element, values))
        return following
