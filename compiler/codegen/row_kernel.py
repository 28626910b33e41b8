"""Kernels that reduce: what is common to reductions, row-wise dispatches and contractions.

Enters: a dispatch with reductions that share their parallel dims. Leaves: its domain as syms (rows, and what is
reduced), one point of it on paper, and the code of one row or of several rows side by side: the reductions stage by
stage, then the results of the reduced shape, then those of the full shape.
"""

from __future__ import annotations

from functools import partial

from ..errors import CompileError
from ..ir.core import Value
from . import configure
from .configure import Band, VectorPlan
from .dispatch import DispatchGraph, KernelContext
from .elements import element_name
from .evaluate import Evaluator, Indices
from .indexing import Index, LaneScope, Sym, of, same_extent
from .kept_values import RowMemory, ValueUses
from .loops import KernelBuilder, vector
from .nest import loop_nest, vector_loop, whole
from .stages import Reduction, Row, Stage, StageLoops, group_stages, make_reduction
from .stores import ResultStore, result_stores
from .structured import StructuredOp, dim_of, is_structured, structured
from .survey import Survey, op_cost, survey
from .target import Target


class RowKernel:
    """Base of the strategies that reduce; they write `build`."""

    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.stores = result_stores(self.context)
        views = [structured(op) for op in graph.ops if is_structured(op)]
        self.views = [view for view in views if view.reductions]
        self._make_domain()
        self.stages = group_stages(self.reductions)

    # -- the domain

    def _make_domain(self) -> None:
        """Syms for the rows (from the first reduction's results) and for what is reduced."""
        first = self.views[0]
        extents = self._loop_extents(first)
        self.rows: list[Sym] = []
        self.domain: list[Sym] = []
        for d, extent in enumerate(extents):
            sym = Sym(f"{'p' if first.iterators[d] == 'parallel' else 'r'}{d}", extent)
            self.domain.append(sym)
        self.rows = [self.domain[e.position] for e in first.output_map(0)]
        self.layout = self._full_layout(first)
        self.reduced = [self.domain[d] for d in first.reductions]
        self.reductions = [self._reduction(view) for view in self.views]
        self._known_places: dict[Value, list[Index | None]] = {}

    def _full_layout(self, view: StructuredOp) -> list[Sym]:
        """The dims of a tensor of the full shape, in the order in which the reduced tensor has them."""
        for _, map_ in view.input_maps():
            positions = [dim_of(e) for e in map_]
            if None not in positions and sorted(positions) == list(range(view.rank)):
                return [self.domain[position] for position in positions]
        return self.domain

    def _reduction(self, view: StructuredOp) -> Reduction:
        """An op's loops as syms: its results run over the rows, the rest over the reduced dims in order."""
        extents = self._loop_extents(view)
        syms: list[Sym | None] = [None] * view.rank
        for number in range(len(view.outputs)):
            for sym, expression in zip(self.rows, view.output_map(number), strict=True):
                syms[expression.position] = sym
        left = list(self.reduced)
        for d in view.reductions:
            match = next((s for s in left if same_extent(s.extent, extents[d])), None)
            if match is None:
                match = Sym(f"r{len(self.domain)}_{d}", extents[d])
            else:
                left.remove(match)
            syms[d] = match
        for d, sym in enumerate(syms):
            if sym is None or not same_extent(sym.extent, extents[d]):
                raise CompileError(
                    f"dispatch {self.graph.name}: {view.op.name} runs over other rows than the reduction before it",
                    str(view.op.location),
                )
        return make_reduction(self.builder, view, syms)

    def _loop_extents(self, view: StructuredOp) -> list:
        extents: list = [None] * view.rank
        for operand, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            if not map_:
                continue
            for expression, size in zip(map_, self.context.shape(operand), strict=True):
                position = getattr(expression, "position", None)
                if position is not None and extents[position] is None:
                    extents[position] = size
        if None in extents:
            raise CompileError(
                f"dispatch {self.graph.name}: no operand of {view.op.name} gives the extent of a loop",
                str(view.op.location),
            )
        return extents

    # -- what it touches and costs

    def look(self) -> Survey:
        """One point of everything on paper; gives each stage its loops."""
        self._uses = ValueUses(self.reduced)
        found = survey(self.context, self.domain, self._visit)
        self.row_bands = configure.bands_of(self.rows, found, self.builder)
        self.reduced_bands = self._bands(tuple(self.reduced), found)
        for stage in self.stages:
            stage.bands = self._bands(stage.reduced, found)
        roots = [[v for r in stage.reductions for v in r.view.op.operands] for stage in self.stages]
        roots.append([store.value for store in self.stores])
        finals = [view.op for view in self.views]
        self.memory = RowMemory(self.context, self.reduced, self._uses.worth_keeping(roots, finals))
        return found

    def _bands(self, syms: tuple[Sym, ...], found: Survey) -> list[Band]:
        """The loops of a stage; there is always one, since that is what the stage is."""
        return configure.bands_of(syms, found, self.builder) or [Band((syms[-1],), 1)]

    def vector_plan(self, found: Survey, lanes: int, band: int = 0, vectors: int = 1) -> VectorPlan:
        scalar_tail = not configure.masked_tail_is_cheap(self.target, found)
        return VectorPlan(band, lanes, vectors, scalar_tail=scalar_tail)

    def reduced_points(self) -> float:
        points = 1.0
        for sym in self.reduced:
            points *= sym.extent if sym.extent.__class__ is int else 256
        return max(points, 1.0)

    def _visit(self, scope: LaneScope) -> None:
        """One point of everything, on paper."""
        row = Row(self.context, scope)
        builder = self.builder
        for number, stage in enumerate(self.stages):
            whole_domain = set(stage.reduced) == set(self.reduced)
            before = len(builder.current.ops)
            for reduction in stage.reductions:
                evaluator = row.evaluator()
                if whole_domain:
                    evaluator.observe = partial(self._uses.note, number)
                self._visit_reduction(reduction, evaluator)
            stage.cost = sum(op_cost(op.name) for op in builder.current.ops[before:])
            for reduction in stage.reductions:
                for place, result in enumerate(reduction.view.op.results):
                    stand_in = builder.stand_in(vector(element_name(result.type)))
                    row.provide(result, reduction.result_indices[place], stand_in)
        for store in self.stores:
            indices = self._store_indices(store)
            evaluator = row.evaluator()
            evaluator.observe = partial(self._uses.note, len(self.stages))
            store.store(scope, indices, evaluator.value_at(store.value, indices))

    def _visit_reduction(self, reduction: Reduction, evaluator: Evaluator) -> None:
        view = reduction.view
        if view.body is None:
            evaluator.step_inputs(view, reduction.loops, None)
            return
        arguments = evaluator.body_inputs(view, reduction.loops, None)
        for argument in view.body.arguments[len(view.inputs) :]:
            arguments[argument] = self.builder.stand_in(vector(element_name(argument.type)))
        evaluator.run_body(view.body, arguments, reduction.loops, None)

    def _store_indices(self, store: ResultStore) -> Indices:
        """The point of the domain at which each dim of a stored value is: what its producers say, and for the dims of
        which they say nothing the reduced dims in order."""
        known = self._places(store.value)
        if len(store.shape) == len(self.rows) and all(index is None for index in known):
            known = [of(sym) for sym in self.rows]
        used = {term for index in known if index is not None for term in index.terms}
        if all(index is None for index in known):
            left = list(self.layout)
        else:
            left = [sym for sym in self.layout if sym in self.reduced and sym not in used]
        indices = []
        for index, size in zip(known, store.shape, strict=True):
            if index is None:
                sym = next((sym for sym in left if same_extent(sym.extent, size)), None)
                if sym is None:
                    raise CompileError(
                        f"dispatch {self.graph.name} has a result of shape {store.shape}, not that of its rows "
                        "or of what they reduce",
                        str(store.op.location),
                    )
                left.remove(sym)
                index = of(sym)
            indices.append(index)
        return tuple(indices)

    def _places(self, value: Value) -> list[Index | None]:
        """For each dim of a value the index at which the kernel's rows want it, where the reductions it comes from
        tell."""
        found = self._known_places.get(value)
        if found is None:
            found = self._known_places[value] = self._find_places(value)
        return found

    def _find_places(self, value: Value) -> list[Index | None]:
        op = value.defining_op
        if op is not None and is_structured(op):
            for reduction in self.reductions:
                if reduction.view.op is op:
                    return list(reduction.result_indices[value.index])
            view = structured(op)
            loops: list[Index | None] = [None] * view.rank
            for operand, map_ in view.input_maps():
                if map_:
                    for expression, index in zip(map_, self._places(operand), strict=True):
                        position = dim_of(expression)
                        if position is not None and loops[position] is None:
                            loops[position] = index
            positions = [dim_of(expression) for expression in view.output_map(value.index)]
            return [None if position is None else loops[position] for position in positions]
        places: list[Index | None] = [None] * len(value.type.shape)
        if op is not None and op.name.startswith(("arith.", "math.")):
            for operand in op.operands:
                if len(getattr(operand.type, "shape", ())) == len(places):
                    places = [x if x is not None else y for x, y in zip(places, self._places(operand), strict=True)]
        return places

    # -- code

    def rows_at(self, scopes: list[LaneScope], plan: VectorPlan | None) -> None:
        """Everything for one row, or for some vectors of rows."""
        rows = [Row(self.context, scope, number) for number, scope in enumerate(scopes)]
        for number, stage in enumerate(self.stages):
            lane_by_lane = plan is not None and not stage.any_order
            stage_plan = VectorPlan(0, 1, 1) if lane_by_lane else plan
            copies = self.copies(stage, len(rows)) if stage.any_order else 1
            StageLoops(stage, rows, stage_plan, copies, self.memory, number).run()
            for row in rows:
                row.provide_kept(self.memory, number)
        full = []
        for store in self.stores:
            indices = self._store_indices(store)
            reaches = {term for index in indices for term in index.terms}
            if not reaches & set(self.reduced):
                for row in rows:
                    store.store(row.scope, indices, row.evaluator().value_at(store.value, indices))
            else:
                full.append((store, indices))
        if full:
            self._full_results(rows, full, plan)

    def copies(self, stage: Stage, rows: int) -> int:
        """Accumulators of each result: together with the rows' enough to hide the latency of the operation."""
        return max(1, configure.unroll_for(stage.cost) // rows)

    def _full_results(self, rows: list[Row], full, plan: VectorPlan | None) -> None:
        def point(row: Row, scope: LaneScope) -> None:
            evaluator = row.evaluator(scope)
            for store, indices in full:
                store.store(scope, indices, evaluator.value_at(store.value, indices))

        ranges = [whole(band.extent) for band in self.reduced_bands]
        for row in rows:
            if plan is None:
                loop_nest(
                    row.scope.copy(mask=row.scope.mask),
                    self.reduced_bands,
                    ranges,
                    lambda scope, row=row: point(row, scope),
                )
                continue

            def vectors(scope: LaneScope, row: Row = row) -> None:
                def some(scopes: list[LaneScope]) -> None:
                    for inner in scopes:
                        point(row, inner)

                vector_loop(scope, self.reduced_bands[-1], ranges[-1], plan, some)

            loop_nest(row.scope.copy(), self.reduced_bands[:-1], ranges[:-1], vectors)
