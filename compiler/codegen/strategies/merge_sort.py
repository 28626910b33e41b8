"""Sorting keys by merging runs, all of it in vectors and without branches on keys.

Enters: rows of signed integers in one half of some memory. Leaves: the sorted rows, vector by vector. Columns of small
blocks are sorted in registers and turned into runs. Of two neighbouring runs one rises and the other falls, so
together they first rise and then fall, and the smallest keys that are left are always at both ends: the lane-wise
minimum of the first and the last vector holds the smallest ones, and how many of them came from the front tells where
the ends are then. That never runs out of a run before both are used up. Four merges go on side by side, since each
waits for its own counts: of four pairs of runs, or of four parts of one pair, whose beginnings a binary search finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..indexing import Dim
from ..loops import BOOL, INDEX, Buffer, KernelBuilder, Value, vector
from ..sorting_networks import merge_bitonic, reverse, sort_columns, transpose_columns
from ..target import Target

_CHAINS = 4
_FEWEST_LANES = 4


class RunShape:
    """Sizes that follow from the registers: lanes of a vector, keys of a block, and of the runs made of it."""

    def __init__(self, target: Target, bits: int, extent: int):
        self.lanes = target.lanes(bits)
        self.rows = 16 if target.vector_registers >= 32 else 8
        # Narrow vectors do for a row that would leave most of a block empty.
        while self.lanes > _FEWEST_LANES and 2 * extent <= self.lanes * self.rows:
            self.lanes //= 2
        self.block = self.lanes * self.rows
        self.run = max(self.rows, self.lanes)


@dataclass
class _Chain:
    """A merge: where the smallest keys are read from, and where the other end is."""

    first: Dim
    end: Dim
    falls: bool = False


class RunSorter:
    """The loops. Places are indices into `memory`, and for merged runs into `target`, which may be another."""

    def __init__(
        self, builder: KernelBuilder, shape: RunShape, bits: int, memory: Buffer, target: Buffer | None = None
    ):
        self.builder, self.shape, self.memory = builder, shape, memory
        self.target = memory if target is None else target
        self.type = vector(f"i{bits}", shape.lanes)

    # -- runs

    def make_runs(self, start: Dim, stop: Dim) -> None:
        """Sorts runs in their place; every other one falls."""
        builder, shape = self.builder, self.shape
        with builder.for_(start, stop, shape.block) as loop:
            rows = [self._load(loop.index, k * shape.lanes) for k in range(shape.rows)]
            columns = transpose_columns(builder, sort_columns(builder, rows))
            if shape.lanes > shape.rows:
                vectors = self._double_runs([column for (column,) in columns])
            else:
                vectors = [
                    vector
                    for number, column in enumerate(columns)
                    for vector in ([reverse(builder, v) for v in reversed(column)] if number % 2 else column)
                ]
            for k, keys in enumerate(vectors):
                builder.store(keys, self.memory, loop.index, k * shape.lanes)

    def _double_runs(self, columns: Sequence[Value]) -> list[Value]:
        """Each vector holds two sorted columns: they become one run."""
        builder, lanes = self.builder, self.shape.lanes
        order = [*range(lanes // 2), *range(lanes - 1, lanes // 2 - 1, -1)]
        bitonic = [builder.shuffle(x, x, order) for x in columns]
        runs: list[Value] = []
        for k in range(0, len(bitonic), 2):
            runs += merge_bitonic(builder, bitonic[k], bitonic[k + 1], (False, True))
        return runs

    # -- levels

    def merge_level(self, source: Dim, target: Dim, run: Dim, steps: Dim, start: Dim, stop: Dim, four: bool) -> None:
        """Merges the pairs of runs of one length between two places of a row. The row begins at `source` and is
        merged into `target`; 1 << steps exceeds the run."""
        builder = self.builder
        pair = builder.add(run, run)
        if four:
            four_pairs = builder.mul(pair, _CHAINS)
            groups = builder.div(builder.sub(stop, start), four_pairs)
            with builder.for_(0, groups) as loop:
                first = builder.add(start, builder.mul(loop.index, four_pairs))
                self._four_pairs(builder.add(source, first), builder.add(target, first), pair)
            start = builder.add(start, builder.mul(groups, four_pairs))
        rest = builder.sub(stop, start)
        pairs = builder.div(builder.add(rest, builder.sub(pair, 1)), pair)
        with builder.for_(0, pairs) as loop:
            first = builder.add(start, builder.mul(loop.index, pair))
            total = builder.min(pair, builder.sub(stop, first))
            odd = builder.rem(builder.div(first, pair), 2)
            store = self.run_store(builder.add(target, first), total, odd)
            self.merge_pair(builder.add(source, first), run, total, steps, 0, total, store)

    def run_store(self, target: Dim, total: Dim, falls: Dim) -> Callable[[int, Dim, Dim, Value], None]:
        """What puts the keys of a pair into a run of `memory`, which falls if `falls` is 1 and else rises."""
        builder, lanes = self.builder, self.shape.lanes

        def store(chain: int, done: Dim, at: Dim, keys: Value) -> None:
            place = builder.add(at, done)
            mirrored = builder.sub(builder.sub(total, lanes), place)
            down = builder.op("arith.cmpi", (builder.index(falls), builder.index(1)), BOOL, "eq")
            place = builder.select(down, builder.index(mirrored), builder.index(place))
            keys = builder.select(builder.splat(down, lanes), reverse(builder, keys), keys)
            builder.store(keys, self.target, builder.add(target, place))

        return store

    def _four_pairs(self, source: Dim, target: Dim, pair: Dim) -> None:
        builder, lanes = self.builder, self.shape.lanes
        order = [0, 2, 1, 3]
        starts = [builder.mul(pair, k) for k in order]
        chains = [
            _Chain(builder.add(source, at), builder.add(builder.add(source, at), pair), k % 2 == 1)
            for k, at in zip(order, starts, strict=True)
        ]

        def store(chain: int, done: Dim, keys: Value) -> None:
            place = builder.sub(builder.sub(pair, lanes), done) if chains[chain].falls else done
            builder.store(keys, self.memory, builder.add(builder.add(target, starts[chain]), place))

        self._merge(chains, pair, store)

    def merge_pair(
        self, source: Dim, run: Dim, total: Dim, steps: Dim, start: Dim, stop: Dim,
        store: Callable[[int, Dim, Dim, Value], None],
    ) -> None:  # fmt: skip
        """Merges a pair of runs, `total` keys, from `source`: what comes at [start, stop) of the result, in four parts.
        `store` gets the number of the part, how far it is, where it begins, and the keys."""
        builder = self.builder
        part = builder.div(builder.sub(stop, start), _CHAINS)
        places = [builder.add(start, builder.mul(part, k)) for k in range(_CHAINS)]
        firsts = self._splits(source, run, total, steps, places)
        chains = [
            # What is behind the first key and is left ends where what came from the end begins.
            _Chain(builder.add(source, first), builder.add(source, builder.sub(total, builder.sub(place, first))))
            for first, place in zip(firsts, places, strict=True)
        ]
        self._merge(chains, part, lambda chain, done, keys: store(chain, done, places[chain], keys))

    def _splits(self, source: Dim, run: Dim, total: Dim, steps: Dim, places: Sequence[Dim]) -> list[Dim]:
        """How many keys of the first run are among the first so many of both, for each place."""
        builder = self.builder
        length = builder.min(run, total)
        other = builder.sub(total, length)
        searched = [k for k, place in enumerate(places) if place.__class__ is not int or place != 0]
        bounds = [(builder.max(builder.sub(places[k], other), 0), builder.min(places[k], length)) for k in searched]

        def less(number: int, middle: Value) -> Value:
            behind = builder.add(builder.sub(total, places[searched[number]]), middle)
            return self._less(self._key(source, middle, total), self._key(source, behind, total))

        results = dict(zip(searched, self._search(bounds, steps, less), strict=True))
        return [results.get(k, 0) for k in range(len(places))]

    def ranks(self, source: Dim, run: Dim, total: Dim, keys: Sequence[Value]) -> list[Dim]:
        """How many keys of a pair of runs are less than each of `keys`."""
        builder = self.builder
        length = builder.min(run, total)
        bounds = [(0, length), (0, builder.sub(total, length))] * len(keys)

        def less(number: int, middle: Value) -> Value:
            place = builder.sub(builder.sub(total, 1), middle) if number % 2 else middle
            return self._less(self._key(source, place, total), keys[number // 2])

        found = self._search(bounds, run.bit_length(), less)
        return [builder.add(found[k], found[k + 1]) for k in range(0, len(found), 2)]

    def key_at(self, source: Dim, run: Dim, total: Dim, rank: Dim) -> Value:
        """The key of a rank in a pair of runs."""
        builder = self.builder
        (first,) = self._splits(source, run, total, run.bit_length(), [rank])
        other = builder.sub(builder.sub(total, 1), builder.sub(rank, first))
        one, two = self._key(source, first, total), self._key(source, other, total)
        # Where a run is used up, the key read is one of the other run's that come later.
        return builder.op("arith.minsi", (one, two), one.type)

    def _key(self, source: Dim, place: Dim, total: Dim) -> Value:
        """The key at a place of a pair; behind its end, the last one."""
        place = self.builder.min(place, self.builder.sub(total, 1))
        return self.builder.load(self.memory, self.builder.add(source, place), 0, 1)

    def _less(self, x: Value, y: Value) -> Value:
        return self.builder.op("arith.cmpi", (x, y), BOOL, "slt")

    def _search(
        self, bounds: Sequence[tuple[Dim, Dim]], steps: Dim, less: Callable[[int, Value], Value]
    ) -> list[Value]:
        """For each range the first place, or its end, for which `less` of its number does not hold."""
        builder = self.builder
        with builder.for_(0, steps, 1, [builder.index(end) for pair in bounds for end in pair]) as loop:
            found = []
            for number in range(len(bounds)):
                low, high = loop.carried[2 * number : 2 * number + 2]
                middle = builder.op("arith.shrui", (builder.add(low, high), builder.const(1, INDEX)), INDEX)
                is_open = self._less(low, high)
                up = builder.op("arith.andi", (less(number, middle), is_open), BOOL)
                found.append(builder.select(up, builder.index(builder.add(middle, 1)), low))
                found.append(builder.select(up, high, builder.select(is_open, middle, high)))
            loop.yield_(*found)
        return loop.results[::2]

    def _merge(self, chains: Sequence[_Chain], length: Dim, store: Callable[[int, Dim, Value], None]) -> None:
        """Takes `length` keys, a multiple of the lanes, in order off both ends of each chain."""
        builder, lanes = self.builder, self.shape.lanes
        ends = [builder.index(end) for chain in chains for end in (chain.first, chain.end)]
        with builder.for_(0, length, lanes, ends) as loop:
            smallest, left = [], []
            for k in range(len(chains)):
                first, end = loop.carried[2 * k : 2 * k + 2]
                front, back = self._load(first, 0), self._load(end, -lanes)
                # Beyond the end of its run either side reads the greatest keys of the other one: what is taken off the
                # front ends where the back has a smaller key for the first time.
                from_front = builder.first_lane(builder.op("arith.cmpi", (back, front), vector("i1", lanes), "slt"))
                smallest.append(builder.op("arith.minsi", (front, back), self.type))
                left += [
                    builder.index(builder.add(first, from_front)),
                    builder.index(builder.add(builder.sub(end, lanes), from_front)),
                ]
            for k in range(0, len(chains), 2):
                falls = (chains[k].falls, chains[k + 1].falls)
                sorted_keys = merge_bitonic(builder, smallest[k], smallest[k + 1], falls)
                for number, keys in enumerate(sorted_keys):
                    store(k + number, loop.index, keys)
            loop.yield_(*left)

    def _load(self, place: Dim, offset: int) -> Value:
        return self.builder.load(self.memory, place, offset, self.shape.lanes)
