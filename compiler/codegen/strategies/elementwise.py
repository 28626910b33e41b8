"""Elementwise dispatches: every result point is computed on its own.

Enters: a dispatch whose stores have no reduction behind them. Leaves: one loop nest over the (collapsed) result domain,
vectorised along the dim where memory is contiguous; several results share it.
"""

from __future__ import annotations

import math
from functools import partial

from .. import configure
from ..complex_values import Element
from ..configure import Band, VectorPlan
from ..dispatch import DispatchGraph, KernelContext
from ..evaluate import Evaluator
from ..indexing import Lanes, LaneScope
from ..kept_values import ValueUses
from ..lines_ahead import further_along
from ..loops import KernelBuilder, storage_bytes
from ..narrow_rows import narrow_columns, row_band, store_rows
from ..nest import loop_nest, split_range, tile_ranges, vector_loop
from ..placement import Placement
from ..plan import Plan, count_factors
from ..row_prefetch import rows_ahead
from ..stores import result_stores, stream_large_results
from ..survey import Survey, SurveyScope, survey
from ..target import Target
from ..transposition import TransposeTile, transposed_band

# Larger tiles (of bytes) would not fit the registers.
_MAX_TILE = 16
# Smaller ones turn too few elements for their instructions; what is at the edges is collected element by element.
_MIN_TILE = 4
_HALF_TILE = 0.8
# Tiles side by side along the rows of an operand, which are read as runs; the lines of a result are written whole.
# Where they go past the caches, no line of a result waits for its other parts: a page is read before other rows are.
_RUN = 4
_PAGE_RUN = 64
_LINE = 64


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of an elementwise dispatch."""
    builder = KernelBuilder(graph.name)
    context = KernelContext(graph, builder)
    stores = result_stores(context)
    uses = ValueUses()
    placement = Placement(context, stores, uses)
    syms = placement.syms
    if any(sym.extent.__class__ is int and sym.extent == 0 for sym in syms):
        return Plan(builder.finish(), [0])

    def look(scope: SurveyScope) -> None:
        for store in placement.order:
            evaluator = Evaluator(context, scope)
            evaluator.observe = partial(uses.note, None)
            indices = placement.place(store)
            store.store(scope, indices, evaluator.value_at(store.value, indices))

    def evaluate(scope: LaneScope) -> list[Element]:
        evaluator = Evaluator(context, scope)
        return [evaluator.value_at(store.value, placement[store]) for store in stores]

    def body(scopes: list[LaneScope]) -> None:
        for scope in scopes:
            # All values first: a store could otherwise come before a load of the same place.
            for store, value in zip(stores, evaluate(scope), strict=True):
                store.store(scope, placement[store], value)

    found = survey(context, syms, look)
    bands = configure.bands_of(syms, found, builder)
    lanes = configure.lanes_for(target, found.element_bits)
    scope = LaneScope(builder, 1)

    if not bands:
        body([scope])
        return Plan(builder.finish(), [1])
    plan, bands = _vector_plan(bands, found, lanes, target, builder)
    rows = transposed_band(bands, found, plan.band)
    size = _tile_size(bands[rows], bands[plan.band], plan.lanes) if rows is not None else 0
    if rows is not None and size:
        if size * min([storage_bytes(store.buffer.elem) for store in stores]) >= _LINE:
            stream_large_results(stores, found, 4 * target.l2_bytes)
        return _tiled(context, bands, plan, (rows, size), found, body)
    stream_large_results(stores, found, target.streamed_bytes)
    if all(store.buffer.streamed for store in stores):
        bands, plan = configure.in_order_of_loads(bands, found, plan)
    narrow = narrow_columns(bands, found, plan)
    if narrow is None:
        bands = configure.cut_bands(bands, found, plan)
    else:
        # The columns are vectors enough.
        plan = VectorPlan(plan.band, plan.lanes, 1, scalar_tail=plan.scalar_tail)
    multiples = [1] * len(bands)
    multiples[plan.band] = plan.lanes * max(plan.unroll, plan.repeat)
    if narrow is not None:
        multiples[narrow] = bands[narrow].extent
    tiles = configure.tile_bands(bands, configure.point_nanoseconds(found, lanes), multiples)
    ranges = tile_ranges(builder, bands, tiles)
    outer = [k for k in range(len(bands)) if k not in (plan.band, narrow)]
    row = bands[plan.band], ranges[plan.band]
    picking = (bands[outer[-1]], ranges[outer[-1]]) if outer else None
    ahead = rows_ahead(context, found, picking, row, target, evaluate) if picking and narrow is None else None

    is_plain = plan.repeat == 1 and narrow is None
    further = further_along(found, bands[plan.band], context, target) if is_plain else None

    def points(scopes: list[LaneScope]) -> None:
        if narrow is not None:
            store_rows(scopes, bands[narrow], stores, placement, evaluate)
        else:
            body(scopes)
        if further is not None and scopes[0].mask is None:
            further.prefetch(scopes, bands[plan.band].inner)

    def along_row(inner: LaneScope) -> None:
        if ahead is not None:
            ahead.prefetch(inner)
        vector_loop(inner, *row, plan, points)

    loop_nest(scope, [bands[k] for k in outer], [ranges[k] for k in outer], along_row)
    return Plan(builder.finish(), count_factors(context, [b.extent for b in bands], tiles.sizes))


def _tiled(
    context: KernelContext, bands: list[Band], plan: VectorPlan, across: tuple[int, int], found: Survey, body
) -> Plan:
    """Square register tiles, in which operands that are contiguous along another band are transposed; the edges are
    done row by row."""
    builder = context.builder
    rows, size = across
    plan = VectorPlan(plan.band, size, 1, scalar_tail=plan.scalar_tail)
    nanoseconds = 4 * configure.point_nanoseconds(found, size)
    if _writes_whole_lines(found, bands[rows]):
        tiles = configure.tiles_along(bands, nanoseconds, (rows, size * _PAGE_RUN), (plan.band, size))
    else:
        multiples = [size if k == plan.band else size * _RUN if k == rows else 1 for k in range(len(bands))]
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
    ranges = tile_ranges(builder, bands, tiles)
    columns, across = bands[plan.band], bands[rows]

    def blocks(scope: LaneScope) -> None:
        whole_rows, other_rows = split_range(builder, ranges[rows], size)
        whole_columns, other_columns = split_range(builder, ranges[plan.band], size)
        with (
            builder.for_(whole_columns.start, whole_columns.stop, size) as column,
            builder.for_(whole_rows.start, whole_rows.stop, size) as row,
        ):
            tile = TransposeTile(across)
            scopes = []
            for number in range(size):
                inner = scope.copy(size)
                inner.bind(across.syms, Lanes(row.index, number))
                inner.bind(columns.syms, Lanes(column.index, tuple(range(size))))
                inner.tile = (tile, number)
                scopes.append(inner)
            body(scopes)
        for row_range, column_range in ((whole_rows, other_columns), (other_rows, ranges[plan.band])):
            if row_range.size != 0 and column_range.size != 0:
                loop_nest(
                    scope, [across], [row_range],
                    lambda inner, part=column_range: vector_loop(inner, columns, part, plan, body),
                )  # fmt: skip

    outer = [k for k in range(len(bands)) if k not in (rows, plan.band)]
    loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], blocks)
    return Plan(builder.finish(), count_factors(context, [b.extent for b in bands], tiles.sizes))


def _tile_size(rows: Band, columns: Band, lanes: int) -> int:
    """The side of the tiles that leave few elements at the edges; 0 where none fits."""
    extents = [band.extent for band in (rows, columns) if band.extent.__class__ is int]

    def inside(size: int) -> float:
        return math.prod([extent // size * size / extent for extent in extents])

    largest = min(lanes, _MAX_TILE)
    fitting = [size for size in (largest, largest // 2) if size >= _MIN_TILE and all(n >= size for n in extents)]
    # Large tiles turn more elements with an instruction.
    return max(fitting, key=lambda size: inside(size) * (1.0 if size == largest else _HALF_TILE), default=0)


def _writes_whole_lines(found: Survey, rows: Band) -> bool:
    """Whether all results go past the caches, in rows that begin like the first one at a line."""
    steps = [(a.coefficients.get(rows.inner, 0), a) for a in found.accesses if a.store]
    return all(a.buffer.streamed and step.__class__ is int and step * a.bytes % _LINE == 0 for step, a in steps)


def _vector_plan(bands, found: Survey, lanes: int, target: Target, builder: KernelBuilder):
    number = row_band(bands, found, lanes, configure.pick_vector_band(bands, found, lanes))
    scalar_tail = not configure.masked_tail_is_cheap(target, found)
    repeat = configure.narrow_repeat(bands, found, lanes, number)
    if repeat:
        outer, inner = bands[number - 1], bands[number]
        merged = configure.Band((*outer.syms, *inner.syms), builder.mul(outer.extent, inner.extent))
        bands = [*bands[: number - 1], merged, *bands[number + 1 :]]
        return VectorPlan(number - 1, lanes, 1, max(repeat, 1), scalar_tail=True), bands
    return VectorPlan(number, lanes, configure.unroll_for(found.cost), scalar_tail=scalar_tail), bands
