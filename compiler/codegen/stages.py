"""Reduction loops of one row (or of a vector of rows), stage by stage.

Enters: the reductions of a dispatch in order. Leaves: their results in registers, handed to whatever asks for them at
the row's index. Reductions over the same dims that do not need one another share a loop.

With lanes along the reduced dim a row is reduced in vectors and the lanes are joined at the end; with lanes along a
parallel dim each lane is a row of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..ir.core import Operation, Value
from .configure import Band, VectorPlan
from .dispatch import KernelContext
from .elements import unsupported
from .evaluate import Evaluator, Indices
from .indexing import Index, Lanes, LaneScope, Sym
from .kept_values import KeptValue, RowMemory
from .lines_ahead import LinesAhead
from .loops import Value as LoopValue
from .nest import Range, part_scopes, vector_parts
from .reducers import BodyReducer, Reducer, State, Step, reducers_of
from .structured import StructuredOp

# Float sums longer than this many additions into one accumulator are added up in chunks of half as many.
LONG_SUM = 128


@dataclass
class Reduction:
    """One op: its loops as indices, the index of its results, its reducers."""

    view: StructuredOp
    loops: list[Index]
    result_indices: list[Indices]
    reduced: tuple[Sym, ...]
    any_order: bool


@dataclass
class Stage:
    """Reductions that share one loop over `bands`."""

    reductions: list[Reduction]
    bands: list[Band] = field(default_factory=list)
    cost: float = 0.0
    """Rough instructions of one step."""

    @property
    def reduced(self) -> tuple[Sym, ...]:
        return self.reductions[0].reduced

    @property
    def any_order(self) -> bool:
        return all(reduction.any_order for reduction in self.reductions)


def group_stages(reductions: Sequence[Reduction]) -> list[Stage]:
    """Neighbours over the same dims go into one loop unless one needs the other."""
    stages: list[Stage] = []
    for reduction in reductions:
        last = stages[-1] if stages else None
        if (
            last is not None
            and last.reduced == reduction.reduced
            and not _depends(reduction.view.op, {r.view.op for r in last.reductions})
        ):
            last.reductions.append(reduction)
        else:
            stages.append(Stage([reduction]))
    return stages


def _depends(op: Operation, others: set[Operation]) -> bool:
    """Whether an op's operands come from one of the others."""
    pending, seen = [op], set()
    while pending:
        for value in pending.pop().operands:
            source = value.defining_op
            if source is None or source in seen:
                continue
            if source in others:
                return True
            seen.add(source)
            pending.append(source)
    return False


class Row:
    """One row, or one vector of rows: its scope and the results that it has so far."""

    def __init__(self, context: KernelContext, scope: LaneScope, number: int = 0):
        self.context = context
        self.scope = scope
        self.number = number
        self.provided: dict[Value, Callable[[Evaluator, Indices], LoopValue]] = {}

    def evaluator(self, scope: LaneScope | None = None) -> Evaluator:
        return Evaluator(self.context, scope or self.scope, self.provided)

    def provide(self, value: Value, indices: Indices, result: LoopValue) -> None:
        """Makes a reduction's result known at its index."""

        def at(evaluator: Evaluator, asked: Indices) -> LoopValue:
            if asked != indices:
                raise unsupported(value.defining_op, f"its result is read at {asked}, while its row is at {indices}")
            return result

        self.provided[value] = at

    def provide_kept(self, memory: RowMemory, stage: int) -> None:
        """Reads what a stage has kept from memory from now on."""
        for kept in memory.of_stage(stage):
            self.provided[kept.value] = partial(_load_kept, memory, kept, self)


def _load_kept(memory: RowMemory, kept: KeptValue, row: Row, evaluator: Evaluator, asked: Indices) -> LoopValue:
    if asked != kept.indices:
        raise unsupported(kept.value.defining_op, f"its result is read at {asked}, but kept at {kept.indices}")
    return memory.load(kept, row.number, row.scope.lanes, evaluator.scope)


class StageLoops:
    """Writes the loops of one stage for several rows at once."""

    def __init__(
        self, stage: Stage, rows: list[Row], plan: VectorPlan | None, unroll: int, memory: RowMemory, number: int,
        ahead: LinesAhead | None = None,
    ):  # fmt: skip
        """`ahead` is what to ask for meanwhile."""
        self.stage, self.rows, self.plan, self.unroll = stage, rows, plan, unroll
        self.memory, self.kept = memory, memory.of_stage(number)
        self.ahead = ahead
        self.builder = rows[0].scope.builder
        self.reducers = [
            (row, reduction, reducer)
            for row in rows
            for reduction in stage.reductions
            for reducer in reducers_of(self.builder, reduction.view)
        ]
        # Each accumulator takes `group` elements at once.
        self.group = max([reducer.group for _, _, reducer in self.reducers]) if stage.any_order else 1
        self.unroll *= self.group
        self.ranges = [whole_range(band) for band in stage.bands]
        self.chunk_level, self.chunk = self._chunking()

    @property
    def lanes(self) -> int:
        return self.plan.lanes if self.plan is not None else self.rows[0].scope.lanes

    def run(self) -> None:
        """Emits the loops and provides the results to the rows."""
        state: list[State] = []
        for row, reduction, reducer in self.reducers:
            if isinstance(reducer, BodyReducer):
                reducer.initial = self._initial(row, reduction, reducer)
                reducer.evaluator = row.evaluator()
            begin = reducer.begin_total if self.chunk_level >= 0 else reducer.begin
            state.append(begin(self.lanes))
        state = self._level(0, state, [row.scope for row in self.rows], self.chunk_level >= 0)
        self.provide(state, self.chunk_level >= 0)

    def provide(self, state: list[State], totals: bool) -> None:
        """Hands the results to the rows; `totals` says that the state is the long form of chunk totals."""
        for (row, reduction, reducer), total in zip(self.reducers, state, strict=True):
            values = reducer.end_total(total) if totals else total
            if self.plan is not None:
                values = reducer.across_lanes(values)
            results = reducer.finish(values, self._initial(row, reduction, reducer))
            for number, value in zip(reducer.numbers, results, strict=True):
                row.provide(reduction.view.op.results[number], reduction.result_indices[number], value)

    def _initial(self, row: Row, reduction: Reduction, reducer: Reducer) -> list[LoopValue]:
        evaluator = row.evaluator()
        view = reduction.view
        return [
            evaluator.value_at(view.outputs[number], reduction.result_indices[number]) for number in reducer.numbers
        ]

    def _chunking(self) -> tuple[int, int]:
        """(level, iterations a chunk) of the loop at which long sums are cut; -1 for none."""
        if not any(reducer.long_sum for _, _, reducer in self.reducers):
            return -1, 0
        trips = 1
        for level in range(len(self.ranges) - 1, -1, -1):
            size = self.ranges[level].size
            step = self.plan.lanes * self.unroll if self.plan is not None and level == len(self.ranges) - 1 else 1
            count = size // step if size is not None else LONG_SUM + 1
            if trips * count > LONG_SUM:
                return level, max(1, LONG_SUM // 2 // trips)
            trips *= max(1, count)
        return -1, 0

    def _level(self, level: int, state: list[State], scopes: list[LaneScope], totals: bool) -> list[State]:
        """The loops from `level` on. `totals` says that the state is the long form of chunk totals."""
        if level == len(self.ranges):
            return self.take(state, [scopes])
        if totals and level > self.chunk_level:
            inner = [r.begin_chunk(s) for (_, _, r), s in zip(self.reducers, state, strict=True)]
            inner = self._level(level, inner, scopes, False)
            return self._end_chunks(state, inner)
        innermost = level == len(self.ranges) - 1
        if innermost:
            return self._innermost(state, scopes, totals)
        rng = self.ranges[level]
        band = self.stage.bands[level]
        if totals and level == self.chunk_level:
            return self._chunked(
                rng, 1, state, lambda start, stop, inner: self._plain_loop(band, start, stop, level, inner, scopes)
            )
        return self._plain_loop(band, rng.start, rng.stop, level, state, scopes, totals)

    def _plain_loop(self, band: Band, start, stop, level: int, state, scopes, totals: bool = False) -> list[State]:
        with self.builder.for_(start, stop, 1, _flat(state)) as loop:
            inner_scopes = [bound(scope, band, loop.index) for scope in scopes]
            inner = self._level(level + 1, _shaped(loop.carried, state), inner_scopes, totals)
            loop.yield_(*_flat(inner))
        return _shaped(loop.results, state)

    def _end_chunks(self, totals: list[State], chunks: list[State]) -> list[State]:
        return [r.end_chunk(t, c) for (_, _, r), t, c in zip(self.reducers, totals, chunks, strict=True)]

    def _chunked(self, rng: Range, step: int, state: list[State], body) -> list[State]:
        """Cuts [start, stop) into chunks of `chunk` steps; `body(start, stop, state)` sums one."""
        builder = self.builder
        length = self.chunk * step
        with builder.for_(rng.start, rng.stop, length, _flat(state)) as loop:
            totals = _shaped(loop.carried, state)
            chunks = [r.begin_chunk(t) for (_, _, r), t in zip(self.reducers, totals, strict=True)]
            end = builder.add(loop.index, length)
            exact = rng.size is not None and rng.size % length == 0
            stop = end if exact else builder.min(end, rng.stop)
            chunks = body(loop.index, stop, chunks)
            loop.yield_(*_flat(self._end_chunks(totals, chunks)))
        return _shaped(loop.results, state)

    # -- the innermost loop: several accumulators, then one, then the tail

    def _innermost(self, state: list[State], scopes: list[LaneScope], totals: bool) -> list[State]:
        rng = self.ranges[-1]
        plan = self.plan or VectorPlan(0, 1, self.unroll)
        step = plan.lanes * self.unroll
        if totals and self.chunk_level == len(self.ranges) - 1:
            size = self.chunk * step
            main = self.builder.round_down(rng.size if rng.size is not None else rng.stop, size)
            state = self._chunked(
                Range(0, main, main if main.__class__ is int else None, size), step, state,
                lambda start, stop, inner: self._parts(Range(start, stop, size, size), plan, inner, scopes),
            )  # fmt: skip
            rest_size = rng.size - main if rng.size is not None else None
            if rest_size == 0:
                return state
            inner = [r.begin_chunk(s) for (_, _, r), s in zip(self.reducers, state, strict=True)]
            inner = self._parts(Range(main, rng.stop, rest_size, size), plan, inner, scopes)
            return self._end_chunks(state, inner)
        return self._parts(rng, plan, state, scopes)

    def _parts(self, rng: Range, plan: VectorPlan, state: list[State], scopes: list[LaneScope]) -> list[State]:
        unrolled = VectorPlan(plan.band, plan.lanes, self.unroll, scalar_tail=plan.scalar_tail)
        for part in vector_parts(self.builder, rng, unrolled):
            state = self._part(part, state, scopes)
        return state

    def _part(self, part, state: list[State], scopes: list[LaneScope]) -> list[State]:
        builder = self.builder
        band = self.stage.bands[-1]
        group = self.group if part.vectors % self.group == 0 else 1
        # The first accumulator goes on with the state; the others begin empty and join it at the end.
        others = part.vectors // group - 1
        accumulators = [state, *[[r.begin(self.lanes) for _, _, r in self.reducers] for _ in range(others)]]
        carried = [v for accumulator in accumulators for v in _flat(accumulator)]
        with builder.for_(part.start, part.stop, part.step, carried) as loop:
            width = len(_flat(state))
            following: list[LoopValue] = []
            steps = list(self._step_scopes(part, loop.index, scopes, band))
            for number in range(len(accumulators)):
                old = _shaped(loop.carried[number * width : (number + 1) * width], state)
                taken = steps[number * group : (number + 1) * group]
                new = self.take(old, taken)
                valid = self._valid_lanes(part, taken[0])
                if valid is not None:
                    new = [
                        [builder.select(valid, n, o) for n, o in zip(ns, os, strict=True)]
                        for ns, os in zip(new, old, strict=True)
                    ]
                following += _flat(new)
            if self.ahead is not None and part.valid is None:
                self.ahead.prefetch([taken[0] for taken in steps], band.inner)
            loop.yield_(*following)
        return self._joined(
            [_shaped(loop.results[k * width : (k + 1) * width], state) for k in range(len(accumulators))]
        )

    def _valid_lanes(self, part, scopes: list[LaneScope]) -> LoopValue | None:
        """The lanes of the accumulators that a step may change, or None for all."""
        if self.plan is None or part.lanes == self.plan.lanes:
            return scopes[0].mask if part.valid is not None else None
        # One element at a time goes into the first lane.
        return self.builder.lane_mask(self.plan.lanes, 1)

    def _step_scopes(self, part, index, scopes: list[LaneScope], band: Band) -> Iterator[list[LaneScope]]:
        """For each unrolled step, a scope for each row."""
        if self.plan is not None:
            for inner in part_scopes(part, index, scopes[0], band, part.step):
                yield [inner]
            return
        for number in range(part.vectors):
            yield [bound(scope, band, index, number) for scope in scopes]

    def _joined(self, accumulators: list[list[State]]) -> list[State]:
        while len(accumulators) > 1:
            half = (len(accumulators) + 1) // 2
            accumulators = [
                [r.join(x, y) for (_, _, r), x, y in zip(self.reducers, a, b, strict=True)]
                for a, b in zip(accumulators[:half], accumulators[half:])
            ] + accumulators[len(accumulators) - half : half]
        return accumulators[0]

    def take(self, state: list[State], steps: list[list[LaneScope]]) -> list[State]:
        """Some steps for every row; a step has a scope for each row."""
        evaluators = [
            {id(row): row.evaluator(scope) for row, scope in zip(self.rows, scopes, strict=True)} for scopes in steps
        ]
        result = []
        for (row, reduction, reducer), old in zip(self.reducers, state, strict=True):
            taken = []
            for step_evaluators in evaluators:
                evaluator = step_evaluators[id(row)]
                wanted = reducer.inputs()
                inputs = evaluator.step_inputs(reduction.view, reduction.loops, wanted) if wanted != () else []
                taken.append((inputs, Step(evaluator, reduction.loops)))
            result.append(reducer.take_all(old, taken))
        for step_evaluators in evaluators:
            for row in self.rows:
                for kept in self.kept:
                    self.memory.store(kept, row.number, row.scope.lanes, step_evaluators[id(row)])
        return result


def whole_range(band: Band) -> Range:
    return Range(0, band.extent, band.extent if band.extent.__class__ is int else None, 1 << 30)


def bound(scope: LaneScope, band: Band, index, offset: int = 0) -> LaneScope:
    inner = scope.copy(mask=scope.mask)
    inner.bind(band.syms, Lanes(index, offset))
    return inner


def _flat(states: Sequence[State]) -> list[LoopValue]:
    return [value for state in states for value in state]


def _shaped(values: Sequence[LoopValue], like: Sequence[State]) -> list[State]:
    """A flat list in the form of states."""
    shaped, at = [], 0
    for state in like:
        shaped.append(list(values[at : at + len(state)]))
        at += len(state)
    return shaped
