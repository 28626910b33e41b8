"""exp, exp2, expm1, tanh, sinh, cosh.

x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite, two constants), e^r = 1 + r + r^2 q(r), scaled by 2^n in
the exponent. expm1 keeps the rounding error of r, since there 1 may cancel; sinh and tanh have polynomials
near 0.
"""

from __future__ import annotations

from ..llvm.values import Value
from .lanes import Lanes

LOG2_E = float.fromhex("0x1.71547652b82fep+0")
# The high part has enough zero bits at its end for n * high to be exact; both parts are positive, so that n
# may be
# infinite in a logarithm.
LN2_F32 = float.fromhex("0x1.62ep-1"), float.fromhex("0x1.0bfbe8p-15")
LN2_F64 = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")


def reduce(m: Lanes, x: Value) -> tuple[Value, Value, Value]:
    """x = n ln 2 + r: gives r, n and n as an integer. |x| must be moderate."""
    high, low = m.pick(LN2_F32, LN2_F64)
    n, exponent = m.round_product(x, LOG2_E)
    return m.mul_add(n, -low, m.mul_add(n, -high, x)), n, exponent


def reduce_in_two(m: Lanes, x: Value) -> tuple[Value, Value, Value]:
    """r as high + low, and n as an integer."""
    high, low = m.pick(LN2_F32, LN2_F64)
    n, exponent = m.round_product(x, LOG2_E)
    first = m.mul_add(n, -high, x)
    if m.fma:
        r = m.fn.fma(n, -low, first)
        return r, m.fn.fma(n, -low, m.sub(first, r)), exponent
    step = m.mul(n, low)
    r = m.sub(first, step)
    return r, m.sub(m.sub(first, r), step), exponent


def scale(m: Lanes, p: Value, n: Value, exponent: Value) -> Value:
    """(1 + p) 2^n with overflow to infinity and gradual underflow."""
    if m.fills_avx512_register:
        return m.avx512("scalef", m.add(p, 1.0), n)
    half = m.fn.ashr(exponent, 1)
    rest = m.fn.sub(exponent, half)
    first = m.power_of_two(half)
    return m.mul(m.mul_add(p, first, first), m.power_of_two(rest))


def exp(m: Lanes, x: Value) -> Value:
    x = m.clamp(x, m.pick(-104.0, -746.0), m.pick(89.0, 710.0))
    r, n, exponent = reduce(m, x)
    p = m.mul_add(m.mul(r, r), m.polynomial(r, "EXP"), r)
    return scale(m, p, n, exponent)


def exp2(m: Lanes, x: Value) -> Value:
    x = m.clamp(x, m.pick(-151.0, -1076.0), m.pick(129.0, 1025.0))
    n, exponent = m.round_product(x, 1.0)
    r = m.sub(x, n)
    return scale(m, m.mul(r, m.polynomial(r, "EXP2")), n, exponent)


def expm1(m: Lanes, x: Value) -> Value:
    """2^n (r + tail) + (2^n - 1), at half scale so that 2^n itself does not overflow."""
    r, rest, exponent = reduce_in_two(m, m.clamp(x, m.pick(-18.0, -38.0), m.pick(89.0, 710.0)))
    tail = m.mul_add(m.mul(r, r), m.polynomial(r, "EXP"), rest)
    power = m.power_of_two(m.fn.sub(exponent, 1))
    half = m.mul_add(power, tail, m.mul_add(power, r, m.sub(power, 0.5)))
    # Where n is 0, down to subnormals, nothing but r and its tail is left.
    result = m.select(m.fn.icmp("eq", exponent, 0), m.add(r, tail), m.add(half, half))
    return m.with_sign_of(result, x)


def exp2_plain(m: Lanes, shifted: Value, r: Value) -> Value:
    """2^(n + r) within the normal numbers, n being in the low bits of `shifted`: added to the exponent as an
    integer. NaN is lost."""
    power = m.mul_add(r, m.polynomial(r, "EXP2"), m.c(1.0))
    return m.from_bits(m.fn.add(m.bits(power), m.fn.shl(m.bits(shifted), m.mantissa)))


def _exp_plain(m: Lanes, x: Value, shift: int) -> Value:
    """e^x / 2^shift where neither it nor 2^(n - shift) leaves the normal numbers."""
    r, _, exponent = reduce(m, x)
    p = m.mul_add(m.mul(r, r), m.polynomial(r, "EXP"), r)
    power = m.power_of_two(m.fn.sub(exponent, shift))
    return m.mul_add(p, power, power)


def _odd_near_zero(m: Lanes, a: Value, name: str) -> Value:
    z = m.mul(a, a)
    return m.mul_add(m.mul(a, z), m.polynomial(z, name), a)


def tanh(m: Lanes, x: Value) -> Value:
    """A polynomial up to 0.55, then 1 - 2 / (e^(2 |x|) + 1), where errors of the power shrink."""
    a = m.abs(x)
    bounded = m.clamp(a, None, m.pick(9.1, 20.0))
    shifted = m.mul_add(bounded, 2 * LOG2_E, m.c(m.magic))
    n = m.sub(shifted, m.magic)
    power = exp2_plain(m, shifted, m.mul_add(bounded, 2 * LOG2_E, m.neg(n)))
    far = m.sub(m.c(1.0), m.div(m.c(2.0), m.add(power, 1.0)))
    # Unordered too: NaN does not survive the sum of exponents.
    near = m.fn.fcmp("ult", a, m.c(0.55))
    return m.with_sign_of(m.select(near, _odd_near_zero(m, a, "TANH"), far), x)


def sinh(m: Lanes, x: Value) -> Value:
    """A polynomial up to 1, then (q - (1 / 16) / q) times two, q = e^|x| / 4: no early overflow."""
    a = m.abs(x)
    quarter = _exp_plain(m, m.clamp(a, None, m.pick(89.5, 710.6)), 2)
    far = m.sub(quarter, m.div(m.c(0.0625), quarter))
    return m.with_sign_of(m.select(m.less(a, 1.0), _odd_near_zero(m, a, "SINH"), m.add(far, far)), x)


def cosh(m: Lanes, x: Value) -> Value:
    """(q + (1 / 16) / q) times two, q = e^|x| / 4."""
    quarter = _exp_plain(m, m.clamp(m.abs(x), None, m.pick(89.5, 710.6)), 2)
    total = m.add(quarter, m.div(m.c(0.0625), quarter))
    return m.add(total, total)
