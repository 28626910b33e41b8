"""The domain of a dispatch that reduces, found by asking its results for their values on paper.

Enters: a dispatch with reductions. Leaves: a `RowDomain`: syms for the dims of the results and for what is reduced, the
reductions in the order in which they must run with the index at which each is needed, the point of each store, and a
survey of all of it. A dim of a result that every reduction keeps is a row dim; the others are what a row runs over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..ir.core import Operation, Value
from .complex_values import Element, all_parts, stand_in
from .dispatch import KernelContext
from .elements import unsupported
from .evaluate import Evaluator, Indices
from .indexing import Dim, Index, Sym, of, same_extent
from .kept_values import ValueUses
from .placement import Placement, is_plain, syms_of
from .reducers import reducers_of
from .stages import Reduction
from .stores import ResultStore, result_stores
from .structured import StructuredOp, dim_of
from .survey import Survey, SurveyScope, op_cost, survey


class RowDomain:
    def __init__(self, context: KernelContext):
        self.context = context
        self.builder = context.builder
        self.stores = result_stores(context)
        self.reductions: list[Reduction] = []
        self.uses = ValueUses()
        self.inputs: dict[Operation, list[Element]] = {}
        """The values that one step of each reduction takes, on paper."""
        self._stand_ins: dict[Value, Element] = {}
        self.placement = Placement(context, self.stores, self.uses)
        self.syms = self.placement.syms
        self._all_syms = list(self.syms)
        self.survey: Survey = survey(context, self.syms, self._look)
        kept = set(self.syms)
        for reduction in self.reductions:
            kept &= syms_of([index for indices in reduction.result_indices for index in indices])
        self.rows = [sym for sym in self.syms if sym in kept]
        self.spread = [sym for sym in self.syms if sym not in kept and sym.extent != 1]
        """What a row of a result runs over."""
        for reduction in self.reductions:
            self._check_rows(reduction)

    def indices(self, store: ResultStore) -> Indices:
        return self.placement[store]

    @property
    def reduced(self) -> list[Sym]:
        """What is reduced or spread: everything that is not a row dim."""
        return [sym for sym in self._all_syms if sym not in self.rows]

    def is_per_row(self, store: ResultStore) -> bool:
        return not syms_of(self.placement[store]) & set(self.spread)

    def cost(self, reduction: Reduction) -> float:
        """Rough instructions of one step."""
        pending, seen = all_parts(self.inputs[reduction.view.op]), set()
        while pending:
            op = pending.pop().op
            if op is not None and op not in seen:
                seen.add(op)
                pending += op.operands
        return sum([op_cost(op.name) for op in seen]) + len(reduction.view.outputs)

    def _check_rows(self, reduction: Reduction) -> None:
        for indices in reduction.result_indices:
            if syms_of(indices) != {sym for sym in self.rows if sym.extent != 1}:
                raise unsupported(
                    reduction.view.op, "its rows are not those of the other reductions in the dispatch; split it"
                )

    # -- on paper

    def _look(self, scope: SurveyScope) -> None:
        self._scope = scope
        for store in self.placement.order:
            indices = self.placement.place(store)
            store.store(scope, indices, self._evaluator(None).value_at(store.value, indices))

    def _evaluator(self, user: Operation | None) -> Evaluator:
        evaluator = Evaluator(self.context, self._scope)
        evaluator.on_reduction = self._result_of
        evaluator.observe = partial(self.uses.note, user)
        return evaluator

    def _result_of(self, view: StructuredOp, number: int, asked: Indices) -> Element:
        """A stand-in for a reduction's result; the first time, the reduction is looked at as well."""
        result = view.op.results[number]
        if result not in self._stand_ins:
            self._discover(view, number, asked)
        if self.placement.reduced_at[result] != asked:
            raise unsupported(view.op, "its result is read at two places; split the dispatch")
        return self._stand_ins[result]

    def _discover(self, view: StructuredOp, number: int, asked: Indices) -> None:
        loops: list[Index | None] = [None] * view.rank
        extents = self._loop_extents(view)
        for expression, index in zip(view.output_map(number), asked, strict=True):
            if not is_plain(index):
                raise unsupported(view.op, f"its result is read at {index}, which is no dim of the dispatch")
            loops[expression.position] = index
        taken = syms_of(asked)
        spare = [sym for sym in self._all_syms if sym not in taken]
        reduced = []
        for d in view.reductions:
            sym = next((s for s in spare if same_extent(s.extent, extents[d])), None)
            if sym is None:
                sym = Sym(f"r{len(self._all_syms)}", extents[d])
                self._all_syms.append(sym)
                self._scope.add(sym)
            else:
                spare.remove(sym)
            loops[d] = of(sym)
            reduced.append(sym)
        if None in loops:
            raise unsupported(view.op, "its result does not have all of its parallel dims")
        result_indices = [tuple([loops[e.position] for e in view.output_map(k)]) for k in range(len(view.outputs))]
        any_order = all(reducer.any_order for reducer in reducers_of(self.builder, view))
        self._look_at_body(view, loops)
        self._look_at_initial_values(view, result_indices)
        self.reductions.append(Reduction(view, loops, result_indices, tuple(reduced), any_order))
        for result, indices in zip(view.op.results, result_indices, strict=True):
            self.placement.reduced_at[result] = indices
            self._stand_ins[result] = stand_in(self.builder, result.type)

    def _look_at_body(self, view: StructuredOp, loops: list[Index]) -> None:
        evaluator = self._evaluator(view.op)
        if view.body is None:
            self.inputs[view.op] = evaluator.step_inputs(view, loops, None)
            return
        arguments = evaluator.body_inputs(view, loops, None)
        for argument in view.body.arguments[len(view.inputs) :]:
            arguments[argument] = stand_in(self.builder, argument.type)
        self.inputs[view.op] = evaluator.run_body(view.body, arguments, loops, None)

    def _look_at_initial_values(self, view: StructuredOp, indices: Sequence[Indices]) -> None:
        """What a reduction starts from may be the result of another one."""
        evaluator = Evaluator(self.context, self._scope)
        evaluator.on_reduction = self._result_of
        for value, at in zip(view.outputs, indices, strict=True):
            evaluator.value_at(value, at)

    def _loop_extents(self, view: StructuredOp) -> list[Dim]:
        extents: list[Dim | None] = [None] * view.rank
        for operand, map_ in zip((*view.inputs, *view.outputs), view.maps, strict=True):
            for expression, size in zip(map_, self.context.shape(operand) if map_ else (), strict=True):
                position = dim_of(expression)
                if position is not None and extents[position] is None:
                    extents[position] = size
        if any(extent is None for extent in extents):
            raise unsupported(view.op, "no operand gives the extent of one of its loops")
        return extents
