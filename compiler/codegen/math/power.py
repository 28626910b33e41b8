"""powf, fpowi, ipowi, cbrt.

x^y = 2^(y log2 |x|): in f32 by way of f64 lanes, in f64 with the logarithm and the product as high + low,
since the error of y log2 x is multiplied by up to 1075. The special cases are IEEE's (C99, annex F).
"""

from __future__ import annotations

from ..llvm.values import F64, Value, bits, const
from . import elementary, exponential, logarithm
from .lanes import INF, NAN, Lanes
from .logarithm import LOG2_E_F64
from .outlined import outlined

THIRD_HIGH, THIRD_LOW = float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56")
LN2 = float.fromhex("0x1.62e42fefa39efp-1")


def powf(m: Lanes, x: Value, y: Value) -> Value:
    """A function of the module: too large to inline."""
    target = m.target

    def body(fn, x: Value, y: Value) -> Value:
        inner = Lanes(fn, x.ty, target)
        whole = inner.equal(elementary.trunc(inner, y), y)  # infinities count as even integers
        half = inner.mul(y, 0.5)
        odd = fn.and_(whole, fn.fcmp("one", elementary.trunc(inner, half), half))
        if inner.is_f32:
            magnitude = _power_f32(inner, inner.abs(x), inner.to_wide(y))
        else:
            magnitude = _power_f64(inner, inner.abs(x), y)
        result = _signed(inner, x, magnitude, odd)
        impossible = fn.and_(inner.less(x, 0.0), fn.not_(whole))
        impossible = fn.and_(impossible, fn.fcmp("one", inner.abs(x), inner.c(INF)))
        result = inner.select(impossible, NAN, result)
        result = inner.select(fn.fcmp("uno", x, y), NAN, result)
        unit = fn.and_(inner.equal(inner.abs(x), 1.0), inner.equal(inner.abs(y), INF))
        unit = fn.or_(unit, fn.or_(inner.equal(y, 0.0), inner.equal(x, 1.0)))
        return inner.select(unit, 1.0, result)

    callee = outlined(m.fn.module, f"math.powf.{m.kind}.v{m.count}", [m.ty, m.ty], m.ty, body)
    return m.fn.call(callee, x, y)


def _signed(m: Lanes, x: Value, magnitude: Value, odd: Value) -> Value:
    """Odd powers have the sign of x, -0 and -infinity included."""
    return m.select(odd, m.with_sign_of(magnitude, x), magnitude)


def _power_f32(m: Lanes, a: Value, y: Value) -> Value:
    """a^y for f32 a >= 0 and f64 y."""
    w = m.wide()
    a = m.to_wide(a)
    exponent, t = logarithm.reduce(w, a, is_normal=True)
    s = w.div(t, w.add(t, 2.0))
    z = w.mul(s, s)
    mantissa_log = w.mul(s, w.mul_add(z, w.polynomial(z, "LOG_ODD", "f64_for_f32"), w.c(2.0)))
    log2 = w.mul_add(mantissa_log, LOG2_E_F64[0], exponent)
    if not w.fills_avx512_register:
        log2 = _at_ends(w, a, log2)
    product = w.clamp(w.mul(y, log2), -200.0, 200.0)
    n, integer = w.round_product(product, 1.0)
    r = w.sub(product, n)
    p = w.mul_add(r, w.polynomial(r, "EXP2", "f64_for_f32"), w.c(1.0))
    return m.from_wide(w.mul(p, w.power_of_two(integer)))


def _at_ends(m: Lanes, a: Value, log2: Value) -> Value:
    """log2 of 0 and of infinity; NaN stays."""
    log2 = m.select(m.equal(a, 0.0), -INF, log2)
    return m.select(m.fn.fcmp("oge", a, m.c(INF)), INF, log2)


def _log2_f64(m: Lanes, a: Value) -> tuple[Value, Value]:
    """log2 a as high + low, to about 2^-66, for a > 0."""
    exponent, t = logarithm.reduce(m, a)
    # s = t / (t + 2) as high + low.
    below, below_low = m.fast_two_sum(m.c(2.0), t)
    inverse = m.div(m.c(1.0), below)
    s = m.mul(t, inverse)
    product, product_low = m.two_product(s, below)
    rest = m.sub(m.sub(m.sub(t, product), product_low), m.mul(s, below_low))
    s_low = m.mul(rest, inverse)
    # log(1 + t) = 2 s (1 + z / 3 + z^2 tail), z = s^2.
    z, z_low = m.two_product(s, s)
    z_low = m.mul_add(m.add(s, s), s_low, z_low)
    third, third_low = m.two_product(z, THIRD_HIGH)
    third_low = m.add(third_low, m.mul_add(z, THIRD_LOW, m.mul(z_low, THIRD_HIGH)))
    series, series_low = m.fast_two_sum(third, m.mul(m.mul(z, z), m.polynomial(z, "LOG_TAIL")))
    series_low = m.add(series_low, third_low)
    double, double_low = m.add(s, s), m.add(s_low, s_low)
    more, more_low = m.two_product(double, series)
    more_low = m.add(more_low, m.mul_add(double, series_low, m.mul(double_low, series)))
    log, log_low = m.fast_two_sum(double, more)
    log_low = m.add(log_low, m.add(double_low, more_low))
    # In base 2, plus the exponent.
    scaled, scaled_low = m.two_product(log, LOG2_E_F64[0])
    scaled_low = m.add(scaled_low, m.mul_add(log, LOG2_E_F64[1], m.mul(log_low, LOG2_E_F64[0])))
    high, low = m.fast_two_sum(exponent, scaled)
    return m.fast_two_sum(high, m.add(low, scaled_low))


def _power_f64(m: Lanes, a: Value, y: Value, y_low: Value | None = None) -> Value:
    """a^(y + y_low) for a >= 0."""
    log2, log2_low = _log2_f64(m, a)
    log2 = _at_ends(m, a, log2)
    product = m.mul(y, log2)
    low = m.add(m.product_error(y, log2, product), m.mul(y, log2_low))
    if y_low is not None:
        low = m.add(low, m.mul(y_low, log2))
    # Where the product is out of range, or infinite, or NaN, its error means nothing.
    moderate = m.less(m.abs(product), 1100.0)
    product, low = m.clamp(product, -1100.0, 1100.0), m.select(moderate, low, 0.0)
    n, integer = m.round_product(product, 1.0)
    r, r_low = m.fast_two_sum(m.sub(product, n), low)
    p = m.mul_add(r, m.polynomial(r, "EXP2"), m.mul(r_low, LN2))
    return exponential.scale(m, p, n, integer)


def fpowi(m: Lanes, x: Value, n: Value) -> Value:
    """A float to an integer power, rounded as powf is. n^0 is 1 for every x."""
    target = m.target

    def body(fn, x: Value, n: Value) -> Value:
        inner = Lanes(fn, x.ty, target)
        y = fn.sitofp(n, F64)
        if inner.is_f32:
            magnitude = _power_f32(inner, inner.abs(x), y)
        else:
            low = fn.sitofp(fn.sub(n, fn.fptosi_sat(y, n.ty)), F64) if bits(n.ty) > 53 else None
            magnitude = _power_f64(inner, inner.abs(x), y, low)
        result = _signed(inner, x, magnitude, fn.trunc(n, "i1"))
        result = inner.select(inner.is_nan(x), x, result)
        return inner.select(fn.icmp("eq", n, 0), 1.0, result)

    name = f"math.fpowi.{m.kind}.i{bits(n.ty)}.v{m.count}"
    callee = outlined(m.fn.module, name, [m.ty, n.ty], m.ty, body)
    return m.fn.call(callee, x, n)


def ipowi(fn, base: Value, exponent: Value) -> Value:
    """Signed integers by squaring, wrapping. A negative exponent gives 0, except for the bases 1 and -1."""
    one = const(1, base.ty)
    negative = fn.icmp("slt", exponent, 0)
    with fn.while_([base, fn.select(negative, 0, exponent), one], name="pow") as loop:
        power, rest, total = loop.carried
        loop.condition(fn.any(fn.icmp("ne", rest, 0)))
        odd = fn.icmp("ne", fn.and_(rest, 1), 0)
        loop.yield_(fn.mul(power, power), fn.lshr(rest, 1), fn.select(odd, fn.mul(total, power), total))
    odd = fn.icmp("ne", fn.and_(exponent, 1), 0)
    alternating = fn.select(odd, base, one)
    reciprocal = fn.select(fn.icmp("eq", base, -1), alternating, 0)
    reciprocal = fn.select(fn.icmp("eq", base, 1), 1, reciprocal)
    return fn.select(negative, reciprocal, loop.results[2])


def cbrt(m: Lanes, x: Value) -> Value:
    """x = u 8^k with u in [1, 8): u^(-1/3) by an iteration of third order, then u times its square,
    corrected."""
    fn = m.fn
    a = m.abs(x)
    subnormal = m.less(a, m.pick(2.0**-126, 2.0**-1022))
    # 2^24, 2^54: multiples of 3 that lift every subnormal.
    lift = m.pick(24, 54)
    scaled = m.select(subnormal, m.mul(a, 2.0**lift), a)
    pattern = m.bits(scaled)
    exponent = fn.sub(fn.lshr(pattern, m.mantissa), m.bias)
    _, k = m.round_product(m.sub(m.int_to_float(exponent), 1.0), 1 / 3)
    below = fn.sub(exponent, fn.mul(k, 3))
    u = m.from_bits(fn.sub(pattern, fn.shl(fn.mul(k, 3), m.mantissa)))
    mantissa = m.from_bits(fn.sub(pattern, fn.shl(exponent, m.mantissa)))
    root = m.select(fn.icmp("eq", below, 1), m.c(2 ** (-1 / 3)), 2 ** (-2 / 3))
    root = m.select(fn.icmp("eq", below, 0), 1.0, root)
    inverse = m.mul(m.polynomial(mantissa, "CBRT"), root)
    for _ in range(m.pick(1, 2)):
        error = m.sub(m.c(1.0), m.mul(m.mul(u, inverse), m.mul(inverse, inverse)))
        step = m.mul(error, m.mul_add(error, 2 / 9, m.c(1 / 3)))
        inverse = m.mul_add(inverse, step, inverse)
    square = m.mul(inverse, inverse)
    y = m.mul(u, square)
    y_square, y_square_low = m.two_product(y, y)
    cube, cube_low = m.two_product(y_square, y)
    rest = m.sub(m.sub(m.sub(u, cube), cube_low), m.mul(y_square_low, y))
    y = m.mul_add(m.mul(rest, square), 1 / 3, y)
    k = m.select(subnormal, fn.sub(k, lift // 3), k)
    result = m.mul(y, m.power_of_two(k))
    usual = fn.and_(fn.fcmp("ogt", a, m.c(0.0)), m.less(a, INF))
    return m.select(usual, m.with_sign_of(result, x), m.add(x, x))
