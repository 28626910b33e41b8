"""The complex dialect: complex numbers on scalars.

%0 = complex.create %re, %im : complex<f32>
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith_attributes import FastMathFlagsAttr
from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, FloatAttr
from pyiree.compiler.ir.constraints import AnyComplex, AnyFloat, AnyType
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Attr, Operand, OptionalAttr, Result
from pyiree.compiler.ir.traits import Commutative, ConstantLike, Pure, SameOperandsAndResultType
from pyiree.compiler.ir.types import ComplexType, Type, i1

Constants = list[Attribute | None]


class ConstantOp(Op, name="complex.constant"):
    """A complex constant from its two parts.

    %0 = complex.constant [1.000000e+00 : f32, 2.000000e+00 : f32] : complex<f32>
    """

    value: Attr[ArrayAttr]
    result: Result[AnyComplex]
    traits = (Pure, ConstantLike)
    format = "$value attr-dict `:` type($result)"

    def verify_(self) -> None:
        parts = self.value.value
        element = self.result.type.element_type
        if len(parts) != 2 or not all(isinstance(p, FloatAttr) and p.type is element for p in parts):
            raise self.error(f"expects two parts of type {element}")


def _materialize_constant(attribute: Attribute, type: Type, location: Any) -> ConstantOp | None:
    if not isinstance(attribute, ArrayAttr) or not isinstance(type, ComplexType):
        return None
    return ConstantOp(attribute, result=type, location=location)


registry.register_constant_materializer("complex", _materialize_constant)


class CreateOp(Op, name="complex.create"):
    """A complex number from its real and imaginary part."""

    real: Operand[AnyFloat]
    imaginary: Operand[AnyFloat]
    result: Result[AnyComplex]
    traits = (Pure,)
    format = "$real `,` $imaginary attr-dict `:` type($result)"

    def infer_types(self) -> list[Type]:
        return [ComplexType(self.real.type)]

    def fold(self, constants: Constants) -> list[Any] | None:
        real, imaginary = self.real.defining_op, self.imaginary.defining_op
        if isinstance(real, ReOp) and isinstance(imaginary, ImOp) and real.complex is imaginary.complex:
            return [real.complex]
        return None if None in constants else [ArrayAttr(constants)]


class _Part(Op):
    complex: Operand[AnyComplex]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[AnyFloat]
    traits = (Pure,)
    format = "$complex (`fastmath` `` $fastmath^)? attr-dict `:` type($complex)"

    def infer_types(self) -> list[Type]:
        return [self.complex.type.element_type]


class ReOp(_Part, name="complex.re"):
    """The real part."""

    def fold(self, constants: Constants) -> list[Any] | None:
        made = self.complex.defining_op
        if isinstance(made, CreateOp):
            return [made.real]
        return [made.value[0]] if isinstance(made, ConstantOp) else None


class ImOp(_Part, name="complex.im"):
    """The imaginary part."""

    def fold(self, constants: Constants) -> list[Any] | None:
        made = self.complex.defining_op
        if isinstance(made, CreateOp):
            return [made.imaginary]
        return [made.value[1]] if isinstance(made, ConstantOp) else None


class AbsOp(_Part, name="complex.abs"):
    """The magnitude."""


class AngleOp(_Part, name="complex.angle"):
    """The angle."""


class _Unary(Op):
    complex: Operand[AnyComplex]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[AnyComplex]
    traits = (Pure, SameOperandsAndResultType)
    format = "$complex (`fastmath` `` $fastmath^)? attr-dict `:` type($complex)"


class NegOp(_Unary, name="complex.neg"):
    """The negative."""


class ConjOp(_Unary, name="complex.conj"):
    """The conjugate."""


class ExpOp(_Unary, name="complex.exp"):
    """The exponential."""


class Expm1Op(_Unary, name="complex.expm1"):
    """The exponential less one."""


class LogOp(_Unary, name="complex.log"):
    """The natural logarithm."""


class Log1pOp(_Unary, name="complex.log1p"):
    """The logarithm of one more."""


class SinOp(_Unary, name="complex.sin"):
    """The sine."""


class CosOp(_Unary, name="complex.cos"):
    """The cosine."""


class TanOp(_Unary, name="complex.tan"):
    """The tangent."""


class TanhOp(_Unary, name="complex.tanh"):
    """The hyperbolic tangent."""


class SqrtOp(_Unary, name="complex.sqrt"):
    """The square root."""


class RsqrtOp(_Unary, name="complex.rsqrt"):
    """The reciprocal of the square root."""


class SignOp(_Unary, name="complex.sign"):
    """The number over its magnitude."""


class _Binary(Op):
    lhs: Operand[AnyComplex]
    rhs: Operand[AnyComplex]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[AnyComplex]
    traits = (Pure, SameOperandsAndResultType)
    format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class AddOp(_Binary, name="complex.add"):
    """The sum."""

    traits = (Commutative,)


class SubOp(_Binary, name="complex.sub"):
    """The difference."""


class MulOp(_Binary, name="complex.mul"):
    """The product."""

    traits = (Commutative,)


class DivOp(_Binary, name="complex.div"):
    """The quotient."""


class PowOp(_Binary, name="complex.pow"):
    """The power."""


class _Comparison(Op):
    lhs: Operand[AnyComplex]
    rhs: Operand[AnyComplex]
    result: Result[i1]
    traits = (Pure, Commutative)
    format = "$lhs `,` $rhs attr-dict `:` type($lhs)"


class EqualOp(_Comparison, name="complex.eq"):
    """Whether both parts are equal."""


class NotEqualOp(_Comparison, name="complex.neq"):
    """Whether a part differs."""


class BitcastOp(Op, name="complex.bitcast"):
    """The same bits as another type of the same width."""

    operand: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand) `to` type($result)"
