"""Reduction of large arguments modulo pi / 2, close enough for any double: integer arithmetic on scalars.

2 / pi is a table of bits. Of x = M 2^e only the 192 bits of 2 / pi matter whose product with M neither is a
multiple of 4 nor falls below the last bit needed: the product modulo 2^192 has the quadrant on top and the
fraction under it.
"""

from __future__ import annotations

from ..llvm.values import F64, I64, Value, const
from .lanes import Lanes

# A word of zeros, then the bits of 2 / pi: enough for the largest double.
TWO_OVER_PI_WORDS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip
PI_2_HIGH = float.fromhex("0x1.921fb54442d18p+0")
PI_2_LOW = float.fromhex("0x1.1a62633145c07p-54")
TABLE = "math.two_over_pi"
WIDE = "i128"


def reduce(m: Lanes, a: Value) -> tuple[Value, Value, Value]:
    """A scalar f64 a >= 2^20: r as high + low in [-pi / 4, pi / 4], and the quadrant (i64). Infinity gives
    NaN."""
    fn = m.fn
    bits = m.bits(a)
    fraction = fn.or_(fn.and_(bits, (1 << 52) - 1), 1 << 52)
    start = fn.sub(fn.umin(fn.lshr(bits, 52), 2046), 1075 - 62)
    first, second, third = _window(fn, _table(fn.module), start)
    # fraction * window modulo 2^192, from its lowest word up.
    low = _product(fn, fraction, third)
    middle = fn.add(_product(fn, fraction, second), fn.lshr(low, 64))
    middle_word = fn.trunc(middle, I64)
    top = fn.add(fn.mul(fraction, first), fn.trunc(fn.lshr(middle, 64), I64))
    low_word = fn.trunc(low, I64)
    # The fraction as a signed number: from one half on the next quadrant is nearer.
    high_bits = fn.intrinsic("fshl", top, middle_word, const(2, I64))
    low_bits = fn.intrinsic("fshl", middle_word, low_word, const(2, I64))
    sign = fn.ashr(high_bits, 63)
    quadrant = fn.sub(fn.lshr(top, 62), sign)
    value = fn.or_(fn.shl(fn.zext(high_bits, WIDE), 64), fn.zext(low_bits, WIDE))
    wide_sign = fn.sext(sign, WIDE)
    magnitude = fn.sub(fn.xor(value, wide_sign), wide_sign)
    leading = fn.call_intrinsic("llvm.ctlz.i128", WIDE, magnitude, const(0, "i1"))
    normal = fn.shl(magnitude, leading)
    shift = fn.trunc(leading, I64)
    top_word = fn.trunc(fn.lshr(normal, 64), I64)
    bottom_word = fn.trunc(normal, I64)
    head = m.mul(fn.sitofp(fn.lshr(top_word, 11), F64), m.power_of_two(fn.sub(-53, shift)))
    rest_bits = fn.lshr(fn.intrinsic("fshl", top_word, bottom_word, const(53, I64)), 1)
    rest = m.mul(fn.sitofp(rest_bits, F64), m.power_of_two(fn.sub(-53 - 63, shift)))
    # (head + rest) pi / 2, with the sign; a - a is 0, or NaN for infinity.
    product, error = m.two_product(head, PI_2_HIGH)
    error = m.add(error, m.add(m.mul(head, PI_2_LOW), m.mul(rest, PI_2_HIGH)))
    r, r_low = m.fast_two_sum(product, error)
    flip = fn.and_(sign, -(1 << 63))
    return m.add(m.flip_sign(r, flip), m.sub(a, a)), m.flip_sign(r_low, flip), quadrant


def _table(module) -> Value:
    reference = f"@{TABLE} = "
    if not any(line.startswith(reference) for line in module.globals):
        return module.constant_array(TABLE, I64, TWO_OVER_PI_WORDS)
    return Value(f"@{TABLE}", "ptr")


def _window(fn, table: Value, start: Value) -> list[Value]:
    """192 bits of the table from bit `start`, most significant word first."""
    index, shift = fn.lshr(start, 6), fn.and_(start, 63)
    words = [fn.load(I64, fn.gep(table, fn.add(index, k), I64)) for k in range(4)]
    return [fn.intrinsic("fshl", words[k], words[k + 1], shift) for k in range(3)]


def _product(fn, a: Value, b: Value) -> Value:
    """64 x 64 -> 128 bits."""
    return fn.mul(fn.zext(a, WIDE), fn.zext(b, WIDE))
