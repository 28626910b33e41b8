"""Reductions and row-wise dispatches: sums, maxima, argmax, softmax, layer normalisation.

Enters: a dispatch with one or more reductions that share their parallel dims. Leaves: a loop over the rows, with the
lanes of a vector along the reduced dims (each row in vectors) or along a row dim (each lane a row), whichever costs
less; register tiles where rows share what they load.
"""

from __future__ import annotations

from .. import configure
from ..dispatch import DispatchGraph
from ..indexing import LaneScope
from ..nest import loop_nest, tile_ranges, vector_loop
from ..plan import Plan, count_factors
from ..row_kernel import RowKernel
from ..stores import stream_large_results
from ..target import Target
from .register_tiles import RegisterTiles
from .wide_columns import WideColumns

# Lanes along a reduced dim are joined at the end of each row, which takes about this many ops.
_JOIN_COST = 24.0


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a reduction or row-wise dispatch."""
    return _ReductionKernel(graph, target).build()


class _ReductionKernel(RowKernel):
    def build(self) -> Plan:
        builder = self.builder
        if self.is_empty:
            return Plan(builder.finish(), [0])
        lanes = configure.lanes_for(self.target, self.survey.element_bits)
        nanoseconds = configure.point_nanoseconds(self.survey, lanes) * self.points_of_a_row()
        band, cost = self._vector_row_band(lanes)
        tiles = RegisterTiles(self)
        if self._is_simple() and tiles.cost() < 0.6 * cost:
            return tiles.build()
        if band is not None and (columns := WideColumns(self, band)).pays():
            return columns.build()
        if band is None:
            sizes = self._lanes_along_reduced(lanes, nanoseconds)
        else:
            sizes = self._lanes_along_rows(lanes, nanoseconds, band)
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in self.row_bands], sizes) or [1])

    def _is_simple(self) -> bool:
        """Whether there is one reduction, and nothing else runs over a row."""
        return len(self.domain.reductions) == 1 and not self.domain.spread and not self.memory.values

    def _lanes_along_reduced(self, lanes: int, nanoseconds: float) -> list[int]:
        plan = self.vector_plan(lanes)
        self.memory.fit(1, 1)
        stream_large_results(self.domain.stores, self.survey, self.target.streamed_bytes)
        ahead = self.lines_ahead()
        claim = configure.CLAIM_NANOSECONDS
        if ahead is not None:
            claim = configure.claim_of_a_run(self.row_bands, nanoseconds)
        tiles = configure.tile_bands(self.row_bands, nanoseconds, [1] * len(self.row_bands), claim)
        ranges = tile_ranges(self.builder, self.row_bands, tiles)
        scope = LaneScope(self.builder, 1)
        loop_nest(scope, self.row_bands, ranges, lambda inner: self.rows_at([inner], plan, ahead))
        return tiles.sizes

    def _lanes_along_rows(self, lanes: int, nanoseconds: float, band: int) -> list[int]:
        bands = self.row_bands
        vectors = max(1, min(4, 24 // max(1, int(self.survey.cost))))
        if self.memory.values or self.domain.spread:
            vectors = 1
        self.memory.fit(lanes, vectors)
        plan = self.vector_plan(lanes, band, vectors)
        multiples = [1] * len(bands)
        multiples[band] = lanes * vectors
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
        ranges = tile_ranges(self.builder, bands, tiles)
        outer = [k for k in range(len(bands)) if k != band]
        loop_nest(
            LaneScope(self.builder, 1),
            [bands[k] for k in outer],
            [ranges[k] for k in outer],
            lambda inner: vector_loop(
                inner, bands[band], ranges[band], plan, lambda scopes: self.rows_at(scopes, None)
            ),
        )
        return tiles.sizes

    def _vector_row_band(self, lanes: int) -> tuple[int | None, float]:
        """The row band to vectorise, or None to vectorise along the reduced dims, and what a step costs then."""
        inner = self.inner_bands[-1]
        accesses, ops = self.survey.accesses, self.survey.cost
        memory = sum(configure.access_cost(a, inner.inner, lanes) for a in accesses if inner.inner in a.coefficients)
        length = inner.extent if inner.extent.__class__ is int else 256
        best = (memory + ops) / (lanes * configure.utilisation(inner.extent, lanes))
        best += _JOIN_COST * len(self.domain.reductions) / max(length, 1)
        if not all(reduction.any_order for reduction in self.domain.reductions):
            best = memory + ops + 4 * len(self.domain.reductions)
        choice = None
        for number, band in enumerate(self.row_bands):
            memory = sum(configure.access_cost(a, band.inner, lanes) for a in accesses)
            cost = (memory + ops) / (lanes * configure.utilisation(band.extent, lanes))
            if cost < best * 0.95:
                best, choice = cost, number
        return choice, best
