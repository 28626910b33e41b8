"""How a matrix product is cut: register tile, blocks for the caches, workgroups.

Enters: a `MatmulShape` and the target. Leaves: `MatmulBlocks`. Everything comes from the problem's size and the
target's registers and caches, so results do not depend on how many workers there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import configure
from ..complex_values import Element
from ..configure import Tiles
from ..evaluate import Evaluator
from ..loops import INDEX, MAX_LOCAL_BYTES, storage_bytes, vector
from ..loops import Value as LoopValue
from ..row_kernel import RowKernel
from ..stages import Row
from ..stores import ResultStore
from ..survey import SurveyScope, op_cost, survey
from .matmul_elements import Elements, Singles, elements_of
from .matmul_shape import MatmulShape

# A vector of products, with its share of everything around it.
_NANOSECONDS_PER_STEP = 0.3
_LEAST_NANOSECONDS = 10_000.0
_MOST_NANOSECONDS = 1_200_000.0
_MANY_WORKGROUPS = 16
# Vectors of columns that a workgroup has at most.
_BLOCK_VECTORS = 8
# Products that are summed in one go where a factor is packed.
_MOST_DEPTH = 384
_ROWS_TO_CONVERT = 24
# What one block of columns may take of the second-level cache when it is read in place.
_SHARE_OF_L2 = 0.45
# Ways of a cache: lines that fall into the same set.
_WAYS = 8
# Rows that are few, and the most that are still few where the column factor is large.
_FEW_ROWS = 4
_STREAMED_PRODUCTS = 8
_MOST_ROWS_TO_STREAM = 8
_NANOSECONDS_PER_BYTE = 0.03
# What is read in one go from each row of a streamed factor.
_LEAST_STREAM_BYTES = 2048
# Strips of rows that are packed together where they lie side by side.
_PACKED_STRIPS = 4
# Rows whose sums a workgroup keeps in local memory, where no result can hold them.
_KEPT_ROWS = 96
# Below this many rows each packed element is used too seldom.
_ROWS_TO_PACK = 64
# Ops after the product that are written out for every accumulator; more are done in a loop over the sums.
_INLINE_OPS = 2.0


@dataclass
class MatmulBlocks:
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
    partials: ResultStore | None
    """The result in whose place sums may wait."""
    has_epilogue: bool
    finishes_in_loop: bool
    """Whether what follows the product is done in a loop over sums that have been stored."""
    prefetches_rows: bool
    """Whether rows that are read in place lie across lines of memory."""
    streams: bool
    """Whether the columns' factor is read row after row, `depth` rows at a time, rather than panel by panel."""


def choose_blocks(kernel: RowKernel, shape: MatmulShape, lanes: int) -> MatmulBlocks:
    """All sizes of a kernel."""
    bands = kernel.row_bands
    rows = 1 if shape.rows is None else bands[shape.rows].extent
    columns, products = bands[shape.columns].extent, shape.products.extent
    element = storage_bytes(shape.reducer.state_elem)
    if _streams(kernel, shape, rows, element):
        return _streaming_blocks(kernel, shape, lanes, rows)
    vectors = math.ceil(columns / lanes)
    width = min(2, vectors)
    height = _height(kernel, rows, width)
    partials = _partials(kernel, shape)
    in_loop = _epilogue_cost(kernel, shape) > _INLINE_OPS
    has_epilogue = partials is None or not _stores_sums(kernel, shape)
    block_columns = min(columns, _BLOCK_VECTORS * lanes)
    packs_columns = _packs_columns(kernel, shape, rows, block_columns, element)
    packs_rows = not shape.row_factor.is_plain
    elements: Elements = Singles(kernel, shape)
    if packs_columns and packs_rows:
        elements = elements_of(kernel, shape, lanes)
    packed_rows = height * (_PACKED_STRIPS if shape.rows_are_transposed(kernel) else 1)

    all_products = products * math.prod([band.extent for band in shape.outer_products])
    nanoseconds = rows * vectors * all_products * _NANOSECONDS_PER_STEP
    total = nanoseconds * math.prod([bands[k].extent for k in shape.outer])
    wanted = min(max(total / _MANY_WORKGROUPS, _LEAST_NANOSECONDS), _MOST_NANOSECONDS)
    sizes = [0] * len(bands)
    tile_rows, tile_vectors = rows, vectors
    if nanoseconds > wanted * 1.5:
        for k in shape.outer:
            sizes[k] = 1
        count = math.ceil(vectors / _BLOCK_VECTORS)
        tile_vectors = math.ceil(math.ceil(vectors / count) / width) * width
        pieces = round(nanoseconds * tile_vectors / vectors / wanted)
        if pieces > 1:
            tile_rows = math.ceil(math.ceil(rows / pieces) / height) * height
    else:
        outer = configure.tile_bands([bands[k] for k in shape.outer], nanoseconds, [1] * len(shape.outer), wanted)
        for k, size in zip(shape.outer, outer.sizes, strict=True):
            sizes[k] = size
        tile_vectors = min(vectors, _BLOCK_VECTORS) if packs_columns else vectors
    tile_vectors = math.ceil(tile_vectors / width) * width

    splits = packs_columns or packs_rows or bool(shape.outer_products)
    kept_in_local = partials is None and (in_loop or splits)
    if kept_in_local and tile_rows > _KEPT_ROWS:
        tile_rows = math.ceil(_KEPT_ROWS / height) * height
    if tile_vectors * lanes < columns:
        sizes[shape.columns] = tile_vectors * lanes
    if tile_rows < rows:
        sizes[shape.rows] = tile_rows
    depth = products
    if packs_columns or packs_rows:
        room = MAX_LOCAL_BYTES // element - 64 * packed_rows
        room -= tile_rows * tile_vectors * lanes if kept_in_local else 0
        packed_width = math.ceil(packed_rows / lanes) * lanes
        a_product = tile_vectors * lanes * packs_columns + packed_width * packs_rows
        unit = elements.unit
        depth = _even_part(products, unit * max(lanes, min(room // a_product, _MOST_DEPTH)), unit * lanes)
    prefetches = not packs_rows and _prefetches_rows(kernel, shape, tile_vectors, depth)
    keeps_sums = in_loop or depth < products or bool(shape.outer_products)
    return MatmulBlocks(
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
        partials=partials,
        has_epilogue=has_epilogue,
        finishes_in_loop=in_loop,
        prefetches_rows=prefetches,
        streams=False,
    )


def _streams(kernel: RowKernel, shape: MatmulShape, rows: int, element: int) -> bool:
    """Whether a few rows meet a column factor that is best read from start to end."""
    factor, band = shape.column_factor, kernel.row_bands[shape.columns]
    if rows > _MOST_ROWS_TO_STREAM or factor.step(band) != 1:
        return False
    small = shape.products.extent * band.extent * element <= kernel.target.l2_bytes // 2
    return rows <= _FEW_ROWS or not small


def _streaming_blocks(kernel: RowKernel, shape: MatmulShape, lanes: int, rows: int) -> MatmulBlocks:
    bands = kernel.row_bands
    element = storage_bytes(shape.reducer.state_elem)
    vectors = math.ceil(bands[shape.columns].extent / lanes)
    products = shape.products.extent
    width = 2 if rows <= _FEW_ROWS and vectors > 1 else 1
    all_products = products * math.prod([band.extent for band in shape.outer_products])
    nanoseconds = all_products * vectors * lanes * element * _NANOSECONDS_PER_BYTE
    total = nanoseconds * math.prod([bands[k].extent for k in shape.outer])
    wanted = min(max(total / _MANY_WORKGROUPS, _LEAST_NANOSECONDS), _MOST_NANOSECONDS)
    sizes = [0] * len(bands)
    most = kernel.target.l1_bytes // 2 // element // lanes // rows
    tile_vectors = min(vectors, most)
    if nanoseconds > wanted * 1.5:
        for k in shape.outer:
            sizes[k] = 1
        least = _LEAST_STREAM_BYTES // element // lanes
        tile_vectors = min(tile_vectors, max(least, round(vectors * wanted / nanoseconds)))
    else:
        outer = configure.tile_bands([bands[k] for k in shape.outer], nanoseconds, [1] * len(shape.outer), wanted)
        for k, size in zip(shape.outer, outer.sizes, strict=True):
            sizes[k] = size
    tile_vectors = _even_part(vectors, max(width, tile_vectors), width)
    if tile_vectors < vectors:
        sizes[shape.columns] = tile_vectors * lanes
    partials = _partials(kernel, shape)
    has_epilogue = partials is None or not _stores_sums(kernel, shape)
    return MatmulBlocks(
        height=rows,
        width=width,
        depth=min(_STREAMED_PRODUCTS, products),
        elements=Singles(kernel, shape),
        tiles=Tiles(sizes),
        column_vectors=tile_vectors,
        kept_rows=rows,
        packs_columns=False,
        packs_rows=False,
        packed_rows=0,
        keeps_sums=True,
        partials=partials,
        has_epilogue=has_epilogue,
        finishes_in_loop=has_epilogue,
        prefetches_rows=False,
        streams=True,
    )


def _even_part(extent: int, most: int, multiple: int) -> int:
    """The size of equal parts of an extent, each a multiple and at most `most`, which is at least one multiple."""
    if extent <= most:
        return extent
    most -= most % multiple
    return math.ceil(math.ceil(extent / math.ceil(extent / most)) / multiple) * multiple


def _height(kernel: RowKernel, rows: int, width: int) -> int:
    """Rows of a register tile: accumulators, the panel's vectors and one broadcast fit the registers, and the last tile
    is as full as may be. A power of two of bytes between rows puts all of them into one set of the first-level cache:
    there may be as many rows as it has ways."""
    most = min((kernel.target.vector_registers - width - 1) // width, _WAYS)
    if rows <= most:
        return rows
    least = max(1, most * 3 // 4)
    return min(range(most, least - 1, -1), key=lambda h: math.ceil(rows / h) * (h + 0.5))


def _packs_columns(kernel: RowKernel, shape: MatmulShape, rows: int, columns: int, element: int) -> bool:
    """Whether the columns' factor is packed: if it has to be computed or turned round, or is used often enough and
    would not stay in the second-level cache where it is."""
    factor, band, target = shape.column_factor, kernel.row_bands[shape.columns], kernel.target
    if factor.step(band) != 1:
        return True
    if rows < (_ROWS_TO_PACK if factor.is_plain else _ROWS_TO_CONVERT):
        return False
    if not factor.is_plain:
        return True
    products = shape.products.extent
    step = factor.step(shape.products)
    evicted = step is None or _collide(step * element, products, target.l2_bytes)
    return evicted or products * columns * element > _SHARE_OF_L2 * target.l2_bytes


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
    """Whether `count` lines, `step` bytes apart, are more than the ways of the sets that they fall into."""
    span = cache_bytes // _WAYS
    sets = min(span // math.gcd(abs(step), span), span // 64)
    return step != 0 and count > sets * _WAYS


def _partials(kernel: RowKernel, shape: MatmulShape) -> ResultStore | None:
    """A result in whose place sums may wait: of their type, contiguous, and read by nothing in the dispatch."""
    store = kernel.domain.placement.primary
    accesses = kernel.survey.accesses
    read = {access.buffer.number for access in accesses if not access.store}
    inner = kernel.row_bands[shape.columns].inner
    contiguous = all(a.coefficients.get(inner) == 1 for a in accesses if a.store and a.buffer is store.buffer)
    fits = store.buffer.elem == shape.reducer.state_elem and store.buffer.number not in read
    return store if fits and contiguous else None


def _stores_sums(kernel: RowKernel, shape: MatmulShape) -> bool:
    """Whether nothing but the sums themselves is stored."""
    reduction, reducer = shape.reduction, shape.reducer
    result = reduction.view.op.results[0]
    initial: list[Element] = []

    def look(scope: SurveyScope) -> None:
        evaluator = Evaluator(kernel.context, scope)
        initial.append(evaluator.value_at(reduction.view.outputs[0], reduction.result_indices[0]))

    survey(kernel.context, [*kernel.domain.rows, *kernel.domain.reduced], look)
    begins_empty = initial[0].const is not None and initial[0].const == reducer.identity
    plain = all(store.value is result for store in kernel.domain.stores)
    return plain and begins_empty and reducer.elem == reducer.state_elem


def _epilogue_cost(kernel: RowKernel, shape: MatmulShape) -> float:
    """Rough instructions from a vector of sums to the results."""
    reduction, domain = shape.reduction, kernel.domain
    (indices,) = reduction.result_indices
    values: list[LoopValue] = []

    def look(scope: SurveyScope) -> None:
        row = Row(kernel.context, scope)
        result = reduction.view.op.results[0]
        row.provide(result, indices, kernel.builder.stand_in(vector(shape.reducer.elem)))
        evaluator = row.evaluator()
        values.extend(evaluator.value_at(store.value, domain.indices(store)) for store in domain.stores)

    survey(kernel.context, [*domain.rows, *domain.reduced], look)
    pending, seen = list(values), set()
    while pending:
        op = pending.pop().op
        if op is not None and op not in seen and op.results[0].type is not INDEX:
            seen.add(op)
            pending += op.operands
    return sum([op_cost(op.name) for op in seen if op.name not in ("load", "gather")])
