"""Sorting the codes of rows one by one.

Enters: the code of a sort (`sort_codes`). Leaves: for each row its codes, sorted by merging runs, and turned into the
results by the last merge. Short rows are sorted in local memory; long ones have been split (`dialects/sort_runs`): one
dispatch makes sorted runs of codes in the memory of a tensor that others merge, many workgroups on one pair of runs.
Rows are filled up at the end with codes that come after all others.
"""

from __future__ import annotations

from ..indexing import Dim, LaneScope
from ..loops import BOOL, Buffer, Value
from ..target import Target
from .merge_sort import RunShape, RunSorter
from .sort_codes import Code, copy_class

# So many bytes of codes are sorted before the ones behind them are looked at.
_BLOCK_BYTES = 128 << 10


class KeySort:
    """The loops for rows with `extent` elements."""

    def __init__(self, target: Target, code: Code, extent: int):
        self.tensors, self.builder, self.code, self.extent = code.tensors, code.tensors.builder, code, extent
        self.shape = RunShape(target, code.bits, extent)

    def local_memory(self) -> Buffer:
        """Memory for the codes of a row."""
        return self.builder.local("codes", self.code.type.elem, 2 * self.padded)

    @property
    def padded(self) -> int:
        """The keys of a row, filled up to whole blocks."""
        return -(-self.extent // self.shape.block) * self.shape.block

    def row(self, scope: LaneScope, memory: Buffer) -> None:
        """Sorts a whole row."""
        sorter = RunSorter(self.builder, self.shape, self.code.bits, memory)
        halves = (0, self.padded)
        run, place = self._sort_but_last(sorter, scope, halves, 0, self.padded)
        self.merge_into(sorter, scope, place, run, self.padded, 0, self.padded)

    def make_run(
        self, scope: LaneScope, memory: Buffer, base: Dim, other: Dim, number: Value, size: int
    ) -> None:
        """Sorts run `number` of a row into its place in the row at `base`, by way of that at `other`."""
        builder = self.builder
        sorter = RunSorter(builder, self.shape, self.code.bits, memory)
        first = builder.mul(number, size)
        halves = [builder.add(base, first), builder.add(other, first)]
        if sum(self._levels_of(size)) % 2 == 0:
            halves.reverse()
        run, place = self._sort_but_last(sorter, scope, halves, first, size)
        store = sorter.run_store(builder.add(base, first), size, builder.rem(number, 2))
        sorter.merge_pair(place, run, size, run.bit_length(), 0, size, store)

    def _levels_of(self, size: int) -> tuple[int, int]:
        """How often runs are merged within a block, and then whole blocks, until two runs are left."""
        run, block = self.shape.run, _BLOCK_BYTES * 8 // (2 * self.code.bits)
        inner = outer = 0
        while run << inner < block and run << (inner + 1) < size:
            inner += 1
        while run << (inner + outer + 1) < size:
            outer += 1
        return inner, outer

    def _sort_but_last(self, sorter, scope, halves, first: Dim, size: int) -> tuple[int, Dim]:
        """Sorts the keys of `size` elements from `first` on up to a last pair of runs: how long these are, and where.
        A part of the keys is sorted at a time, so that it stays in the cache."""
        builder, run = self.builder, self.shape.run
        inner, outer = self._levels_of(size)
        block = run << inner if outer else size
        with builder.for_(0, size, block) as loop:
            stop = builder.min(builder.add(loop.index, block), size)
            self._encode(scope, sorter.memory, halves[0], first, loop.index, stop)
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

    def _encode(self, scope, memory: Buffer, base: Dim, first: Dim, start: Dim, stop: Dim) -> None:
        """Keys of the elements from `first` + `start` on, and behind the last element keys that come after them."""
        builder, lanes = self.builder, self.shape.lanes
        there = builder.sub(self.extent, first)
        end = builder.max(builder.min(stop, there), start)
        main = builder.add(start, builder.round_down(builder.sub(end, start), lanes))

        def encode(position: Value, count: int) -> None:
            code = self.code.load(self.tensors.at(scope, builder.add(first, position), count))
            builder.store(code, memory, builder.add(base, position))

        with builder.for_(start, main, lanes) as loop:
            encode(loop.index, lanes)
        if self.extent % lanes:
            with builder.for_(main, end) as loop:
                encode(loop.index, 1)
        last = builder.const(self.code.last, self.code.type)
        with builder.for_(end, stop) as loop:
            builder.store(last, memory, builder.add(base, loop.index))

    def merge_into(
        self, sorter: RunSorter, scope: LaneScope, place: Dim, run: int, total: int, start: Dim, stop: Dim
    ) -> None:
        """Merges the last pair of runs of a row: what comes at [start, stop) of the results."""
        builder, lanes = self.builder, self.shape.lanes

        def store(chain: int, done: Dim, at: Dim, keys: Value) -> None:
            position = builder.add(at, done)
            mask = None
            if self.extent < total:
                mask = builder.lane_mask(lanes, builder.max(builder.sub(self.extent, position), 0))
            self.code.store(self.tensors.at(scope, builder.index(position), lanes, mask), keys)

        sorter.merge_pair(place, run, total, run.bit_length(), start, stop, store)
        if self.code.classes:
            self._restore_order(sorter, scope, place, run, total, start, stop)

    # -- elements that are equal but not the same

    def _restore_order(self, sorter, scope, place, run, total, start, stop) -> None:
        """Puts the elements of each class into the order that they came in, where there are different ones."""
        builder, code = self.builder, self.code
        limits = [end for low, high in code.classes for end in (low, high + 1)]
        asked = [k for k in limits if code.first < k <= code.last]
        ranks = sorter.ranks(place, run, total, [builder.const(k, code.type) for k in asked])
        found = dict(zip(asked, ranks, strict=True)) | {code.first: 0, code.last + 1: total}
        for low, high in code.classes:
            begin, end = found[low], builder.min(found[high + 1], self.extent)
            with builder.if_(self._less(builder.add(begin, 1), end)):
                one = sorter.key_at(place, run, total, begin)
                next_one = builder.op("arith.addi", (one, builder.const(1, code.type)), code.type)
                (others,) = sorter.ranks(place, run, total, [next_one])
                is_last = builder.op("arith.cmpi", (one, builder.const(code.last, code.type)), BOOL, "eq")
                others = builder.select(is_last, builder.index(total), builder.index(others))
                here = self._both(self._less(begin, stop), self._less(start, end))
                with builder.if_(self._both(self._less(others, end), here)):
                    copy_class(self.tensors, code, scope, self.extent, (low, high), begin, (start, stop))

    def _less(self, x: Dim, y: Dim) -> Value:
        return self.builder.op("arith.cmpi", (self.builder.index(x), self.builder.index(y)), BOOL, "slt")

    def _both(self, x: Value, y: Value) -> Value:
        return self.builder.op("arith.andi", (x, y), BOOL)
