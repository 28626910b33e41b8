"""A few rows against a large factor of columns: each of its elements is read once, in the order of memory.

Enters: a `MatmulShape` with few rows whose column factor is contiguous along the columns. Leaves: a kernel in which a
workgroup has some columns. It takes a few rows of the factor at a time, for all of its columns; the sums stay in the
first-level cache.
"""

from __future__ import annotations

import math

from ... import configure
from ...configure import Tiles
from ...indexing import Dim, LaneScope
from ...loops import storage_bytes
from ...nest import Range, loop_nest, whole
from ...plan import Plan
from ...row_kernel import RowKernel
from .elements import Singles
from .factors import ColumnsInPlace, RowsInPlace, column_parts
from .results import Block, Results, plan_workgroups
from .shape import MatmulShape
from .sums import Place, Sums, SumsInLocalMemory, has_epilogue, sums_of
from .workload import even_part, wanted_nanoseconds

# Rows that are few, and the most that are still few where the column factor is large.
_FEW_ROWS = 4
_MOST_ROWS = 16
# Rows of the column factor that are taken at a time.
_PRODUCTS = 8
# What is read in one go from each: long runs are faster, but there should be some parts to share out.
_LEAST_BYTES, _MOST_BYTES = 1024, 8192
_PARTS = 4
_NANOSECONDS_PER_BYTE = 0.03


def prefers_streaming(kernel: RowKernel, shape: MatmulShape) -> bool:
    """Whether a few rows meet a column factor that is best read from start to end."""
    rows, band = shape.row_count(kernel), kernel.row_bands[shape.columns]
    if rows > _MOST_ROWS or shape.column_factor.step(band) != 1:
        return False
    size = shape.products.extent * band.extent * storage_bytes(shape.reducer.state_elem)
    return rows <= _FEW_ROWS or size > kernel.target.l2_bytes // 2


class StreamedMatmul:
    def __init__(self, kernel: RowKernel, shape: MatmulShape, lanes: int):
        self._kernel, self._shape, self._lanes = kernel, shape, lanes
        self._rows = shape.row_count(kernel)
        vectors = math.ceil(kernel.row_bands[shape.columns].extent / lanes)
        # Sums of two vectors of columns, their vectors and an element of a row fill the registers.
        two = 2 * self._rows + 3 <= kernel.target.vector_registers and vectors > 1
        self._width = lanes * (2 if two else 1)
        self._tiles, columns = self._choose_tiles(vectors)
        self._elements = Singles(kernel, shape)
        self._columns = ColumnsInPlace(kernel, shape, self._elements, lanes)
        self._row_source = RowsInPlace(kernel, shape, self._elements, lanes)
        # Rows of sums that lie a power of two apart would meet in the same sets of the first-level cache.
        self._sums_are_local = self._rows > _FEW_ROWS
        if self._sums_are_local:
            sums: Sums = SumsInLocalMemory(kernel, shape, self._rows, (columns // lanes | 1) * lanes)
        else:
            sums = sums_of(kernel, shape, self._rows, columns)
        self._results = Results(kernel, shape, lanes, sums)

    def _choose_tiles(self, vectors: int) -> tuple[Tiles, int]:
        """Workgroups, and the columns that one has."""
        kernel, shape, lanes = self._kernel, self._shape, self._lanes
        bands = kernel.row_bands
        bytes_of_vector = storage_bytes(shape.reducer.state_elem) * lanes
        nanoseconds = shape.product_count * vectors * bytes_of_vector * _NANOSECONDS_PER_BYTE
        wanted = wanted_nanoseconds(kernel, shape, nanoseconds)
        sizes = [0] * len(bands)
        part = min(vectors, kernel.target.l1_bytes // 2 // bytes_of_vector // self._rows)
        if nanoseconds > wanted * 1.5:
            for k in shape.outer:
                sizes[k] = 1
            # Products of the outer bands are shared out as they are, as long as they are some.
            parts = _PARTS // math.prod([bands[k].extent for k in shape.outer])
            widest = min(_MOST_BYTES, max(_LEAST_BYTES, vectors * bytes_of_vector // max(1, parts)))
            part = min(part, max(widest // bytes_of_vector, round(vectors * wanted / nanoseconds)))
        else:
            outer = [bands[k] for k in shape.outer]
            tiles = configure.tile_bands(outer, nanoseconds, [1] * len(outer), wanted)
            for k, size in zip(shape.outer, tiles.sizes, strict=True):
                sizes[k] = size
        panel = self._width // lanes
        part = even_part(vectors, max(panel, part), panel)
        if part < vectors:
            sizes[shape.columns] = part * lanes
        return Tiles(sizes), math.ceil(part / panel) * self._width

    def build(self) -> Plan:
        return plan_workgroups(self._kernel, self._shape, self._tiles, self._workgroup)

    def _workgroup(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        bands = self._shape.outer_products
        everything = Block(scope, rows, columns, 0, self._shape.products.extent)
        self._results.clear(everything, rows.start, self._rows)
        loop_nest(scope, bands, [whole(b.extent) for b in bands], lambda inner: self._products(inner, rows, columns))
        if self._sums_are_local or has_epilogue(self._kernel, self._shape):
            self._results.finish_kept(everything, rows.start, self._rows)

    def _products(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        extent = self._shape.products.extent
        count = min(_PRODUCTS, extent)
        main = extent - extent % count
        with self._kernel.builder.for_(0, main, count) as loop:
            self._some(Block(scope, rows, columns, loop.index, count))
        if extent % count:
            self._some(Block(scope, rows, columns, main, extent % count))

    def _some(self, block: Block) -> None:
        """A few products for all columns."""
        band = self._kernel.row_bands[self._shape.columns]
        for begin, end, step, width in column_parts(self._kernel.builder, band, block.columns, self._width):
            with self._kernel.builder.for_(begin, end, step, covered=True) as loop:
                self._panel(block, loop.index, width)

    def _panel(self, block: Block, column: Dim, width: int) -> None:
        """A few products for one or two vectors of columns."""
        builder, lanes, sums = self._kernel.builder, self._lanes, self._results.sums
        row = block.rows.start
        places = [Place(row, k, column, offset) for k in range(self._rows) for offset in range(0, width, lanes)]
        corners = [self._results.corner(block, place, width) for place in places]
        before = [
            sums.load(block.rows, block.columns, corner, place) for corner, place in zip(corners, places, strict=True)
        ]
        # Where memory is what limits, these products are summed on their own: fewer roundings in a row.
        apart = self._shape.reducer.long_sum and self._rows <= _FEW_ROWS
        totals = [builder.const(0, value.type) for value in before] if apart else list(before)
        for at in range(block.count):
            panel = self._columns.vectors(block.scope, block.columns, column, width, block.first, at)
            for number in range(self._rows):
                element = self._row_source.element(block, row, number, at)
                element = builder.splat(element, lanes)
                for k, values in enumerate(panel, number * len(panel)):
                    totals[k] = self._elements.accumulate(totals[k], element, values)
        if apart:
            totals = [builder.op("arith.addf", pair, pair[0].type) for pair in zip(before, totals, strict=True)]
        for corner, place, value in zip(corners, places, totals, strict=True):
            sums.store(block.rows, block.columns, corner, place, value)
