"""The math dialect: element-wise functions on floats and integers.

%0 = math.tanh %a : f32

Only functions whose value is exact or correctly rounded are folded (absolute value, rounding, square root, bit
counts); the others are left to the code that will compute them, so that a constant gives the same bits as data.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any, ClassVar

from pyiree.compiler.dialects.arith import boolean_like
from pyiree.compiler.dialects.arith_attributes import FastMathFlagsAttr
from pyiree.compiler.dialects.scalar_folding import fold_float, signed, unsigned
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.constraints import BoolLike, FloatLike, SignlessIntegerLike
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Operand, OptionalAttr, Result
from pyiree.compiler.ir.traits import Elementwise, Pure, SameOperandsAndResultShape, SameOperandsAndResultType

Constants = list[Attribute | None]


class _FloatUnary(Op):
    operand: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _ExactUnary(_FloatUnary):
    compute: ClassVar[Callable[[float], float]]

    def fold(self, constants: Constants) -> list[Any] | None:
        value = fold_float(type(self).compute, constants[0])
        return None if value is None else [value]


def _keeping_specials(function: Callable[[float], float]) -> Callable[[float], float]:
    """NaN, infinities and zeros are themselves; other results keep the operand's sign (ceil(-0.5) is -0.0)."""

    def compute(value: float) -> float:
        if value == 0.0 or not python_math.isfinite(value):
            return value
        return python_math.copysign(float(function(value)), value)

    return compute


def _round_half_away(value: float) -> float:
    floor = python_math.floor(abs(value))
    return floor + (1 if abs(value) - floor >= 0.5 else 0)


class AbsFOp(_FloatUnary, name="math.absf"):
    """The float without its sign."""

    def fold(self, constants: Constants) -> list[Any] | None:
        inner = self.operand.defining_op
        if isinstance(inner, AbsFOp):
            return [self.operand]
        constant = constants[0]
        if not isinstance(constant, FloatAttr):
            return None
        return [FloatAttr.from_bits(constant.bits & ~(1 << (constant.type.width - 1)), constant.type)]


class CeilOp(_ExactUnary, name="math.ceil"):
    """Rounds up to an integer."""

    compute = _keeping_specials(python_math.ceil)


class FloorOp(_ExactUnary, name="math.floor"):
    """Rounds down to an integer."""

    compute = _keeping_specials(python_math.floor)


class RoundOp(_ExactUnary, name="math.round"):
    """Rounds to the nearest integer, halves away from zero."""

    compute = _keeping_specials(_round_half_away)


class RoundEvenOp(_ExactUnary, name="math.roundeven"):
    """Rounds to the nearest integer, halves to even."""

    compute = _keeping_specials(round)


class TruncOp(_ExactUnary, name="math.trunc"):
    """Rounds towards zero to an integer."""

    compute = _keeping_specials(python_math.trunc)


class SqrtOp(_ExactUnary, name="math.sqrt"):
    """The square root."""

    compute = staticmethod(
        lambda value: python_math.sqrt(value) if value >= 0.0 else python_math.nan
    )


def _float_function(class_name: str, mnemonic: str, meaning: str) -> type:
    """A function of one float that isn't folded."""
    namespace = {"__doc__": meaning, "__module__": __name__, "__qualname__": class_name}
    return type(_FloatUnary)(class_name, (_FloatUnary,), namespace, name=f"math.{mnemonic}")


AcosOp = _float_function("AcosOp", "acos", "The arc cosine.")
AcoshOp = _float_function("AcoshOp", "acosh", "The inverse hyperbolic cosine.")
AsinOp = _float_function("AsinOp", "asin", "The arc sine.")
AsinhOp = _float_function("AsinhOp", "asinh", "The inverse hyperbolic sine.")
AtanOp = _float_function("AtanOp", "atan", "The arc tangent.")
AtanhOp = _float_function("AtanhOp", "atanh", "The inverse hyperbolic tangent.")
CbrtOp = _float_function("CbrtOp", "cbrt", "The cube root.")
CosOp = _float_function("CosOp", "cos", "The cosine.")
CoshOp = _float_function("CoshOp", "cosh", "The hyperbolic cosine.")
ErfOp = _float_function("ErfOp", "erf", "The error function.")
ErfcOp = _float_function("ErfcOp", "erfc", "The complement of the error function.")
ExpOp = _float_function("ExpOp", "exp", "The exponential.")
Exp2Op = _float_function("Exp2Op", "exp2", "Two to a power.")
ExpM1Op = _float_function("ExpM1Op", "expm1", "The exponential less one, exact near zero.")
LogOp = _float_function("LogOp", "log", "The natural logarithm.")
Log10Op = _float_function("Log10Op", "log10", "The decimal logarithm.")
Log1pOp = _float_function("Log1pOp", "log1p", "The logarithm of one more, exact near zero.")
Log2Op = _float_function("Log2Op", "log2", "The binary logarithm.")
RsqrtOp = _float_function("RsqrtOp", "rsqrt", "The reciprocal of the square root.")
SinOp = _float_function("SinOp", "sin", "The sine.")
SinhOp = _float_function("SinhOp", "sinh", "The hyperbolic sine.")
TanOp = _float_function("TanOp", "tan", "The tangent.")
TanhOp = _float_function("TanhOp", "tanh", "The hyperbolic tangent.")


class _FloatBinary(Op):
    lhs: Operand[FloatLike]
    rhs: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class Atan2Op(_FloatBinary, name="math.atan2"):
    """The angle of the point (rhs, lhs)."""


class CopySignOp(_FloatBinary, name="math.copysign"):
    """The magnitude of the first with the sign of the second."""

    def fold(self, constants: Constants) -> list[Any] | None:
        lhs, rhs = constants
        if not (isinstance(lhs, FloatAttr) and isinstance(rhs, FloatAttr)):
            return None
        sign = 1 << (lhs.type.width - 1)
        return [FloatAttr.from_bits((lhs.bits & ~sign) | (rhs.bits & sign), lhs.type)]


class PowFOp(_FloatBinary, name="math.powf"):
    """The first to the power of the second."""


class FPowIOp(Op, name="math.fpowi"):
    """A float to an integer power.

    %0 = math.fpowi %a, %n : f32, i32
    """

    lhs: Operand[FloatLike]
    rhs: Operand[SignlessIntegerLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, SameOperandsAndResultShape)
    format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"

    def infer_types(self) -> list[Any]:
        return [self.lhs.type]


class FmaOp(Op, name="math.fma"):
    """a * b + c with one rounding."""

    a: Operand[FloatLike]
    b: Operand[FloatLike]
    c: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _FloatClass(Op):
    operand: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[BoolLike]
    traits = (Pure, SameOperandsAndResultShape)
    format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"
    holds: ClassVar[Callable[[float], bool]]

    def infer_types(self) -> list[Any]:
        return [boolean_like(self.operand.type)]

    def fold(self, constants: Constants) -> list[Any] | None:
        if not isinstance(constants[0], FloatAttr):
            return None
        return [IntegerAttr(int(type(self).holds(constants[0].value)), self.result.type)]


class IsFiniteOp(_FloatClass, name="math.isfinite"):
    """Whether it is neither infinite nor NaN."""

    holds = python_math.isfinite


class IsInfOp(_FloatClass, name="math.isinf"):
    """Whether it is infinite."""

    holds = python_math.isinf


class IsNaNOp(_FloatClass, name="math.isnan"):
    """Whether it is NaN."""

    holds = python_math.isnan


class _IntegerUnary(Op):
    operand: Operand[SignlessIntegerLike]
    result: Result[SignlessIntegerLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = "$operand attr-dict `:` type($result)"
    compute: ClassVar[Callable[[int, Any], int]]

    def fold(self, constants: Constants) -> list[Any] | None:
        constant = constants[0]
        if not isinstance(constant, IntegerAttr):
            return None
        return [IntegerAttr(type(self).compute(constant.value, constant.type), constant.type)]


class AbsIOp(_IntegerUnary, name="math.absi"):
    """The magnitude of a signed integer; INT_MIN is its own."""

    compute = staticmethod(lambda value, type: abs(signed(value, type)))


class CtPopOp(_IntegerUnary, name="math.ctpop"):
    """The number of bits that are set."""

    compute = staticmethod(lambda value, type: unsigned(value, type).bit_count())


class CountLeadingZerosOp(_IntegerUnary, name="math.ctlz"):
    """The number of zero bits above the highest one."""

    compute = staticmethod(lambda value, type: type.width - unsigned(value, type).bit_length())


class CountTrailingZerosOp(_IntegerUnary, name="math.cttz"):
    """The number of zero bits below the lowest one."""

    @staticmethod
    def compute(value: int, type: Any) -> int:
        bits = unsigned(value, type)
        return (bits & -bits).bit_length() - 1 if bits else type.width
