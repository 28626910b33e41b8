"""A few rows against columns that are contiguous along the products: dots of vectors.

Enters: a `MatmulShape` with few rows in which both factors are contiguous along the summed dim. Leaves: a kernel in
which a workgroup has some columns. Lanes run along the products; a few columns at a time meet all rows, each pair with
an accumulator of its own whose lanes are joined at the end.
"""

from __future__ import annotations

import math

from ... import configure
from ...configure import Tiles
from ...evaluate import Evaluator
from ...indexing import Dim, Lanes, LaneScope
from ...loops import Value, storage_bytes, vector
from ...nest import Range
from ...plan import Plan
from ...row_kernel import RowKernel
from .elements import Singles
from .factors import column_parts
from .results import Block, Results, plan_workgroups
from .shape import Factor, MatmulShape
from .sums import Place, has_epilogue, sums_of
from .workload import even_part, wanted_nanoseconds

_MOST_ROWS = 8
# Vectors of products that a dot has at least, since its lanes have to be joined.
_LEAST_VECTORS = 8
_NANOSECONDS_PER_BYTE = 0.03
# What sums of a workgroup's columns may take of local memory.
_SUM_BYTES = 16 << 10


def prefers_dots(kernel: RowKernel, shape: MatmulShape, lanes: int) -> bool:
    """Whether a few rows, and columns that do not lie side by side, are multiplied along the products."""
    rows, products = shape.row_count(kernel), shape.products
    if rows > _MOST_ROWS or products.extent < _LEAST_VECTORS * lanes or shape.outer_products:
        return False
    if not configure.masked_tail_is_cheap(kernel.target, kernel.survey) and products.extent % lanes:
        return False
    return shape.row_factor.step(products) == 1 and shape.column_factor.step(products) == 1


class DotMatmul:
    def __init__(self, kernel: RowKernel, shape: MatmulShape, lanes: int):
        self._kernel, self._shape, self._lanes = kernel, shape, lanes
        self._builder = kernel.builder
        self._rows = shape.row_count(kernel)
        # Accumulators, the vectors of all columns and one of a row fill the registers.
        registers = kernel.target.vector_registers
        self._group = max(1, min(8, (registers - 1) // (self._rows + 1)))
        self._elements = Singles(kernel, shape)
        self._tiles, columns = self._choose_tiles()
        self._results = Results(kernel, shape, lanes, sums_of(kernel, shape, self._rows, columns))

    def _choose_tiles(self) -> tuple[Tiles, int]:
        """Workgroups, and the columns that one has."""
        kernel, shape = self._kernel, self._shape
        bands = kernel.row_bands
        extent = bands[shape.columns].extent
        element = storage_bytes(shape.reducer.state_elem)
        nanoseconds = shape.product_count * extent * element * _NANOSECONDS_PER_BYTE
        wanted = wanted_nanoseconds(kernel, shape, nanoseconds)
        sizes = [0] * len(bands)
        part = min(extent, _SUM_BYTES // element // self._rows)
        if nanoseconds > wanted * 1.5:
            for k in shape.outer:
                sizes[k] = 1
            part = min(part, round(extent * wanted / nanoseconds))
        else:
            outer = [bands[k] for k in shape.outer]
            tiles = configure.tile_bands(outer, nanoseconds, [1] * len(outer), wanted)
            for k, size in zip(shape.outer, tiles.sizes, strict=True):
                sizes[k] = size
        part = even_part(extent, max(self._group, part), self._group)
        if part < extent:
            sizes[shape.columns] = part
        return Tiles(sizes), math.ceil(part / self._lanes) * self._lanes

    def build(self) -> Plan:
        return plan_workgroups(self._kernel, self._shape, self._tiles, self._workgroup)

    def _workgroup(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        block = Block(scope, rows, columns, 0, self._shape.products.extent)
        band = self._kernel.row_bands[self._shape.columns]
        for begin, end, step, width in column_parts(self._builder, band, columns, self._group):
            with self._builder.for_(begin, end, step, covered=True) as loop:
                self._dots(block, loop.index, width)
        if has_epilogue(self._kernel, self._shape):
            self._results.finish_kept(block, rows.start, self._rows)

    def _dots(self, block: Block, column: Dim, width: int) -> None:
        """All rows against `width` columns."""
        builder, lanes, count = self._builder, self._lanes, self._shape.products.extent
        zero = builder.const(0, vector(self._shape.reducer.state_elem, lanes))
        pairs = [(row, k) for row in range(self._rows) for k in range(width)]
        main = count - count % lanes
        with builder.for_(0, main, lanes, [zero] * len(pairs), covered=True) as loop:
            loop.yield_(*self._step(block, column, width, loop.index, lanes, loop.carried))
        totals = loop.results
        if count % lanes:
            totals = self._step(block, column, width, main, count % lanes, totals)
        for (row, k), total in zip(pairs, totals, strict=True):
            here = block.scope.copy()
            self._results.bind_rows(here, block.rows.start, row)
            here.bind(self._kernel.row_bands[self._shape.columns].syms, Lanes(column, k))
            place = Place(block.rows.start, row, column, k)
            value = builder.reduce(self._shape.reducer.name, total)
            self._results.sums.store(block.rows, block.columns, here, place, value)

    def _step(self, block: Block, column: Dim, width: int, at: Dim, valid: int, totals: list[Value]) -> list[Value]:
        """The accumulators after one more vector of products, of which so many lanes exist."""
        columns = []
        for k in range(width):
            here = block.scope.copy()
            here.bind(self._kernel.row_bands[self._shape.columns].syms, Lanes(column, k))
            columns.append(self._vector(self._shape.column_factor, here, at, valid))
        following: list[Value] = []
        for row in range(self._rows):
            here = block.scope.copy()
            self._results.bind_rows(here, block.rows.start, row)
            values = self._vector(self._shape.row_factor, here, at, valid)
            for other in columns:
                following.append(self._elements.accumulate(totals[len(following)], values, other))
        return following

    def _vector(self, factor: Factor, scope: LaneScope, at: Dim, valid: int) -> Value:
        """A vector of products from `at` on; lanes that do not exist are zero."""
        builder, lanes = self._builder, self._lanes
        mask = builder.lane_mask(lanes, valid) if valid < lanes else None
        here = scope.copy(lanes, mask)
        here.bind(self._shape.products.syms, Lanes(at, tuple(range(lanes))))
        value = factor.at(Evaluator(self._kernel.context, here), lanes)
        return value if mask is None else builder.select(mask, value, builder.const(0, value.type))
