"""Sums of products of any layout, batched or not, with what is fused before and after them.

Enters: a dispatch whose root multiplies and sums. Leaves: the kernel of a matrix product where the dispatch is one of
known size, that of a reduction where the factors have no dims of their own; else register tiles, several rows of one
factor against vectors along the other's contiguous dim, with a loop over the summed dims inside. Loads that rows or
vectors share are one load.
"""

from __future__ import annotations

import math

from .. import configure
from ..configure import Band
from ..dispatch import DispatchGraph
from ..indexing import Lanes, LaneScope
from ..nest import Range, loop_nest, tile_ranges, vector_loop
from ..plan import Plan, count_factors
from ..reducers import dot_factors
from ..row_kernel import RowKernel
from ..stages import Reduction
from ..structured import StructuredOp, dim_of
from ..target import Target
from . import reduction
from .matmul.build import build_matmul
from .matmul.shape import matmul_shape


def is_product(view: StructuredOp) -> bool:
    """Whether an op sums products of two inputs."""
    return len(view.inputs) == 2 and (view.is_dot or dot_factors(view) is not None)


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a dispatch with a sum of products."""
    kernel = _ContractionKernel(graph, target)
    shape = None if kernel.is_empty else matmul_shape(kernel)
    if shape is not None:
        return build_matmul(kernel, shape)
    if any(_is_contraction(found) for found in kernel.domain.reductions):
        return kernel.build()
    return reduction.build(graph, target)


def _is_contraction(found: Reduction) -> bool:
    """Whether a sum of products has row dims that only the one factor has, and such that only the other has."""
    view = found.view
    if not is_product(view):
        return False
    rows = {d for d in view.parallel if found.loops[d].terms}
    left, right = ({dim_of(e) for e in map_} for _, map_ in view.input_maps())
    return bool(rows & (left - right)) and bool(rows & (right - left))


class _ContractionKernel(RowKernel):
    def build(self) -> Plan:
        builder = self.builder
        if self.is_empty:
            return Plan(builder.finish(), [0])
        self.memory.fit(1, 1)
        lanes = configure.lanes_for(self.target, self.survey.element_bits)
        bands = self.row_bands
        if not bands:
            self.rows_at([LaneScope(builder, 1)], self.vector_plan(lanes))
            return Plan(builder.finish(), [1])
        columns = self._column_band(lanes)
        rows = self._shared_band(columns)
        height, width = self._register_tile(bands, rows, columns, lanes)
        multiples = [1] * len(bands)
        multiples[columns] = lanes * width
        if rows is not None:
            multiples[rows] = height
        nanoseconds = configure.point_nanoseconds(self.survey, lanes) * self.points_of_a_row() / 2
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
        ranges = tile_ranges(builder, bands, tiles)
        outer = [k for k in range(len(bands)) if k not in (rows, columns)]
        plan = self.vector_plan(lanes, columns, width)

        def columns_of(scopes: list[LaneScope]) -> None:
            """A block of rows against all columns."""

            def tile(vectors: list[LaneScope]) -> None:
                if rows is None:
                    self.rows_at(vectors, None)
                    return
                corners = []
                for vector in vectors:
                    for scope in scopes:
                        corner = vector.copy(mask=vector.mask)
                        corner.bind(bands[rows].syms, scope.lanes_of(bands[rows].syms))
                        corners.append(corner)
                self.rows_at(corners, None)

            vector_loop(scopes[0], bands[columns], ranges[columns], plan, tile)

        def blocks(scope: LaneScope) -> None:
            if rows is None:
                columns_of([scope])
            else:
                _row_blocks(scope, bands[rows], ranges[rows], height, columns_of)

        loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], blocks)
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes))

    def _column_band(self, lanes: int) -> int:
        """The band for the lanes: the one along which loads and stores are cheapest."""

        def cost(number: int) -> float:
            band = self.row_bands[number]
            memory = sum(configure.access_cost(a, band.inner, lanes) for a in self.survey.accesses)
            return memory / configure.utilisation(band.extent, lanes)

        return min(reversed(range(len(self.row_bands))), key=cost)

    def _shared_band(self, columns: int) -> int | None:
        """The innermost band that the loads along the columns do not depend on: its rows share them."""
        inner = self.row_bands[columns].inner
        along = [a for a in self.survey.accesses if not a.store and a.coefficients.get(inner, 0) != 0]
        for number in range(len(self.row_bands) - 1, -1, -1):
            sym = self.row_bands[number].inner
            if number != columns and any(sym not in a.coefficients and sym not in a.opaque for a in along):
                return number
        return None

    def _register_tile(self, bands: list[Band], rows: int | None, columns: int, lanes: int) -> tuple[int, int]:
        """(rows, vectors): accumulators, the vectors of one factor and one broadcast fill the registers."""
        registers = self.target.vector_registers
        extent = bands[columns].extent
        width = 2 if extent.__class__ is not int else min(2, math.ceil(extent / lanes))
        if rows is None:
            return 1, min(8, math.ceil(extent / lanes)) if extent.__class__ is int else 4
        most = max(1, (registers - width - 1) // width)
        if width == 1:
            most = min(most, 14)
        extent = bands[rows].extent
        if extent.__class__ is not int:
            return most, width
        return math.ceil(extent / math.ceil(extent / most)), width


def _row_blocks(scope: LaneScope, band: Band, rng: Range, height: int, body) -> None:
    """Runs `body` over blocks of `height` rows and, at the end, over what is left."""
    builder = scope.builder
    length = rng.size if rng.size is not None else builder.sub(rng.stop, rng.start)
    main = builder.add(rng.start, builder.round_down(length, height))

    def block(start, count: int) -> None:
        scopes = []
        for k in range(count):
            inner = scope.copy(mask=scope.mask)
            inner.bind(band.syms, Lanes(start, k))
            scopes.append(inner)
        body(scopes)

    if length.__class__ is not int or length >= height:
        with builder.for_(rng.start, main, height, covered=True) as loop:
            block(loop.index, height)
    if length.__class__ is int:
        if length % height:
            block(main, length % height)
    else:
        with builder.for_(main, rng.stop, 1, covered=True) as loop:
            block(loop.index, 1)
