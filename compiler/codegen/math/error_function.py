"""erf and erfc.

erf is a polynomial up to 1 and 1 - 2^p(x) beyond. erfc keeps its relative accuracy down to the smallest
subnormal: e^(-x^2) q / (1 + 2 x), q a polynomial in (x - k) / (x + k) (after Shepherd and Laframboise), with
the square, the quotient and the product each kept as a sum of two.
"""

from __future__ import annotations

from ..llvm.values import Value
from . import exponential
from .lanes import Lanes
from .outlined import outlined

ERFC_NEAR = 0.47


def _near(m: Lanes, x: Value) -> Value:
    """erf(x) - x for |x| <= 1."""
    return m.mul(x, m.polynomial(m.mul(x, x), "ERF"))


def erf(m: Lanes, x: Value) -> Value:
    a = m.abs(x)
    bounded = m.clamp(a, None, m.pick(4.0, 6.0))
    exponent = m.polynomial(bounded, m.pick("LOG2_ERFC_F32", "LOG2_ERFC_F64"))
    shifted = m.add(exponent, m.magic)
    complement = exponential.exp2_plain(m, shifted, m.sub(exponent, m.sub(shifted, m.magic)))
    far = m.sub(m.c(1.0), complement)
    near = m.mul_add(a, m.polynomial(m.mul(a, a), "ERF"), a)
    # Unordered too: NaN does not survive the sum of exponents.
    return m.with_sign_of(m.select(m.fn.fcmp("ult", a, m.c(1.0)), near, far), x)


def erfc(m: Lanes, x: Value) -> Value:
    """A function of the module: too large to inline."""
    target = m.target

    def body(fn, x: Value) -> Value:
        return _erfc(Lanes(fn, x.ty, target), x)

    callee = outlined(m.fn.module, f"math.erfc.{m.kind}.v{m.count}", [m.ty], m.ty, body)
    return m.fn.call(callee, x)


def _erfc(m: Lanes, x: Value) -> Value:
    a = m.clamp(m.abs(x), None, m.pick(10.6, 28.0))
    square, square_low = m.two_product(a, a)
    # q as high + low, then its quotient by 1 + 2 a with the remainder's share.
    center = m.pick(2.0, 4.0)
    w = m.div(m.sub(a, center), m.add(a, center))
    rest, first = m.polynomial_rest(w, m.pick("ERFCX_F32", "ERFCX_F64"))
    high, low = m.fast_two_sum(m.c(first), m.mul(w, rest))
    below, below_low = m.two_sum(m.add(a, a), m.c(1.0))
    inverse = m.div(m.c(1.0), below)
    quotient = m.mul(high, inverse)
    product, product_low = m.two_product(quotient, below)
    remainder = m.add(m.sub(m.sub(high, product), product_low), m.sub(low, m.mul(quotient, below_low)))
    quotient_low = m.mul(remainder, inverse)
    # e^(-square - square_low) = 2^n (1 + r + tail) (1 - square_low), times quotient + quotient_low.
    r, rest, exponent = exponential.reduce_in_two(m, m.neg(square))
    tail = m.mul_add(m.mul(r, r), m.polynomial(r, "EXP"), rest)
    tail = m.sub(tail, m.mul_add(square_low, m.add(r, tail), square_low))
    mantissa = m.mul_add(quotient, r, m.mul_add(quotient, tail, quotient_low))
    mantissa = m.add(quotient, mantissa)
    half = m.fn.ashr(exponent, 1)
    far = m.mul(m.mul(mantissa, m.power_of_two(half)), m.power_of_two(m.fn.sub(exponent, half)))
    far = m.select(m.less(x, 0.0), m.sub(m.c(2.0), far), far)
    near = m.sub(m.sub(m.c(1.0), x), _near(m, x))
    return m.select(m.less(m.abs(x), ERFC_NEAR), near, far)
