"""atan, atan2, asin, acos.

atan takes a fraction: by its size it becomes y / x, (y - x) / (y + x) or -x / y, at most tan(1 / 2) in size,
plus a number of quarters of pi. asin and acos share t + t z p(z), with t = sqrt((1 - |x|) / 2) from 0.55 on.
"""

from __future__ import annotations

from ..llvm.values import Value
from .lanes import INF, Lanes

# Up to here y / x itself: the results beyond are 1 / 2 or more, so that the subtraction costs no accuracy.
SHALLOW = 0.5464
STEEP = 2.41421356
# pi / 4 as a part with zero bits at its end, so that small multiples of it are exact, and the rest.
QUARTER_PI_F32 = float.fromhex("0x1.921fb00000000p-1"), float.fromhex("0x1.5110b40000000p-23")
QUARTER_PI_F64 = float.fromhex("0x1.921fb54442d00p-1"), float.fromhex("0x1.8469898cc5170p-49")
HALF_PI_F32 = float.fromhex("0x1.921fb6p+0"), float.fromhex("-0x1.777a5cp-25")
HALF_PI_F64 = float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")
ASIN_SPLIT = 0.55


def _angle(m: Lanes, y: Value, x: Value | None = None, sign: Value | None = None) -> Value:
    """atan(y / x) for y, x >= 0, x being 1 by default; where the `sign` bit is set pi minus that."""
    fn = m.fn
    if x is None:
        x, minus_x = m.c(1.0), m.c(-1.0)
        shallow, steep = fn.fcmp("ole", y, m.c(SHALLOW)), fn.fcmp("ogt", y, m.c(STEEP))
    else:
        minus_x = m.neg(x)
        shallow, steep = fn.fcmp("ole", y, m.mul(x, SHALLOW)), m.less(x, m.mul(y, 1 / STEEP))
    top = m.select(shallow, y, m.select(steep, minus_x, m.sub(y, x)))
    bottom = m.select(shallow, x, m.select(steep, y, m.add(y, x)))
    t = m.div(top, bottom)
    z = m.mul(t, t)
    angle = m.mul_add(m.mul(t, z), m.polynomial(z, "ATAN"), t)
    count = m.select(shallow, m.c(0.0), m.select(steep, m.c(2.0), m.c(1.0)))
    if sign is not None:
        angle = m.flip_sign(angle, sign)
        count = m.select(fn.icmp("slt", sign, 0), m.sub(m.c(4.0), count), count)
    high, low = m.pick(QUARTER_PI_F32, QUARTER_PI_F64)
    return m.mul_add(count, high, m.mul_add(count, low, angle))


def atan(m: Lanes, x: Value) -> Value:
    return m.with_sign_of(_angle(m, m.abs(x)), x)


def atan2(m: Lanes, y: Value, x: Value) -> Value:
    fn = m.fn
    a, b = m.abs(y), m.abs(x)
    larger = m.select(m.less(a, b), b, a)
    # Two infinities count as two ones, 0 / 0 as 0 / 1. Numbers whose sum may overflow are scaled down, those
    # whose comparison may underflow up.
    infinite = m.equal(m.select(m.less(a, b), a, b), INF)
    factor = m.select(m.less(larger, m.pick(2.0**-96, 2.0**-960)), m.c(m.pick(2.0**64, 2.0**128)), 1.0)
    factor = m.select(fn.fcmp("ogt", larger, m.c(m.pick(2.0**126, 2.0**1022))), 0.25, factor)
    a = m.select(infinite, 1.0, m.mul(a, factor))
    b = m.select(infinite, 1.0, m.mul(b, factor))
    b = m.select(m.equal(larger, 0.0), 1.0, b)
    angle = m.with_sign_of(_angle(m, a, b, sign=m.sign_bit(x)), y)
    return m.select(fn.fcmp("uno", x, y), m.add(x, y), angle)


def _asin_parts(m: Lanes, x: Value) -> tuple[Value, Value]:
    """|x| < 0.55, and asin |x| there; elsewhere asin(sqrt((1 - |x|) / 2)), half of acos |x|."""
    a = m.abs(x)
    near = m.less(a, ASIN_SPLIT)
    half = m.mul_add(a, -0.5, m.c(0.5))
    z = m.select(near, m.mul(a, a), half)
    t = m.select(near, a, m.sqrt(half))
    return near, m.mul_add(m.mul(t, z), m.polynomial(z, "ASIN"), t)


def asin(m: Lanes, x: Value) -> Value:
    near, part = _asin_parts(m, x)
    high, low = m.pick(HALF_PI_F32, HALF_PI_F64)
    far = m.sub(m.c(high), m.sub(m.add(part, part), low))
    return m.with_sign_of(m.select(near, part, far), x)


def acos(m: Lanes, x: Value) -> Value:
    """pi / 2 - asin x; from 0.55 on 2 part, or pi - 2 part for negative x."""
    near, part = _asin_parts(m, x)
    negative = m.less(x, 0.0)
    signed = m.with_sign_of(m.select(near, part, m.add(part, part)), m.select(near, m.neg(x), x))
    high, low = m.pick(HALF_PI_F32, HALF_PI_F64)
    base = m.select(near, m.c(high), m.select(negative, m.c(2 * high), m.c(0.0)))
    base_low = m.select(near, m.c(low), m.select(negative, m.c(2 * low), m.c(0.0)))
    return m.add(base, m.add(signed, base_low))
