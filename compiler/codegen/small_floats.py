"""Floats of eight bits and less: conversions from and to f32, in integer and float instructions.

Enters: vectors of bytes, or of f32. Leaves: the other. Every format is described by its mantissa, exponent bias and
what it has for infinity and NaN; all arithmetic on them is done in f32 and rounded once, to nearest even. A byte
holds one number, whatever the format's width.
"""

from __future__ import annotations

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .llvm import values as lv
from .llvm.function import Function


@dataclass(frozen=True)
class Format:
    """One format. `infinite`: the top exponent is infinity and NaN, as in IEEE's; otherwise it holds numbers. `nan` is
    the code of NaN without sign, None where there is none; `unsigned_zero` formats have one zero, and NaN is the code
    of the other."""

    mantissa: int
    bias: int
    infinite: bool
    nan: int | None
    unsigned_zero: bool = False
    width: int = 8

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        """The code of infinity; of NaN where there is none, of the largest number where that is missing too."""
        if self.infinite:
            return ((1 << (self.width - 1 - self.mantissa)) - 1) << self.mantissa
        return self.largest if self.nan is None else self.nan

    @property
    def largest(self) -> int:
        """The code of the largest finite number."""
        if self.infinite:
            return self.infinity - 1
        return self.sign - 1 if self.unsigned_zero or self.nan is None else self.nan - 1


#: Exponents alone: powers of two from 2**-127 to 2**127, without sign and zero.
SCALE = "f8E8M0FNU"

FORMATS = {
    "f8E5M2": Format(2, 15, True, 0x7E),
    "f8E4M3": Format(3, 7, True, 0x7C),
    "f8E3M4": Format(4, 3, True, 0x78),
    "f8E4M3FN": Format(3, 7, False, 0x7F),
    "f8E5M2FNUZ": Format(2, 16, False, 0x80, True),
    "f8E4M3FNUZ": Format(3, 8, False, 0x80, True),
    "f8E4M3B11FNUZ": Format(3, 11, False, 0x80, True),
    "f6E2M3FN": Format(3, 1, False, None, width=6),
    "f6E3M2FN": Format(2, 3, False, None, width=6),
    "f4E2M1FN": Format(1, 1, False, None, width=4),
    SCALE: Format(0, 127, False, 0xFF),
}


def extend(fn: Function, x: lv.Value, elem: str) -> lv.Value:
    """A byte as f32: its magnitude is put where f32 has exponent and mantissa, and scaled by the biases' difference,
    which is exact for subnormals too."""
    kind = FORMATS[elem]
    code = fn.zext(x, lv.I32)
    if elem == SCALE:
        bits = fn.select(fn.icmp("eq", code, 0), 0x00400000, fn.shl(code, 23))
        return fn.bitcast(fn.select(fn.icmp("eq", code, kind.nan), 0x7FC00000, bits), lv.F32)
    magnitude = fn.and_(code, kind.sign - 1)
    scaled = fn.fmul(fn.bitcast(fn.shl(magnitude, 23 - kind.mantissa), lv.F32), 2.0 ** (127 - kind.bias))
    bits = fn.bitcast(scaled, lv.I32)
    if kind.infinite:
        special = fn.or_(fn.shl(magnitude, 23 - kind.mantissa), 0x7F800000)
        bits = fn.select(fn.icmp("uge", magnitude, kind.infinity), special, bits)
    elif not kind.unsigned_zero and kind.nan is not None:
        bits = fn.select(fn.icmp("eq", magnitude, kind.nan), 0x7FC00000, bits)
    bits = fn.or_(bits, fn.shl(fn.and_(code, kind.sign), 32 - kind.width))
    if kind.unsigned_zero:
        bits = fn.select(fn.icmp("eq", code, kind.nan), 0x7FC00000, bits)
    return fn.bitcast(bits, lv.F32)


def truncate(fn: Function, x: lv.Value, elem: str) -> lv.Value:
    """f32 as a byte, to nearest even; what is too large becomes infinity, or NaN where there is none. A format without
    NaN has the largest number instead of infinity, and -0 instead of NaN, whatever its sign."""
    if elem == SCALE:
        return _truncate_scale(fn, x)
    kind = FORMATS[elem]
    drop = 23 - kind.mantissa
    bits = fn.bitcast(x, lv.I32)
    magnitude = fn.and_(bits, 0x7FFFFFFF)
    odd = fn.and_(fn.lshr(magnitude, drop), 1)
    rounded = fn.lshr(fn.add(magnitude, fn.add(odd, (1 << (drop - 1)) - 1)), drop)
    code = fn.sub(rounded, (127 - kind.bias) << kind.mantissa)
    # Below the least normal number the code counts steps of the least subnormal one. Adding 2**23 rounds to a whole
    # number of steps, to nearest even.
    steps = fn.fmul(fn.bitcast(magnitude, lv.F32), 2.0 ** (kind.bias - 1 + kind.mantissa))
    whole = fn.sub(fn.bitcast(fn.fadd(steps, 2.0**23), lv.I32), 0x4B000000)
    subnormal = fn.icmp("ult", magnitude, (128 - kind.bias) << 23)
    code = fn.select(subnormal, whole, code)
    code = fn.select(fn.icmp("sgt", code, kind.largest), kind.infinity, code)
    is_nan = fn.icmp("ugt", magnitude, 0x7F800000)
    code = fn.select(is_nan, kind.sign if kind.nan is None else kind.nan, code)
    if not kind.infinite:
        code = fn.select(fn.icmp("eq", magnitude, 0x7F800000), kind.infinity, code)
    sign = fn.and_(fn.lshr(bits, 32 - kind.width), kind.sign)
    if kind.unsigned_zero:
        sign = fn.select(fn.icmp("eq", code, 0), 0, sign)
    return fn.trunc(fn.or_(code, sign), lv.I8)


def _truncate_scale(fn: Function, x: lv.Value) -> lv.Value:
    """The power of two next to a positive number, of two the larger one; zero and negative numbers are NaN."""
    bits = fn.bitcast(x, lv.I32)
    rounded = fn.lshr(fn.add(bits, 0x00400000), 23)
    least = fn.zext(fn.icmp("uge", bits, 0x00600000), lv.I32)  # the middle between 2**-127 and 2**-126
    code = fn.select(fn.icmp("ult", bits, 0x00800000), least, rounded)
    # Less one, zero is above infinity as an integer, as negative numbers are.
    code = fn.select(fn.icmp("uge", fn.sub(bits, 1), 0x7F7FFFFF), FORMATS[SCALE].nan, code)
    return fn.trunc(code, lv.I8)
