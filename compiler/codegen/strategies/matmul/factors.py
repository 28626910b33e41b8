"""Where a matrix product's inner loop finds its factors: in place, or packed in local memory.

Enters: a `MatmulShape` and its `TileSizes`. Leaves: a source for each factor. `fill` packs a block (nothing, where the
factor is read in place); then `vectors` gives the columns of a panel and `element` one element of a row.
"""

from __future__ import annotations

import math

from ...configure import Band
from ...indexing import Dim, Lanes, LaneScope
from ...loops import Buffer, KernelBuilder, Value, storage_bytes
from ...nest import Range
from ...row_kernel import RowKernel
from ...transposition import transpose
from .elements import Elements
from .shape import MatmulShape
from .tile_sizes import TileSizes


class _Source:
    """What the sources share: how to evaluate the factor at a place."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, elements: Elements, lanes: int):
        self.builder = kernel.builder
        self.shape, self.elements, self.lanes = shape, elements, lanes
        self.band = kernel.row_bands[shape.columns]
        self.row_band = None if shape.rows is None else kernel.row_bands[shape.rows]

    def bind_rows(self, scope: LaneScope, row: Dim, pattern: int | tuple[int, ...] = 0) -> None:
        if self.row_band is not None:
            scope.bind(self.row_band.syms, Lanes(row, pattern))


def column_parts(
    builder: KernelBuilder, band: Band, columns: Range, step: int
) -> list[tuple[Dim, Dim, int, int]]:
    """(begin, end, step, valid columns of a step) of the loops over a range of columns; the last one runs once, in the
    workgroup that has the last columns."""
    extent = band.extent
    length = columns.size if columns.size is not None else builder.sub(columns.stop, columns.start)
    main = builder.add(columns.start, builder.round_down(length, step))
    found = []
    if extent >= step and (length.__class__ is not int or length >= step):
        found.append((columns.start, main, step, step))
    if extent % step and (length.__class__ is not int or length % step):
        found.append((main, columns.stop, step, extent % step))
    return found


class ColumnsInPlace(_Source):
    def fill(self, scope: LaneScope, columns: Range, first: Dim, count: Dim) -> None:
        """Nothing to pack."""

    def vectors(
        self, scope: LaneScope, columns: Range, column: Dim, width: int, first: Dim, at: Dim
    ) -> list[Value]:
        """The vectors of the panel at `column`, `width` columns wide, for unit `at` of the block from `first` on."""
        found = []
        for offset in range(0, width, self.lanes):
            mask = self.builder.lane_mask(self.lanes, width - offset) if width - offset < self.lanes else None
            here = scope.copy(self.lanes, mask)
            here.bind(self.band.syms, Lanes(column, tuple(range(offset, offset + self.lanes))))
            found.append(self.elements.across(self.shape.column_factor, here, first, at))
        return found


class PackedColumns(_Source):
    """Panels one after another; a panel has a row of `width` vectors for each product."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int):
        super().__init__(kernel, shape, sizes.elements, lanes)
        self._row = sizes.width * lanes
        self._depth = math.ceil(self.elements.units(sizes.depth) / lanes) * lanes
        count = self._depth * sizes.column_vectors * lanes
        self._buffer: Buffer = self.builder.local("columns", self.elements.elem, count)

    def _base(self, offset: Dim, at: Dim) -> Dim:
        """Where row `at` of the panel at column `offset` of the block is."""
        builder = self.builder
        return builder.add(builder.mul(offset, self._depth), builder.mul(at, self._row))

    def vectors(
        self, scope: LaneScope, columns: Range, column: Dim, width: int, first: Dim, at: Dim
    ) -> list[Value]:
        base = self._base(self.builder.sub(column, columns.start), at)
        return [self.builder.load(self._buffer, base, offset, self.lanes) for offset in range(0, width, self.lanes)]

    def fill(self, scope: LaneScope, columns: Range, first: Dim, count: Dim) -> None:
        factor = self.shape.column_factor
        if factor.step(self.band) != 1 and factor.step(self.shape.products) == 1:
            self._transpose(scope, columns, first, count)
        else:
            self._copy(scope, columns, first, count)

    def _copy(self, scope: LaneScope, columns: Range, first: Dim, count: Dim) -> None:
        """Lanes along the columns."""
        builder, lanes = self.builder, self.lanes
        syms = self.band.syms
        with builder.for_(0, self.elements.units(count), 1, covered=True) as unit:
            for begin, end, step, width in column_parts(builder, self.band, columns, self._row):
                with builder.for_(begin, end, step, covered=True) as column:
                    base = self._base(builder.sub(column.index, columns.start), unit.index)
                    for offset in range(0, width, lanes):
                        mask = builder.lane_mask(lanes, width - offset) if width - offset < lanes else None
                        here = scope.copy(lanes, mask)
                        here.bind(syms, Lanes(column.index, tuple(range(offset, offset + lanes))))
                        value = self.elements.across(self.shape.column_factor, here, first, unit.index)
                        builder.store(value, self._buffer, base, offset)

    def _transpose(self, scope: LaneScope, columns: Range, first: Dim, count: Dim) -> None:
        """Lanes along the products; squares of lanes are turned in registers."""
        builder, lanes = self.builder, self.lanes
        syms = self.band.syms
        for begin, end, step, width in column_parts(builder, self.band, columns, lanes):
            with (
                builder.for_(begin, end, step, covered=True) as column,
                builder.for_(0, self.elements.units(count), lanes, covered=True) as unit,
            ):
                vectors = []
                for number in range(width):
                    here = scope.copy()
                    here.bind(syms, Lanes(column.index, number))
                    factor = self.shape.column_factor
                    vectors.append(self.elements.along(factor, here, first, unit.index, count, lanes))
                zero = builder.const(0, vectors[0].type)
                vectors += [zero] * (lanes - width)
                offset = builder.sub(column.index, columns.start)
                panel = builder.round_down(offset, self._row)
                base = builder.add(self._base(panel, unit.index), builder.sub(offset, panel))
                for number, row in enumerate(transpose(builder, vectors)):
                    builder.store(row, self._buffer, base, number * self._row)


class RowsInPlace(_Source):
    """`ahead` is the height of the strips of rows that are asked for early, 0 for none."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, elements: Elements, lanes: int, ahead: int = 0):
        super().__init__(kernel, shape, elements, lanes)
        self._ahead = ahead

    def fill(self, scope: LaneScope, rows: Range, first: Dim, count: Dim) -> None:
        """Nothing to pack."""

    def element(self, scope: LaneScope, rows: Range, row: Dim, number: int, first: Dim, at: Dim) -> Value:
        """Unit `at` of the block from `first` on, of row `row + number`; `rows` is what was packed last."""
        here = scope.copy(1)
        self.bind_rows(here, row, number)
        element = self.elements.across(self.shape.row_factor, here, first, at)
        if number == 0 and self._ahead:
            self._prefetch(element, at)
        return element

    def _prefetch(self, element: Value, at: Dim) -> None:
        """Asks for what the strips to come need, of the element's line or the next ones."""
        builder = self.builder
        (base,) = element.op.operands
        buffer, offset = element.op.attrs
        if self.shape.row_factor.step(self.shape.products) == 1:
            # A strip is one run of memory: each step asks for its share of the next one.
            base = builder.add(base, builder.mul(at, self._ahead - 1))
            builder.prefetch(buffer, base, offset + self._ahead * self.shape.products.extent)
        else:
            builder.prefetch(buffer, base, offset + 64 // storage_bytes(buffer.elem))


class PackedRows(_Source):
    """Some rows, each contiguous along the products."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int):
        super().__init__(kernel, shape, sizes.elements, lanes)
        elem = self.elements.elem
        # Rows must not all begin in the same cache sets.
        self._length = math.ceil(self.elements.units(sizes.depth) / lanes) * lanes + 64 // storage_bytes(elem)
        self._buffer: Buffer = self.builder.local("rows", elem, self._length * sizes.packed_rows)

    def fill(self, scope: LaneScope, rows: Range, first: Dim, count: Dim) -> None:
        builder, lanes = self.builder, self.lanes
        with (
            builder.for_(rows.start, rows.stop, 1, covered=True) as row,
            builder.for_(0, self.elements.units(count), lanes, covered=True) as unit,
        ):
            here = scope.copy()
            self.bind_rows(here, row.index)
            value = self.elements.along(self.shape.row_factor, here, first, unit.index, count, lanes)
            base = builder.add(builder.mul(builder.sub(row.index, rows.start), self._length), unit.index)
            builder.store(value, self._buffer, base)

    def element(self, scope: LaneScope, rows: Range, row: Dim, number: int, first: Dim, at: Dim) -> Value:
        builder = self.builder
        base = builder.add(builder.mul(builder.sub(row, rows.start), self._length), at)
        return builder.load(self._buffer, base, number * self._length, 1)


class PackedTransposedRows(_Source):
    """Rows side by side: those of one product after those of the one before. As many rows are packed together as make
    it worth fetching a line of the cache for each product."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int):
        super().__init__(kernel, shape, sizes.elements, lanes)
        self._width = math.ceil(sizes.packed_rows / lanes) * lanes
        # Packs begin at multiples of their size only if workgroups do.
        self._packs_all = sizes.packed_rows == self._width and sizes.kept_rows % sizes.packed_rows == 0
        count = self._width * self.elements.units(sizes.depth)
        self._buffer: Buffer = self.builder.local("rows", self.elements.elem, count)

    def fill(self, scope: LaneScope, rows: Range, first: Dim, count: Dim) -> None:
        builder, lanes = self.builder, self.lanes
        extent = self.row_band.extent
        with builder.for_(0, self.elements.units(count), 1, covered=True) as unit:
            base = builder.mul(unit.index, self._width)
            for offset in range(0, self._width, lanes):
                left = builder.max(builder.sub(builder.sub(extent, rows.start), offset), 0)
                whole = extent % self._width == 0 and self._packs_all
                here = scope.copy(lanes, None if whole else builder.lane_mask(lanes, left))
                self.bind_rows(here, rows.start, tuple(range(offset, offset + lanes)))
                value = self.elements.across(self.shape.row_factor, here, first, unit.index)
                builder.store(value, self._buffer, base, offset)

    def element(self, scope: LaneScope, rows: Range, row: Dim, number: int, first: Dim, at: Dim) -> Value:
        builder = self.builder
        base = builder.add(builder.mul(at, self._width), builder.sub(row, rows.start))
        return builder.load(self._buffer, base, number, 1)


ColumnSource = ColumnsInPlace | PackedColumns
RowSource = RowsInPlace | PackedRows | PackedTransposedRows


def column_source(kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int) -> ColumnSource:
    if sizes.packs_columns:
        return PackedColumns(kernel, shape, sizes, lanes)
    return ColumnsInPlace(kernel, shape, sizes.elements, lanes)


def row_source(kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int) -> RowSource:
    if not sizes.packs_rows:
        return RowsInPlace(kernel, shape, sizes.elements, lanes, sizes.height if sizes.prefetches_rows else 0)
    kind = PackedTransposedRows if shape.rows_are_transposed(kernel) else PackedRows
    return kind(kernel, shape, sizes, lanes)
