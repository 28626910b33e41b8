"""The first few elements of an order along a dim, with their places.

Enters: a dispatch with one iree_linalg_ext.topk whose results are stored. Leaves: for each row the best elements so
far, in order, in local memory. A vector of elements is compared with the last of them at once; only where some lane
comes before it, its elements are looked at one by one and inserted. Equal elements keep the order of their places.
"""

from __future__ import annotations

from ...ir.core import Operation
from .. import configure
from ..dispatch import DispatchGraph, KernelContext
from ..elements import element_name, unsupported
from ..evaluate import Evaluator
from ..indexing import Dim, Lanes, LaneScope, Sym, of
from ..loops import BOOL, INDEX, KernelBuilder, Value, vector
from ..nest import loop_nest, tile_ranges
from ..plan import Plan, count_factors
from ..stores import ResultStore, result_stores
from ..survey import survey
from ..target import Target

TOPK = "iree_linalg_ext.topk"
# Vectors that are compared before one looks whether any element counts.
_VECTORS = 4


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a top-k."""
    return _TopkKernel(graph, target).build()


class _TopkKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.target = target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.op: Operation = next(op for op in graph.ops if op.name == TOPK)
        self.stores: dict[int, ResultStore] = {}
        for store in result_stores(self.context):
            if store.value.defining_op is not self.op:
                raise unsupported(store.op, "it stores more than the results of a top-k")
            self.stores[store.value.index] = store
        (self.input,) = self.op.inputs
        self.domain = [Sym(f"d{d}", extent) for d, extent in enumerate(self.context.shape(self.input))]
        self.along = self.domain[self.op.dimension]
        self.rows = [sym for sym in self.domain if sym is not self.along]
        self.point = tuple([of(sym) for sym in self.domain])
        self.count: int = self.op.results[0].type.shape[self.op.dimension]
        self.best = self.builder.local("best", element_name(self.input.type), self.count)
        self.places = self.builder.local("places", "i32", self.count)

    def build(self) -> Plan:
        builder = self.builder
        if any(sym.extent.__class__ is int and sym.extent == 0 for sym in self.domain) or self.count == 0:
            return Plan(builder.finish(), [0])
        found = survey(self.context, self.domain, self._element)
        bands = configure.bands_of(self.rows, found, builder)
        lanes = configure.lanes_for(self.target, found.element_bits)
        extent = self.along.extent if self.along.extent.__class__ is int else 1024
        nanoseconds = extent * max(0.2, 4 * configure.point_nanoseconds(found, lanes))
        tiles = configure.tile_bands(bands, nanoseconds, [1] * len(bands))
        ranges = tile_ranges(builder, bands, tiles)
        loop_nest(LaneScope(builder, 1), bands, ranges, lambda scope: self._row(scope, lanes))
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    # -- elements

    def _element(self, scope: LaneScope) -> Value:
        return Evaluator(self.context, scope).value_at(self.input, self.point)

    def _at(self, scope: LaneScope, position: Dim, lanes: int = 1, first: int = 0) -> Value:
        """Elements of the row from a position on."""
        inner = scope.copy(lanes)
        inner.bind(self.along, Lanes(position, first if lanes == 1 else tuple(range(first, first + lanes))))
        return self.builder.splat(self._element(inner), lanes)

    def _before(self, scope: LaneScope, x: Value, y: Value) -> Value:
        """In each lane whether x comes before y."""
        body = self.op.region.blocks[0]
        values = dict(zip(body.arguments, (x, y), strict=True))
        return Evaluator(self.context, scope.copy(x.lanes)).run_body(body, values, [], None)[0]

    def _less(self, x: Dim, y: Dim) -> Value:
        return self.builder.op("arith.cmpi", (self.builder.index(x), self.builder.index(y)), BOOL, "slt")

    # -- one row

    def _row(self, scope: LaneScope, lanes: int) -> None:
        builder, extent, count = self.builder, self.along.extent, self.count
        with builder.for_(0, count) as loop:
            self._insert(scope, self._at(scope, loop.index), loop.index, loop.index)
        step = _VECTORS * lanes
        main = builder.add(count, builder.round_down(builder.sub(extent, count), step))
        if main.__class__ is not int or main > count:
            with builder.for_(count, main, step) as loop:
                last = builder.splat(builder.load(self.best, count - 1, 0, 1), lanes)
                some = None
                for number in range(_VECTORS):
                    elements = self._at(scope, loop.index, lanes, number * lanes)
                    counts = self._before(scope, elements, last)
                    some = counts if some is None else builder.op("arith.ori", (some, counts), counts.type)
                with builder.if_(builder.reduce("arith.ori", some)):
                    self._one_by_one(scope, loop.index, builder.add(loop.index, step))
        self._one_by_one(scope, main, extent)
        with builder.for_(0, count) as loop:
            inner = scope.copy()
            inner.bind(self.along, Lanes(loop.index))
            for number, buffer in enumerate((self.best, self.places)):
                if number in self.stores:
                    self.stores[number].store(inner, self.point, builder.load(buffer, loop.index, 0, 1))

    def _one_by_one(self, scope: LaneScope, start: Dim, stop: Dim) -> None:
        builder = self.builder
        with builder.for_(start, stop) as loop:
            element = self._at(scope, loop.index)
            with builder.if_(self._before(scope, element, builder.load(self.best, self.count - 1, 0, 1))):
                self._insert(scope, element, loop.index, self.count - 1)

    def _insert(self, scope: LaneScope, element: Value, place: Value, free: Dim) -> None:
        """Moves what comes after an element up by one, the last of which is dropped or `free`, and puts it there."""
        builder = self.builder
        with builder.repeat([builder.index(free)]) as loop:
            (at,) = loop.carried
            below = builder.op("arith.maxsi", (builder.index(builder.sub(at, 1)), builder.index(0)), INDEX)
            other, its_place = builder.load(self.best, below, 0, 1), builder.load(self.places, below, 0, 1)
            moves = builder.op("arith.andi", (self._less(0, at), self._before(scope, element, other)), BOOL)
            narrow = builder.op("arith.trunci", (place,), vector("i32"))
            builder.store(builder.select(moves, other, element), self.best, at)
            builder.store(builder.select(moves, its_place, narrow), self.places, at)
            loop.yield_(moves, below)
