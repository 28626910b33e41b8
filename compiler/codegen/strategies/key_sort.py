"""Sorts of one tensor by its own elements: only keys move.

Enters: a sort whose elements have keys of their own (`sort_keys`). Leaves: for each row its keys, sorted by merging
runs, and turned into elements again on their way into the result. Short rows are sorted in local memory; long ones have
been split (`dialects/sort_runs`): one dispatch makes sorted runs of keys in the memory of a tensor that others merge,
many workgroups on one pair of runs. Rows are filled up at the end with keys that come after all others.
"""

from __future__ import annotations

from typing import Protocol

from ..dispatch import KernelContext
from ..elements import element_name
from ..indexing import Dim, LaneScope
from ..loops import BOOL, INDEX, Buffer, Value
from ..target import Target
from .merge_sort import RunShape, RunSorter
from .sort_keys import ElementKey

# So many bytes of keys are sorted before the ones behind them are looked at.
_BLOCK_BYTES = 128 << 10


class Row(Protocol):
    """The elements of a row."""

    def load(self, scope: LaneScope, number: int, position: Dim, lanes: int, first: int) -> Value: ...


class ResultRow(Protocol):
    """A row of the result."""

    def store_lanes(self, scope: LaneScope, position: Value, values: Value, mask: Value | None) -> None: ...


class KeySort:
    """The loops for rows with `extent` elements."""

    def __init__(self, context: KernelContext, target: Target, key: ElementKey, extent: int):
        self.context, self.builder, self.key, self.extent = context, context.builder, key, extent
        self.shape = RunShape(target, key.bits)

    def local_memory(self) -> tuple[Buffer, Dim]:
        """Memory for the keys of a row, and where they are."""
        return self.builder.local("keys", self.key.elem, 2 * self.padded), 0

    @property
    def padded(self) -> int:
        """The keys of a row, filled up to whole blocks."""
        return -(-self.extent // self.shape.block) * self.shape.block

    def row(self, scope: LaneScope, source: Row, result: ResultRow, memory: Buffer) -> None:
        """Sorts a whole row."""
        sorter = RunSorter(self.builder, self.shape, self.key.bits, memory)
        halves = (0, self.padded)
        run, place = self._sort_but_last(sorter, scope, source, halves, 0, self.padded)
        self.merge_into(sorter, scope, source, result, place, run, self.padded, 0, self.padded)

    def make_run(
        self, scope: LaneScope, source: Row, memory: Buffer, base: Dim, other: Dim, number: Value, size: int
    ) -> None:
        """Sorts run `number` of a row into its place in the row at `base`, by way of that at `other`."""
        builder = self.builder
        sorter = RunSorter(builder, self.shape, self.key.bits, memory)
        first = builder.mul(number, size)
        halves = [builder.add(base, first), builder.add(other, first)]
        if sum(self._levels_of(size)) % 2 == 0:
            halves.reverse()
        run, place = self._sort_but_last(sorter, scope, source, halves, first, size)
        store = sorter.run_store(builder.add(base, first), size, builder.rem(number, 2))
        sorter.merge_pair(place, run, size, run.bit_length(), 0, size, store)

    def _levels_of(self, size: int) -> tuple[int, int]:
        """How often runs are merged within a block, and then whole blocks, until two runs are left."""
        run, block = self.shape.run, _BLOCK_BYTES * 8 // (2 * self.key.bits)
        inner = outer = 0
        while run << inner < block and run << (inner + 1) < size:
            inner += 1
        while run << (inner + outer + 1) < size:
            outer += 1
        return inner, outer

    def _sort_but_last(self, sorter, scope, source, halves, first: Dim, size: int) -> tuple[int, Dim]:
        """Sorts the keys of `size` elements from `first` on up to a last pair of runs: how long these are, and where.
        A part of the keys is sorted at a time, so that it stays in the cache."""
        builder, run = self.builder, self.shape.run
        inner, outer = self._levels_of(size)
        block = run << inner if outer else size
        with builder.for_(0, size, block) as loop:
            stop = builder.min(builder.add(loop.index, block), size)
            self._encode(scope, source, sorter.memory, halves[0], first, loop.index, stop)
            sorter.make_runs(builder.add(halves[0], loop.index), builder.add(halves[0], stop))
            self._levels(sorter, halves, run, inner, loop.index, stop, True)
        halves = [halves[inner % 2], halves[1 - inner % 2]]
        self._levels(sorter, halves, run << inner, outer, 0, size, False)
        return run << (inner + outer), halves[outer % 2]

    def _levels(self, sorter, halves, run: int, count: int, start: Dim, stop: Dim, four: bool) -> None:
        """Merges runs `count` times from one half into the other, and back."""
        if not count:
            return
        builder = self.builder
        with builder.repeat([builder.index(x) for x in (run, run.bit_length(), *halves)]) as level:
            length, steps, source, target = level.carried
            sorter.merge_level(source, target, length, steps, start, stop, four)
            again = builder.op("arith.cmpi", (length, builder.index(run << (count - 1))), BOOL, "slt")
            level.yield_(
                again, builder.index(builder.add(length, length)), builder.index(builder.add(steps, 1)), target, source
            )

    def _encode(self, scope, source: Row, memory: Buffer, base: Dim, first: Dim, start: Dim, stop: Dim) -> None:
        """Keys of the elements from `first` + `start` on, and behind the last element keys that come after them."""
        builder, lanes = self.builder, self.shape.lanes
        there = builder.sub(self.extent, first)
        end = builder.max(builder.min(stop, there), start)
        main = builder.add(start, builder.round_down(builder.sub(end, start), lanes))

        def encode(position: Value, count: int) -> None:
            element = source.load(scope, 0, builder.add(first, position), count, 0)
            key = self.key.encode(builder, builder.splat(element, count))
            builder.store(key, memory, builder.add(base, position))

        with builder.for_(start, main, lanes) as loop:
            encode(loop.index, lanes)
        if self.extent % lanes:
            with builder.for_(main, end) as loop:
                encode(loop.index, 1)
        last = builder.const(self.key.last, self.key.type)
        with builder.for_(end, stop) as loop:
            builder.store(last, memory, builder.add(base, loop.index))

    def merge_into(
        self, sorter: RunSorter, scope: LaneScope, source: Row, result: ResultRow, place: Dim, run: int, total: int,
        start: Dim, stop: Dim,
    ) -> None:  # fmt: skip
        """Merges the last pair of runs of a row: what comes at [start, stop) of the result."""
        builder, lanes = self.builder, self.shape.lanes
        elem = element_name(self.key.order.argument.type)

        def store(chain: int, done: Dim, at: Dim, keys: Value) -> None:
            position = builder.add(at, done)
            mask = None
            if self.extent < total:
                mask = builder.lane_mask(lanes, builder.max(builder.sub(self.extent, position), 0))
            result.store_lanes(scope, builder.index(position), self.key.decode(builder, keys, elem), mask)

        sorter.merge_pair(place, run, total, run.bit_length(), start, stop, store)
        if self.key.classes:
            self._restore_order(sorter, scope, source, result, place, run, total, start, stop)

    # -- elements that are equal but not the same

    def _restore_order(self, sorter, scope, source, result, place, run, total, start, stop) -> None:
        """Puts the elements of each class into the order that they came in, where there are different ones."""
        builder, key = self.builder, self.key
        limits = [end for low, high in key.classes for end in (low, high + 1)]
        asked = [k for k in limits if key.first < k <= key.last]
        ranks = sorter.ranks(place, run, total, [builder.const(k, key.type) for k in asked])
        found = dict(zip(asked, ranks, strict=True)) | {key.first: 0, key.last + 1: total}
        for low, high in key.classes:
            begin, end = found[low], builder.min(found[high + 1], self.extent)
            with builder.if_(self._less(builder.add(begin, 1), end)):
                one = sorter.key_at(place, run, total, begin)
                next_key = builder.op("arith.addi", (one, builder.const(1, key.type)), key.type)
                (others,) = sorter.ranks(place, run, total, [next_key])
                is_last = builder.op("arith.cmpi", (one, builder.const(key.last, key.type)), BOOL, "eq")
                others = builder.select(is_last, builder.index(total), builder.index(others))
                here = builder.op(
                    "arith.andi", (self._less(begin, stop), self._less(start, end)), BOOL
                )
                with builder.if_(builder.op("arith.andi", (self._less(others, end), here), BOOL)):
                    self._copy_class(scope, source, result, low, high, begin, start, stop)

    def _copy_class(self, scope, source, result, low: int, high: int, begin: Dim, start: Dim, stop: Dim) -> None:
        """Stores the elements of a class in order from place `begin` on, those that come at [start, stop)."""
        builder, key = self.builder, self.key
        with builder.for_(0, self.extent, 1, [builder.index(begin)]) as loop:
            (rank,) = loop.carried
            element = source.load(scope, 0, loop.index, 1, 0)
            code = key.encode(builder, element)
            at_least = builder.op("arith.cmpi", (code, builder.const(low, key.type)), BOOL, "sge")
            at_most = builder.op("arith.cmpi", (code, builder.const(high, key.type)), BOOL, "sle")
            counts = builder.op("arith.andi", (at_least, at_most), BOOL)
            inside = builder.op("arith.andi", (self._at_least(rank, start), self._less(rank, stop)), BOOL)
            with builder.if_(builder.op("arith.andi", (counts, inside), BOOL)):
                # Out of the key: a number that is kept as a float may become another NaN on the way.
                result.store_lanes(scope, rank, key.decode(builder, code, element.type.elem), None)
            loop.yield_(builder.index(builder.add(rank, builder.op("arith.extui", (counts,), INDEX))))

    def _less(self, x: Dim, y: Dim) -> Value:
        return self.builder.op("arith.cmpi", (self.builder.index(x), self.builder.index(y)), BOOL, "slt")

    def _at_least(self, x: Dim, y: Dim) -> Value:
        return self.builder.op("arith.cmpi", (self.builder.index(x), self.builder.index(y)), BOOL, "sge")


