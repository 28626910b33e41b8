"""Elementwise arithmetic for the math functions: one type, any number of lanes, with or without FMA.

Enters: a function builder, a type (float or double, scalar or vector) and a target. Leaves: `Lanes`, whose
methods append instructions. What is exact with FMA has a second form here for targets without it (the halves
of a product are split off by masking bits), so the functions above are written once.
"""

from __future__ import annotations

import struct

from ..llvm.values import F32, F64, I32, Value, const, elem, float_to_bits, int_like, lanes, vec, with_elem, zero
from .coefficients import COEFFICIENTS

NAN = float("nan")
INF = float("inf")


class Lanes:
    """Arithmetic on values of one type; Python numbers stand for constants in every lane."""

    __slots__ = ("bias", "count", "fma", "fn", "int_ty", "is_f32", "kind", "magic", "mantissa", "target", "ty")

    def __init__(self, fn, ty: str, target):
        if elem(ty) not in (F32, F64):
            raise TypeError(f"math functions take float or double, not {ty}: extend, round once after")
        self.fn, self.ty, self.target = fn, ty, target
        self.count = lanes(ty)
        self.is_f32 = elem(ty) == F32
        self.kind = "f32" if self.is_f32 else "f64"
        self.int_ty = int_like(ty)
        self.mantissa, self.bias = (23, 127) if self.is_f32 else (52, 1023)
        # Added to a small float, it leaves the nearest integer in the low bits.
        self.magic = 1.5 * 2.0**self.mantissa
        self.fma = target.has_fma

    def wide(self) -> Lanes:
        """The same lanes in f64."""
        return Lanes(self.fn, with_elem(self.ty, F64), self.target)

    def pick(self, f32, f64):
        """What depends on the type."""
        return f32 if self.is_f32 else f64

    # -- arithmetic

    def c(self, number: float) -> Value:
        return const(number, self.ty)

    def add(self, a, b) -> Value:
        return self.fn.fadd(a, b)

    def sub(self, a, b) -> Value:
        return self.fn.fsub(a, b)

    def mul(self, a, b) -> Value:
        return self.fn.fmul(a, b)

    def div(self, a, b) -> Value:
        return self.fn.fdiv(a, b)

    def neg(self, a) -> Value:
        return self.fn.fneg(a)

    def abs(self, a) -> Value:
        return self.fn.fabs(a)

    def sqrt(self, a) -> Value:
        return self.fn.sqrt(a)

    def mul_add(self, a, b, c) -> Value:
        """a * b + c, rounded once where that is one instruction: for steps that bear either."""
        if self.fma:
            return self.fn.fma(a, b, c)
        return self.fn.fadd(self.fn.fmul(a, b), c)

    def polynomial(self, x: Value, name: str, kind: str | None = None) -> Value:
        """A fitted polynomial by Horner's rule."""
        return self._horner(x, COEFFICIENTS[name, kind or self.kind])

    def _horner(self, x: Value, coefficients) -> Value:
        total = self.c(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.mul_add(total, x, coefficient)
        return total

    def polynomial_rest(self, x: Value, name: str) -> tuple[Value, float]:
        """A fitted polynomial as x * rest + constant: rest and constant."""
        coefficients = COEFFICIENTS[name, self.kind]
        return self._horner(x, coefficients[1:]), coefficients[0]

    # -- unevaluated sums: a value as high + low

    def fast_two_sum(self, a, b) -> tuple[Value, Value]:
        """a + b exactly, where |a| >= |b| or a is 0."""
        high = self.add(a, b)
        return high, self.sub(b, self.sub(high, a))

    def two_sum(self, a, b) -> tuple[Value, Value]:
        """a + b exactly, for any order of sizes."""
        high = self.add(a, b)
        part = self.sub(high, a)
        return high, self.add(self.sub(a, self.sub(high, part)), self.sub(b, part))

    def split(self, a: Value) -> tuple[Value, Value]:
        """a as two halves whose products are exact (to 2^-106 in f64)."""
        mask = -(1 << (12 if self.is_f32 else 27))
        high = self.from_bits(self.fn.and_(self.bits(a), mask))
        return high, self.sub(a, high)

    def product_error(self, a: Value, b: Value, product: Value) -> Value:
        """a * b - product, exactly, where product = a * b rounded and nothing underflows."""
        if self.fma:
            return self.fn.fma(a, b, self.neg(product))
        a_high, a_low = self.split(a)
        b_high, b_low = (a_high, a_low) if b is a else self.split(b)
        error = self.sub(self.mul(a_high, b_high), product)
        error = self.add(self.add(error, self.mul(a_high, b_low)), self.mul(a_low, b_high))
        return self.add(error, self.mul(a_low, b_low))

    def two_product(self, a, b) -> tuple[Value, Value]:
        """a * b exactly, as high + low."""
        a, b = (v if isinstance(v, Value) else self.c(v) for v in (a, b))
        high = self.mul(a, b)
        return high, self.product_error(a, b, high)

    # -- bits, comparisons, choice

    def bits(self, a: Value) -> Value:
        return self.fn.bitcast(a, self.int_ty)

    def from_bits(self, a: Value) -> Value:
        return self.fn.bitcast(a, self.ty)

    def pattern(self, number: float) -> int:
        """The bits of a constant, as a signed integer."""
        code, signed = self.pick(("<I", "<i"), ("<Q", "<q"))
        return struct.unpack(signed, struct.pack(code, float_to_bits(number, elem(self.ty))))[0]

    def power_of_two(self, exponent: Value) -> Value:
        """2^exponent for exponents of normal numbers."""
        return self.from_bits(self.fn.shl(self.fn.add(exponent, self.bias), self.mantissa))

    def select(self, condition, a, b) -> Value:
        return self.fn.select(condition, a, b)

    def less(self, a, b) -> Value:
        return self.fn.fcmp("olt", a, b)

    def equal(self, a, b) -> Value:
        return self.fn.fcmp("oeq", a, b)

    def is_nan(self, a: Value) -> Value:
        return self.fn.fcmp("uno", a, a)

    def clamp(self, x: Value, low: float | None, high: float | None) -> Value:
        """x within [low, high]; NaN stays."""
        if low is not None:
            x = self.select(self.less(x, low), low, x)
        if high is not None:
            x = self.select(self.fn.fcmp("ogt", x, high), high, x)
        return x

    def with_sign_of(self, magnitude: Value, sign: Value) -> Value:
        return self.fn.copysign(magnitude, sign)

    def flip_sign(self, a: Value, sign_bits: Value) -> Value:
        """a with the sign bit flipped where the (integer) sign bit is set."""
        return self.from_bits(self.fn.xor(self.bits(a), sign_bits))

    def sign_bit(self, a: Value) -> Value:
        """The sign bit in place, every other bit clear."""
        return self.fn.and_(self.bits(a), -(1 << (self.mantissa + self.bias.bit_length() + 1)))

    # -- conversions between lanes of f32 and f64

    def to_wide(self, a: Value) -> Value:
        return self.fn.fpext(a, F64)

    def from_wide(self, a: Value) -> Value:
        """f64 lanes rounded to this type."""
        return self.fn.cast("fptrunc", a, elem(self.ty))

    # -- AVX-512's instructions on exponents

    @property
    def fills_avx512_register(self) -> bool:
        """Whether `avx512` has a form for these lanes: one register of any size, or 2, 4, … full ones."""
        width = self.count * self.pick(32, 64)
        return self.target.has_avx512 and width >= 128 and width & (width - 1) == 0

    def avx512(self, name: str, *operands: Value) -> Value:
        """scalef (a 2^floor(b)), getexp, getmant: unmasked, rounding as MXCSR says."""
        fn, width = self.fn, self.count * self.pick(32, 64)
        if width > 512:
            half = self.count // 2
            narrow = Lanes(fn, vec(half, elem(self.ty)), self.target)
            parts = [
                narrow.avx512(name, *[fn.slice(v, k, half) if v.ty == self.ty else v for v in operands])
                for k in (0, half)
            ]
            return fn.concat(*parts)
        mask = const(-1, "i16" if self.count == 16 else "i8")
        rounding = [const(4, I32)] if width == 512 else []
        full_name = f"llvm.x86.avx512.mask.{name}.{self.pick('ps', 'pd')}.{width}"
        return fn.call_intrinsic(full_name, self.ty, *operands, zero(self.ty), mask, *rounding)

    # -- nearest integers

    def round_product(self, x: Value, scale: float) -> tuple[Value, Value]:
        """n = nearest(x * scale) as a float and as an integer, while |n| < 2^(mantissa - 1)."""
        magic = self.magic
        shifted = self.add(x, magic) if scale == 1.0 else self.mul_add(x, scale, self.c(magic))
        return self.sub(shifted, magic), self.fn.sub(self.bits(shifted), self.pattern(magic))

    def int_to_float(self, n: Value) -> Value:
        """A small integer (same width as the type, |n| < 2^31) as a float.

        Before AVX-512 there is no vector instruction for 64-bit integers: the low bits of a large float hold
        it.
        """
        if self.is_f32 or self.target.has_avx512 or not self.target.is_x86:
            return self.fn.sitofp(n, elem(self.ty))
        return self.sub(self.from_bits(self.fn.add(n, self.pattern(self.magic))), self.magic)
