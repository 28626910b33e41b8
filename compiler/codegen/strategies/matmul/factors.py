"""Where a matrix product's inner loop finds its factors: in place, or packed in local memory.

Enters: a `MatmulShape` and its `TileSizes`. Leaves: a source for each factor. `fill` packs a block (nothing, where the
factor is read in place); then `vectors` gives the columns of a panel and `element` one element of a row.
"""

from __future__ import annotations

import math

from ...configure import Band
from ...evaluate import Evaluator
from ...indexing import Dim, Lanes, LaneScope
from ...loops import BOOL, Buffer, KernelBuilder, Value, storage_bytes
from ...nest import Range
from ...row_kernel import RowKernel
from ...transposition import transpose
from .elements import Elements
from .results import Block
from .shape import Factor, MatmulShape
from .tile_sizes import UNITS_OF_A_ROUND, TileSizes

_LINE_BYTES = 64
# Units of products by which packing columns asks for memory ahead, and reading a panel asks for its rows.
_UNITS_AHEAD = 8
_PANEL_UNITS_AHEAD = 6


class _Source:
    """What the sources share: how to evaluate the factor at a place."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, elements: Elements, lanes: int):
        self.builder, self.context = kernel.builder, kernel.context
        self.shape, self.elements, self.lanes = shape, elements, lanes
        self.band = kernel.row_bands[shape.columns]
        self.row_band = None if shape.rows is None else kernel.row_bands[shape.rows]

    def bind_rows(self, scope: LaneScope, row: Dim, pattern: int | tuple[int, ...] = 0) -> None:
        if self.row_band is not None:
            scope.bind(self.row_band.syms, Lanes(row, pattern))

    def ask_ahead(self, block: Block, row: Dim, column: Dim, at: Dim) -> None:
        """Asks for a share of the rows that are packed next: what falls to the tile at (row, column) in the round from
        unit `at` on."""

    def ask_for(self, factor: Factor, scope: LaneScope, near: bool = False) -> None:
        """Asks for the lines of memory from which the factor is computed where a scope is."""
        if any(access.opaque for access in factor.accesses):
            return
        pending = [factor.at(Evaluator(self.context, scope), scope.lanes)]
        while pending:
            op = pending.pop().op
            if op is not None and op.name == "load":
                self.builder.prefetch(op.attrs[0], op.operands[0], op.attrs[1], near)
            elif op is not None:
                pending += op.operands

    @staticmethod
    def bytes_of(factor: Factor) -> int:
        """The size of the factor's widest element in memory."""
        return max(access.bytes for access in factor.accesses)


def column_parts(builder: KernelBuilder, band: Band, columns: Range, step: int) -> list[tuple[Dim, Dim, int, int]]:
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
        self, scope: LaneScope, columns: Range, column: Dim, width: int, first: Dim, at: Dim, step: int = 0
    ) -> list[Value]:
        """The vectors of the panel at `column`, `width` columns wide, for unit `at` of the block from `first` on."""
        found = []
        for offset in range(0, width, self.lanes):
            mask = self.builder.lane_mask(self.lanes, width - offset) if width - offset < self.lanes else None
            here = scope.copy(self.lanes, mask)
            here.bind(self.band.syms, Lanes(column, tuple(range(offset, offset + self.lanes))))
            found.append(self.elements.across(self.shape.column_factor, here, first, at, step))
        return found


class PackedColumns(_Source):
    """Panels one after another; a panel has a row of `width` vectors for each product."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int):
        super().__init__(kernel, shape, sizes.elements, lanes)
        self._row = sizes.width * lanes
        self._depth = math.ceil(self.elements.units(sizes.depth) / lanes) * lanes
        count = self._depth * sizes.column_vectors * lanes
        self._asks_ahead = sizes.asks_ahead
        self._buffer: Buffer = self.builder.local("columns", self.elements.elem, count)

    def _base(self, offset: Dim, at: Dim) -> Dim:
        """Where row `at` of the panel at column `offset` of the block is."""
        builder = self.builder
        return builder.add(builder.mul(offset, self._depth), builder.mul(at, self._row))

    def vectors(
        self, scope: LaneScope, columns: Range, column: Dim, width: int, first: Dim, at: Dim, step: int = 0
    ) -> list[Value]:
        base = self._base(self.builder.sub(column, columns.start), at)
        if self._asks_ahead:
            for offset in range(0, self._row, _LINE_BYTES // storage_bytes(self.elements.elem)):
                self.builder.prefetch(self._buffer, base, (step + _PANEL_UNITS_AHEAD) * self._row + offset)
        offsets = range(step * self._row, step * self._row + width, self.lanes)
        return [self.builder.load(self._buffer, base, offset, self.lanes) for offset in offsets]

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
                        product = builder.mul(builder.add(unit.index, _UNITS_AHEAD), self.elements.unit)
                        here = scope.copy(1)
                        here.bind(syms, Lanes(column.index, offset))
                        here.bind(self.shape.products.syms, Lanes(builder.add(first, product)))
                        self.ask_for(self.shape.column_factor, here)

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

    def fill(self, block: Block) -> None:
        """Nothing to pack."""

    def element(self, block: Block, row: Dim, number: int, at: Dim, step: int = 0) -> Value:
        """Unit `at + step` of the block, of row `row + number`."""
        here = block.scope.copy(1)
        self.bind_rows(here, row, number)
        element = self.elements.across(self.shape.row_factor, here, block.first, at, step)
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
        self._height, self._width = sizes.height, sizes.width * lanes
        self._panels = math.ceil(sizes.column_vectors / sizes.width)
        # Rows must not all begin in the same cache sets.
        self._length = math.ceil(self.elements.units(sizes.depth) / lanes) * lanes + 64 // storage_bytes(elem)
        self._buffer: Buffer = self.builder.local("rows", elem, self._length * sizes.packed_rows)

    def fill(self, block: Block) -> None:
        builder, lanes, rows = self.builder, self.lanes, block.packed
        with (
            builder.for_(rows.start, rows.stop, 1, covered=True) as row,
            builder.for_(0, self.elements.units(block.count), lanes, covered=True) as unit,
        ):
            here = block.scope.copy()
            self.bind_rows(here, row.index)
            value = self.elements.along(self.shape.row_factor, here, block.first, unit.index, block.count, lanes)
            base = builder.add(builder.mul(builder.sub(row.index, rows.start), self._length), unit.index)
            builder.store(value, self._buffer, base)

    def ask_ahead(self, block: Block, row: Dim, column: Dim, at: Dim) -> None:
        """The tile of each panel asks for some rows of the next strip."""
        builder, unit = self.builder, self.elements.unit
        panel = builder.div(builder.sub(column, block.columns.start), self._width)
        share = math.ceil(self._height / self._panels)
        mine = builder.add(builder.mul(panel, share), self._height)
        products = UNITS_OF_A_ROUND * unit
        lines = math.ceil(products * self.bytes_of(self.shape.row_factor) / _LINE_BYTES)
        for k in range(share):
            for line in range(lines):
                here = block.scope.copy(1)
                self.bind_rows(here, builder.add(row, mine), k)
                product = builder.add(block.first, builder.mul(at, unit))
                here.bind(self.shape.products.syms, Lanes(product, line * products // lines))
                self.ask_for(self.shape.row_factor, here)

    def element(self, block: Block, row: Dim, number: int, at: Dim, step: int = 0) -> Value:
        builder = self.builder
        base = builder.add(builder.mul(builder.sub(row, block.packed.start), self._length), at)
        return builder.load(self._buffer, base, number * self._length + step, 1)


class PackedTransposedRows(_Source):
    """Strips of rows; in each, the rows of one product after those of the one before. As many strips are packed
    together as make it worth fetching the lines of each product."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, sizes: TileSizes, lanes: int):
        super().__init__(kernel, shape, sizes.elements, lanes)
        self._height, self._rows = sizes.height, sizes.packed_rows
        # Whole vectors are stored, over what comes next; so there is room behind the last.
        self._strip = math.ceil((self.elements.units(sizes.depth) * self._height + lanes) / lanes) * lanes
        count = self._strip * (self._rows // self._height)
        self._buffer: Buffer = self.builder.local("rows", self.elements.elem, count)

    def fill(self, block: Block) -> None:
        """Whole vectors are read where there are as many rows; masks are for the last ones."""
        builder = self.builder
        left = builder.sub(self.row_band.extent, block.packed.start)
        needed = self._rows - self._height + math.ceil(self._height / self.lanes) * self.lanes
        whole = builder.op("arith.cmpi", (builder.index(left), builder.index(needed)), BOOL, "sge")
        with builder.if_(whole):
            self._fill(block, None)
        with builder.if_(builder.op("arith.xori", (whole, builder.const(1, BOOL)), BOOL)):
            self._fill(block, left)

    def _fill(self, block: Block, left: Dim | None) -> None:
        """`left` rows are there, or, with None, as many as are read."""
        builder, lanes = self.builder, self.lanes
        with builder.for_(0, self.elements.units(block.count), 1, covered=True) as unit:
            self._ask(block, builder.add(unit.index, _UNITS_AHEAD))
            base = builder.mul(unit.index, self._height)
            for strip in range(self._rows // self._height):
                for offset in range(0, self._height, lanes):
                    row = strip * self._height + offset
                    mask = None if left is None else builder.lane_mask(lanes, builder.max(builder.sub(left, row), 0))
                    here = block.scope.copy(lanes, mask)
                    self.bind_rows(here, block.packed.start, tuple(range(row, row + lanes)))
                    value = self.elements.across(self.shape.row_factor, here, block.first, unit.index)
                    builder.store(value, self._buffer, base, strip * self._strip + offset)

    def _ask(self, block: Block, unit: Dim) -> None:
        """Asks for one unit of all strips."""
        builder = self.builder
        line = _LINE_BYTES // self.bytes_of(self.shape.row_factor)
        here = block.scope.copy(1)
        product = builder.add(block.first, builder.mul(unit, self.elements.unit))
        here.bind(self.shape.products.syms, Lanes(product))
        for offset in range(0, self._rows + line, line):
            self.bind_rows(here, block.packed.start, min(offset, self._rows - 1))
            self.ask_for(self.shape.row_factor, here)

    def element(self, block: Block, row: Dim, number: int, at: Dim, step: int = 0) -> Value:
        builder = self.builder
        strip = builder.div(builder.sub(row, block.packed.start), self._height)
        base = builder.add(builder.mul(strip, self._strip), builder.mul(at, self._height))
        return builder.load(self._buffer, base, number + step * self._height, 1)


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
