"""Matrix products of known size, blocked for registers and caches.

Enters: a dispatch whose contraction is a `MatmulShape`. Leaves: a kernel in which each workgroup has a block of rows
and columns. The summed dim is cut into blocks; for each, the column factor is packed into panels in local memory, and
every few rows of the row factor into a small buffer beside it, converted on the way if they have to be. In the
innermost loop a tile of accumulators stays in registers: every step loads the vectors of one panel row and broadcasts
one element of each row. What follows the product is applied when a tile's last block is done.

A factor that is plain in memory and small, or used too seldom for packing to pay, is read in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .. import configure
from ..configure import Band
from ..indexing import Dim, Lanes, LaneScope
from ..loops import BOOL, Value, vector
from ..nest import Range, loop_nest, tile_ranges, vector_loop, whole
from ..plan import Plan, count_factors
from ..row_kernel import RowKernel
from ..stages import Row
from .matmul_blocks import choose_blocks
from .matmul_factors import column_source, row_source
from .matmul_shape import MatmulShape
from .matmul_sums import Place, sums_between_blocks


def build_matmul(kernel: RowKernel, shape: MatmulShape) -> Plan:
    """The kernel of a matrix product."""
    return _Matmul(kernel, shape).build()


@dataclass
class _Block:
    """What a workgroup is at: rows and columns of the result, and products `first` to `first + count`."""

    scope: LaneScope
    rows: Range
    columns: Range
    first: Dim
    count: Dim
    packed: Range | None = None
    """The rows that the row source holds now."""
    begins: Value | None = None
    """Whether these products are the first, and the last; None where they are all."""
    ends: Value | None = None


class _Matmul:
    def __init__(self, kernel: RowKernel, shape: MatmulShape):
        self.kernel, self.shape = kernel, shape
        self.builder, self.context = kernel.builder, kernel.context
        self.bands = kernel.row_bands
        lanes = configure.lanes_for(kernel.target, vector(shape.reducer.state_elem).bits)
        columns = self.bands[shape.columns].extent
        self.lanes = min(lanes, 1 << (columns - 1).bit_length())
        self.blocks = choose_blocks(kernel, shape, self.lanes)
        self.columns = column_source(kernel, shape, self.blocks, self.lanes)
        self.rows = row_source(kernel, shape, self.blocks, self.lanes)
        self.sums = sums_between_blocks(kernel, shape, self.blocks, self.lanes)

    def build(self) -> Plan:
        builder, bands, tiles = self.builder, self.bands, self.blocks.tiles
        ranges = tile_ranges(builder, bands, tiles)
        outer = self.shape.outer

        def product(scope: LaneScope) -> None:
            rows = Range(0, 1, 1, 1) if self.shape.rows is None else ranges[self.shape.rows]
            self._blocks_of_products(scope, rows, ranges[self.shape.columns])

        loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], product)
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    # -- loops

    def _blocks_of_products(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        """All products for the workgroup's rows and columns, block by block."""
        bands = self.shape.outer_products
        if self.blocks.streams:
            self._each_kept(_Block(scope, rows, columns, 0, 0), rows.start, self.blocks.height, self._clear)
            loop_nest(scope, bands, [whole(b.extent) for b in bands], lambda inner: self._stream(inner, rows, columns))
            if self.blocks.has_epilogue:
                self._each_kept(_Block(scope, rows, columns, 0, 0), rows.start, self.blocks.height, self._finish_kept)
            return
        self._outer_products(_Block(scope, rows, columns, 0, self.shape.products.extent), list(bands))

    def _outer_products(self, block: _Block, bands: list[Band]) -> None:
        """Loops over the outer summed dims and, inside, over blocks of the inner one."""
        builder, extent, depth = self.builder, self.shape.products.extent, self.blocks.depth
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

    def _stream(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        """A few products at a time for all columns: the columns' factor is read once, row after row, and the sums stay
        in the first-level cache."""
        extent, depth = self.shape.products.extent, self.blocks.depth
        main = extent - extent % depth

        def some(first: Dim, count: int) -> None:
            block = _Block(scope, rows, columns, first, count)
            self._panels(
                columns, lambda column, width: self._tile(block, rows.start, self.blocks.height, column, width)
            )

        with self.builder.for_(0, main, depth) as loop:
            some(loop.index, depth)
        if extent % depth:
            some(main, extent % depth)

    def _block(self, block: _Block) -> None:
        """One block of products for all tiles of the workgroup."""
        self.columns.fill(block.scope, block.columns, block.first, block.count)

        def strip(rows: Range, row: Dim, height: int) -> None:
            here = replace(block, packed=rows)
            self._panels(block.columns, lambda column, width: self._tile(here, row, height, column, width))
            if self.blocks.finishes_in_loop:
                self._when_summed_up(block, lambda: self._each_kept(block, row, height, self._finish_kept))

        def packed(rows: Range) -> None:
            self.rows.fill(block.scope, rows, block.first, block.count)
            self._strips(rows, lambda row, height: strip(rows, row, height))

        if self.blocks.packs_rows and self.blocks.packed_rows > self.blocks.height:
            self._groups(block.rows, packed)
        elif self.blocks.packs_rows:
            self._strips(block.rows, lambda row, height: packed(Range(row, self.builder.add(row, height), height, 1)))
        else:
            packed(block.rows)

    def _groups(self, rows: Range, body: Callable[[Range], None]) -> None:
        """The rows that are packed together."""
        builder, count = self.builder, self.blocks.packed_rows
        with builder.for_(rows.start, rows.stop, count, covered=True) as loop:
            end = builder.add(loop.index, count)
            exact = rows.size is not None and rows.size % count == 0
            body(Range(loop.index, end if exact else builder.min(end, rows.stop), count if exact else None, 1))

    def _strips(self, rows: Range, body: Callable[[Dim, int], None]) -> None:
        """Blocks of `height` rows, then the rest, which only the last rows have."""
        builder, height = self.builder, self.blocks.height
        if self.shape.rows is None or rows.size == self.bands[self.shape.rows].extent % height:
            body(rows.start, rows.size)
            return
        length = rows.size if rows.size is not None else builder.sub(rows.stop, rows.start)
        main = builder.add(rows.start, builder.round_down(length, height))
        if length == height:
            body(rows.start, height)
        elif length.__class__ is not int or length > height:
            with builder.for_(rows.start, main, height, covered=True) as loop:
                body(loop.index, height)
        rest = self.bands[self.shape.rows].extent % height
        if rest and (length.__class__ is not int or length % height):
            with builder.for_(main, rows.stop, rest, covered=True) as loop:
                body(loop.index, rest)

    def _panels(self, columns: Range, body: Callable[[Dim, int], None]) -> None:
        """Panels of whole vectors by their first column, then the narrower last one."""
        for begin, end, step, width in self.columns.parts(columns, self.blocks.width * self.lanes):
            with self.builder.for_(begin, end, step, covered=True) as loop:
                body(loop.index, width)

    def _when_summed_up(self, block: _Block, body: Callable[[], None], otherwise: Callable[[], None] | None = None):
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

    def _tile(self, block: _Block, row: Dim, height: int, column: Dim, width: int) -> None:
        """Some rows against one panel of `width` columns."""
        vectors = range(0, width, self.lanes)
        places = [Place(row, number, column, offset) for number in range(height) for offset in vectors]
        state = self._begin(block, places, width)
        if block.begins is None and not self.blocks.streams:
            self._prefetch_results(block, places, width)
        if self.blocks.streams:
            sums = state
            for at in range(block.count):
                sums = self._step(block, sums, row, height, column, width, at)
        else:
            with self.builder.for_(0, self.blocks.elements.units(block.count), 1, state, covered=True) as loop:
                loop.yield_(*self._step(block, loop.carried, row, height, column, width, loop.index))
            sums = loop.results
        corners = [self._corner(block, place, width) for place in places]

        def keep() -> None:
            for corner, place, value in zip(corners, places, sums, strict=True):
                self.sums.store(block, corner, place, value)

        def finish() -> None:
            for corner, value in zip(corners, sums, strict=True):
                self._finish(corner, value)

        if self.blocks.finishes_in_loop or self.blocks.streams:
            keep()
        elif self.blocks.has_epilogue:
            self._when_summed_up(block, finish, keep)
        else:
            finish()

    def _prefetch_results(self, block: _Block, places: list[Place], width: int) -> None:
        """Asks for the lines that the tile's results will be stored in."""
        store = self.kernel.domain.placement.primary
        address = store.address(self.kernel.domain.indices(store))
        for place in places:
            where = self._corner(block, place, width).resolve(address)
            if where.vector is None and where.pattern is not None:
                self.builder.prefetch(store.buffer, where.base, where.offset + where.pattern[0])

    def _step(
        self, block: _Block, sums: list[Value], row: Dim, height: int, column: Dim, width: int, at: Dim
    ) -> list[Value]:
        """The sums of a tile after one more unit of products."""
        panel = self.columns.vectors(block.scope, block.columns, column, width, block.first, at)
        following: list[Value] = []
        for number in range(height):
            element = self.rows.element(block.scope, block.packed, row, number, block.first, at)
            element = self.builder.splat(element, self.lanes)
            for values in panel:
                following.append(self.blocks.elements.accumulate(sums[len(following)], element, values))
        return following

    def _begin(self, block: _Block, places: list[Place], width: int) -> list[Value]:
        """The accumulators: zero in the first block, then what earlier ones have summed up."""
        builder = self.builder
        zero = builder.const(0, vector(self.shape.reducer.state_elem, self.lanes))
        if block.begins is None and not self.blocks.streams:
            return [zero] * len(places)
        kept = [self.sums.load(block, self._corner(block, place, width), place) for place in places]
        return kept if block.begins is None else [builder.select(block.begins, zero, value) for value in kept]

    def _corner(self, block: _Block, place: Place, width: int) -> LaneScope:
        """The scope of one accumulator in a panel of `width` columns."""
        lanes, left = self.lanes, width - place.offset
        corner = block.scope.copy(lanes, self.builder.lane_mask(lanes, left) if left < lanes else None)
        self._bind_rows(corner, place.row, place.number)
        columns = tuple(range(place.offset, place.offset + lanes))
        corner.bind(self.bands[self.shape.columns].syms, Lanes(place.column, columns))
        return corner

    def _bind_rows(self, scope: LaneScope, row: Dim, offset: int = 0) -> None:
        if self.shape.rows is not None:
            scope.bind(self.bands[self.shape.rows].syms, Lanes(row, offset))

    # -- results

    def _each_kept(
        self, block: _Block, row: Dim, height: int, body: Callable[[_Block, LaneScope, Place], None]
    ) -> None:
        """Runs `body` for every vector of sums of some rows that were kept."""
        builder, band = self.builder, self.bands[self.shape.columns]
        plan = self.kernel.vector_plan(self.lanes)
        with builder.for_(0, height, 1, covered=True) as loop:
            here, number = block.scope.copy(), builder.add(row, loop.index)
            self._bind_rows(here, number)

            def at(scopes: list[LaneScope]) -> None:
                for scope in scopes:
                    body(block, scope, Place(number, 0, scope.lanes_of(band.syms).base, 0))

            vector_loop(here, band, block.columns, plan, at)

    def _clear(self, block: _Block, scope: LaneScope, place: Place) -> None:
        zero = self.builder.const(0, vector(self.shape.reducer.state_elem, scope.lanes))
        self.sums.store(block, scope, place, zero)

    def _finish_kept(self, block: _Block, scope: LaneScope, place: Place) -> None:
        """Stores the results at one vector of sums that were kept."""
        self._finish(scope, self.sums.load(block, scope, place))

    def _finish(self, corner: LaneScope, value: Value) -> None:
        """Stores the results at one vector of sums."""
        row = Row(self.context, corner)
        reduction = self.shape.reduction
        (indices,) = reduction.result_indices
        initial = row.evaluator().value_at(reduction.view.outputs[0], indices)
        (result,) = self.shape.reducer.finish([value], [initial])
        row.provide(reduction.view.op.results[0], indices, result)
        evaluator = row.evaluator()
        domain = self.kernel.domain
        values = [evaluator.value_at(store.value, domain.indices(store)) for store in domain.stores]
        for store, stored in zip(domain.stores, values, strict=True):
            store.store(corner, domain.indices(store), stored)
