"""sin, cos, tan.

|x| = n pi / 2 + r: up to a bound by Cody and Waite's constants, r as high + low in f64; beyond it by Payne
and Hanek's product with the bits of 2 / pi, in a cold function of the module that goes lane by lane and is
called when some lane of a vector is large.
"""

from __future__ import annotations

from ..llvm.values import F64, Value
from . import payne_hanek
from .lanes import Lanes
from .outlined import lanewise, outlined

TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
# pi / 2 in parts: n times each but the last two is exact while n has 15 bits (f32) or 20 (f64).
PARTS_F32_FMA = tuple(map(float.fromhex, ("0x1.92p+0", "0x1.fbp-12", "0x1.5110b4p-22", "0x1.84698ap-48")))
PARTS_F64_FMA = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a626331p-34", "0x1.1701b839a252p-88"))
)
PARTS_F64 = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104"))
)
LIMIT_F32 = 3.0e4
LIMIT_F64 = 1.6e6


def _reduce_f32(m: Lanes, a: Value) -> tuple[Value, Value]:
    """r and n's integer for a >= 0 in f32 lanes; without FMA by way of f64."""
    if m.fma:
        n, quadrant = m.round_product(a, TWO_OVER_PI)
        r = a
        for part in PARTS_F32_FMA:
            r = m.mul_add(n, -part, r)
        return r, quadrant
    r, quadrant = _reduce_f32_wide(m, a)
    return m.from_wide(r), m.fn.trunc(quadrant, "i32")


def _reduce_f32_wide(m: Lanes, a: Value) -> tuple[Value, Value]:
    """r in f64 lanes for a >= 0 in f32 lanes: r's error is far below an ulp of f32."""
    w = m.wide()
    a = m.to_wide(a)
    n, quadrant = w.round_product(a, TWO_OVER_PI)
    r = w.mul_add(n, -PARTS_F64_FMA[1], w.mul_add(n, -PARTS_F64_FMA[0], a))
    return r, quadrant


def _reduce_f64_fma(m: Lanes, a: Value) -> tuple[Value, Value]:
    """r and n's integer for a >= 0: r within an ulp."""
    n, quadrant = m.round_product(a, TWO_OVER_PI)
    r = a
    for part in PARTS_F64_FMA:
        r = m.mul_add(n, -part, r)
    return r, quadrant


def _reduce_f64(m: Lanes, a: Value) -> tuple[Value, Value, Value]:
    """r as high + low, and n's integer, for a >= 0."""
    n, quadrant = m.round_product(a, TWO_OVER_PI)
    if m.fma:
        first, second, third = PARTS_F64_FMA
        step, step_low = m.two_product(n, second)
        r, low = m.two_sum(m.mul_add(n, -first, a), m.neg(step))
        return r, m.mul_add(n, -third, m.sub(low, step_low)), quadrant
    first, second, third, fourth = PARTS_F64
    t = m.sub(a, m.mul(n, first))
    r, low = m.two_sum(t, m.mul(n, -second))
    r, more = m.two_sum(r, m.mul(n, -third))
    return r, m.sub(m.add(low, more), m.mul(n, fourth)), quadrant


def _sin_near(m: Lanes, r: Value, z: Value, low: Value | None) -> Value:
    tail = m.mul(m.mul(r, z), m.polynomial(z, "SIN"))
    return m.add(r, tail if low is None else m.add(tail, low))


def _cos_near(m: Lanes, r: Value, z: Value, low: Value | None) -> Value:
    tail = m.mul(m.mul(z, z), m.polynomial(z, "COS"))
    if low is not None:
        tail = m.sub(tail, m.mul(r, low))
    return m.add(m.mul_add(z, -0.5, m.c(1.0)), tail)


def _choose(m: Lanes, r: Value, low: Value | None, quadrant: Value, sign: Value | None) -> Value:
    """sin r or cos r by the quadrant's low bit, negated by its next one and by the sign bits."""
    fn = m.fn
    z = m.mul(r, r)
    odd = fn.icmp("ne", fn.and_(quadrant, 1), 0)
    result = m.select(odd, _cos_near(m, r, z, low), _sin_near(m, r, z, low))
    flip = fn.shl(fn.and_(quadrant, 2), m.mantissa + m.bias.bit_length())
    return m.flip_sign(result, flip if sign is None else fn.xor(flip, sign))


def _sin_or_cos(m: Lanes, x: Value, name: str) -> Value:
    a = m.abs(x)
    low = None
    if m.is_f32:
        r, quadrant = _reduce_f32(m, a)
    elif m.fma:
        r, quadrant = _reduce_f64_fma(m, a)
    else:
        r, low, quadrant = _reduce_f64(m, a)
    if name == "cos":
        quadrant, sign = m.fn.add(quadrant, 1), None
    else:
        sign = m.sign_bit(x)
    result = _choose(m, r, low, quadrant, sign)
    return _with_large(m, x, a, result, name)


def sin(m: Lanes, x: Value) -> Value:
    return _sin_or_cos(m, x, "sin")


def cos(m: Lanes, x: Value) -> Value:
    return _sin_or_cos(m, x, "cos")


def _tan_near(m: Lanes, r: Value, low: Value, quadrant: Value) -> Value:
    """tan(r + low) or its negated reciprocal, as a quotient of sums (sin and cos as high + low), within an
    ulp."""
    fn = m.fn
    z = m.mul(r, r)
    sin_tail = m.add(m.mul(m.mul(r, z), m.polynomial(z, "SIN")), m.mul_add(m.mul(z, low), -0.5, low))
    sin_high, sin_low = m.fast_two_sum(r, sin_tail)
    square_low = m.product_error(r, r, z)
    one_less, lost = m.fast_two_sum(m.c(1.0), m.mul(z, -0.5))
    cos_tail = m.mul(m.mul(z, z), m.polynomial(z, "COS"))
    cos_tail = m.add(m.sub(cos_tail, m.mul(r, low)), m.mul_add(square_low, -0.5, lost))
    cos_high, cos_low = m.fast_two_sum(one_less, cos_tail)
    odd = fn.icmp("ne", fn.and_(quadrant, 1), 0)
    top, top_low = m.select(odd, m.neg(cos_high), sin_high), m.select(odd, m.neg(cos_low), sin_low)
    bottom, bottom_low = m.select(odd, sin_high, cos_high), m.select(odd, sin_low, cos_low)
    quotient = m.div(top, bottom)
    product, product_low = m.two_product(quotient, bottom)
    rest = m.sub(m.sub(top, product), product_low)
    rest = m.add(rest, m.sub(top_low, m.mul(quotient, bottom_low)))
    # A quotient that is 0 has no rest; its own sign is what counts.
    return m.add(quotient, m.div(rest, bottom))


def tan(m: Lanes, x: Value) -> Value:
    a = m.abs(x)
    if m.is_f32:
        w = m.wide()
        r, quadrant = _reduce_f32_wide(m, a)
        z = w.mul(r, r)
        near = w.mul_add(w.mul(r, z), w.polynomial(z, "TAN", "f64_for_f32"), r)
        odd = m.fn.icmp("ne", m.fn.and_(quadrant, 1), 0)
        top = w.select(odd, -1.0, near)
        result = m.from_wide(w.div(top, w.select(odd, near, w.c(1.0))))
    else:
        result = _tan_near(m, *_reduce_f64(m, a))
    return _with_large(m, x, a, m.flip_sign(result, m.sign_bit(x)), "tan")


def _with_large(m: Lanes, x: Value, a: Value, result: Value, name: str) -> Value:
    """The result with the lanes whose |x| is beyond the constants computed again. NaN is not: it passed
    already."""
    large = m.fn.fcmp("ogt", a, m.c(m.pick(LIMIT_F32, LIMIT_F64)))
    target = m.target

    def one_lane(fn, lane: Value) -> Value:
        def body(f, v: Value) -> Value:
            return _large(f, v, name, target)

        scalar = outlined(fn.module, f"math.{name}.large", [F64], F64, body, "noinline cold")
        wide = fn.call(scalar, fn.fpext(lane, F64))
        return fn.cast("fptrunc", wide, lane.ty)

    return m.fn.if_else(
        m.fn.any(large),
        lambda: lanewise(m.fn, f"math.{name}.large", x, result, large, one_lane),
        lambda: result,
        likely=False,
    )


def _large(fn, x: Value, name: str, target) -> Value:
    """sin, cos or tan of one f64 of at least 2^14, infinity giving NaN."""
    m = Lanes(fn, F64, target)
    r, low, quadrant = payne_hanek.reduce(m, m.abs(x))
    if name == "tan":
        return m.flip_sign(_tan_near(m, r, low, quadrant), m.sign_bit(x))
    if name == "cos":
        return _choose(m, r, low, fn.add(quadrant, 1), None)
    return _choose(m, r, low, quadrant, m.sign_bit(x))
