"""Loops that run inside a kernel: all iterations for some points, then all for the next.

Enters: a dispatch with one `scf.for` that is a `PointwiseLoop`, whose results are stored. Leaves: one loop nest
over the points, vectorised along one of their dims, with the program's loop inside. What it carries is in registers, a
value for each element of a point; or it stays in memory, where an iteration reads what the ones before stored: it
stores when all that it computes is known. Some vectors of points run side by side, since an iteration waits for the
one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.pointwise_loops import Carried, pointwise_loop
from ...dialects.scf import ForOp
from ...dialects.tensor_slices import InsertSliceOp
from ...ir.core import Value
from ...ir.types import TensorType
from .. import configure, indexing
from ..complex_values import Element, from_parts, part_count, part_element, parts_of
from ..configure import Band, VectorPlan
from ..dispatch import DispatchGraph, KernelContext
from ..elements import element_name, unsupported
from ..evaluate import Evaluator, Indices
from ..indexing import LaneScope, Sym
from ..loops import INDEX, KernelBuilder, vector
from ..loops import Value as LoopValue
from ..nest import loop_nest, tile_ranges, vector_loop
from ..plan import Plan, count_factors
from ..stores import ResultStore, result_stores
from ..survey import SurveyScope, survey
from ..target import Target

FOR = "scf.for"
# Vectors of points side by side, as far as the registers go; an iteration needs some for itself.
_MOST_VECTORS = 4
_WORKING_REGISTERS = 8
# Iterations of a loop whose bounds are known only at run time.
_USUAL_TRIPS = 100


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a loop."""
    return _LoopKernel(graph, target).build()


class _State:
    """A carried tensor: its elements in order, each at its indices. A number is one element; what stays in memory has
    none in registers."""

    def __init__(self, carried: Carried, points: Sequence[Sym], value: Value):
        self.value = value
        self.is_number = not isinstance(value.type, TensorType)
        self.is_uniform = all(dim is None for dim in carried.dims)
        self.updates: list[tuple[InsertSliceOp, list[Indices]]] = []
        """For what stays in memory: each slice that an iteration puts into it, and the elements of the slice."""
        self.indices: list[Indices] = []
        for update in carried.updates:
            dropped = set(update.dropped_dims())
            dims = [dim for d, dim in enumerate(carried.dims) if d not in dropped]
            self.updates.append((update, _indices(carried.updated(update), dims, points)))
        if not self.updates:
            self.indices = _indices(carried.elements, carried.dims, points)

    @property
    def parts(self) -> int:
        """Registers that the elements take."""
        return part_count(self.value.type) * len(self.indices)

    def provider(self, values: Sequence[LoopValue]):
        """How an evaluator finds the elements: `values` are their parts in order."""
        count = part_count(self.value.type)
        found = {
            indices: from_parts(self.value.type, values[k * count : (k + 1) * count])
            for k, indices in enumerate(self.indices)
        }

        def at(evaluator: Evaluator, asked: Indices) -> Element:
            if asked not in found:
                raise unsupported(self.value.block.parent_op, f"a value that it carries is read at {asked}")
            return found[asked]

        return at


def _indices(
    elements: Sequence[tuple[int | None, ...]], dims: Sequence[int | None], points: Sequence[Sym]
) -> list[Indices]:
    return [
        tuple([
            indexing.constant(place) if place is not None else indexing.of(points[dim or 0])
            for dim, place in zip(dims, element, strict=True)
        ])
        for element in elements
    ]  # fmt: skip


class _LoopKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        loop = next(op for op in graph.ops if op.name == FOR)
        assert isinstance(loop, ForOp)
        self.loop = loop
        found = pointwise_loop(loop)
        if found is None:
            raise unsupported(loop, "its iterations do not work on every point alone")
        self.points = [Sym(f"p{k}", extent) for k, extent in enumerate(found.points)]
        self.states = [
            _State(carried, self.points, argument)
            for carried, argument in zip(found.carried, loop.iter_args, strict=True)
        ]
        self.stores: list[tuple[ResultStore, _State]] = []
        self.memory: dict[_State, ResultStore] = {}
        """Where those that stay in memory lie: in the place of what they start with."""
        self.starts: dict[Value, Value] = {}
        for store in result_stores(self.context):
            number = self._result_behind(store)
            state = self.states[number]
            if state.updates:
                self.memory[state] = store
                self.starts[state.value] = loop.init_args[number]
            else:
                self.stores.append((store, state))

    def _result_behind(self, store: ResultStore) -> int:
        """The number of the loop's result whose elements, perhaps of another width, are stored."""
        value = store.value
        while (op := value.defining_op) is not None and op is not self.loop and len(op.operands) == 1:
            (value,) = op.operands
        if op is not self.loop:
            raise unsupported(store.op, "it stores no result of the loop")
        return value.index

    def build(self) -> Plan:
        builder, context = self.builder, self.context
        found = survey(context, self.points, self._look)
        lanes = configure.lanes_for(self.target, found.element_bits)
        scope = LaneScope(builder, 1)
        bands = configure.bands_of(self.points, found, builder)
        if not bands:
            for sym in self.points:
                scope.bind(sym, indexing.Lanes(0))
            self._points([scope], 1)
            return Plan(builder.finish(), [1])
        number = configure.pick_vector_band(bands, found, lanes)
        plan = VectorPlan(number, lanes, self._vectors(bands[number], lanes), scalar_tail=self._scalar_tail(found))
        multiples = [1] * len(bands)
        multiples[number] = lanes * plan.unroll
        tiles = configure.tile_bands(bands, self._trips() * configure.point_nanoseconds(found, lanes), multiples)
        ranges = tile_ranges(builder, bands, tiles)
        outer = [k for k in range(len(bands)) if k != number]
        loop_nest(
            scope,
            [bands[k] for k in outer],
            [ranges[k] for k in outer],
            lambda inner: vector_loop(
                inner, bands[number], ranges[number], plan, lambda scopes: self._points(scopes, scopes[0].lanes)
            ),
        )
        return Plan(builder.finish(), count_factors(context, [b.extent for b in bands], tiles.sizes))

    def _scalar_tail(self, found) -> bool:
        return not configure.masked_tail_is_cheap(self.target, found)

    def _vectors(self, band: Band, lanes: int) -> int:
        """Vectors of points side by side."""
        room = self.target.vector_registers - _WORKING_REGISTERS
        most = max(1, min(_MOST_VECTORS, room // max(1, sum([state.parts for state in self.states]))))
        return min(most, -(-band.extent // lanes)) if band.extent.__class__ is int else most

    def _trips(self) -> float:
        lower, upper = (self.context.scalar(v).const for v in (self.loop.lower_bound, self.loop.upper_bound))
        if lower is None or upper is None:
            return _USUAL_TRIPS
        return max(1, -(-(upper - lower) // self._step()))

    def _step(self) -> int:
        return self.context.scalar(self.loop.step).const

    def _look(self, scope: SurveyScope) -> None:
        """One iteration on paper."""
        evaluator = Evaluator(self.context, scope)
        for state, init in zip(self.states, self.loop.init_args, strict=True):
            self._elements(evaluator, state, init)
        stand_ins = [
            [self.builder.stand_in(vector(part_element(state.value.type))) for _ in range(state.parts)]
            for state in self.states
        ]
        counter = self.builder.stand_in(vector(element_name(self.loop.induction_var.type)))
        self._iteration(scope, counter, stand_ins)
        self._store(scope, stand_ins)

    def _iteration(
        self, scope: LaneScope, counter: LoopValue, carried: Sequence[Sequence[LoopValue]]
    ) -> list[list[Element]]:
        """What one iteration makes of the elements of one point; stores those that stay in memory."""
        numbers = {self.loop.induction_var: counter}
        provided = {}
        for state, values in zip(self.states, carried, strict=True):
            if state.is_number:
                (numbers[state.value],) = values
            elif not state.updates:
                provided[state.value] = state.provider(values)
        with self.context.scalars_within(numbers):
            evaluator = Evaluator(self.context, scope, provided, self.starts)
            following = [
                self._elements(evaluator, state, value)
                for state, value in zip(self.states, self.loop.yielded, strict=True)
            ]
            stored = [
                (store, evaluator.place_in_whole(update, indices), evaluator.value_at(update.source, indices))
                for state, store in self.memory.items()
                for update, elements in state.updates
                for indices in elements
            ]
            for store, indices, element in stored:
                store.store(scope, indices, element)
        return following

    def _elements(self, evaluator: Evaluator, state: _State, value: Value) -> list[Element]:
        """All elements of a point of a value that has the form of a carried one."""
        return [evaluator.scalar_or_element(value, indices, None) for indices in state.indices]

    def _points(self, scopes: list[LaneScope], lanes: int) -> None:
        """All iterations for some vectors of points."""
        builder, loop = self.builder, self.loop
        initial: list[LoopValue] = []
        for scope in scopes:
            evaluator = Evaluator(self.context, scope)
            elements = [self._elements(evaluator, *pair) for pair in zip(self.states, loop.init_args, strict=True)]
            initial += self._flat(elements, lanes)
        lower, upper = (self._bound(v) for v in (loop.lower_bound, loop.upper_bound))
        with builder.for_(lower, upper, self._step(), initial) as repeated:
            counter = self._counter(repeated.index)
            following: list[LoopValue] = []
            for scope, carried in zip(scopes, self._by_scope(repeated.carried, len(scopes)), strict=True):
                following += self._flat(self._iteration(scope, counter, carried), lanes)
            repeated.yield_(*following)
        for scope, carried in zip(scopes, self._by_scope(repeated.results, len(scopes)), strict=True):
            self._store(scope, carried)

    def _store(self, scope: LaneScope, carried: Sequence[Sequence[LoopValue]]) -> None:
        """Stores the results for one point, given what is carried in the end."""
        provided = {
            result: state.provider(values)
            for result, state, values in zip(self.loop.results, self.states, carried, strict=True)
        }
        evaluator = Evaluator(self.context, scope, provided)
        for store, state in self.stores:
            for indices in state.indices:
                store.store(scope, indices, evaluator.value_at(store.value, indices))

    def _flat(self, states: Sequence[Sequence[Element]], lanes: int) -> list[LoopValue]:
        """The registers of all carried values; what is the same for all points has one lane."""
        return [
            part if state.is_uniform else self.builder.splat(part, lanes)
            for state, elements in zip(self.states, states, strict=True)
            for element in elements
            for part in parts_of(element)
        ]

    def _by_scope(self, values: Sequence[LoopValue], count: int) -> list[list[list[LoopValue]]]:
        """The flat state, by vectors of points and carried tensors."""
        result, at = [], 0
        for _ in range(count):
            states = []
            for state in self.states:
                states.append(list(values[at : at + state.parts]))
                at += state.parts
            result.append(states)
        return result

    def _bound(self, value: Value) -> indexing.Dim:
        scalar = self.context.scalar(value)
        if scalar.const is not None:
            return scalar.const
        return self.builder.op("arith.extsi", (scalar,), INDEX) if scalar.type.bits < 64 else scalar

    def _counter(self, index: LoopValue) -> LoopValue:
        elem = element_name(self.loop.induction_var.type)
        return index if vector(elem).bits == 64 else self.builder.op("arith.trunci", (index,), vector(elem))
