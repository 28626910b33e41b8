"""Rounding a float to bfloat in integer arithmetic: exact for every value, on every target.

The instruction for it (vcvtneps2bf16) flushes subnormals, and older CPUs have none.
"""

from __future__ import annotations

from .values import F16, F32, F64, Value, const, elem, int_like


def round_to_bfloat(f, x: Value) -> Value:
    """The bits of half, float or double (any lanes) as bfloat, in i16: one rounding to nearest even; NaN stays a quiet
    NaN."""
    source = elem(x.ty)
    if source == F16:
        x = f.fpext(x, F32)
    elif source == F64:
        x = round_to_odd_float(f, x)
    word = f.bitcast(x, int_like(x.ty))
    odd = f.and_(f.lshr(word, 16), 1)
    rounded = f.add(f.add(word, 0x7FFF), odd)
    quiet = f.or_(word, 0x400000)
    chosen = f.select(f.fcmp("uno", x, x), quiet, rounded)
    return f.trunc(f.lshr(chosen, 16), "i16")


def round_to_odd_float(f, x: Value) -> Value:
    """double to float such that a second, narrower rounding of the result equals one rounding of `x`."""
    near = f.cast("fptrunc", x, F32)
    back = f.fpext(near, F64)
    word = f.bitcast(near, int_like(near.ty))
    even = f.icmp("eq", f.and_(word, 1), 0)
    inexact = f.fcmp("one", back, x)
    above = f.fcmp("ogt", f.fabs(back), f.fabs(x))
    step = f.select(above, const(-1, word.ty), const(1, word.ty))
    odd = f.select(f.and_(even, inexact), f.add(word, step), word)
    return f.bitcast(odd, near.ty)
