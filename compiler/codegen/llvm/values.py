"""LLVM types as text, typed SSA values, and exact constants.

A type is LLVM's own spelling ("float", "i32", "ptr", "<16 x float>"), so it prints as it is; the functions
here
answer what its element, lane count and bit width are. A `Value` is a reference text with its type, and the
Python
number when it is an integer constant, which lets the builder fold index arithmetic while it writes.
"""

from __future__ import annotations

import struct
from functools import lru_cache

F16, BF16, F32, F64 = "half", "bfloat", "float", "double"
I1, I8, I16, I32, I64, PTR, VOID = "i1", "i8", "i16", "i32", "i64", "ptr", "void"

FLOAT_BITS = {F16: 16, BF16: 16, F32: 32, F64: 64}
_SUFFIX = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", PTR: "p0"}


class Value:
    """An SSA value or constant: `ref` is what an instruction writes, `ty` its type, `const` an integer's
    number."""

    __slots__ = ("const", "ref", "ty")

    def __init__(self, ref: str, ty: str, const: int | None = None):
        self.ref = ref
        self.ty = ty
        self.const = const

    def __str__(self) -> str:
        return f"{self.ty} {self.ref}"

    __repr__ = __str__

    @property
    def lanes(self) -> int:
        """Lanes of a vector, 1 for a scalar."""
        return lanes(self.ty)

    @property
    def elem(self) -> str:
        """Element type: the type itself for a scalar."""
        return elem(self.ty)

    @property
    def is_constant(self) -> bool:
        return self.ref[0] != "%"


# ---------------------------------------------------------------------------------------------------- types


@lru_cache(maxsize=1024)
def vec(count: int, ty: str) -> str:
    """`count` lanes of `ty`. One lane is the scalar type, so that a generator also works at width 1."""
    return ty if count == 1 else f"<{count} x {ty}>"


@lru_cache(maxsize=1024)
def elem(ty: str) -> str:
    return ty.split(" x ", 1)[1][:-1] if ty[0] == "<" else ty


@lru_cache(maxsize=1024)
def lanes(ty: str) -> int:
    return int(ty[1 : ty.index(" ")]) if ty[0] == "<" else 1


@lru_cache(maxsize=1024)
def bits(ty: str) -> int:
    """Bit width of one element."""
    ty = elem(ty)
    if ty in FLOAT_BITS:
        return FLOAT_BITS[ty]
    if ty == PTR:
        return 64
    return int(ty[1:])


def element_bytes(ty: str) -> int:
    """Bytes of one element in memory."""
    return (bits(ty) + 7) // 8


def is_float(ty: str) -> bool:
    return elem(ty) in FLOAT_BITS


@lru_cache(maxsize=1024)
def with_elem(ty: str, new_elem: str) -> str:
    """The type with as many lanes as `ty` and another element type."""
    return vec(lanes(ty), new_elem)


@lru_cache(maxsize=1024)
def int_like(ty: str) -> str:
    """The integer type of the same width and lanes as `ty`."""
    return vec(lanes(ty), f"i{bits(ty)}")


@lru_cache(maxsize=1024)
def mask_of(ty: str) -> str:
    """The type of a comparison of two `ty`."""
    return vec(lanes(ty), I1)


@lru_cache(maxsize=1024)
def suffix(ty: str) -> str:
    """The type in an overloaded intrinsic's name: f32, v16f32, i64, p0."""
    name = elem(ty)
    name = _SUFFIX.get(name, name)
    return f"v{lanes(ty)}{name}" if ty[0] == "<" else name


# ------------------------------------------------------------------------------------------------ constants


def float_to_bits(value: float, ty: str) -> int:
    """The bit pattern of `value` rounded once, to nearest even, to an element type."""
    if ty == F64:
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if ty == BF16:
        return _to_bf16(value)
    code, width = ("e", "H") if ty == F16 else ("f", "I")
    try:
        return struct.unpack("<" + width, struct.pack("<" + code, value))[0]
    except OverflowError:
        return float_to_bits(float("-inf") if value < 0 else float("inf"), ty)


def _to_bf16(value: float) -> int:
    """Rounds to odd in f32 first, so that the second rounding sees every bit that was lost."""
    single = float_to_bits(value, F32)
    if value != value:
        return (single >> 16) | 0x40
    back = struct.unpack("<f", struct.pack("<I", single))[0]
    if back != value and not single & 1:
        # `single` is the even neighbour; the odd one lies on the other side of `value`.
        single = single - 1 if abs(back) > abs(value) else single + 1
    return ((single + 0x7FFF + ((single >> 16) & 1)) >> 16) & 0xFFFF


def float_from_bits(pattern: int, ty: str) -> Value:
    """A scalar float constant of exactly these bits (NaN payloads too)."""
    if ty == F32:
        sign, exponent, fraction = pattern >> 31, (pattern >> 23) & 0xFF, pattern & 0x7FFFFF
        if exponent == 0xFF:
            wide = (sign << 63) | (0x7FF << 52) | (fraction << 29)
        else:
            wide = float_to_bits(struct.unpack("<f", struct.pack("<I", pattern))[0], F64)
        return Value(f"0x{wide:016X}", ty)
    if ty == F64:
        return Value(f"0x{pattern:016X}", ty)
    return Value(f"0x{'H' if ty == F16 else 'R'}{pattern:04X}", ty)


@lru_cache(maxsize=4096)
def _int_const(value: int, ty: str) -> Value:
    width = bits(ty)
    value &= (1 << width) - 1
    if value >> (width - 1) and width > 1:
        value -= 1 << width
    return Value(str(value) if width > 1 else ("true" if value else "false"), ty, value)


def const(value: int | float | bool, ty: str) -> Value:
    """A constant of any type; a vector type gets the number in every lane. Integers wrap to the width."""
    element = elem(ty)
    if element in FLOAT_BITS:
        # Zeros of both signs are one key in a cache, hence none here.
        scalar = float_from_bits(float_to_bits(float(value), element), element)
    elif element == PTR:
        if value != 0:
            raise ValueError(f"a pointer constant can only be null, not {value}")
        scalar = Value("null", PTR)
    else:
        scalar = _int_const(int(value), element)
    if ty[0] != "<":
        return scalar
    return Value(f"splat ({scalar.ty} {scalar.ref})", ty, scalar.const)


def const_vector(values, element: str) -> Value:
    """A constant vector with a number per lane (a scalar for one lane)."""
    scalars = [const(v, element) for v in values]
    if len(scalars) == 1:
        return scalars[0]
    return Value("<" + ", ".join(map(str, scalars)) + ">", vec(len(scalars), element))


def zero(ty: str) -> Value:
    """All bits zero (+0.0, false, null)."""
    return const(0, ty) if ty[0] != "<" else Value("zeroinitializer", ty, 0 if not is_float(ty) else None)


def poison(ty: str) -> Value:
    return Value("poison", ty)


def iota(count: int, ty: str = I32, start: int = 0, step: int = 1) -> Value:
    """start, start + step, …: a constant vector of `count` lanes."""
    return const_vector(range(start, start + count * step, step) if step else [start] * count, ty)


def i1(value: bool) -> Value:
    return _int_const(int(value), I1)


def i8(value: int) -> Value:
    return _int_const(value, I8)


def i16(value: int) -> Value:
    return _int_const(value, I16)


def i32(value: int) -> Value:
    return _int_const(value, I32)


def i64(value: int) -> Value:
    return _int_const(value, I64)


def f32(value: float) -> Value:
    return const(value, F32)


def f64(value: float) -> Value:
    return const(value, F64)
