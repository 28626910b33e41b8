"""log, log2, log10, log1p, asinh, acosh, atanh.

x = m 2^e with m in [sqrt(1/2), sqrt(2)), t = m - 1 exactly; log m = t + rest, where rest is a polynomial in
f32 and the atanh series in s = t / (t + 2) in f64 (as in Sun's fdlibm). The inverse hyperbolic functions are
log1p of an argument that is kept as a sum of two.
"""

from __future__ import annotations

from ..llvm.values import Value, const
from .exponential import LN2_F32, LN2_F64
from .lanes import INF, NAN, Lanes

# The bits at which a mantissa is halved: twice those of `_split_exponent`.
SQRT2_F32, SQRT2_F64 = float.fromhex("0x1.6a09e6p+0"), float.fromhex("0x1.6a09e667f3bcdp+0")
# 1 / ln 2, 1 / ln 10 as high + low, and log10(2), whose high part times an exponent is exact.
LOG2_E_F32 = float.fromhex("0x1.715476p+0"), float.fromhex("0x1.4ae0cp-26")
LOG2_E_F64 = float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56")
LOG10_E_F32 = float.fromhex("0x1.bcb7b2p-2"), float.fromhex("-0x1.5b235ep-27")
LOG10_E_F64 = float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57")
LOG10_2_F32 = float.fromhex("0x1.344p-2"), float.fromhex("0x1.3509f8p-18")
LOG10_2_F64 = float.fromhex("0x1.34413509f78p-2"), float.fromhex("0x1.fef311f12b358p-46")


def _split_exponent(m: Lanes, bits: Value) -> tuple[Value, Value]:
    """Bits of a positive normal number: the exponent as an integer, and the mantissa in [sqrt(1/2),
    sqrt(2))."""
    fn = m.fn
    exponent = fn.ashr(fn.sub(bits, m.pick(0x3F3504F3, 0x3FE6A09E667F3BCD)), m.mantissa)
    return exponent, m.from_bits(fn.sub(bits, fn.shl(exponent, m.mantissa)))


def reduce(m: Lanes, x: Value, is_normal: bool = False) -> tuple[Value, Value]:
    """x = (1 + t) 2^e: gives e as a float, and t.

    Where one instruction gives the exponent it is -inf for 0 and inf for infinity, and t is NaN for negative
    x.
    """
    if m.fills_avx512_register:
        # Bits 3 and 2 of the immediate: NaN for what is negative; bits 1 and 0: a mantissa in [1, 2).
        exponent, mantissa = m.avx512("getexp", x), m.avx512("getmant", x, const(8, "i32"))
        high = m.fn.fcmp("oge", mantissa, m.c(m.pick(SQRT2_F32, SQRT2_F64)))
        exponent = m.select(high, m.add(exponent, 1.0), exponent)
        return exponent, m.sub(m.select(high, m.mul(mantissa, 0.5), mantissa), 1.0)
    if is_normal:
        exponent, mantissa = _split_exponent(m, m.bits(x))
        return m.int_to_float(exponent), m.sub(mantissa, 1.0)
    # Subnormals are scaled up first.
    subnormal = m.less(x, m.pick(2.0**-126, 2.0**-1022))
    scaled = m.select(subnormal, m.mul(x, 2.0**m.mantissa), x)
    exponent, mantissa = _split_exponent(m, m.bits(scaled))
    exponent = m.select(subnormal, m.fn.sub(exponent, m.mantissa), exponent)
    return m.int_to_float(exponent), m.sub(mantissa, 1.0)


def tail(m: Lanes, t: Value) -> Value:
    """log(1 + t) - t."""
    if m.is_f32:
        z = m.mul(t, t)
        return m.mul_add(z, -0.5, m.mul(m.mul(t, z), m.polynomial(t, "LOG")))
    s = m.div(t, m.add(t, 2.0))
    z = m.mul(s, s)
    half_square = m.mul(m.mul(t, 0.5), t)
    series = m.mul(z, m.polynomial(z, "LOG_ODD"))
    return m.sub(m.mul(s, m.add(half_square, series)), half_square)


def _domain(m: Lanes, x: Value, result: Value) -> Value:
    """log of 0, of infinity and of what is negative or NaN, where `reduce` did not see to it."""
    if m.fills_avx512_register:
        return result
    result = m.select(m.equal(x, INF), x, result)
    result = m.select(m.equal(x, 0.0), -INF, result)
    return m.select(m.fn.fcmp("ult", x, m.c(0.0)), NAN, result)


def _finish(m: Lanes, exponent: Value, t: Value, correction: Value | None = None) -> Value:
    """exponent ln 2 + log(1 + t + correction)."""
    high, low = m.pick(LN2_F32, LN2_F64)
    small = m.mul_add(exponent, low, tail(m, t))
    if correction is not None:
        small = m.add(small, correction)
    return m.mul_add(exponent, high, m.add(t, small))


def log(m: Lanes, x: Value) -> Value:
    exponent, t = reduce(m, x)
    return _domain(m, x, _finish(m, exponent, t))


def _log_base(m: Lanes, x: Value, inverse: tuple[float, float], unit: tuple[float, float]) -> Value:
    """log(x) * inverse, each constant as high + low; unit is the logarithm of 2 in this base."""
    exponent, t = reduce(m, x)
    small = m.mul_add(tail(m, t), inverse[0], m.mul(t, inverse[1]))
    if unit[1]:
        small = m.mul_add(exponent, unit[1], small)
    main = m.mul_add(t, inverse[0], small)
    return _domain(m, x, m.mul_add(exponent, unit[0], main))


def log2(m: Lanes, x: Value) -> Value:
    return _log_base(m, x, m.pick(LOG2_E_F32, LOG2_E_F64), (1.0, 0.0))


def log10(m: Lanes, x: Value) -> Value:
    return _log_base(m, x, m.pick(LOG10_E_F32, LOG10_E_F64), m.pick(LOG10_2_F32, LOG10_2_F64))


def _log1p_sum(m: Lanes, high: Value, low: Value | None, doublings: Value | None = None) -> Value:
    """log(1 + high + low) + doublings ln 2, for 1 + high > 0, |low| at most about an ulp of high."""
    fn = m.fn
    total, rounding = m.two_sum(m.c(1.0), high)
    if low is not None:
        rounding = m.add(rounding, low)
    exponent, mantissa = _split_exponent(m, m.bits(total))
    # What was lost in 1 + high, in units of the mantissa; its share of the logarithm is that over (1 + t).
    shrink = m.power_of_two(fn.sub(0, m.select(fn.icmp("sgt", exponent, m.bias - 1), m.bias - 1, exponent)))
    t, t_low = m.fast_two_sum(m.sub(mantissa, 1.0), m.mul(rounding, shrink))
    power = m.int_to_float(exponent)
    if doublings is not None:
        power = m.add(power, doublings)
    # d log(1 + t) = dt / (1 + t), 1 / (1 + t) to first order being enough for half an ulp of t.
    correction = m.mul_add(m.mul(t_low, t), -1.0, t_low)
    return _finish(m, power, t, correction)


def log1p(m: Lanes, x: Value) -> Value:
    result = _log1p_sum(m, x, None)
    result = m.select(m.equal(x, INF), x, result)
    result = m.select(m.equal(x, -1.0), -INF, result)
    result = m.select(m.fn.fcmp("ult", x, m.c(-1.0)), NAN, result)
    # Below this size x is its own result, -0 and subnormals included.
    return m.select(m.less(m.abs(x), m.pick(2.0**-26, 2.0**-55)), x, result)


def asinh(m: Lanes, x: Value) -> Value:
    """log1p(a + a^2 / (1 + sqrt(1 + a^2))), a = |x|; log a + ln 2 where a^2 + 1 is a^2."""
    a = m.abs(x)
    large = m.fn.fcmp("ogt", a, m.c(m.pick(2.0**13, 2.0**28)))
    bounded = m.select(large, 1.0, a)
    square = m.mul(bounded, bounded)
    step = m.div(square, m.add(m.sqrt(m.add(square, 1.0)), 1.0))
    # Beyond the bound: log(1 + (a - 1)) + ln 2.
    high, low = m.fast_two_sum(m.select(large, a, bounded), m.select(large, -1.0, step))
    result = _log1p_sum(m, high, low, m.select(large, m.c(1.0), m.c(0.0)))
    result = m.select(m.equal(a, INF), a, result)
    result = m.select(m.less(a, m.pick(2.0**-13, 2.0**-28)), a, result)
    return m.with_sign_of(result, x)


def acosh(m: Lanes, x: Value) -> Value:
    """log1p(t + sqrt(2 t + t^2)), t = x - 1, the root as high + low."""
    large = m.fn.fcmp("ogt", x, m.c(m.pick(2.0**13, 2.0**28)))
    t = m.sub(m.select(large, 2.0, x), 1.0)
    square, square_low = m.two_product(t, t)
    inner, inner_low = m.two_sum(m.add(t, t), square)
    inner_low = m.add(inner_low, square_low)
    root = m.sqrt(inner)
    # One step of Newton's for the root of inner + inner_low; at t = 0 there is nothing to correct.
    rest = m.sub(inner_low, m.product_error(root, root, inner))
    root_low = m.div(m.mul(rest, 0.5), m.select(m.equal(root, 0.0), 1.0, root))
    high, low = m.two_sum(m.select(large, x, root), m.select(large, -1.0, t))
    low = m.add(low, m.select(large, 0.0, root_low))
    result = _log1p_sum(m, high, low, m.select(large, m.c(1.0), m.c(0.0)))
    result = m.select(m.equal(x, INF), x, result)
    return m.select(m.fn.fcmp("ult", x, m.c(1.0)), NAN, result)


def atanh(m: Lanes, x: Value) -> Value:
    """log1p(2 a / (1 - a)) / 2, a = |x|, the quotient as high + low."""
    a = m.abs(x)
    numerator = m.add(a, a)
    below, below_low = m.fast_two_sum(m.c(1.0), m.neg(a))
    high = m.div(numerator, below)
    product, product_low = m.two_product(high, below)
    rest = m.sub(m.sub(numerator, product), m.add(product_low, m.mul(high, below_low)))
    low = m.div(rest, below)
    result = m.mul(_log1p_sum(m, high, low), 0.5)
    result = m.select(m.equal(a, 1.0), INF, result)
    result = m.select(m.less(a, m.pick(2.0**-13, 2.0**-28)), a, result)
    result = m.select(m.fn.fcmp("ugt", a, m.c(1.0)), NAN, result)
    return m.with_sign_of(result, x)
