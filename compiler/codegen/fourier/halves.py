"""Real signals as complex ones of half the length.

Enters: the transform of m complex numbers, made of the even and the odd places of 2 * m real ones. Leaves: frequencies
0 to m of the real signal; or the same the other way around. With x and y the numbers k and m - k, either is
(x + y*) + sign * i * w * (x - y*), with w the root of unity sign * k of 2 * m, and one of them half of that.
"""

from __future__ import annotations

import numpy as np

from ...dialects.roots_of_unity import roots
from ..complex_values import Complex
from ..indexing import Dim
from ..loops import Buffer, KernelBuilder, vector
from .codelets import Codelets
from .columns import chunks, start_of
from .rows import Load, Store, power_of_two


class Halves:
    """Numbers 0 to m of one row in local memory, real parts before imaginary ones."""

    def __init__(self, builder: KernelBuilder, elem: str, lanes: int, half: int, sign: int):
        self.builder, self.elem, self.half, self.sign = builder, elem, half, sign
        self.lanes = power_of_two(min(lanes, half))
        self.buffer = builder.local("spectrum", elem, 2 * (half + 1))
        factors = roots(sign * np.arange(half + 1), 2 * half)
        self._factors = builder.table("turns", elem, np.moveaxis(factors, -1, 0))

    def load(self, base: Dim, offset: int, lanes: int) -> Complex:
        return self._pair(self.buffer, base, offset, lanes)

    def store(self, base: Dim, offset: int, value: Complex) -> None:
        self.builder.store(value.re, self.buffer, base, offset)
        self.builder.store(value.im, self.buffer, base, offset + self.half + 1)

    def _pair(self, buffer: Buffer, base: Dim, offset: int, lanes: int) -> Complex:
        return Complex(*[self.builder.load(buffer, base, offset + k * (self.half + 1), lanes) for k in (0, 1)])

    def take_apart(self, store: Store) -> None:
        """Frequencies of the real signal, from those in memory."""
        builder, half, lanes = self.builder, self.half, self.lanes
        # The signal goes round: number m is number 0.
        self.store(half, 0, self.load(0, 0, 1))
        with chunks(builder, half + 1, lanes) as loop:
            start = start_of(builder, loop.index, half + 1, lanes)
            x = self.load(start, 0, lanes)
            y = self._codelets(lanes).reversed(self.load(builder.sub(half - lanes + 1, start), 0, lanes))
            store(start, 0, self._codelets(lanes).scaled(self._combined(x, y, start), 0.5))

    def join(self, load: Load) -> None:
        """What transforms to the even and odd places of the real signal, into memory."""
        builder, half, lanes = self.builder, self.half, self.lanes
        with chunks(builder, half, lanes) as loop:
            start = start_of(builder, loop.index, half, lanes)
            x = load(start, 0, lanes)
            y = self._codelets(lanes).reversed(load(builder.sub(half - lanes + 1, start), 0, lanes))
            self.store(start, 0, self._combined(x, y, start))
        # The ends of a spectrum are real, whatever their imaginary parts say.
        first, last = load(0, 0, 1).re, load(half, 0, 1).re
        parts = [builder.op(name, (first, last), first.type) for name in ("arith.addf", "arith.subf")]
        self.store(0, 0, Complex(*parts))

    def _combined(self, x: Complex, y: Complex, start: Dim) -> Complex:
        codelets = self._codelets(self.lanes)
        factor = self._pair(self._factors, start, 0, self.lanes)
        y = Complex(y.re, self.builder.op("arith.negf", (y.im,), y.im.type))
        odd = codelets.times(codelets.subtract(x, y), factor.re, factor.im)
        return codelets.add(codelets.add(x, y), codelets.quarter_turn(odd, self.sign))

    def _codelets(self, lanes: int) -> Codelets:
        return Codelets(self.builder, vector(self.elem, lanes), self.sign)
