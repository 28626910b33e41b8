"""Stable sorts of several tensors together along a dim.

Enters: a dispatch with one iree_linalg_ext.sort whose results are stored; a tensor that is stored without ever having
been written is memory to work in. Leaves: a sort by codes (`code_sort`) where that may be. Otherwise for each row a
sort by digits, where the order is that of one number and there is room for the row beside the results; and for any
other comparison a merge sort from the bottom up, in the memory of the results.
To merge two neighbouring runs, the left one is moved aside into local memory and merged back with the right one; if
it does not fit, its blocks are merged one by one, the last first.
"""

from __future__ import annotations

from ...dialects.sort_orders import sort_order
from ...ir.core import Operation
from ...ir.diagnostics import CompileError
from .. import configure
from ..complex_values import all_parts, elements_of_parts, is_complex, part_count, part_element
from ..dispatch import DispatchGraph, KernelContext
from ..evaluate import Evaluator
from ..indexing import Dim, Lanes, LaneScope, Sym, of
from ..loops import BOOL, INDEX, Buffer, KernelBuilder, Value, storage_bytes
from ..nest import loop_nest, tile_ranges
from ..plan import Plan, count_factors
from ..stores import ResultStore, result_stores
from ..survey import survey
from ..target import Target
from .code_sort import code_plan
from .radix_sort import Destination, LocalPlace, RadixKey, RadixSort

SORT = "iree_linalg_ext.sort"
_ASIDE_BYTES = 96 << 10
# Rows of fewer elements are merged.
_SHORT = 24


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a sort."""
    return _SortKernel(graph, target).build()


class _SourceRow:
    """The elements that are to be sorted."""

    def __init__(self, kernel: _SortKernel):
        self._kernel = kernel

    def load(self, scope: LaneScope, number: int, position: Dim, lanes: int, first: int) -> Value:
        inner = self._kernel.lanes_at(scope, position, lanes, first)
        return Evaluator(self._kernel.context, inner).value_at(self._kernel.op.outputs[number], self._kernel.point)


class _StoredRow:
    """A row of the results, or of the memory beside them."""

    def __init__(self, kernel: _SortKernel, stores: list[ResultStore]):
        self._kernel, self._stores = kernel, stores

    def load(self, scope: LaneScope, number: int, position: Dim, lanes: int, first: int) -> Value:
        inner = self._kernel.lanes_at(scope, position, lanes, first)
        return self._stores[number].load(inner, self._kernel.point)

    def store(self, scope: LaneScope, number: int, position: Value, value: Value) -> None:
        self._stores[number].store(self._kernel.lanes_at(scope, position, 1, 0), self._kernel.point, value)


class _SortKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.graph, self.target = graph, target
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.op: Operation = next(op for op in graph.ops if op.name == SORT)
        self.stores: dict[int, ResultStore] = {}
        self.work: list[ResultStore] = []
        for store in result_stores(self.context):
            if store.value.defining_op is not self.op and store.value.defining_op.name == "tensor.empty":
                self.work.append(store)
                continue
            if store.value.defining_op is not self.op:
                raise CompileError(f"dispatch {graph.name} stores more than the results of its sort", store.op.location)
            self.stores[store.value.index] = store
        if len(self.stores) != len(self.op.results):
            raise CompileError(f"dispatch {graph.name} does not store every result of its sort", self.op.location)
        self.body = self.op.region.blocks[0]
        self.types = [value.type for value in self.op.outputs]
        shape = self.context.shape(self.op.outputs[0])
        self.domain = [Sym(f"d{d}", extent) for d, extent in enumerate(shape)]
        self.along = self.domain[self.op.dimension]
        self.rows = [sym for sym in self.domain if sym is not self.along]
        self.point = tuple([of(sym) for sym in self.domain])

    def build(self) -> Plan:
        builder = self.builder
        if any(sym.extent == 0 for sym in self.domain):
            return Plan(builder.finish(), [0])
        found = survey(self.context, self.domain, self._copy)
        bands = configure.bands_of(self.rows, found, builder)
        extent = self.along.extent if self.along.extent.__class__ is int else 256
        stores = [self.stores[number] for number in range(len(self.types))]
        plan = code_plan(self.context, self.target, self.op, stores, self.domain, bands)
        if plan is not None:
            return plan
        key = self._radix_key()
        steps = max(1, extent.bit_length()) if key is None else key.passes
        nanoseconds = (2.0 + found.cost) * extent * steps
        tiles = configure.tile_bands(bands, nanoseconds, [1] * len(bands))
        ranges = tile_ranges(builder, bands, tiles)
        if key is None:
            self._make_aside(extent)
            loop_nest(LaneScope(builder, 1), bands, ranges, self._row)
        else:
            self._by_digits(key, bands, ranges)
        return Plan(builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    def _radix_key(self) -> RadixKey | None:
        """The key to sort by, if sorting by digits is possible and pays."""
        extent = self.along.extent
        if extent.__class__ is not int or extent < _SHORT or any(map(is_complex, self.types)):
            return None
        order = sort_order(self.body)
        key = None if order is None else RadixKey(order)
        room = extent * sum([storage_bytes(part_element(type)) for type in self.types]) <= _ASIDE_BYTES
        return key if key is not None and (key.passes % 2 or self.work or room) else None

    def _by_digits(self, key: RadixKey, bands, ranges) -> None:
        extent = self.along.extent
        lanes = configure.lanes_for(self.target, max(32, key.bits))
        radix = RadixSort(self.context, key, len(self.types), extent, lanes)
        results = [self.stores[k] for k in range(len(self.types))]
        result = _StoredRow(self, results)
        aside: Destination = result
        if self.work:
            aside = _StoredRow(self, self.work)
        elif key.passes % 2 == 0:
            elems = [part_element(type) for type in self.types]
            aside = LocalPlace(self.builder, [self.builder.local(f"aside{k}", e, extent) for k, e in enumerate(elems)])
        loop_nest(
            LaneScope(self.builder, 1), bands, ranges, lambda scope: radix.row(scope, _SourceRow(self), aside, result)
        )

    def _make_aside(self, extent: int) -> None:
        """Local memory for a run, as many elements as fit, of every tensor."""
        elems = [part_element(type) for type in self.types for _ in range(part_count(type))]
        room = _ASIDE_BYTES // sum(map(storage_bytes, elems))
        half = (extent + 1) // 2 if self.along.extent.__class__ is int else room
        self.room = max(1, min(room, half))
        self.aside: list[Buffer] = [self.builder.local(f"aside{k}", elem, self.room) for k, elem in enumerate(elems)]

    def _copy(self, scope: LaneScope) -> None:
        """One element from where it comes to where it is sorted."""
        evaluator = Evaluator(self.context, scope)
        values = [evaluator.value_at(value, self.point) for value in self.op.outputs]
        for number, value in enumerate(values):
            self.stores[number].store(scope, self.point, value)

    # -- elements of the current row

    def lanes_at(self, scope: LaneScope, position: Dim, lanes: int, first: int) -> LaneScope:
        """Positions of the row from `position` + `first` on."""
        inner = scope.copy(lanes)
        inner.bind(self.along, Lanes(position, first if lanes == 1 else tuple(range(first, first + lanes))))
        return inner

    def _at(self, scope: LaneScope, position: Value | int) -> LaneScope:
        inner = scope.copy()
        inner.bind(self.along, Lanes(position))
        return inner

    def _load(self, scope: LaneScope, position: Value | int) -> list[Value]:
        """The parts of every tensor's element."""
        inner = self._at(scope, position)
        return all_parts([self.stores[k].load(inner, self.point) for k in range(len(self.stores))])

    def _store(self, scope: LaneScope, position: Value | int, parts: list[Value]) -> None:
        inner = self._at(scope, position)
        for k, value in enumerate(elements_of_parts(self.types, parts)):
            self.stores[k].store(inner, self.point, value)

    def _before(self, scope: LaneScope, x: list[Value], y: list[Value]) -> Value:
        """Whether x comes before y."""
        elements = [elements_of_parts(self.types, parts) for parts in (x, y)]
        arguments = [value for pair in zip(*elements, strict=True) for value in pair]
        values = dict(zip(self.body.arguments, arguments, strict=True))
        return Evaluator(self.context, scope).run_body(self.body, values, [], None)[0]

    # -- the sort

    def _row(self, scope: LaneScope) -> None:
        builder, extent = self.builder, self.along.extent
        with builder.for_(0, extent, 1) as loop:
            self._copy(self._at(scope, loop.index))
        if extent.__class__ is int and extent < 2:
            return
        # Runs of 1, 2, 4, … elements; the width doubles while it is less than the row.
        with builder.if_(self._less(1, extent)), builder.repeat([builder.index(1)]) as width:
            (half,) = width.carried
            whole = builder.add(half, half)
            with builder.for_(0, builder.div(builder.add(extent, builder.sub(whole, 1)), whole)) as pair:
                start = builder.mul(pair.index, whole)
                middle = builder.add(start, half)
                end = builder.min(builder.add(start, whole), extent)
                with builder.if_(self._less(middle, end)):
                    self._merge(scope, start, middle, end)
            width.yield_(self._less(whole, extent), builder.index(whole))

    def _less(self, x, y) -> Value:
        builder = self.builder
        return builder.op("arith.cmpi", (builder.index(x), builder.index(y)), BOOL, "slt")

    def _merge(self, scope: LaneScope, start, middle, end) -> None:
        """Merges the runs [start, middle) and [middle, end): blocks of the left one, the last first."""
        builder = self.builder
        with builder.repeat([builder.index(middle)]) as block:
            (stop,) = block.carried
            first = self._larger(builder.sub(stop, self.room), start)
            self._merge_block(scope, first, stop, end)
            block.yield_(self._less(start, first), builder.index(first))

    def _larger(self, x, y) -> Value:
        builder = self.builder
        return builder.op("arith.maxsi", (builder.index(x), builder.index(y)), INDEX)

    def _merge_block(self, scope: LaneScope, first, stop, end) -> None:
        """Merges [first, stop), which fits beside, with the sorted [stop, end). What is left of the right side when the
        left side is used up is in its place already."""
        builder = self.builder
        count = builder.sub(stop, first)
        with builder.for_(0, count) as loop:
            values = self._load(scope, builder.add(first, loop.index))
            for buffer, value in zip(self.aside, values, strict=True):
                builder.store(value, buffer, loop.index)
        last = builder.sub(end, 1)
        left = [builder.load(buffer, 0, 0, 1) for buffer in self.aside]
        right = self._load(scope, stop)
        state = [builder.index(first), builder.index(0), builder.index(stop), *left, *right]
        with builder.repeat(state) as loop:
            target, i, j = loop.carried[:3]
            left, right = loop.carried[3 : 3 + len(left)], loop.carried[3 + len(left) :]
            # The right element goes first only if it really comes before: equal ones keep their order.
            takes_right = builder.op("arith.andi", (self._less(j, end), self._before(scope, right, left)), BOOL)
            chosen = [builder.select(takes_right, r, v) for v, r in zip(left, right, strict=True)]
            self._store(scope, target, chosen)
            step = builder.op("arith.extui", (takes_right,), INDEX)
            j = builder.add(j, step)
            i = builder.add(i, builder.sub(1, step))
            # Both sides are loaded again where they are now; past the end the value is not used.
            in_left = builder.min(i, builder.sub(count, 1))
            left = [builder.load(buffer, in_left, 0, 1) for buffer in self.aside]
            right = self._load(scope, builder.min(j, last))
            again = self._less(i, count)
            loop.yield_(again, builder.index(builder.add(target, 1)), builder.index(i), builder.index(j), *left, *right)
