"""Sorting many short rows at a time, each in a lane.

Enters: rows that lie side by side, or one after the other. Leaves: loops over groups of as many rows as vectors have
lanes. The codes of a group are put into local memory, a vector for each place; so every comparison is one of whole
vectors, and no lane moves. Blocks of places are sorted in registers, then runs are merged in place: what is as far from
the end of a pair of runs as something else from its beginning is compared with that, then places half a run apart, a
quarter, and so on, at last within blocks in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..configure import Band
from ..indexing import Dim, Lanes, LaneScope
from ..loops import BOOL, INDEX, Value, vector
from ..sorting_networks import compare, sort_columns
from ..target import Target
from ..transposition import TransposeTile, transpose
from .sort_codes import Code, copy_class


class ColumnSort:
    """The loops for the rows of `band`, `extent` places each."""

    def __init__(self, target: Target, code: Code, extent: int, band: Band, contiguous: bool):
        self.tensors, self.builder, self.code, self.extent = code.tensors, code.tensors.builder, code, extent
        self.lanes = target.lanes(code.bits)
        self.type = vector(code.type.elem, self.lanes)
        self.block = min(16 if target.vector_registers >= 32 else 8, 1 << (extent - 1).bit_length())
        self.padded = -(-extent // self.block) * self.block
        self._band, self._contiguous = band, contiguous
        self.memory = self.builder.local("codes", code.type.elem, self.padded * self.lanes)

    def group(self, scope: LaneScope, first: Dim) -> None:
        """Sorts the rows from `first` on; the last group begins early enough to be a whole one."""
        builder, count = self.builder, self._band.extent
        if count.__class__ is not int or count % self.lanes:
            first = builder.min(first, builder.sub(count, self.lanes))
        inner = scope.copy(self.lanes)
        inner.bind(self._band.syms, Lanes(first, tuple(range(self.lanes)), 1))
        self._load(inner)
        self._sort()
        self._store(scope, inner, first)
        if self.code.classes:
            with builder.if_(self._has_unlike_equals()):
                self._restore_order(scope, first)

    # -- from memory to lanes, and back

    def _load(self, scope: LaneScope) -> None:
        builder, lanes, extent = self.builder, self.lanes, self.extent
        whole = extent // lanes * lanes if self._contiguous else 0
        with builder.for_(0, whole, lanes) as loop:
            tile = TransposeTile(Band((self.tensors.along,), extent))
            for k in range(lanes):
                inner = self._at(scope, loop.index, k)
                inner.tile = (tile, k)
                self._put(loop.index, k, self.code.load(inner))
        with builder.for_(whole, extent) as loop:
            self._put(loop.index, 0, self.code.load(self._at(scope, loop.index, 0)))
        last = builder.const(self.code.last, self.type)
        for k in range(extent, self.padded):
            self._put(0, k, last)

    def _store(self, outer: LaneScope, scope: LaneScope, first: Dim) -> None:
        builder, lanes, extent = self.builder, self.lanes, self.extent
        whole = extent // lanes * lanes if self._contiguous else 0
        with builder.for_(0, whole, lanes) as loop:
            rows = transpose(builder, [self._get(loop.index, k) for k in range(lanes)])
            for number, codes in enumerate(rows):
                inner = outer.copy()
                inner.bind(self._band.syms, Lanes(builder.add(first, number)))
                self.code.store(self.tensors.at(inner, loop.index, lanes), codes)
        with builder.for_(whole, extent) as loop:
            self.code.store(self._at(scope, loop.index, 0), self._get(loop.index, 0))

    def _at(self, scope: LaneScope, position: Dim, number: int) -> LaneScope:
        """Place `position` + `number` of every row."""
        inner = scope.copy()
        inner.bind(self.tensors.along, Lanes(position, number))
        return inner

    def _get(self, place: Dim, number: int) -> Value:
        base = self.builder.mul(place, self.lanes)
        return self.builder.load(self.memory, base, number * self.lanes, self.lanes)

    def _put(self, place: Dim, number: int, codes: Value) -> None:
        self.builder.store(codes, self.memory, self.builder.mul(place, self.lanes), number * self.lanes)

    # -- elements that are equal but not the same

    def _has_unlike_equals(self) -> Value:
        """Whether some row has neighbours of one class that differ."""
        builder, mask = self.builder, vector("i1", self.lanes)
        none = builder.const(0, mask)
        with builder.for_(0, self.extent - 1, 1, [none]) as loop:
            one, next_one = self._get(loop.index, 0), self._get(loop.index, 1)
            rises = builder.op("arith.cmpi", (one, next_one), mask, "slt")
            (found,) = loop.carried
            for low, high in self.code.classes:
                above = builder.op("arith.cmpi", (one, builder.const(low, self.type)), mask, "sge")
                below = builder.op("arith.cmpi", (next_one, builder.const(high, self.type)), mask, "sle")
                inside = builder.op("arith.andi", (above, below), mask)
                found = builder.op("arith.ori", (found, builder.op("arith.andi", (inside, rises), mask)), mask)
            loop.yield_(found)
        return builder.reduce("arith.ori", loop.results[0])

    def _restore_order(self, scope: LaneScope, first: Dim) -> None:
        """Puts the elements of each class in each row of a group into the order that they came in."""
        builder, code = self.builder, self.code
        with builder.for_(0, self.lanes) as rows:
            inner = scope.copy(1)
            inner.bind(self._band.syms, Lanes(builder.add(first, rows.index)))
            for low, high in code.classes:
                with builder.for_(0, self.extent, 1, [builder.index(0)]) as loop:
                    place = builder.add(builder.mul(loop.index, self.lanes), rows.index)
                    one = builder.load(self.memory, place, 0, 1)
                    is_less = builder.op("arith.cmpi", (one, builder.const(low, code.type)), BOOL, "slt")
                    count = builder.op("arith.extui", (is_less,), INDEX)
                    loop.yield_(builder.index(builder.add(loop.carried[0], count)))
                copy_class(self.tensors, code, inner, self.extent, (low, high), loop.results[0], (0, self.extent))

    # -- sorting

    def _sort(self) -> None:
        self._blocks(lambda vectors: sort_columns(self.builder, vectors))
        builder, padded = self.builder, self.padded
        if self.block >= padded:
            return
        with builder.repeat([builder.index(self.block)]) as level:
            (run,) = level.carried
            pair = builder.add(run, run)
            with builder.for_(0, builder.div(builder.add(builder.sub(padded, 1), pair), pair)) as loop:
                start = builder.mul(loop.index, pair)
                self._mirrored(start, run, builder.min(builder.sub(padded, start), pair))
            self._halves(run)
            self._blocks(self._merged)
            level.yield_(self._less(pair, padded), builder.index(pair))

    def _mirrored(self, start: Dim, run: Dim, length: Dim) -> None:
        """Compares places of a pair of runs that are as far from its two ends; behind `length` nothing is less."""
        builder = self.builder
        first = builder.max(builder.sub(builder.add(run, run), length), 0)
        last = builder.sub(builder.add(start, builder.add(run, run)), 1)
        with builder.for_(first, run) as loop:
            self._compare(builder.add(start, loop.index), builder.sub(last, loop.index))

    def _halves(self, run: Dim) -> None:
        """Compares places half a run apart, then a quarter, down to a block."""
        builder, block, padded = self.builder, self.block, self.padded
        with builder.if_(self._less(block, run)), builder.repeat([builder.index(run)]) as level:
            (double,) = level.carried
            apart = builder.op("arith.shrui", (double, builder.index(1)), double.type)
            with builder.for_(0, builder.div(builder.add(builder.sub(padded, 1), double), double)) as loop:
                start = builder.mul(loop.index, double)
                middle = builder.add(start, apart)
                stop = builder.min(builder.add(middle, apart), padded)
                with builder.for_(middle, stop, block) as places:
                    for k in range(block):
                        place = builder.add(places.index, k)
                        self._compare(builder.sub(place, apart), place)
            level.yield_(self._less(block, apart), apart)

    def _compare(self, low: Dim, high: Dim) -> None:
        less, greater = compare(self.builder, self._get(low, 0), self._get(high, 0))
        self._put(low, 0, less)
        self._put(high, 0, greater)

    def _merged(self, vectors: Sequence[Value]) -> list[Value]:
        """A block of which every second half is to come behind the first one."""
        vectors = list(vectors)
        apart = len(vectors) // 2
        while apart:
            for k in range(len(vectors)):
                if not k & apart:
                    vectors[k], vectors[k | apart] = compare(self.builder, vectors[k], vectors[k | apart])
            apart //= 2
        return vectors

    def _blocks(self, change: Callable[[Sequence[Value]], list[Value]]) -> None:
        with self.builder.for_(0, self.padded, self.block) as loop:
            vectors = change([self._get(loop.index, k) for k in range(self.block)])
            for k, codes in enumerate(vectors):
                self._put(loop.index, k, codes)

    def _less(self, x: Dim, y: Dim) -> Value:
        return self.builder.op("arith.cmpi", (self.builder.index(x), self.builder.index(y)), BOOL, "slt")
