"""A transform of any smooth length, one in each lane.

Enters: a length, its radices, and local memory of as many slots as the length, each a vector of real parts and one of
imaginary parts. Leaves: loops that do one radix after the other. Every round reads some slots, transforms them in
registers and writes them back to where they were; so one memory will do, and the last round gives frequencies in
another order, of which it knows the numbers. No lane ever meets another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import lru_cache

import numpy as np

from ...dialects.roots_of_unity import roots
from ..complex_values import Complex
from ..indexing import Dim
from ..loops import ELEMENT_BITS, Buffer, KernelBuilder, Loop, vector
from ..transposition import transpose
from . import codelets
from .codelets import Codelets

Load = Callable[[Dim, int], Complex]
Store = Callable[[Dim, int, Complex], None]


@lru_cache(maxsize=4096)
def radices_of(length: int) -> tuple[int, ...] | None:
    """The codelets that a transform takes least time with, long ones first; None where a prime is too long."""
    found = _best(length)
    return None if found is None else tuple(sorted(found[1], reverse=True))


@lru_cache(maxsize=4096)
def _best(length: int) -> tuple[float, tuple[int, ...]] | None:
    if length == 1:
        return 0.0, ()
    best = None
    for radix in range(2, min(length, 32) + 1):
        if length % radix or not codelets.is_codelet(radix):
            continue
        rest = _best(length // radix)
        if rest is None:
            continue
        cost = rest[0] + _round_cost(radix) / radix
        if best is None or cost < best[0]:
            best = cost, (*rest[1], radix)
    return best


def _round_cost(radix: int) -> float:
    """Instructions of one round for `radix` slots: the codelet, twiddles, loads and stores."""
    return codelets.cost(radix) + 4 * (radix - 1) + 6 * radix


def cost_of(length: int) -> float:
    """Rough instructions of a transform of this length for a vector."""
    if length == 1:
        return 4.0
    found = _best(length)
    if found is None:
        raise ValueError(f"{length} has prime factors that are too long")
    return length * found[0]


def slots_bytes(elem: str, lanes: int, length: int) -> int:
    """Bytes of the slots of one transform."""
    return 2 * lanes * length * ELEMENT_BITS[elem] // 8


def chunks(builder: KernelBuilder, length: int, size: int) -> Loop:
    """A loop over chunks of `size`, of which the last begins earlier where they don't come out even; see `start_of`."""
    return builder.for_(0, -(-length // size))


def start_of(builder: KernelBuilder, number: Dim, length: int, size: int) -> Dim:
    """Where a chunk begins."""
    start = builder.mul(number, size)
    return start if length % size == 0 else builder.min(start, length - size)


class Columns:
    """Transforms of `length` in `lanes` lanes, with slots for so many `copies` of all of them."""

    def __init__(self, builder: KernelBuilder, elem: str, lanes: int, length: int, sign: int, copies: int = 1):
        self.builder, self.lanes, self.length = builder, lanes, length
        self.buffer: Buffer | None = None
        if copies:
            self.buffer = builder.local("slots", elem, 2 * lanes * length * copies)
        self.radices: Sequence[int] = radices_of(length) or (1,)
        self.codelets = Codelets(builder, vector(elem, lanes), sign)
        self._starts: list[int] = []
        factors = []
        rest, at = length, 0
        for radix in self.radices[:-1]:
            self._starts.append(at)
            numbers = np.outer(np.arange(rest // radix), np.arange(1, radix))
            factors.append(roots(sign * numbers, rest).ravel())
            at += factors[-1].size
            rest //= radix
        self._table = builder.table("factors", elem, np.concatenate(factors)) if factors else None

    # -- slots

    def slot(self, number: Dim, more: int = 0) -> tuple[Dim, int]:
        """The address of a slot's real parts; the imaginary ones come after them."""
        return self.builder.mul(number, 2 * self.lanes), more * 2 * self.lanes

    def load(self, number: Dim, more: int = 0) -> Complex:
        base, offset = self.slot(number, more)
        parts = [self.builder.load(self.buffer, base, offset + k * self.lanes, self.lanes) for k in (0, 1)]
        return Complex(*parts)

    def store(self, number: Dim, more: int, value: Complex) -> None:
        base, offset = self.slot(number, more)
        self.builder.store(value.re, self.buffer, base, offset)
        self.builder.store(value.im, self.buffer, base, offset + self.lanes)

    def store_rows(self, number: Dim, rows: Sequence[Complex]) -> None:
        """Stores rows, one for each lane, whose own lanes are slots from `number` on."""
        builder, lanes = self.builder, self.lanes
        count = rows[0].lanes
        base, _ = self.slot(number)
        for part, vectors in enumerate(([row.re for row in rows], [row.im for row in rows])):
            for first in range(0, lanes, count):
                block = vectors[first : first + count]
                block += [builder.const(0, block[0].type)] * (count - len(block))
                for k, value in enumerate(transpose(builder, block)):
                    if lanes < count:
                        value = builder.shuffle(value, value, range(lanes))
                    builder.store(value, self.buffer, base, (2 * k + part) * lanes + first)

    # -- rounds

    def run(self, place: Dim, load: Load | None, store: Store) -> None:
        """Transforms what `load` gives of places, or what is in the slots from `place` on; `store` gets frequencies,
        as a computed number and a known one to be added."""
        builder = self.builder
        done, rest = 1, self.length
        for number, radix in enumerate(self.radices):
            rest //= radix
            fetch = load if number == 0 else None
            if number == len(self.radices) - 1:
                self._last_round(place, done, radix, fetch, store)
                return
            with builder.for_(0, done) as outer, builder.for_(0, rest) as inner:
                first = builder.add(builder.mul(outer.index, rest * radix), inner.index) if done > 1 else inner.index
                self._round(number, builder.add(place, first), inner.index, radix, rest, fetch)
            done *= radix

    def _round(self, number: int, first: Dim, inner: Dim, radix: int, step: int, load: Load | None) -> None:
        builder = self.builder
        factor = builder.mul(inner, 2 * (radix - 1))

        def fetch(i: int) -> Complex:
            return self.load(first, i * step) if load is None else load(inner, i * step)

        def give(k: int, value: Complex) -> None:
            if k:
                at = self._starts[number] + 2 * (k - 1)
                re, im = (builder.load(self._table, factor, at + part, 1) for part in (0, 1))
                value = self.codelets.times(value, builder.splat(re, self.lanes), builder.splat(im, self.lanes))
            self.store(first, k * step, value)

        self.codelets.transform(radix, fetch, give)

    def _last_round(self, place: Dim, done: int, radix: int, load: Load | None, store: Store) -> None:
        """Frequencies have the digits of slots in reverse order; the lowest runs innermost."""
        builder = self.builder
        digits = list(self.radices[:-1])
        with ExitStack() as stack:
            first: Dim = 0
            frequency: Dim = 0
            for number in range(len(digits) - 1, -1, -1):
                loop = stack.enter_context(builder.for_(0, digits[number]))
                slots = radix * math.prod(digits[number + 1 :])
                first = builder.add(first, builder.mul(loop.index, slots))
                frequency = builder.add(frequency, builder.mul(loop.index, math.prod(digits[:number])))
            first = builder.add(place, first)

            def fetch(i: int) -> Complex:
                return self.load(first, i) if load is None else load(0, i)

            self.codelets.transform(radix, fetch, lambda k, value: store(frequency, k * done, value))
