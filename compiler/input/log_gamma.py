"""The logarithm of the gamma function near its roots.

Enters: the argument, and what jaxlib's expansion makes of it, which near 1 and 2 is a difference of large numbers.
Leaves: that, but from 1/2 to 5/2 a power series, which is exactly zero at the roots:

    log gamma(2 + y) = (1 - gamma) y + sum over k > 1 of (zeta(k) - 1) / k (-y)^k
    log gamma(1 + y) = log gamma(2 + y) - log(1 + y)
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from pyiree.compiler.ir.types import f32, f64

if TYPE_CHECKING:
    from pyiree.compiler.input.emitter import Emitter
    from pyiree.compiler.ir.core import Value

_ONE_LESS_EULER = 0.42278433509846714

#: Terms by type, for |y| up to 1/2: each is a quarter of the one before.
_TERMS = {f32: 13, f64: 28}


def log_gamma(s: Emitter, x: Value, elsewhere: Value) -> Value:
    """`elsewhere`, which is the function's value as jaxlib has it, or a better one near the roots."""
    type = x.type
    wide = s.cast("arith.extf", x, f32) if type.width < 32 else x  # type: ignore[attr-defined]

    def number(value: float) -> Value:
        return s.float(value, wide.type)

    below = s.cmpf("olt", wide, number(1.5))
    y = s.binary("arith.subf", wide, s.select(below, number(1.0), number(2.0)))
    *lower, total = [number(value) for value in _coefficients(_TERMS[wide.type])]
    for coefficient in reversed(lower):
        total = s.binary("arith.addf", s.binary("arith.mulf", total, y), coefficient)
    above_root = s.binary("arith.mulf", total, y)
    near = s.select(below, s.binary("arith.subf", above_root, s.unary("math.log1p", y)), above_root)
    if near.type is not type:
        near = s.cast("arith.truncf", near, type)
    inside = s.binary("arith.andi", s.cmpf("oge", wide, number(0.5)), s.cmpf("ole", wide, number(2.5)))
    return s.select(inside, near, elsewhere)


@functools.cache
def _coefficients(count: int) -> list[float]:
    """The factors of y, y², …"""
    return [_ONE_LESS_EULER, *[(-1) ** k * _zeta_less_one(k) / k for k in range(2, count + 1)]]


def _zeta_less_one(k: int) -> float:
    """The sum of n^-k over n > 1, by Euler's and Maclaurin's formula from n = 200 on."""
    last = 200.0
    rest = last ** (1 - k) / (k - 1) + last**-k / 2 + k * last ** (-k - 1) / 12
    rest -= k * (k + 1) * (k + 2) * last ** (-k - 3) / 720
    return math.fsum([*[float(n) ** -k for n in range(2, int(last))], rest])
