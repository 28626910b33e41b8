"""A transform along memory whose length has long prime factors: sums with all roots of unity.

Enters: elements in vectors along the row. Leaves: frequencies in vectors along the row. Places j and n - j have the
same cosine and opposite sines, and so have frequencies k and n - k: sums and differences of the former are kept in
local memory; sums of their products with cosines and with sines, in vectors along k, give the latter two together.
"""

from __future__ import annotations

import numpy as np

from ...dialects.roots_of_unity import roots
from ..complex_values import Complex
from ..indexing import Dim
from ..loops import Buffer, KernelBuilder, Value, vector
from .codelets import Codelets
from .columns import chunks, start_of
from .rows import Load, Store, power_of_two

# So many vectors of frequencies are summed up side by side.
_SIDE_BY_SIDE = 4
# So many products are summed up before they are added to the others: shorter sums lose less.
_SUMMED_UP = 16


class DenseRows:
    """Emits transforms of rows of one length, at least 3."""

    def __init__(self, builder: KernelBuilder, elem: str, lanes: int, length: int, sign: int):
        self.builder, self.elem, self.length, self.sign = builder, elem, length, sign
        #: Pairs of places, and frequencies from 1 on that are not the mirror of one before.
        self.pairs, self.frequencies = (length - 1) // 2, length // 2
        self.lanes = power_of_two(min(lanes, self.pairs))
        self.kept = builder.local("pairs", elem, 4 * self.pairs)
        starts = [min(k, self.frequencies - self.lanes) + 1 for k in range(0, self.frequencies, self.lanes)]
        self._groups: list[tuple[list[int], Buffer]] = []
        places = np.arange(1, self.pairs + 1)[:, None, None]
        for first in range(0, len(starts), _SIDE_BY_SIDE):
            group = starts[first : first + _SIDE_BY_SIDE]
            numbers = np.array(group)[:, None] + np.arange(self.lanes)
            factors = np.moveaxis(roots(sign * places * numbers, length), -1, 2)
            self._groups.append((group, builder.table("roots", elem, factors)))

    @property
    def cost(self) -> float:
        """Rough instructions of a row."""
        return 4.0 * self.pairs * -(-self.frequencies // self.lanes) + 4 * self.pairs

    def run(self, load: Load, store: Store) -> None:
        """Transforms one row."""
        builder, half = self.builder, self.length // 2
        first = load(0, 0, 1)
        middle = load(half, 0, 1) if self.length % 2 == 0 else None
        self._keep_pairs(load)
        codelets = self._codelets(1)
        with builder.for_(0, self.pairs, 1, [first.re, first.im]) as loop:
            total = codelets.add(Complex(*loop.carried), self._kept(0, loop.index))
            loop.yield_(total.re, total.im)
        total = Complex(*loop.results)
        store(0, 0, total if middle is None else codelets.add(total, middle))
        for starts, table in self._groups:
            self._sum_up(starts, table, first, middle, store)

    def _keep_pairs(self, load: Load) -> None:
        builder, lanes = self.builder, self.lanes
        codelets = self._codelets(lanes)
        with chunks(builder, self.pairs, lanes) as loop:
            start = start_of(builder, loop.index, self.pairs, lanes)
            x = load(start, 1, lanes)
            y = codelets.reversed(load(builder.sub(self.length - lanes, start), 0, lanes))
            for number, value in enumerate((codelets.add(x, y), codelets.subtract(x, y))):
                for part, values in enumerate((value.re, value.im)):
                    builder.store(values, self.kept, start, (2 * number + part) * self.pairs)

    def _kept(self, number: int, place: Dim) -> Complex:
        """The sum (0) or the difference (1) of a pair."""
        parts = [self.builder.load(self.kept, place, (2 * number + part) * self.pairs, 1) for part in (0, 1)]
        return Complex(*parts)

    def _sum_up(self, starts: list[int], table: Buffer, first: Complex, middle: Complex | None, store: Store) -> None:
        builder, lanes, count = self.builder, self.lanes, len(starts)
        codelets = self._codelets(lanes)
        zero = builder.const(0, vector(self.elem, lanes))
        carried: list[Value] = []
        for start in starts:
            even = self._splat(first)
            if middle is not None:
                signs = builder.const_vector([(-1.0) ** (start + lane) for lane in range(lanes)], self.elem)
                even = codelets.scaled_sum(even, self._splat(middle), signs)
            carried += [even.re, even.im, zero, zero]
        with builder.for_(0, self.pairs, _SUMMED_UP, carried) as outer:
            stop = builder.min(builder.add(outer.index, _SUMMED_UP), self.pairs)
            with builder.for_(outer.index, stop, 1, [zero] * len(carried)) as loop:
                loop.yield_(*self._products(loop.index, loop.carried, count, table))
            outer.yield_(
                *[builder.op("arith.addf", pair, zero.type) for pair in zip(outer.carried, loop.results, strict=True)]
            )
        for number, start in enumerate(starts):
            values = outer.results[4 * number : 4 * number + 4]
            even, odd = Complex(*values[:2]), codelets.quarter_turn(Complex(*values[2:]), 1)
            store(0, start, codelets.add(even, odd))
            store(0, self.length - start - lanes + 1, codelets.reversed(codelets.subtract(even, odd)))

    def _products(self, place: Value, totals: list[Value], count: int, table: Buffer) -> list[Value]:
        """The sums with what one pair of places adds to them."""
        builder, lanes = self.builder, self.lanes
        codelets = self._codelets(lanes)
        sums, differences = (self._splat(self._kept(number, place)) for number in (0, 1))
        base = builder.mul(place, 2 * count * lanes)
        following: list[Value] = []
        for number in range(count):
            cosine, sine = (builder.load(table, base, (2 * number + part) * lanes, lanes) for part in (0, 1))
            values = totals[4 * number : 4 * number + 4]
            even = codelets.scaled_sum(Complex(*values[:2]), sums, cosine)
            odd = codelets.scaled_sum(Complex(*values[2:]), differences, sine)
            following += [even.re, even.im, odd.re, odd.im]
        return following

    def _splat(self, x: Complex) -> Complex:
        return Complex(self.builder.splat(x.re, self.lanes), self.builder.splat(x.im, self.lanes))

    def _codelets(self, lanes: int) -> Codelets:
        return Codelets(self.builder, vector(self.elem, lanes), self.sign)
