"""How a matrix product is cut: register tile, blocks for the caches, workgroups.

Enters: a `MatmulShape` and the target. Leaves: `TileSizes`. Everything comes from the problem's size and the target's
registers and caches, so results do not depend on how many workers there are.
"""

from __future__ import annotations

import math

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ... import configure
from ...configure import Tiles
from ...loops import storage_bytes
from ...row_kernel import RowKernel
from .elements import Elements, Singles, elements_of
from .shape import MatmulShape
from .sums import epilogue_cost, result_for_sums
from .workload import even_part, wanted_nanoseconds

# A vector of products, with its share of everything around it.
_NANOSECONDS_PER_STEP = 0.3
# Vectors of columns that a workgroup has at most where they are not packed.
_BLOCK_VECTORS = 8
# Units of products that are summed in one go where a factor is packed, as far as a strip of rows then stays in the
# first-level cache beside the panels that stream past it.
_MOST_DEPTH = 384
_STRIP_SHARE_OF_L1 = 0.86
_ROWS_TO_CONVERT = 24
# What one block of columns may take of the second-level cache when it is read in place.
_SHARE_OF_L2 = 0.45
# Pages whose addresses a core has at hand, and their size.
_PAGES = 64
_PAGE_BYTES = 4096
_LINE_BYTES = 64
# Ways of the second-level cache: lines that fall into the same set.
_WAYS = 8
# Bytes that are read together where strips of rows that lie side by side are packed, whole lines if they begin well.
_PACKED_BYTES = 192
_ROWS_OF_WHOLE_LINES = 4
# What sums that no result can hold may take of local memory.
_SHARE_OF_SUMS = 0.375
# Columns of a workgroup from which on rows are packed that need not be.
_COLUMNS_TO_PACK_ROWS = 96
# Multiply-adds of vectors that take as long as packing one vector of either factor; transposed rows are fetched while
# nothing else is done.
_STEPS_TO_PACK_COLUMNS = 36
_STEPS_TO_PACK_ROWS = 12
_STEPS_TO_PACK_TRANSPOSED_ROWS = 32
# Steps of products are written out side by side where the sums and a panel leave so many registers for broadcasts;
# tiles leave them where there are many.
_REGISTERS_OF_STEPS = 4
_MANY_REGISTERS = 32
# Vectors that a register tile may be wide. A step loads one broadcast for each row and a vector of the panel for each
# column of vectors; a packed one costs more, since it is asked for and comes from the second-level cache.
_WIDTHS = (2, 3, 4)
_LOADS_OF_PACKED_VECTOR = 3
# Units of products after which a tile asks for what is needed later.
UNITS_OF_A_ROUND = 16
UNITS_OF_A_STEP = 4
# The part of a workgroup during which some cores have none, in the end.
_IDLE = 0.2
# What a workgroup with packed factors takes at most.
_MOST_NANOSECONDS = 20e6
# Below this many rows each packed element is used too seldom; a factor that the second-level cache does not hold costs
# more than packing where two strips of rows read it.
_ROWS_TO_PACK = 64
_ROWS_TO_PACK_LARGE = 16
# From so many rows on, transposed ones that the first-level cache does not hold are packed, and the columns with them.
_ROWS_TO_PACK_BOTH = 160
_LARGE_SHARE_OF_L2 = 0.6
# Ops after the product that are written out for every accumulator; more are done in a loop over the sums.
_INLINE_OPS = 2.0


@dataclass
class TileSizes:
    height: int
    """Rows of a register tile."""
    width: int
    """Vectors of a register tile."""
    depth: int
    """Products that are summed before the sums leave the registers."""
    elements: Elements
    tiles: Tiles
    """Workgroups, for the kernel's row bands."""
    column_vectors: int
    """Vectors of columns of a workgroup, whole panels."""
    kept_rows: int
    """Rows of a workgroup where sums are kept in local memory."""
    packs_columns: bool
    packs_rows: bool
    packed_rows: int
    """Rows that are packed together, if any are."""
    keeps_sums: bool
    """Whether sums leave the registers before they are results."""
    finishes_in_loop: bool
    """Whether what follows the product is done in a loop over sums that have been stored."""
    prefetches_rows: bool
    """Whether rows that are read in place lie across lines of memory."""
    asks_ahead: bool
    """Whether tiles ask for memory that is needed after them."""
    steps: int
    """Units of products that are written out side by side."""
    has_rest: bool
    """Whether some block is no whole number of steps."""


def choose_sizes(kernel: RowKernel, shape: MatmulShape, lanes: int) -> TileSizes:
    """All sizes of a kernel."""
    bands = kernel.row_bands
    rows = shape.row_count(kernel)
    columns, products = bands[shape.columns].extent, shape.products.extent
    element = storage_bytes(shape.reducer.state_elem)
    vectors = math.ceil(columns / lanes)
    in_result = result_for_sums(kernel, shape) is not None
    in_loop = epilogue_cost(kernel, shape) > _INLINE_OPS
    block_columns = min(columns, _BLOCK_VECTORS * lanes)
    packs_columns = _packs_columns(kernel, shape, rows, block_columns, element)
    packs_rows = not shape.row_factor.is_plain
    elements: Elements = Singles(kernel, shape)
    if packs_columns and packs_rows:
        elements = elements_of(kernel, shape, lanes)
    if columns >= _COLUMNS_TO_PACK_ROWS and _rows_lie_in_runs(kernel, shape):
        packs_rows = packs_rows or packs_columns
    width = min(vectors, _width(kernel, shape, rows, vectors, packs_columns, packs_rows))
    height = _height(kernel, shape, rows, width, packs_columns, packs_rows)
    unit_bytes = storage_bytes(elements.elem)
    packed_rows = height
    if shape.rows_are_transposed(kernel):
        packed_rows *= max(1, _PACKED_BYTES // (height * unit_bytes))
    splits = packs_columns or packs_rows or bool(shape.outer_products)
    kept_in_local = not in_result and (in_loop or splits)

    nanoseconds = rows * vectors * shape.product_count * _NANOSECONDS_PER_STEP
    wanted = wanted_nanoseconds(kernel, shape, nanoseconds)
    sizes = [0] * len(bands)
    depth = products
    if packs_columns or packs_rows:
        depth = _depth(kernel, products, elements, height * unit_bytes)
    local = kernel.target.local_bytes // element
    kept = int(local * _SHARE_OF_SUMS) if kept_in_local else local
    most_vectors = vectors
    if packs_columns:
        units = math.ceil(depth / elements.unit / lanes) * lanes
        room = local - (units + 64) * math.ceil(packed_rows / lanes) * lanes - (kept if kept_in_local else 0)
        room -= height * width * lanes
        most_vectors = room // (units * lanes)
    elif kept_in_local:
        most_vectors = _BLOCK_VECTORS
    most_vectors = max(width, min(math.ceil(vectors / width) * width, most_vectors - most_vectors % width))
    if nanoseconds > wanted * 1.5:
        for k in shape.outer:
            sizes[k] = 1
        if packs_columns:
            parts = _Parts(kernel, shape, height, width, most_vectors, lanes, kept)
            tile_rows, tile_vectors = parts.choose(nanoseconds)
        else:
            count = math.ceil(vectors / min(_BLOCK_VECTORS, most_vectors))
            tile_vectors = math.ceil(math.ceil(vectors / count) / width) * width
            pieces = max(1, round(nanoseconds * tile_vectors / vectors / wanted))
            tile_rows = math.ceil(math.ceil(rows / pieces) / height) * height
    else:
        outer = configure.tile_bands([bands[k] for k in shape.outer], nanoseconds, [1] * len(shape.outer), wanted)
        for k, size in zip(shape.outer, outer.sizes, strict=True):
            sizes[k] = size
        tile_rows, tile_vectors = rows, most_vectors
    if kept_in_local:
        tile_rows = min(tile_rows, max(1, kept // (tile_vectors * lanes * height)) * height)
    if tile_vectors * lanes < columns:
        sizes[shape.columns] = tile_vectors * lanes
    if tile_rows < rows:
        sizes[shape.rows] = tile_rows
    tile_rows = min(tile_rows, rows)
    prefetches = not packs_rows and _prefetches_rows(kernel, shape, tile_vectors, depth)
    keeps_sums = in_loop or depth < products or bool(shape.outer_products)
    left = kernel.target.vector_registers - (height + 1) * width
    steps = UNITS_OF_A_STEP if left >= _REGISTERS_OF_STEPS else 1
    return TileSizes(
        height=height,
        width=width,
        depth=depth,
        elements=elements,
        tiles=Tiles(sizes),
        column_vectors=tile_vectors,
        kept_rows=tile_rows,
        packs_columns=packs_columns,
        packs_rows=packs_rows,
        packed_rows=packed_rows,
        keeps_sums=keeps_sums,
        finishes_in_loop=in_loop,
        prefetches_rows=prefetches,
        asks_ahead=packs_columns and elements.units(depth) >= UNITS_OF_A_ROUND,
        steps=steps,
        has_rest=any(elements.units(n) % steps for n in (depth, products % depth)),
    )


def _depth(kernel: RowKernel, products: int, elements: Elements, bytes_of_unit: int) -> int:
    """Products of a block, of which a strip of rows has so many bytes a unit."""
    round_ = UNITS_OF_A_ROUND * elements.unit
    most = min(_MOST_DEPTH, int(_STRIP_SHARE_OF_L1 * kernel.target.l1_bytes) // bytes_of_unit) * elements.unit
    return even_part(products, max(most, round_), round_)


@dataclass
class _Parts:
    """Into how many parts rows and columns are cut where the column factor is packed: large ones, since each packs for
    itself, but some for every core."""

    kernel: RowKernel
    shape: MatmulShape
    height: int
    width: int
    most_vectors: int
    lanes: int
    most_elements: int

    def choose(self, nanoseconds: float) -> tuple[int, int]:
        """(rows, vectors) of a part of a product that takes so long."""
        rows = self.shape.row_count(self.kernel)
        vectors = math.ceil(self.kernel.row_bands[self.shape.columns].extent / self.lanes)
        heights = {self._even(rows, count, self.height) for count in range(1, 1 + math.ceil(rows / self.height))}
        widths = {self._even(vectors, count, self.width) for count in range(1, 1 + math.ceil(vectors / self.width))}
        share = _MOST_NANOSECONDS / nanoseconds * rows * vectors
        found = [
            (h, w)
            for h in heights
            for w in widths
            if w <= self.most_vectors and h * w <= max(share, self.height * self.width)
        ]
        return min(found, key=lambda tile: (self._cost(rows, vectors, *tile), tile))

    def _even(self, extent: int, count: int, multiple: int) -> int:
        return math.ceil(math.ceil(extent / count) / multiple) * multiple

    def _cost(self, rows: int, vectors: int, tile_rows: int, tile_vectors: int) -> float:
        """The time until all workgroups are done, and a part of one during which some cores have none."""
        bands, cores = self.kernel.row_bands, self.kernel.target.cores
        count = math.ceil(rows / tile_rows) * math.ceil(vectors / tile_vectors)
        count *= math.prod([bands[k].extent for k in self.shape.outer])
        transposed = self.shape.rows_are_transposed(self.kernel)
        steps = _STEPS_TO_PACK_TRANSPOSED_ROWS if transposed else _STEPS_TO_PACK_ROWS
        packing = _STEPS_TO_PACK_COLUMNS / tile_rows + steps / (tile_vectors * self.lanes)
        return (math.ceil(count / cores) + _IDLE) * tile_rows * tile_vectors * (1 + packing)


def _rows_lie_in_runs(kernel: RowKernel, shape: MatmulShape) -> bool:
    """Whether packing the rows reads memory in runs: along the products, or across the rows."""
    return shape.row_factor.step(shape.products) == 1 or shape.rows_are_transposed(kernel)


def _transposed_rows_collide(kernel: RowKernel, shape: MatmulShape) -> bool:
    """Whether a strip of transposed rows, a line for each product, would not stay in the first-level cache."""
    if not shape.rows_are_transposed(kernel):
        return False
    step, l1 = shape.row_factor.step(shape.products), kernel.target.l1_bytes
    if step is None:
        return True
    bytes_ = max(access.bytes for access in shape.row_factor.accesses)
    return shape.products.extent > _lines_at_hand(step * bytes_, l1, l1 // _PAGE_BYTES)


def _width(
    kernel: RowKernel, shape: MatmulShape, rows: int, vectors: int, packs_columns: bool, packs_rows: bool
) -> int:
    """Vectors of a register tile: of the widths that divide the columns, the one that loads least for each
    multiply-add, as load ports are what a core has least of where two threads share it. Rows that a narrow tile holds
    all at once stay together, since the columns' factor may come from far away; where transposed rows are packed, the
    right number of columns in a block counts for more; and no more is written out than for a narrow tile. Of few
    registers a wide tile would take every one."""
    narrow, *wider = _WIDTHS
    if kernel.target.vector_registers < _MANY_REGISTERS:
        return narrow
    heights = {narrow: _height(kernel, shape, rows, narrow, packs_columns, packs_rows)}
    if rows <= heights[narrow] or (packs_columns and packs_rows and shape.rows_are_transposed(kernel)):
        return narrow
    for width in wider:
        if vectors % width == 0:
            heights[width] = _height(kernel, shape, rows, width, packs_columns, packs_rows)
    panel = _LOADS_OF_PACKED_VECTOR if packs_columns else 1

    def written_out(width: int) -> int:
        return (heights[width] + (0 if packs_rows else rows % heights[width])) * width

    def loads(width: int) -> float:
        return math.ceil(rows / heights[width]) * panel + rows / width

    return min([width for width in heights if written_out(width) <= written_out(narrow)], key=loads)


def _height(kernel: RowKernel, shape: MatmulShape, rows: int, width: int, packs_columns: bool, packs_rows: bool) -> int:
    """Rows of a register tile: accumulators, the panel's vectors and one broadcast fit the registers, and the last tile
    is as full as may be. Rows that are read in place must not be more than fit the sets of the first-level cache that
    they fall into."""
    registers = kernel.target.vector_registers
    most = (registers - width - 1) // width
    if packs_columns and registers >= _MANY_REGISTERS:
        most = (registers - width - _REGISTERS_OF_STEPS) // width
    if rows <= most:
        return rows
    if packs_rows and shape.rows_are_transposed(kernel) and most > _ROWS_OF_WHOLE_LINES:
        return most - most % _ROWS_OF_WHOLE_LINES
    if not packs_rows and shape.rows is not None:
        step = shape.row_factor.step(kernel.row_bands[shape.rows])
        bytes_ = max(access.bytes for access in shape.row_factor.accesses)
        most = min(
            most, _lines_at_hand((step or 0) * bytes_, kernel.target.l1_bytes, kernel.target.l1_bytes // _PAGE_BYTES)
        )
    if width > _WIDTHS[0] and not packs_rows:
        # Each strip loads its panels anew.
        return math.ceil(rows / math.ceil(rows / most))
    least = max(1, most * 3 // 4)
    return min(range(most, least - 1, -1), key=lambda h: math.ceil(rows / h) * (h + 0.5))


def _packs_columns(kernel: RowKernel, shape: MatmulShape, rows: int, columns: int, element: int) -> bool:
    """Whether the columns' factor is packed: if it has to be computed or turned round, or is used often enough and
    would not stay in the second-level cache where it is, or lies in too many pages, or the rows are packed."""
    factor, band, target = shape.column_factor, kernel.row_bands[shape.columns], kernel.target
    if factor.step(band) != 1:
        return True
    whole = shape.products.extent * band.extent * element
    least = _ROWS_TO_PACK_LARGE if whole > _LARGE_SHARE_OF_L2 * target.l2_bytes else _ROWS_TO_PACK
    if rows < (least if factor.is_plain else _ROWS_TO_CONVERT):
        return False
    if not factor.is_plain or (rows >= _ROWS_TO_PACK_BOTH and _transposed_rows_collide(kernel, shape)):
        return True
    products = shape.products.extent
    step = factor.step(shape.products)
    if step is None or _collide(step * element, products, target.l2_bytes):
        return True
    if products * step * element > _PAGES * _PAGE_BYTES:
        return True
    return products * columns * element > _SHARE_OF_L2 * target.l2_bytes


def _prefetches_rows(kernel: RowKernel, shape: MatmulShape, vectors: int, depth: int) -> bool:
    """Whether rows that are read in place are asked for early: if they lie across lines of memory, which no processor
    foresees, or if they are gone through quickly."""
    if shape.rows is None:
        return False
    step = shape.row_factor.step(kernel.row_bands[shape.rows])
    if shape.row_factor.step(shape.products) == 1:
        return step == shape.products.extent <= depth and vectors <= _BLOCK_VECTORS
    return step == 1


def _collide(step: int, count: int, cache_bytes: int) -> bool:
    """Whether `count` lines, `step` bytes apart, are more than a second-level cache holds of them."""
    return step != 0 and count > _lines_at_hand(step, cache_bytes, _WAYS)


def _lines_at_hand(step: int, cache_bytes: int, ways: int) -> int:
    """How many lines, `step` bytes apart, a cache holds."""
    span = cache_bytes // ways
    return min(span // math.gcd(abs(step), span), span // _LINE_BYTES) * ways
