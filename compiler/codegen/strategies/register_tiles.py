"""Reductions whose loads serve several rows: tiles of accumulators in registers.

Enters: a `RowKernel`. Leaves: register tiles, several rows against vectors along the dim where loads are cheapest, with
the loops over the reduced dims inside. Loads that rows or vectors share are one load.
"""

from __future__ import annotations

import math

from .. import configure
from ..configure import Band
from ..indexing import Lanes, LaneScope
from ..nest import Range, loop_nest, tile_ranges, vector_loop
from ..plan import Plan, count_factors
from ..row_kernel import RowKernel


class RegisterTiles:
    def __init__(self, kernel: RowKernel):
        self.kernel, self.bands = kernel, kernel.row_bands
        self.lanes = configure.lanes_for(kernel.target, kernel.survey.element_bits)
        self.columns = self._column_band() if self.bands else 0
        self.rows = self._shared_band() if self.bands else None

    def cost(self) -> float:
        """Instructions for one step of one element, infinite where no loads are shared."""
        if self.rows is None:
            return math.inf
        kernel, inner, sym = self.kernel, self.bands[self.columns].inner, self.bands[self.rows].inner
        height, _ = self._shape()
        memory = 0.0
        for access in kernel.survey.accesses:
            if not access.store:
                cost = configure.access_cost(access, inner, self.lanes)
                memory += cost if sym in access.coefficients or sym in access.opaque else cost / height
        return (memory + kernel.survey.cost) / (
            self.lanes * configure.utilisation(self.bands[self.columns].extent, self.lanes)
        )

    def build(self) -> Plan:
        kernel, builder, bands, lanes = self.kernel, self.kernel.builder, self.bands, self.lanes
        if kernel.is_empty:
            return Plan(builder.finish(), [0])
        kernel.memory.fit(1, 1)
        if not bands:
            kernel.rows_at([LaneScope(builder, 1)], kernel.vector_plan(lanes))
            return Plan(builder.finish(), [1])
        columns, rows = self.columns, self.rows
        height, width = self._shape()
        multiples = [1] * len(bands)
        multiples[columns] = lanes * width
        if rows is not None:
            multiples[rows] = height
        nanoseconds = configure.point_nanoseconds(kernel.survey, lanes) * kernel.points_of_a_row() / 2
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
        ranges = tile_ranges(builder, bands, tiles)
        outer = [k for k in range(len(bands)) if k not in (rows, columns)]
        plan = kernel.vector_plan(lanes, columns, width)

        def columns_of(scopes: list[LaneScope]) -> None:
            """A block of rows against all columns."""

            def tile(vectors: list[LaneScope]) -> None:
                if rows is None:
                    kernel.rows_at(vectors, None)
                    return
                corners = []
                for vector in vectors:
                    for scope in scopes:
                        corner = vector.copy(mask=vector.mask)
                        corner.bind(bands[rows].syms, scope.lanes_of(bands[rows].syms))
                        corners.append(corner)
                kernel.rows_at(corners, None)

            vector_loop(scopes[0], bands[columns], ranges[columns], plan, tile)

        def blocks(scope: LaneScope) -> None:
            if rows is None:
                columns_of([scope])
            else:
                _row_blocks(scope, bands[rows], ranges[rows], height, columns_of)

        loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], blocks)
        return Plan(builder.finish(), count_factors(kernel.context, [b.extent for b in bands], tiles.sizes))

    def _column_band(self) -> int:
        """The band for the lanes: the one along which loads and stores are cheapest."""

        def cost(number: int) -> float:
            band = self.bands[number]
            memory = sum(configure.access_cost(a, band.inner, self.lanes) for a in self.kernel.survey.accesses)
            return memory / configure.utilisation(band.extent, self.lanes)

        return min(reversed(range(len(self.bands))), key=cost)

    def _shared_band(self) -> int | None:
        """The innermost band that the loads along the columns do not depend on: its rows share them."""
        inner = self.bands[self.columns].inner
        along = [a for a in self.kernel.survey.accesses if not a.store and a.coefficients.get(inner, 0) != 0]
        for number in range(len(self.bands) - 1, -1, -1):
            sym = self.bands[number].inner
            if number != self.columns and any(sym not in a.coefficients and sym not in a.opaque for a in along):
                return number
        return None

    def _shape(self) -> tuple[int, int]:
        """(rows, vectors): accumulators, the vectors of one factor and one broadcast fill the registers."""
        registers, lanes = self.kernel.target.vector_registers, self.lanes
        extent = self.bands[self.columns].extent
        width = 2 if extent.__class__ is not int else min(2, math.ceil(extent / lanes))
        if self.rows is None:
            return 1, min(8, math.ceil(extent / lanes)) if extent.__class__ is int else 4
        most = max(1, (registers - width - 1) // width)
        if width == 1:
            most = min(most, 14)
        extent = self.bands[self.rows].extent
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
