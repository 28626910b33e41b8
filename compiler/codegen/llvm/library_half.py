"""Conversions between half or bfloat and wider floats in integer arithmetic, rounding to nearest even."""

from __future__ import annotations

from .function import Function
from .rounding import round_to_bfloat, round_to_odd_float
from .values import BF16, F16, F32, F64, I16, I32, Value, const

_REBIAS = (127 - 15) << 23  # between the exponent biases of float and half, in a float's bits


def truncate_to_bfloat(f: Function, x: Value) -> Value:
    return f.bitcast(round_to_bfloat(f, x), BF16)


def truncate_to_half(f: Function, x: Value) -> Value:
    """float or double to half; the payload's upper bits of a NaN stay, made quiet."""
    if x.ty == F64:
        x = round_to_odd_float(f, x)
    word = f.bitcast(x, I32)
    sign = f.and_(f.lshr(word, 16), 0x8000)
    size = f.and_(word, 0x7FFFFFFF)
    # Normal results: rebias, then round off 13 bits; a carry runs into the exponent, up to infinity.
    rebiased = f.sub(size, _REBIAS)
    odd = f.and_(f.lshr(rebiased, 13), 1)
    normal = f.lshr(f.add(f.add(rebiased, 0xFFF), odd), 13)
    # Subnormal results: the last place of 0.5 is that of half's subnormals, so an addition rounds.
    shifted = f.bitcast(f.fadd(f.bitcast(size, F32), 0.5), I32)
    subnormal = f.sub(shifted, 0x3F000000)
    nan = f.or_(f.and_(f.lshr(size, 13), 0x3FF), 0x7E00)
    result = f.select(f.icmp("ult", size, 0x38800000), subnormal, normal)
    result = f.select(f.icmp("uge", size, 0x47800000), const(0x7C00, I32), result)
    result = f.select(f.icmp("ugt", size, 0x7F800000), nan, result)
    return f.bitcast(f.trunc(f.or_(result, sign), I16), F16)


def extend_half(f: Function, x: Value) -> Value:
    """half to float, exact."""
    word = f.zext(f.bitcast(x, I16), I32)
    sign = f.shl(f.and_(word, 0x8000), 16)
    size = f.and_(word, 0x7FFF)
    wide = f.shl(size, 13)
    normal = f.add(wide, _REBIAS)
    subnormal = f.bitcast(f.fmul(f.uitofp(size, F32), 2.0**-24), I32)
    special = f.or_(wide, 0x7F800000)
    quiet = f.or_(special, 0x400000)
    result = f.select(f.icmp("ult", size, 0x400), subnormal, normal)
    result = f.select(f.icmp("uge", size, 0x7C00), special, result)
    result = f.select(f.icmp("ugt", size, 0x7C00), quiet, result)
    return f.bitcast(f.or_(result, sign), F32)
