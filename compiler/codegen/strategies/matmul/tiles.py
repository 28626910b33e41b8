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
from ...loops import BOOL, Buffer, Value, vector
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
        self._tile_sums: Buffer | None = None
        if sizes.packs_rows and shape.row_count(kernel) % sizes.height:
            self._tile_sums = self.builder.local("tile", shape.reducer.state_elem, sizes.height * sizes.width * lanes)

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

        def strip(here: Block, row: Dim, height: int, valid: Dim) -> None:
            self._panels(block.columns, lambda column, width: self._tile(here, row, height, valid, column, width))
            if self.sizes.finishes_in_loop:
                self._when_summed_up(block, lambda: self.results.finish_kept(block, row, valid))

        def packed(rows: Range) -> None:
            here = replace(block, packed=rows)
            self.rows.fill(here)
            height = self.sizes.height
            if rows.size is not None and rows.size <= height:
                strip(here, rows.start, rows.size, rows.size)
            elif self.sizes.packed_rows == height:
                strip(here, rows.start, height, self._length(rows))
            else:
                self._groups(rows, height, lambda part: strip(here, part.start, height, self._length(part)))

        if self.sizes.packs_rows:
            self._groups(block.rows, self.sizes.packed_rows, packed)
        else:
            here = replace(block, packed=block.rows)
            self._strips(block.rows, lambda row, height: strip(here, row, height, height))

    def _groups(self, rows: Range, count: int, body: Callable[[Range], None]) -> None:
        """Parts of so many rows; the last one has what is left."""
        builder = self.builder
        if rows.size is not None and rows.size <= count:
            body(rows)
            return
        with builder.for_(rows.start, rows.stop, count, covered=True) as loop:
            end = builder.add(loop.index, count)
            # A workgroup begins at a whole strip.
            whole = count == self.sizes.height and self.shape.row_count(self.kernel) % count == 0
            exact = whole or (rows.size is not None and rows.size % count == 0)
            body(Range(loop.index, end if exact else builder.min(end, rows.stop), count if exact else None, 1))

    def _length(self, rows: Range) -> Dim:
        return rows.size if rows.size is not None else self.builder.sub(rows.stop, rows.start)

    def _strips(self, rows: Range, body: Callable[[Dim, int], None]) -> None:
        """Blocks of `height` rows, then the rest, which only the last rows have."""
        builder, height = self.builder, self.sizes.height
        if self.shape.rows is None or rows.size == self.kernel.row_bands[self.shape.rows].extent % height:
            body(rows.start, rows.size)
            return
        length = self._length(rows)
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
            with builder.if_(self._not(block.ends)):
                otherwise()

    def _not(self, condition: Value) -> Value:
        return self.builder.op("arith.xori", (condition, self.builder.const(1, BOOL)), BOOL)

    # -- one tile

    def _tile(self, block: Block, row: Dim, height: int, valid: Dim, column: Dim, width: int) -> None:
        """Some rows, of which so many are there, against one panel of `width` columns."""
        builder, results = self.builder, self.results
        vectors = range(0, width, self.lanes)
        places = [Place(row, number, column, offset) for number in range(height) for offset in vectors]
        corners = [results.corner(block, place, width) for place in places]
        state = [builder.const(0, vector(self.shape.reducer.state_elem, self.lanes))] * len(places)
        units, main = self.sizes.elements.units(block.count), 0

        def step(sums: list[Value], at: Dim, number: int = 0) -> list[Value]:
            return self._step(block, sums, row, height, column, width, at, number)

        if self.sizes.asks_ahead:
            main = builder.round_down(units, self.sizes.steps)
            with builder.for_(0, main, UNITS_OF_A_ROUND, state) as loop:
                self._ask_ahead(block, row, height, column, width, loop.index)
                whole = main.__class__ is int and main % UNITS_OF_A_ROUND == 0
                count = UNITS_OF_A_ROUND if whole else builder.min(UNITS_OF_A_ROUND, builder.sub(main, loop.index))
                with builder.for_(0, count, self.sizes.steps, loop.carried) as inner:
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
        if valid.__class__ is int and valid == height:
            self._complete(block, places, corners, state)
            return
        whole = builder.op("arith.cmpi", (builder.index(valid), builder.index(height)), BOOL, "eq")
        # The sums of a whole tile come last: nothing needs them afterwards, so that they may change in their registers.
        with builder.if_(self._not(whole)):
            self._complete_rows(block, places, state, valid, width)
        with builder.if_(whole):
            self._complete(block, places, corners, state)

    def _complete(self, block: Block, places: list[Place], corners: list[LaneScope], state: list[Value]) -> None:
        """What is done with the sums of a block: they are kept, or the results that follow are stored."""
        results, totals = self.results, self._add_kept(block, places, corners, state)

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

    def _complete_rows(self, block: Block, places: list[Place], state: list[Value], valid: Dim, width: int) -> None:
        """The same for the first rows of a tile, one by one by way of local memory: the last strip has all of its
        registers summed up, so that the loop over the products is written once."""
        builder, lanes = self.builder, self.lanes
        row, column, vectors = places[0].row, places[0].column, range(0, width, lanes)
        length = self.sizes.width * lanes
        for place, value in zip(places, state, strict=True):
            builder.store(value, self._tile_sums, 0, place.number * length + place.offset)
        with builder.for_(0, valid, 1) as loop:
            here = [Place(builder.add(row, loop.index), 0, column, offset) for offset in vectors]
            base = builder.mul(loop.index, length)
            sums = [builder.load(self._tile_sums, base, offset, lanes) for offset in vectors]
            self._complete(block, here, [self.results.corner(block, place, width) for place in here], sums)

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
