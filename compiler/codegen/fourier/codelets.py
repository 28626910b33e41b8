"""Short Fourier transforms in registers.

Enters: a number of complex vectors, fetched one by one. Leaves: their transform, lane by lane, handed on one by one as
each is known, so that few are alive at a time. Lengths are composed of coprime or equal factors by Cooley and Tukey's
step; a prime is summed over pairs of places n and -n, whose factors are the same cosine and opposite sines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from ...dialects.fourier import LARGEST_PRIME
from ...dialects.roots_of_unity import root
from ..complex_values import Complex
from ..loops import KernelBuilder, Type, Value

Fetch = Callable[[int], Complex]
Give = Callable[[int, Complex], None]

#: Longer products are done in several rounds through memory.
_LARGEST_PRODUCT = 16


@lru_cache(maxsize=4096)
def factor(length: int) -> tuple[int, int]:
    """(a, b) with length = a * b, near to each other; (length, 1) for a prime."""
    for b in range(math.isqrt(length), 1, -1):
        if length % b == 0:
            return length // b, b
    return length, 1


def is_codelet(length: int) -> bool:
    """Whether a transform of this length is done in registers."""
    return length <= (LARGEST_PRIME if factor(length)[1] == 1 else _LARGEST_PRODUCT)


@lru_cache(maxsize=256)
def cost(length: int) -> int:
    """Instructions of a codelet, loads and stores aside."""
    a, b = factor(length)
    if b > 1:
        turns = sum(_turn_cost(j * k % length * 8 / length) for j in range(b) for k in range(a))
        return b * cost(a) + a * cost(b) + turns
    if length <= 2:
        return 4 * (length - 1)
    half = length // 2
    return 4 * half + 2 * half + 4 * half * half + 4 * half


def _turn_cost(eighths: float) -> int:
    if eighths % 2 == 0:
        return 0
    return 4


class Codelets:
    """Emits transforms of one vector type and one sign of the exponent."""

    def __init__(self, builder: KernelBuilder, type: Type, sign: int):
        self.builder, self.type, self.sign = builder, type, sign

    def transform(self, length: int, fetch: Fetch, give: Give) -> None:
        """Gives frequency k of what `fetch` says of places."""
        if length == 1:
            give(0, fetch(0))
            return
        a, b = factor(length)
        if b > 1:
            self._composite(a, b, fetch, give)
        elif length == 2:
            x, y = fetch(0), fetch(1)
            give(0, self.add(x, y))
            give(1, self.subtract(x, y))
        else:
            self._prime(length, fetch, give)

    def _composite(self, a: int, b: int, fetch: Fetch, give: Give) -> None:
        """b transforms of every b-th place, each a long; factors between; a transforms of length b."""
        rows: list[list[Complex | None]] = [[None] * b for _ in range(a)]
        for j in range(b):

            def keep(k: int, value: Complex, j: int = j) -> None:
                rows[k][j] = self.turned(value, j * k, a * b)

            self.transform(a, lambda i, j=j: fetch(b * i + j), keep)
        for k in range(a):
            self.transform(b, rows[k].__getitem__, lambda i, value, k=k: give(k + a * i, value))

    def _prime(self, length: int, fetch: Fetch, give: Give) -> None:
        half = length // 2
        first = fetch(0)
        sums, differences, total = [], [], first
        for j in range(1, half + 1):
            x, y = fetch(j), fetch(length - j)
            sums.append(self.add(x, y))
            differences.append(self.subtract(x, y))
            total = self.add(total, sums[-1])
        give(0, total)
        for k in range(1, half + 1):
            even, odd = first, None
            for j in range(1, half + 1):
                cosine, sine = root(j * k, length)
                even = self.scaled_sum(even, sums[j - 1], self._constant(cosine))
                sine = self._constant(self.sign * sine)
                odd = self.scaled_sum(odd, differences[j - 1], sine)
            odd = self.quarter_turn(odd, 1)
            give(k, self.add(even, odd))
            give(length - k, self.subtract(even, odd))

    # -- arithmetic

    def add(self, x: Complex, y: Complex) -> Complex:
        return Complex(self._float("arith.addf", x.re, y.re), self._float("arith.addf", x.im, y.im))

    def subtract(self, x: Complex, y: Complex) -> Complex:
        return Complex(self._float("arith.subf", x.re, y.re), self._float("arith.subf", x.im, y.im))

    def times(self, x: Complex, re: Value, im: Value) -> Complex:
        """The product with a factor in vectors."""
        low = self._negated(self._float("arith.mulf", x.im, im))
        return Complex(self._fma(x.re, re, low), self._fma(x.re, im, self._float("arith.mulf", x.im, re)))

    def scaled(self, x: Complex, number: float) -> Complex:
        factor = self._constant(number)
        return Complex(self._float("arith.mulf", x.re, factor), self._float("arith.mulf", x.im, factor))

    def quarter_turn(self, x: Complex, quarters: int) -> Complex:
        """x * i^quarters."""
        quarters %= 4
        if quarters == 0:
            return x
        if quarters == 1:
            return Complex(self._negated(x.im), x.re)
        if quarters == 2:
            return Complex(self._negated(x.re), self._negated(x.im))
        return Complex(x.im, self._negated(x.re))

    def turned(self, x: Complex, number: int, of: int) -> Complex:
        """x times the root of unity sign * number / of turns."""
        number = self.sign * number % of
        if 4 * number % of == 0:
            return self.quarter_turn(x, 4 * number // of)
        if 8 * number % of == 0:
            # An eighth of a turn, (1 + i) / √2, and quarters.
            sides = Complex(self._float("arith.subf", x.re, x.im), self._float("arith.addf", x.im, x.re))
            return self.quarter_turn(self.scaled(sides, math.sqrt(0.5)), 8 * number // of // 2)
        re, im = root(number, of)
        return self.times(x, self._constant(re), self._constant(im))

    def scaled_sum(self, total: Complex | None, x: Complex, factor: Value) -> Complex:
        """total + x * factor, a real one; the first sum is the product."""
        if total is None:
            return Complex(self._float("arith.mulf", x.re, factor), self._float("arith.mulf", x.im, factor))
        return Complex(self._fma(x.re, factor, total.re), self._fma(x.im, factor, total.im))

    def reversed(self, x: Complex) -> Complex:
        """The lanes from the last to the first."""
        lanes = x.lanes
        if lanes == 1:
            return x
        return Complex(*[self.builder.shuffle(v, v, range(lanes - 1, -1, -1)) for v in (x.re, x.im)])

    def _constant(self, number: float) -> Value:
        return self.builder.const(number, self.type)

    def _float(self, name: str, x: Value, y: Value) -> Value:
        return self.builder.op(name, (x, y), self.type)

    def _negated(self, x: Value) -> Value:
        return self.builder.op("arith.negf", (x,), self.type)

    def _fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.builder.op("fma", (x, y, z), self.type)
