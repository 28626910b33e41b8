"""What takes a few instructions: rounding to integers, classification, bits, sqrt, rsqrt, fma."""

from __future__ import annotations

from ..llvm.values import Value, const
from .lanes import INF, Lanes


def sqrt(m: Lanes, x: Value) -> Value:
    return m.sqrt(x)


def rsqrt(m: Lanes, x: Value) -> Value:
    return m.div(m.c(1.0), m.sqrt(x))


def absf(m: Lanes, x: Value) -> Value:
    return m.abs(x)


def copysign(m: Lanes, x: Value, y: Value) -> Value:
    return m.with_sign_of(x, y)


def _whole(m: Lanes) -> float:
    """From this size on every float is an integer."""
    return 2.0**m.mantissa


def roundeven(m: Lanes, x: Value) -> Value:
    if m.target.has_rounding:
        return m.fn.intrinsic("roundeven", x)
    a = m.abs(x)
    near = m.sub(m.add(a, _whole(m)), _whole(m))
    return m.with_sign_of(m.select(m.less(a, _whole(m)), near, a), x)


def trunc(m: Lanes, x: Value) -> Value:
    if m.target.has_rounding:
        return m.fn.intrinsic("trunc", x)
    a = m.abs(x)
    near = m.sub(m.add(a, _whole(m)), _whole(m))
    down = m.sub(near, m.select(m.less(a, near), m.c(1.0), m.c(0.0)))
    return m.with_sign_of(m.select(m.less(a, _whole(m)), down, a), x)


def floor(m: Lanes, x: Value) -> Value:
    if m.target.has_rounding:
        return m.fn.intrinsic("floor", x)
    near = roundeven(m, x)
    return m.with_sign_of(m.sub(near, m.select(m.less(x, near), m.c(1.0), m.c(0.0))), x)


def ceil(m: Lanes, x: Value) -> Value:
    if m.target.has_rounding:
        return m.fn.intrinsic("ceil", x)
    near = roundeven(m, x)
    return m.with_sign_of(m.add(near, m.select(m.less(near, x), m.c(1.0), m.c(0.0))), x)


def round_away(m: Lanes, x: Value) -> Value:
    """Halves go away from zero. Just below one half is added, so that the largest float below 0.5 stays
    below 1."""
    below_half = m.pick(float.fromhex("0x1.fffffep-2"), float.fromhex("0x1.fffffffffffffp-2"))
    return trunc(m, m.add(x, m.with_sign_of(m.c(below_half), x)))


def isnan(m: Lanes, x: Value) -> Value:
    return m.is_nan(x)


def isinf(m: Lanes, x: Value) -> Value:
    return m.equal(m.abs(x), INF)


def isfinite(m: Lanes, x: Value) -> Value:
    return m.less(m.abs(x), INF)


def isnormal(m: Lanes, x: Value) -> Value:
    a = m.abs(x)
    return m.fn.and_(m.less(a, INF), m.fn.fcmp("oge", a, m.c(m.pick(2.0**-126, 2.0**-1022))))


def fma(m: Lanes, x: Value, y: Value, z: Value) -> Value:
    """One rounding always: without an instruction it is a call of the module library's function."""
    return m.fn.fma(x, y, z)


# -- integers: (fn, operands)


def absi(fn, x: Value) -> Value:
    return fn.intrinsic("abs", x, const(0, "i1"))


def ctlz(fn, x: Value) -> Value:
    return fn.intrinsic("ctlz", x, const(0, "i1"))


def cttz(fn, x: Value) -> Value:
    return fn.intrinsic("cttz", x, const(0, "i1"))


def ctpop(fn, x: Value) -> Value:
    return fn.intrinsic("ctpop", x)
