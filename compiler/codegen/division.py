"""Many numbers divided by one: as exact as the division, in less time.

Enters: a divisor outside of a loop, and in the loop vectors to divide by it. Leaves: quotients, rounded correctly.

The divisor's reciprocal y is rounded correctly, since the processor's division makes it. Then q = x·y, corrected by
what is missing, q + (x - d·q)·y, is one of the two neighbours of the quotient, and corrected once more is the one that
the quotient rounds to (Markstein's theorem), as long as nothing on the way leaves the normal numbers. Vectors with
numbers that are so large or small, with zeros, infinities or NaNs, are divided.
"""

from __future__ import annotations

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .llvm import values as lv
from .target import Target

# Exponents of 2 between which divisor and dividend are: quotients and what is missing of them stay normal.
_EXPONENTS = {"float": (-60, 60), "double": (-500, 500)}
_INTEGERS = {"float": ("i32", 23, 127), "double": ("i64", 52, 1023)}


def is_worth_replacing(ty: str, target: Target) -> bool:
    """Whether a division of this vector type takes longer than the instructions that replace it: of 64 bytes."""
    return lv.elem(ty) in _INTEGERS and target.has_avx512 and lv.lanes(ty) * lv.element_bytes(ty) == 64


@dataclass
class Divisor:
    """A divisor with what is known of it before the loop."""

    number: lv.Value
    negated: lv.Value
    reciprocal: lv.Value
    span: lv.Value
    """How many values above the least number's bits dividends may have: 0 if the divisor is out of range."""

    @classmethod
    def prepare(cls, fn, number: lv.Value) -> Divisor:
        ty = number.ty
        one = lv.const(1.0, ty)
        least, span = _range(lv.elem(ty))
        integers = lv.vec(lv.lanes(ty), _INTEGERS[lv.elem(ty)][0])
        fits = fn.all(fn.icmp("ult", _magnitude_above(fn, number, least), lv.const(span, integers)))
        return cls(
            number, fn.fneg(number), fn.fdiv(one, number),
            fn.select(fits, lv.const(span, integers), lv.const(0, integers)),
        )  # fmt: skip

    def divide(self, fn, x: lv.Value) -> lv.Value:
        """x by the divisor."""
        least, _ = _range(lv.elem(x.ty))
        plain = fn.all(fn.icmp("ult", _magnitude_above(fn, x, least), self.span))
        return fn.if_else(plain, lambda: self._corrected(fn, x), lambda: fn.fdiv(x, self.number), likely=True)

    def _corrected(self, fn, x: lv.Value) -> lv.Value:
        quotient = fn.fmul(x, self.reciprocal)
        for _ in range(2):
            missing = fn.fma(self.negated, quotient, x)
            quotient = fn.fma(missing, self.reciprocal, quotient)
        return quotient


def _range(elem: str) -> tuple[int, int]:
    """The bits of the least magnitude, and how many follow up to the largest."""
    _, digits, bias = _INTEGERS[elem]
    low, high = _EXPONENTS[elem]
    return (low + bias) << digits, (high - low) << digits


def _magnitude_above(fn, x: lv.Value, least: int) -> lv.Value:
    """The bits of |x|, less those of the least magnitude."""
    name, _, _ = _INTEGERS[lv.elem(x.ty)]
    bits = fn.bitcast(x, lv.vec(lv.lanes(x.ty), name))
    sign = 1 << (31 if name == "i32" else 63)
    return fn.sub(fn.and_(bits, sign - 1), least)
