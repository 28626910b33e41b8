"""Floating point values of every supported width: bits to and from Python floats, and MLIR's way to write them.

What enters: Python floats, or bits with the name of their format. What leaves: correctly rounded bits, exact
floats, and text that reads back to the same bits.
"""

from __future__ import annotations

import struct
from functools import cache
from math import copysign
from typing import Any

_STRUCT = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}
_ML_DTYPES = {
    "bf16": "bfloat16", "f8E5M2": "float8_e5m2", "f8E4M3": "float8_e4m3", "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E3M4": "float8_e3m4", "f8E8M0FNU": "float8_e8m0fnu", "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn", "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip
#: Bits of precision (with the hidden one) of each format, and its total width.
_PRECISION = {
    "f16": (11, 16), "bf16": (8, 16), "f32": (24, 32), "f64": (53, 64), "f8E5M2": (3, 8), "f8E4M3": (4, 8),
    "f8E4M3FN": (4, 8), "f8E5M2FNUZ": (3, 8), "f8E4M3FNUZ": (4, 8), "f8E4M3B11FNUZ": (4, 8), "f8E3M4": (5, 8),
    "f8E8M0FNU": (1, 8), "f6E2M3FN": (4, 6), "f6E3M2FN": (3, 6), "f4E2M1FN": (2, 4),
}  # fmt: skip


@cache
def numpy_float_dtype(name: str) -> Any:
    """The NumPy dtype that stores the float format `name`."""
    import numpy

    if name in _STRUCT:
        return numpy.dtype(name.replace("f", "float"))
    if name not in _ML_DTYPES:
        raise ValueError(f"the float format {name} has no storage type; use f16, bf16, f32 or f64")
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))


def float_to_bits(value: float, name: str) -> int:
    """The bits of `value` rounded to nearest even in the format `name`; overflow gives infinity (or NaN)."""
    formats = _STRUCT.get(name)
    if formats is not None:
        try:
            return struct.unpack(formats[1], struct.pack(formats[0], value))[0]
        except OverflowError:
            return struct.unpack(formats[1], struct.pack(formats[0], float("inf") if value > 0 else float("-inf")))[0]
    if name == "bf16":
        return _float_to_bf16(value)
    import numpy

    with numpy.errstate(over="ignore"):
        return int(numpy.array(value, numpy.float64).astype(numpy_float_dtype(name)).view(numpy.uint8))


def _float_to_bf16(value: float) -> int:
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    if value != value:
        return (bits >> 48 & 0x8000) | 0x7FC0
    single = float_to_bits(value, "f32")
    back = bits_to_float(single, "f32")
    # f32 first would round twice; make the lower half say on which side of a tie the value really lies.
    if single & 0xFFFF == 0x8000 and abs(back) != abs(value):
        single += 1 if abs(value) > abs(back) else -1
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def bits_to_float(bits: int, name: str) -> float:
    """The exact value of `bits` in the format `name`."""
    formats = _STRUCT.get(name)
    if formats is not None:
        return struct.unpack(formats[0], struct.pack(formats[1], bits))[0]
    if name == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    import numpy

    return float(numpy.array(bits, numpy.uint8).view(numpy_float_dtype(name)))


def _digits(value: float, precision: int) -> tuple[bool, str, int]:
    """Sign, decimal digits without trailing zeros, and the exponent of the last digit.

    The digits are those that LLVM prints: it first cuts the exact value to about the wanted precision, then rounds
    half up. A cut number may have no digit left to round by, so this is not the same as rounding once.
    """
    numerator, denominator = abs(value).as_integer_ratio()
    exponent = 0
    if denominator != 1:
        # n / 2^e is n * 5^e / 10^e.
        exponent = -(denominator.bit_length() - 1)
        numerator *= 5**-exponent
    removable = (numerator.bit_length() - (precision * 196 + 58) // 59) * 59 // 196
    if removable > 0:
        numerator //= 10**removable
        exponent += removable
    text = str(numerator)
    spare = len(text.rstrip("0")) - precision
    if spare > 0:
        cut = len(text) - precision
        numerator = numerator // 10**cut + (text[precision] >= "5")
        exponent += cut
        text = str(numerator)
    stripped = text.rstrip("0") or "0"
    return copysign(1, value) < 0, stripped, exponent + len(text) - len(stripped)


def _short(value: float) -> str:
    """At most six significant digits in exponent form: `1.500000e+00`."""
    sign, digits, exponent = _digits(value, 6)
    power = 0 if digits == "0" else exponent + len(digits) - 1
    fraction = digits[1:].ljust(6, "0")
    return f"{'-' if sign else ''}{digits[0]}.{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _long(value: float, precision: int) -> str | None:
    """All digits that the format needs, or None where that has no decimal point."""
    sign, digits, exponent = _digits(value, precision)
    prefix = "-" if sign else ""
    power = exponent + len(digits) - 1
    if exponent >= 0:
        if not (exponent > 3 or len(digits) + exponent > precision):
            return None
    elif power >= 0:
        return f"{prefix}{digits[: power + 1]}.{digits[power + 1 :]}"
    elif -power <= 3:
        return f"{prefix}0.{'0' * (-power - 1)}{digits}"
    return f"{prefix}{digits[0]}.{digits[1:] or '0'}E{'-' if power < 0 else '+'}{abs(power)}"


@cache
def float_text(bits: int, name: str) -> str:
    """MLIR's text of a float: short if that is exact, else all digits, else the bits in hex."""
    if name not in _PRECISION:
        raise ValueError(f"values of type {name} are not supported")
    precision, width = _PRECISION[name]
    value = bits_to_float(bits, name)
    if value - value == 0:
        short = _short(value)
        if float_to_bits(float(short), name) == bits:
            return short
        full = _long(value, 2 + precision * 59 // 196)
        if full is not None and float_to_bits(float(full), name) == bits:
            return full
    return f"0x{bits:0{(width + 3) // 4}X}"
