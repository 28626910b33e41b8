"""Running combinations along a dim: cumulative sums, products, maxima, and any other body.

Enters: a dispatch with one iree_linalg_ext.scan whose results are stored. Leaves: a loop over the rows with the
running values carried along the dim. Lanes are rows where that is cheap; they lie along the dim where the body is a
known operation: then each vector is combined with itself shifted by 1, 2, 4, … lanes, and the running value only joins
the finished vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Operation
from ...ir.diagnostics import CompileError
from .. import configure
from ..complex_values import Element, all_parts, by_parts, elements_of_parts
from ..configure import Band, VectorPlan
from ..dispatch import DispatchGraph, KernelContext
from ..elements import element_name
from ..evaluate import Evaluator, Indices
from ..indexing import Lanes, LaneScope, Sym, of
from ..loops import KernelBuilder, Value, vector
from ..nest import loop_nest, part_scopes, tile_ranges, vector_loop, vector_parts, whole
from ..plan import Plan, count_factors
from ..reducers import known_identity
from ..stores import result_stores
from ..survey import survey
from ..target import Target

SCAN = "iree_linalg_ext.scan"


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a scan."""
    return _ScanKernel(graph, target).build()


class _ScanKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.stores = result_stores(self.context)
        self.op: Operation = next(op for op in graph.ops if op.name == SCAN)
        for store in self.stores:
            if store.value.defining_op is not self.op:
                raise CompileError(f"dispatch {graph.name} stores more than the results of its scan", store.op.location)
        self.count = len(self.op.inputs)
        self.body = self.op.region.blocks[0]
        dim = self.op.dimension
        shape = self.context.shape(self.op.inputs[0])
        self.domain = [Sym(f"{'s' if d == dim else 'p'}{d}", extent) for d, extent in enumerate(shape)]
        self.along = self.domain[dim]
        self.rows = [sym for sym in self.domain if sym is not self.along]
        self.full: Indices = tuple([of(sym) for sym in self.domain])
        self.row: Indices = tuple([of(sym) for sym in self.rows])
        self.operation = self._known_operation()

    def _known_operation(self) -> tuple[str, float | int] | None:
        """(op, its identity) where the body is one op that may be regrouped."""
        yielded = self.body.terminator.operands[0]
        op = yielded.defining_op
        if self.count != 1 or op is None or set(op.operands) != set(self.body.arguments):
            return None
        identity = known_identity(op.name, element_name(yielded.type))
        # Adding -0.0 changes nothing, adding 0.0 would make 0.0 of -0.0.
        return None if identity is None else (op.name, -0.0 if op.name == "arith.addf" else identity)

    # -- the kernel

    def build(self) -> Plan:
        builder = self.builder
        if any(sym.extent == 0 for sym in self.rows):
            return Plan(builder.finish(), [0])
        found = survey(self.context, self.domain, self._visit)
        bands = configure.bands_of(self.rows, found, builder)
        lanes = configure.lanes_for(self.target, found.element_bits)
        extent = self.along.extent if self.along.extent.__class__ is int else 256
        nanoseconds = configure.point_nanoseconds(found, lanes) * 4 * max(extent, 1)
        scalar_tail = not configure.masked_tail_is_cheap(self.target, found)
        number = self._row_band(bands, found, lanes)
        multiples = [lanes if k == number else 1 for k in range(len(bands))]
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
        ranges = tile_ranges(builder, bands, tiles)
        scope = LaneScope(builder, 1)
        if number is None:
            in_vectors = self.operation is not None and not scalar_tail and self.along.extent != 1
            lanes = lanes if in_vectors else 1
            loop_nest(scope, bands, ranges, lambda inner: self._along_the_dim(inner, lanes))
        else:
            plan = VectorPlan(number, lanes, 1, scalar_tail=scalar_tail)
            outer = [k for k in range(len(bands)) if k != number]
            loop_nest(
                scope,
                [bands[k] for k in outer],
                [ranges[k] for k in outer],
                lambda inner: vector_loop(
                    inner, bands[number], ranges[number], plan, lambda rows: self._rows_side_by_side(rows[0])
                ),
            )
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    def _row_band(self, bands: list[Band], found, lanes: int) -> int | None:
        """The band whose rows are the lanes, or None for lanes along the dim."""
        steps = found.cost + 2 * lanes.bit_length() if self.operation is not None else found.cost * lanes
        memory = sum(configure.access_cost(a, self.along, lanes) for a in found.accesses)
        best, choice = (memory + steps) / configure.utilisation(self.along.extent, lanes), None
        for number, band in enumerate(bands):
            memory = sum(configure.access_cost(a, band.inner, lanes) for a in found.accesses)
            cost = (memory + found.cost) / configure.utilisation(band.extent, lanes)
            if cost < best:
                best, choice = cost, number
        return choice

    def _visit(self, scope: LaneScope) -> None:
        values = self._inputs(Evaluator(self.context, scope))
        results = self._combine(values, values, scope)
        for store in self.stores:
            number = store.value.index
            indices = self.full if number < self.count else self.row
            store.store(scope, indices, results[number % self.count])

    def _inputs(self, evaluator: Evaluator) -> list[Element]:
        return [evaluator.value_at(value, self.full) for value in self.op.inputs]

    def _initial(self, evaluator: Evaluator) -> list[Element]:
        return [evaluator.value_at(value, self.row) for value in self.op.outputs[self.count :]]

    def _splat(self, values: Sequence[Element], lanes: int) -> list[Element]:
        return [by_parts(lambda part: self.builder.splat(part, lanes), value) for value in values]

    def _combine(self, so_far: list[Element], following: list[Element], scope: LaneScope) -> list[Element]:
        """The body on the running values and the next elements."""
        lanes = max(v.lanes for v in (*so_far, *following))
        values = dict(zip(self.body.arguments, self._splat((*so_far, *following), lanes), strict=True))
        return self._splat(Evaluator(self.context, scope).run_body(self.body, values, [], None), lanes)

    def _store_running(self, scope: LaneScope, values: list[Element]) -> None:
        for store in self.stores:
            if store.value.index < self.count:
                store.store(scope, self.full, values[store.value.index])

    def _store_last(self, scope: LaneScope, values: list[Element]) -> None:
        for store in self.stores:
            if store.value.index >= self.count:
                store.store(scope, self.row, values[store.value.index - self.count])

    # -- rows in the lanes, or one row element by element

    def _rows_side_by_side(self, scope: LaneScope) -> None:
        """A step of the dim at a time, for as many rows as the scope has lanes."""
        builder, lanes = self.builder, scope.lanes
        initial = self._splat(self._initial(Evaluator(self.context, scope)), lanes)
        start = 0
        if self.op.inclusive and self.along.extent != 0:
            # The first element stands as it is.
            first = scope.copy(mask=scope.mask)
            first.bind(self.along, Lanes(0))
            initial = self._splat(self._inputs(Evaluator(self.context, first)), lanes)
            self._store_running(first, initial)
            start = 1
        types = [value.type for value in self.op.inputs]
        with builder.for_(start, self.along.extent, 1, all_parts(initial)) as loop:
            inner = scope.copy(mask=scope.mask)
            inner.bind(self.along, Lanes(loop.index))
            so_far = elements_of_parts(types, loop.carried)
            following = self._combine(so_far, self._inputs(Evaluator(self.context, inner)), inner)
            self._store_running(inner, following if self.op.inclusive else so_far)
            loop.yield_(*all_parts(following))
        self._store_last(scope, elements_of_parts(types, loop.results))

    # -- one row in vectors

    def _along_the_dim(self, scope: LaneScope, lanes: int) -> None:
        if lanes == 1:
            self._rows_side_by_side(scope)
            return
        builder = self.builder
        elem = element_name(self.op.inputs[0].type)
        (running,) = self._initial(Evaluator(self.context, scope))
        if self.op.inclusive:
            running = builder.const(self.operation[1], vector(elem))
        running = builder.splat(running, lanes)
        band = Band((self.along,), self.along.extent)
        for part in vector_parts(builder, whole(self.along.extent), VectorPlan(0, lanes, 1)):
            with builder.for_(part.start, part.stop, part.step, [running]) as loop:
                (inner,) = part_scopes(part, loop.index, scope, band, part.step)
                stored, following = self._vector_step(inner, loop.carried[0])
                self._store_running(inner, [stored])
                loop.yield_(following)
            (running,) = loop.results
        self._store_last(scope, [builder.extract(running, 0)])

    def _vector_step(self, scope: LaneScope, running: Value) -> tuple[Value, Value]:
        """(what to store for a vector of elements, the running value after it, in every lane)."""
        builder, lanes, type = self.builder, scope.lanes, running.type
        identity = builder.const(self.operation[1], type)
        value = builder.splat(self._inputs(Evaluator(self.context, scope))[0], lanes)
        if scope.mask is not None:
            value = builder.select(scope.mask, value, identity)
        step = 1
        while step < lanes:
            (value,) = self._combine([_shifted(builder, value, identity, step)], [value], scope)
            step *= 2
        total = builder.shuffle(value, value, [lanes - 1] * lanes)
        own = value if self.op.inclusive else _shifted(builder, value, identity, 1)
        (stored,) = self._combine([running], [own], scope)
        (following,) = self._combine([running], [total], scope)
        return stored, following


def _shifted(builder: KernelBuilder, value: Value, fill: Value, step: int) -> Value:
    """Lane k holds what lane k - step had."""
    lanes = value.lanes
    return builder.shuffle(value, fill, [k - step if k >= step else lanes for k in range(lanes)])
