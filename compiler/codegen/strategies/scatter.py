"""Scatter: updates are combined into a tensor at positions that are data.

Enters: a dispatch with one iree_linalg_ext.scatter whose result is stored. Leaves: a loop over the updates in order,
inside workgroups that share out the window dims, so that no two of them touch the same element and the order of
updates to one element is kept. Where windows are short, their parts would lie so close together that cores take cache
lines from each other; then workgroups share out the places that updates go to, and each looks for those that are its
own. Updates whose window does not fit are dropped. Unless the result takes over the original's storage, each workgroup
first copies its part of the original.
"""

from __future__ import annotations

import math

from ...ir.core import Operation
from ...ir.diagnostics import CompileError
from .. import configure, indexing
from ..configure import Band, Tiles, VectorPlan
from ..dispatch import LOAD, DispatchGraph, KernelContext
from ..evaluate import Evaluator
from ..indexing import Dim, Index, LaneScope, Sym, of
from ..loops import BOOL, INDEX, KernelBuilder, Value
from ..nest import Range, loop_nest, tile_ranges, vector_loop, whole
from ..plan import Plan, count_factors
from ..stores import ResultStore, before_narrowing, result_stores
from ..survey import survey
from ..target import Target

SCATTER = "iree_linalg_ext.scatter"
# Workgroups all read the positions, and cores fetch some lines beside those that they are asked for; with narrower
# parts of the windows, that would show.
_LEAST_BYTES = 2048
# Reading a position takes about as long as combining so many vectors; workgroups that share out places read them all.
_VECTORS_OF_POSITION = 2
_MOST_PLACES = 16
_LEAST_NANOSECONDS = 20_000.0
# Vectors of a window that one round of its loop takes: windows are short, and there is one for each update.
_MOST_VECTORS = 4


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a scatter."""
    return _ScatterKernel(graph, target).build()


class _ScatterKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = context = KernelContext(graph, self.builder)
        stores = result_stores(context)
        self.op: Operation = stores[0].value.defining_op
        if len(stores) != 1 or self.op is None or self.op.name != SCATTER:
            raise CompileError(f"dispatch {graph.name} does more than store a scatter", graph.func.location)
        self.store: ResultStore = stores[0]
        self.dims: tuple[int, ...] = tuple(self.op.dimension_map)
        self._make_domain()

    def _make_domain(self) -> None:
        """Syms for the updates, their windows, and the dims of the original that no window runs over."""
        context, op = self.context, self.op
        updates, indices = context.shape(op.updates), context.shape(op.indices)
        self.original = context.shape(op.original)
        # A single index may stand without a dim of its own. Where that cannot be told (a last dim of 1) the update is
        # a window of one element along the indexed dim, which is the same.
        self.depth_is_a_dim = len(indices) > 0 and indices[-1] == len(self.dims)
        self.batch = [Sym(f"n{k}", n) for k, n in enumerate(indices[: len(indices) - self.depth_is_a_dim])]
        self.window = [Sym(f"w{k}", n) for k, n in enumerate(updates[len(self.batch) :])]
        self.skipped = len(self.original) - len(self.window)
        # A window that runs over an indexed dim moves with the index: sharing it out would make workgroups overlap.
        self.moving = [self.window[d - self.skipped] for d in self.dims if d >= self.skipped]
        self.shared = [sym for sym in self.window if sym not in self.moving]
        #: A dim of the original that the indices alone run along, and the part of it that is this workgroup's.
        self.place = next((d for d in self.dims if d < self.skipped), -1)
        self.places: Range | None = None

    def build(self) -> Plan:
        builder, context = self.builder, self.context
        if any(extent.__class__ is int and extent == 0 for extent in self.original):
            return Plan(builder.finish(), [0])
        found = survey(context, [*self.batch, *self.window], self._visit)
        bands = configure.bands_of(self.shared, found, builder)
        lanes = configure.lanes_for(self.target, found.element_bits)
        scalar_tail = not configure.masked_tail_is_cheap(self.target, found)
        # A claim is worth the work of all updates on its part of the windows.
        points = 1.0
        for sym in (*self.batch, *self.moving):
            points *= sym.extent if sym.extent.__class__ is int else 64
        nanoseconds = configure.point_nanoseconds(found, lanes) * max(points, 1.0)
        multiples = [1] * len(bands)
        if bands:
            multiples[-1] = max(lanes, _LEAST_BYTES * 8 // found.element_bits)
        tiles = configure.tile_bands(bands, nanoseconds, multiples)
        places = 0 if any(tiles.sizes) else self._places_of_workgroup(nanoseconds, lanes)
        if places:
            shared = [Band((Sym("place", self.original[self.place]),), self.original[self.place]), *bands]
            tiles = Tiles([places, *tiles.sizes])
            self.places, *ranges = tile_ranges(builder, shared, tiles)
        else:
            shared, ranges = bands, tile_ranges(builder, bands, tiles)
        length = tiles.sizes[-1] or bands[-1].extent if bands else 1
        vectors = min(_MOST_VECTORS, length // lanes) if length.__class__ is int else 1
        plan = VectorPlan(len(bands) - 1, lanes, max(1, vectors), scalar_tail=scalar_tail)

        def over_window(scope: LaneScope, body) -> None:
            """Runs `body` over this workgroup's part of a window."""
            if not bands:
                body([scope])
                return
            loop_nest(
                scope, bands[:-1], ranges[:-1], lambda inner: vector_loop(inner, bands[-1], ranges[-1], plan, body)
            )

        scope = LaneScope(builder, 1)
        if not self._in_place():
            self._copy(scope, over_window)
        batch = [Band((sym,), sym.extent) for sym in self.batch]
        loop_nest(scope, batch, [whole(b.extent) for b in batch], lambda inner: self._update(inner, over_window))
        return Plan(builder.finish(), count_factors(context, [b.extent for b in shared], tiles.sizes) or [1])

    def _places_of_workgroup(self, nanoseconds: float, lanes: int) -> int:
        """How many of the places along a dim a workgroup looks after; 0 for all of them. `nanoseconds` is the time of
        one element of every window."""
        extents = [sym.extent for sym in self.window]
        if self.place < 0 or any(n.__class__ is not int for n in (self.original[self.place], *extents)):
            return 0
        elements = math.prod(extents)
        vectors = -(-elements // lanes)
        most = min(_MOST_PLACES, vectors // _VECTORS_OF_POSITION, int(nanoseconds * elements / _LEAST_NANOSECONDS))
        return -(-self.original[self.place] // most) if most > 1 else 0

    def _in_place(self) -> bool:
        """Whether the original is loaded whole from where the result goes."""
        source = before_narrowing(self.op.original).defining_op
        if source is None or source.name != LOAD:
            return False
        binding = source.operands[0]
        return binding is self.store.op.operands[1] and source.covers(binding.type, source.source_dims)

    def _copy(self, scope: LaneScope, over_window) -> None:
        """Copies the part of the original that this workgroup's windows reach."""
        free = [Sym(f"o{d}", n) for d, n in enumerate(self.original)]
        indices: list[Index] = [of(sym) for sym in free]
        bands, ranges = [], []
        for d, sym in enumerate(free):
            place = d - self.skipped
            if place >= 0 and self.window[place] in self.shared:
                indices[d] = of(self.window[place])
            else:
                bands.append(Band((sym,), sym.extent))
                is_part = self.places is not None and d == self.place
                ranges.append(self.places if is_part else whole(sym.extent))

        def copy(scopes: list[LaneScope]) -> None:
            for inner in scopes:
                value = Evaluator(self.context, inner).value_at(self.op.original, tuple(indices))
                self.store.store(inner, tuple(indices), value)

        loop_nest(scope, bands, ranges, lambda inner: over_window(inner, copy))

    def _positions(self, evaluator: Evaluator) -> list[Value]:
        """The index of each indexed dim for the current update."""
        batch = [of(sym) for sym in self.batch]
        values = []
        for k in range(len(self.dims)):
            at = (*batch, indexing.constant(k)) if self.depth_is_a_dim else tuple(batch)
            value = evaluator.value_at(self.op.indices, at)
            if value.type.elem != INDEX.elem:
                value = self.builder.op("arith.extsi", (value,), INDEX)
            values.append(value)
        return values

    def _fits(self, positions: list[Value]) -> Value:
        """0 <= position and position + window <= size, for every indexed dim."""
        builder = self.builder
        result = None
        for d, position in zip(self.dims, positions, strict=True):
            place = d - self.skipped
            window: Dim = self.window[place].extent if place >= 0 and self.window[place] in self.moving else 1
            limit = builder.index(builder.sub(self.original[d], builder.sub(window, 1)))
            if self.places is not None and d == self.place:
                position = builder.op("arith.subi", (position, builder.index(self.places.start)), INDEX)
                limit = builder.index(builder.sub(self.places.stop, self.places.start))
            inside = builder.op("arith.cmpi", (position, limit), BOOL, "ult")
            result = inside if result is None else builder.op("arith.andi", (result, inside), BOOL)
        return result if result is not None else builder.const(1, BOOL)

    def _update(self, scope: LaneScope, over_window) -> None:
        positions = self._positions(Evaluator(self.context, scope))
        moving = [Band((sym,), sym.extent) for sym in self.moving]

        def combine(scopes: list[LaneScope]) -> None:
            for inner in scopes:
                self._combine(inner, positions)

        with self.builder.if_(self._fits(positions)):
            loop_nest(scope, moving, [whole(b.extent) for b in moving], lambda inner: over_window(inner, combine))

    def _combine(self, scope: LaneScope, positions: list[Value]) -> None:
        """One element, or vector, of one update."""
        builder, evaluator = self.builder, Evaluator(self.context, scope)
        update = evaluator.value_at(self.op.updates, tuple([of(sym) for sym in (*self.batch, *self.window)]))
        target: list[Index] = [indexing.ZERO] * self.skipped + [of(sym) for sym in self.window]
        for d, position in zip(self.dims, positions, strict=True):
            target[d] = indexing.add(target[d], of(position), builder)
        body = self.op.region.blocks[0]
        values = {body.arguments[0]: update}
        if body.arguments[1].has_uses:
            values[body.arguments[1]] = self.store.load(scope, tuple(target))
        (result,) = evaluator.run_body(body, values, [], None)
        self.store.store(scope, tuple(target), result)

    def _visit(self, scope: LaneScope) -> None:
        evaluator = Evaluator(self.context, scope)
        self._combine(scope, self._positions(evaluator))
