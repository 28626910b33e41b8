"""Kernels that reduce: what is common to reductions, row-wise dispatches and contractions.

Enters: a dispatch with reductions that share their parallel dims. Leaves: the code of one row, or of several rows
side by side: the reductions stage by stage, then the results of which a row has one, then those that run over it.
"""

from __future__ import annotations

from . import configure
from .configure import Band, VectorPlan
from .dispatch import DispatchGraph, KernelContext
from .indexing import LaneScope
from .kept_values import RowMemory
from .lines_ahead import LinesAhead, further_along, next_row
from .loops import KernelBuilder
from .nest import loop_nest, vector_loop, whole
from .row_domain import RowDomain
from .stages import Row, Stage, StageLoops, group_stages
from .stores import ResultStore
from .target import Target

# Accumulators of a result, however dear a step is: each step waits for the one before.
_LEAST_COPIES = 2
# A step of so many instructions takes as long as its line does from memory.
_DEAR_STEP = 12.0


class RowKernel:
    """Base of the strategies that reduce; they write `build`."""

    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.domain = RowDomain(self.context)
        self.survey = self.domain.survey
        self.stages = group_stages(self.domain.reductions)
        self.row_bands = configure.bands_of(self.domain.rows, self.survey, self.builder)
        self.spread_bands = self._bands(self.domain.spread)
        for stage in self.stages:
            stage.bands = self._bands(stage.reduced)
            stage.cost = sum([self.domain.cost(reduction) for reduction in stage.reductions])
        self.memory = self._row_memory()

    @property
    def is_empty(self) -> bool:
        return any(sym.extent.__class__ is int and sym.extent == 0 for sym in self.domain.rows)

    @property
    def inner_bands(self) -> list[Band]:
        """The loops inside a row: those of the results, or of the first stage where results have none."""
        return self.spread_bands if self.domain.spread else self.stages[0].bands

    def _bands(self, syms) -> list[Band]:
        """The loops of a stage; there is always one, since that is what the stage is."""
        if not syms:
            return []
        return configure.bands_of(syms, self.survey, self.builder) or [Band((syms[-1],), 1)]

    def _row_memory(self) -> RowMemory:
        """What stages that run over the same dims keep for one another."""
        reduced = self.domain.spread or list(self.stages[0].reduced)
        stage_of = {}
        for number, stage in enumerate(self.stages):
            if set(stage.reduced) == set(reduced):
                stage_of.update({reduction.view.op: number for reduction in stage.reductions})
        if self.domain.spread:
            stage_of[None] = len(self.stages)
        roots = [[v for r in stage.reductions for v in r.view.op.operands] for stage in self.stages]
        roots.append([store.value for store in self.domain.stores])
        values = self.domain.uses.worth_keeping(stage_of, roots, set(reduced))
        return RowMemory(self.context, reduced, values)

    def vector_plan(self, lanes: int, band: int = 0, vectors: int = 1) -> VectorPlan:
        scalar_tail = not configure.masked_tail_is_cheap(self.target, self.survey)
        return VectorPlan(band, lanes, vectors, scalar_tail=scalar_tail)

    def points_of_a_row(self) -> float:
        """The points that one row goes through, for the size of tiles."""
        points = 1.0
        for sym in self.domain.reduced:
            points *= sym.extent if sym.extent.__class__ is int else 256
        return max(points, 1.0)

    # -- code

    def lines_ahead(self) -> LinesAhead | None:
        """What to ask for in the last loop over a row: more of it where it is gone through once, else the next one."""
        if len(self.stages) < 2 and not self.domain.spread:
            return further_along(self.survey, self.stages[0].bands[-1], self.context, self.target)
        return next_row(self.survey, self.row_bands[-1], self.target) if self.row_bands else None

    def rows_at(self, scopes: list[LaneScope], plan: VectorPlan | None, ahead: LinesAhead | None = None) -> None:
        """Everything for one row, or for some vectors of rows."""
        rows = [Row(self.context, scope, number) for number, scope in enumerate(scopes)]
        # Lines are on their way while much is computed, or while results wait for memory.
        in_stage = not self.domain.spread or self.stages[-1].cost >= _DEAR_STEP
        for number, stage in enumerate(self.stages):
            lane_by_lane = plan is not None and not stage.any_order
            stage_plan = VectorPlan(0, 1, 1) if lane_by_lane else plan
            copies = self.copies(stage, len(rows)) if stage.any_order else 1
            asked = ahead if in_stage and number == len(self.stages) - 1 else None
            StageLoops(stage, rows, stage_plan, copies, self.memory, number, asked).run()
            for row in rows:
                row.provide_kept(self.memory, number)
        for row in rows:
            self.store_row(row)
        spread = [store for store in self.domain.stores if not self.domain.is_per_row(store)]
        if spread:
            for row in rows:
                self._spread_results(row, spread, plan, None if in_stage else ahead)

    def copies(self, stage: Stage, rows: int) -> int:
        """Accumulators of each result: together with the rows' enough to hide the latency of the operation."""
        return max(1, max(_LEAST_COPIES, configure.unroll_for(stage.cost)) // rows)

    def store_row(self, row: Row) -> None:
        """The results of which a row has one."""
        for store in self.domain.stores:
            if self.domain.is_per_row(store):
                indices = self.domain.indices(store)
                store.store(row.scope, indices, row.evaluator().value_at(store.value, indices))

    def _spread_results(
        self, row: Row, stores: list[ResultStore], plan: VectorPlan | None, ahead: LinesAhead | None
    ) -> None:
        """The results that run over a row."""
        bands = self.spread_bands
        ranges = [whole(band.extent) for band in bands]

        def points(scopes: list[LaneScope]) -> None:
            for scope in scopes:
                evaluator = row.evaluator(scope)
                values = [evaluator.value_at(store.value, self.domain.indices(store)) for store in stores]
                for store, value in zip(stores, values, strict=True):
                    store.store(scope, self.domain.indices(store), value)
            if ahead is not None and scopes[0].mask is None:
                ahead.prefetch(scopes, bands[-1].inner)

        if plan is None:
            loop_nest(row.scope, bands, ranges, lambda scope: points([scope]))
            return
        loop_nest(
            row.scope, bands[:-1], ranges[:-1], lambda scope: vector_loop(scope, bands[-1], ranges[-1], plan, points)
        )
