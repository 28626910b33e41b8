"""A few rows or columns against many of the other side, which are contiguous along the products: dots of vectors.

Enters: a `MatmulShape` one side of which has few rows (or columns) while the other is contiguous along the summed dim.
Leaves: a kernel in which a workgroup has some of the many. Lanes run along the products; a group of the many meets all
of the few, each pair with an accumulator of its own whose lanes are joined at the end. Long sums are added up in
chunks. Few columns that lie side by side are turned round in local memory first.
"""

from __future__ import annotations

import math

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ... import configure
from ...configure import Band, Tiles
from ...evaluate import Evaluator
from ...indexing import Dim, Lanes, LaneScope
from ...loops import Buffer, Value, storage_bytes, vector
from ...nest import Range
from ...plan import Plan
from ...row_kernel import RowKernel
from .elements import Singles
from .factors import column_parts
from .results import Block, Results, plan_workgroups
from .shape import Factor, MatmulShape
from .sums import Place, has_epilogue, sums_of
from .workload import even_part, wanted_nanoseconds

_MOST_FEW = 12
# Vectors of products that a dot has at least, since its lanes have to be joined.
_LEAST_VECTORS = 8
_NANOSECONDS_PER_BYTE = 0.03
# Float sums of more than twice as many vectors are added up in chunks of so many.
_CHUNK_VECTORS = 128
# What a workgroup may take of local memory for its sums, and for the few if they are turned round.
_SUM_BYTES = 16 << 10
_TURNED_BYTES = 96 << 10


def prefers_dots(kernel: RowKernel, shape: MatmulShape, lanes: int) -> bool:
    """Whether the few and the many are multiplied along the products."""
    products = shape.products
    if products.extent < _LEAST_VECTORS * lanes or shape.outer_products:
        return False
    if not configure.masked_tail_is_cheap(kernel.target, kernel.survey) and products.extent % lanes:
        return False
    return _few_rows(kernel, shape) or _few_columns(kernel, shape, lanes)


def _few_rows(kernel: RowKernel, shape: MatmulShape) -> bool:
    if shape.row_count(kernel) > _MOST_FEW:
        return False
    return shape.row_factor.step(shape.products) == 1 and shape.column_factor.step(shape.products) == 1


def _few_columns(kernel: RowKernel, shape: MatmulShape, lanes: int) -> bool:
    """Whether there are few columns beside so many rows that it pays to turn the columns round."""
    columns = kernel.row_bands[shape.columns].extent
    if columns > _MOST_FEW or shape.row_count(kernel) < 4 * columns or shape.row_factor.step(shape.products) != 1:
        return False
    return columns * _turned_length(shape, lanes) * storage_bytes(shape.reducer.state_elem) <= _TURNED_BYTES


def _turned_length(shape: MatmulShape, lanes: int) -> int:
    """Elements from one of the few to the next: an odd number of vectors, so that not all begin in the same sets."""
    return (math.ceil(shape.products.extent / lanes) | 1) * lanes


@dataclass
class _Side:
    """The rows or the columns: their band (None for a single row), how many they are, and their factor."""

    band: Band | None
    extent: int
    factor: Factor

    def bind(self, scope: LaneScope, first: Dim, number: int) -> None:
        if self.band is not None:
            scope.bind(self.band.syms, Lanes(first, number))


class DotMatmul:
    def __init__(self, kernel: RowKernel, shape: MatmulShape, lanes: int):
        self._kernel, self._shape, self._lanes = kernel, shape, lanes
        self._builder = kernel.builder
        rows = _Side(
            None if shape.rows is None else kernel.row_bands[shape.rows], shape.row_count(kernel), shape.row_factor
        )
        column_band = kernel.row_bands[shape.columns]
        columns = _Side(column_band, column_band.extent, shape.column_factor)
        self._columns_are_few = not _few_rows(kernel, shape)
        self._few, self._many = (columns, rows) if self._columns_are_few else (rows, columns)
        # Accumulators, the vectors of all of the group and one of the few fill the registers.
        registers = kernel.target.vector_registers
        self._group = max(1, min(8, (registers - 1) // (self._few.extent + 1)))
        self._elements = Singles(kernel, shape)
        self._turned: Buffer | None = None
        if self._columns_are_few:
            count = self._few.extent * _turned_length(shape, lanes)
            self._turned = self._builder.local("columns", shape.reducer.state_elem, count)
        self._tiles, part = self._choose_tiles()
        if self._columns_are_few:
            sums = sums_of(kernel, shape, part, math.ceil(self._few.extent / lanes) * lanes)
        else:
            sums = sums_of(kernel, shape, self._few.extent, math.ceil(part / lanes) * lanes)
        self._results = Results(kernel, shape, lanes, sums)

    def _choose_tiles(self) -> tuple[Tiles, int]:
        """Workgroups, and how much of the many side one has."""
        kernel, shape = self._kernel, self._shape
        bands = kernel.row_bands
        many = shape.rows if self._columns_are_few else shape.columns
        extent = self._many.extent
        element = storage_bytes(shape.reducer.state_elem)
        nanoseconds = shape.product_count * extent * element * _NANOSECONDS_PER_BYTE
        wanted = wanted_nanoseconds(kernel, shape, nanoseconds)
        sizes = [0] * len(bands)
        width = max(self._few.extent, self._lanes) if self._columns_are_few else self._few.extent
        part = min(extent, _SUM_BYTES // element // width)
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
            sizes[many] = part
        return Tiles(sizes), part

    def build(self) -> Plan:
        return plan_workgroups(self._kernel, self._shape, self._tiles, self._workgroup)

    def _workgroup(self, scope: LaneScope, rows: Range, columns: Range) -> None:
        block = Block(scope, rows, columns, 0, self._shape.products.extent)
        many = rows if self._columns_are_few else columns
        if self._turned is not None:
            self._turn(scope)
        for begin, end, step, width in column_parts(self._builder, self._many.band, many, self._group):
            with self._builder.for_(begin, end, step, covered=True) as loop:
                self._dots(block, loop.index, width)
        if has_epilogue(self._kernel, self._shape):
            height = rows.size if rows.size is not None else self._builder.sub(rows.stop, rows.start)
            self._results.finish_kept(block, rows.start, height)

    def _turn(self, scope: LaneScope) -> None:
        """Puts the few into local memory, each contiguous along the products; zeros follow the last product."""
        builder, lanes, count = self._builder, self._lanes, self._shape.products.extent
        length = _turned_length(self._shape, lanes)

        def some(at: Dim, valid: int) -> None:
            for number in range(self._few.extent):
                here = scope.copy()
                self._few.bind(here, 0, number)
                builder.store(self._vector(self._few.factor, here, at, valid), self._turned, at, number * length)

        main = count - count % lanes
        with builder.for_(0, main, lanes, covered=True) as loop:
            some(loop.index, lanes)
        if count % lanes:
            some(main, count % lanes)

    def _dots(self, block: Block, first: Dim, width: int) -> None:
        """All of the few against `width` of the many."""
        builder, lanes, count = self._builder, self._lanes, self._shape.products.extent
        zero = builder.const(0, vector(self._shape.reducer.state_elem, lanes))
        pairs = [(few, k) for few in range(self._few.extent) for k in range(width)]
        main = count - count % lanes
        chunk = _CHUNK_VECTORS * lanes
        if self._shape.reducer.long_sum and count > 2 * chunk:
            totals = self._chunked(block, first, width, main, chunk)
        else:
            totals = self._loop(block, first, width, 0, main, [zero] * len(pairs))
        if count % lanes:
            totals = self._step(block, first, width, main, count % lanes, totals)
        for (few, k), total in zip(pairs, totals, strict=True):
            here = block.scope.copy()
            self._few.bind(here, self._first_of_few(block), few)
            self._many.bind(here, first, k)
            place = Place(block.rows.start, few, first, k)
            if self._columns_are_few:
                place = Place(first, k, block.columns.start, few)
            value = builder.reduce(self._shape.reducer.name, total)
            self._results.sums.store(block.rows, block.columns, here, place, value)

    def _first_of_few(self, block: Block) -> Dim:
        return block.columns.start if self._columns_are_few else block.rows.start

    def _loop(self, block: Block, first: Dim, width: int, start: Dim, stop: Dim, totals: list[Value]) -> list[Value]:
        """The accumulators after the whole vectors of products from `start` to `stop`."""
        with self._builder.for_(start, stop, self._lanes, totals, covered=True) as loop:
            loop.yield_(*self._step(block, first, width, loop.index, self._lanes, loop.carried))
        return loop.results

    def _chunked(self, block: Block, first: Dim, width: int, main: int, chunk: int) -> list[Value]:
        """The accumulators of all whole vectors: each chunk is summed on its own and added to the total with what
        rounding would lose."""
        builder, reducer = self._builder, self._shape.reducer
        pairs = range(self._few.extent * width)
        whole = main - main % chunk
        empty = [reducer.begin_total(self._lanes) for _ in pairs]

        def with_chunk(carried: list[Value], start: Dim, stop: Dim) -> list[Value]:
            totals = [list(carried[2 * k : 2 * k + 2]) for k in pairs]
            chunks = [reducer.begin_chunk(total)[0] for total in totals]
            chunks = self._loop(block, first, width, start, stop, chunks)
            ended = [reducer.end_chunk(total, [value]) for total, value in zip(totals, chunks, strict=True)]
            return [value for total in ended for value in total]

        with builder.for_(0, whole, chunk, [value for total in empty for value in total]) as loop:
            loop.yield_(*with_chunk(loop.carried, loop.index, builder.add(loop.index, chunk)))
        carried = list(loop.results)
        if whole < main:
            carried = with_chunk(carried, whole, main)
        return [reducer.end_total(carried[2 * k : 2 * k + 2])[0] for k in pairs]

    def _step(self, block: Block, first: Dim, width: int, at: Dim, valid: int, totals: list[Value]) -> list[Value]:
        """The accumulators after one more vector of products, of which so many lanes exist."""
        group = []
        for k in range(width):
            here = block.scope.copy()
            self._many.bind(here, first, k)
            group.append(self._vector(self._many.factor, here, at, valid))
        following: list[Value] = []
        for number in range(self._few.extent):
            values = self._few_vector(block, number, at, valid)
            for other in group:
                x, y = (other, values) if self._columns_are_few else (values, other)
                following.append(self._elements.accumulate(totals[len(following)], x, y))
        return following

    def _few_vector(self, block: Block, number: int, at: Dim, valid: int) -> Value:
        if self._turned is not None:
            offset = number * _turned_length(self._shape, self._lanes)
            return self._builder.load(self._turned, at, offset, self._lanes)
        here = block.scope.copy()
        self._few.bind(here, self._first_of_few(block), number)
        return self._vector(self._few.factor, here, at, valid)

    def _vector(self, factor: Factor, scope: LaneScope, at: Dim, valid: int) -> Value:
        """A vector of products from `at` on; lanes that do not exist are zero."""
        builder, lanes = self._builder, self._lanes
        mask = builder.lane_mask(lanes, valid) if valid < lanes else None
        here = scope.copy(lanes, mask)
        here.bind(self._shape.products.syms, Lanes(at, tuple(range(lanes))))
        value = factor.at(Evaluator(self._kernel.context, here), lanes)
        return value if mask is None else builder.select(mask, value, builder.const(0, value.type))
