"""The arith dialect: integers, floats and their conversions, on scalars, vectors and tensors of them.

Folds keep IEEE semantics: floats are never reassociated, and an identity is used only where it holds for every
value (`x + -0.0`, `x - 0.0`, `x * 1.0`). Integers wrap; division by zero stays in the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pyiree.compiler.dialects.arith_attributes import (
    FastMathFlagsAttr,
    IntegerOverflowFlagsAttr,
)
from pyiree.compiler.dialects.arith_casts import (  # noqa: F401  (this module is the whole dialect)
    BitcastOp,
    ExtFOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    IndexCastUIOp,
    SIToFPOp,
    TruncFOp,
    TruncIOp,
    UIToFPOp,
)
from pyiree.compiler.dialects.arith_comparisons import (  # noqa: F401  (this module is the whole dialect)
    CmpFOp,
    CmpIOp,
    SelectOp,
    boolean_like,
)
from pyiree.compiler.dialects.scalar_folding import (
    divide_float,
    divide_towards_zero,
    fold_float,
    fold_signed,
    fold_unsigned,
    is_all_ones,
    is_float,
    is_one,
    is_zero,
    maximum_float,
    minimum_float,
    remainder_towards_zero,
    unsigned,
)
from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.constraints import AnyType, FloatLike, SignlessIntegerLike
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Attr, Operand, OptionalAttr, Result
from pyiree.compiler.ir.traits import (
    Commutative,
    ConstantLike,
    Elementwise,
    Pure,
    SameOperandsAndResultType,
)
from pyiree.compiler.ir.types import Type

_BINARY = "$lhs `,` $rhs attr-dict `:` type($result)"
_BINARY_OVERFLOW = "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"
_BINARY_FAST = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

Constants = list[Attribute | None]


class ConstantOp(Op, name="arith.constant"):
    """A constant number, or dense elements.

    %cst = arith.constant 1.500000e+00 : f32
    """

    value: Attr[Attribute]
    result: Result[AnyType]
    traits = (Pure, ConstantLike)
    format = "attr-dict $value"

    def infer_types(self) -> list[Type]:
        return [self.value.type]

    def verify_(self) -> None:
        type = getattr(self.value, "type", None)
        if type is not self.result.type:
            raise self.error(f"has a value of type {type}, but results in {self.result.type}")

    def fold(self, constants: Constants) -> list[Any]:
        return [self.value]

    def result_names(self) -> list[str]:
        """`c4`, `c4_i32`, `true`, `cst`: as MLIR names them."""
        value = self.value
        if not isinstance(value, IntegerAttr):
            return ["cst"]
        if value.type.is_i1:
            return ["true" if value.value else "false"]
        suffix = "" if value.type.is_index else f"_{value.type}"
        return [f"c{value.value}{suffix}"]


class _IntegerBinary(Op):
    lhs: Operand[SignlessIntegerLike]
    rhs: Operand[SignlessIntegerLike]
    result: Result[SignlessIntegerLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = _BINARY


class AddIOp(_IntegerBinary, name="arith.addi"):
    """The wrapping sum."""

    overflowFlags: OptionalAttr[IntegerOverflowFlagsAttr]
    traits = (Commutative,)
    format = _BINARY_OVERFLOW

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_zero(constants[1]):
            return [self.lhs]
        if is_zero(constants[0]):
            return [self.rhs]
        minus = self.lhs.defining_op
        if isinstance(minus, SubIOp) and minus.rhs is self.rhs:
            return [minus.lhs]
        return _one(fold_unsigned(lambda a, b: a + b, *constants))


class SubIOp(_IntegerBinary, name="arith.subi"):
    """The wrapping difference."""

    overflowFlags: OptionalAttr[IntegerOverflowFlagsAttr]
    format = _BINARY_OVERFLOW

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_zero(constants[1]):
            return [self.lhs]
        if self.lhs is self.rhs and _is_scalar(self.lhs.type):
            return [IntegerAttr(0, self.lhs.type)]
        plus = self.lhs.defining_op
        if isinstance(plus, AddIOp):
            if plus.rhs is self.rhs:
                return [plus.lhs]
            if plus.lhs is self.rhs:
                return [plus.rhs]
        return _one(fold_unsigned(lambda a, b: a - b, *constants))


class MulIOp(_IntegerBinary, name="arith.muli"):
    """The wrapping product."""

    overflowFlags: OptionalAttr[IntegerOverflowFlagsAttr]
    traits = (Commutative,)
    format = _BINARY_OVERFLOW

    def fold(self, constants: Constants) -> list[Any] | None:
        for constant, other in ((constants[1], self.lhs), (constants[0], self.rhs)):
            if is_one(constant):
                return [other]
            if is_zero(constant):
                return [constant]
        return _one(fold_unsigned(lambda a, b: a * b, *constants))


class DivSIOp(_IntegerBinary, name="arith.divsi"):
    """Signed division towards zero; undefined by zero and for INT_MIN / -1."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]) and not self.lhs.type.is_i1:
            return [self.lhs]
        return _one(_fold_signed_division(divide_towards_zero, constants))


class DivUIOp(_IntegerBinary, name="arith.divui"):
    """Unsigned division; undefined by zero."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]):
            return [self.lhs]
        return _one(fold_unsigned(divide_towards_zero, *constants))


class CeilDivSIOp(_IntegerBinary, name="arith.ceildivsi"):
    """Signed division towards positive infinity."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]) and not self.lhs.type.is_i1:
            return [self.lhs]
        return _one(_fold_signed_division(lambda a, b: -(-a // b) if b else None, constants))


class CeilDivUIOp(_IntegerBinary, name="arith.ceildivui"):
    """Unsigned division rounded up."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]):
            return [self.lhs]
        return _one(fold_unsigned(lambda a, b: -(-a // b) if b else None, *constants))


class FloorDivSIOp(_IntegerBinary, name="arith.floordivsi"):
    """Signed division towards negative infinity."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]) and not self.lhs.type.is_i1:
            return [self.lhs]
        return _one(_fold_signed_division(lambda a, b: a // b if b else None, constants))


class RemSIOp(_IntegerBinary, name="arith.remsi"):
    """The signed remainder, with the sign of the dividend; undefined by zero."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]) and not self.lhs.type.is_i1:
            return [IntegerAttr(0, self.lhs.type)] if _is_scalar(self.lhs.type) else None
        return _one(_fold_signed_division(remainder_towards_zero, constants))


class RemUIOp(_IntegerBinary, name="arith.remui"):
    """The unsigned remainder; undefined by zero."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_one(constants[1]) and _is_scalar(self.lhs.type):
            return [IntegerAttr(0, self.lhs.type)]
        return _one(fold_unsigned(remainder_towards_zero, *constants))


class AndIOp(_IntegerBinary, name="arith.andi"):
    """Bitwise and."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.lhs is self.rhs:
            return [self.lhs]
        for constant, other in ((constants[1], self.lhs), (constants[0], self.rhs)):
            if is_all_ones(constant):
                return [other]
            if is_zero(constant):
                return [constant]
        return _one(fold_unsigned(lambda a, b: a & b, *constants))


class OrIOp(_IntegerBinary, name="arith.ori"):
    """Bitwise or."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.lhs is self.rhs:
            return [self.lhs]
        for constant, other in ((constants[1], self.lhs), (constants[0], self.rhs)):
            if is_zero(constant):
                return [other]
            if is_all_ones(constant):
                return [constant]
        return _one(fold_unsigned(lambda a, b: a | b, *constants))


class XOrIOp(_IntegerBinary, name="arith.xori"):
    """Bitwise exclusive or."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_zero(constants[1]):
            return [self.lhs]
        if is_zero(constants[0]):
            return [self.rhs]
        if self.lhs is self.rhs and _is_scalar(self.lhs.type):
            return [IntegerAttr(0, self.lhs.type)]
        return _one(fold_unsigned(lambda a, b: a ^ b, *constants))


class ShLIOp(_IntegerBinary, name="arith.shli"):
    """Shift left; undefined for amounts of the width or more."""

    overflowFlags: OptionalAttr[IntegerOverflowFlagsAttr]
    format = _BINARY_OVERFLOW

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_shift(self, lambda a, b: a << b, fold_unsigned, constants)


class ShRUIOp(_IntegerBinary, name="arith.shrui"):
    """Logical shift right; undefined for amounts of the width or more."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_shift(self, lambda a, b: a >> b, fold_unsigned, constants)


class ShRSIOp(_IntegerBinary, name="arith.shrsi"):
    """Arithmetic shift right; undefined for amounts of the width or more."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_shift(self, lambda a, b: a >> b, fold_signed, constants)


class _MinMaxI(_IntegerBinary):
    traits = (Commutative,)
    choose: ClassVar[Callable[[int, int], int]]
    folder: ClassVar[Callable[..., IntegerAttr | None]]

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.lhs is self.rhs:
            return [self.lhs]
        cls = type(self)
        return _one(cls.folder(cls.choose, *constants))


class MaxSIOp(_MinMaxI, name="arith.maxsi"):
    """The larger signed integer."""

    choose, folder = max, fold_signed


class MaxUIOp(_MinMaxI, name="arith.maxui"):
    """The larger unsigned integer."""

    choose, folder = max, fold_unsigned


class MinSIOp(_MinMaxI, name="arith.minsi"):
    """The smaller signed integer."""

    choose, folder = min, fold_signed


class MinUIOp(_MinMaxI, name="arith.minui"):
    """The smaller unsigned integer."""

    choose, folder = min, fold_unsigned


class _FloatBinary(Op):
    lhs: Operand[FloatLike]
    rhs: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = _BINARY_FAST


class AddFOp(_FloatBinary, name="arith.addf"):
    """The rounded sum."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_float(constants[1], -0.0):
            return [self.lhs]
        if is_float(constants[0], -0.0):
            return [self.rhs]
        return _one(fold_float(lambda a, b: a + b, *constants))


class SubFOp(_FloatBinary, name="arith.subf"):
    """The rounded difference."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_float(constants[1], 0.0):
            return [self.lhs]
        return _one(fold_float(lambda a, b: a - b, *constants))


class MulFOp(_FloatBinary, name="arith.mulf"):
    """The rounded product."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_float(constants[1], 1.0):
            return [self.lhs]
        if is_float(constants[0], 1.0):
            return [self.rhs]
        return _one(fold_float(lambda a, b: a * b, *constants))


class DivFOp(_FloatBinary, name="arith.divf"):
    """The rounded quotient."""

    def fold(self, constants: Constants) -> list[Any] | None:
        if is_float(constants[1], 1.0):
            return [self.lhs]
        return _one(fold_float(divide_float, *constants))


class RemFOp(_FloatBinary, name="arith.remf"):
    """The exact remainder, with the sign of the dividend."""


class MaximumFOp(_FloatBinary, name="arith.maximumf"):
    """The larger float; NaN wins."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.lhs is self.rhs:
            return [self.lhs]
        return _one(fold_float(maximum_float, *constants))


class MinimumFOp(_FloatBinary, name="arith.minimumf"):
    """The smaller float; NaN wins."""

    traits = (Commutative,)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.lhs is self.rhs:
            return [self.lhs]
        return _one(fold_float(minimum_float, *constants))


class MaxNumFOp(_FloatBinary, name="arith.maxnumf"):
    """The larger float; a number wins over NaN."""

    traits = (Commutative,)


class MinNumFOp(_FloatBinary, name="arith.minnumf"):
    """The smaller float; a number wins over NaN."""

    traits = (Commutative,)


class NegFOp(Op, name="arith.negf"):
    """The float with its sign flipped."""

    operand: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[FloatLike]
    traits = (Pure, Elementwise, SameOperandsAndResultType)
    format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def fold(self, constants: Constants) -> list[Any] | None:
        inner = self.operand.defining_op
        if isinstance(inner, NegFOp):
            return [inner.operand]
        constant = constants[0]
        if isinstance(constant, FloatAttr):
            # The bit, not the number: a NaN keeps its payload.
            return [FloatAttr.from_bits(constant.bits ^ (1 << (constant.type.width - 1)), constant.type)]
        return None


def _is_scalar(type: Type) -> bool:
    return getattr(type, "shape", None) is None


def _one(attribute: Attribute | None) -> list[Any] | None:
    return None if attribute is None else [attribute]


def _fold_signed_division(
    divide: Callable[[int, int], int | None], constants: Constants
) -> IntegerAttr | None:
    """As `fold_signed`, but INT_MIN / -1, which overflows, stays in the program."""

    def guarded(lhs: int, rhs: int) -> int | None:
        return None if rhs == -1 and lhs == smallest else divide(lhs, rhs)

    if not isinstance(constants[0], IntegerAttr):
        return None
    smallest = -(1 << (constants[0].type.width - 1))
    return fold_signed(guarded, *constants)


def _fold_shift(
    op: Any, shift: Callable[[int, int], int], folder: Callable[..., IntegerAttr | None], constants: Constants
) -> list[Any] | None:
    amount = constants[1]
    if is_zero(amount):
        return [op.lhs]
    if not isinstance(amount, IntegerAttr) or unsigned(amount.value, amount.type) >= amount.type.width:
        return None
    places = unsigned(amount.value, amount.type)
    return _one(folder(lambda value, _: shift(value, places), *constants))


def _materialize_constant(attribute: Attribute, type: Type, location: Any) -> ConstantOp | None:
    if getattr(attribute, "type", None) is not type:
        return None
    return ConstantOp(attribute, location=location)


registry.register_constant_materializer("arith", _materialize_constant)
