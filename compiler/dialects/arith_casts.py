"""The conversions of the arith dialect: between integers, index and floats, on scalars, vectors and tensors.

%0 = arith.extf %a : bf16 to f32
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.scalar_folding import float_to_integer, integer_to_float, signed, unsigned
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.constraints import FloatLike, SignlessIntegerLike
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Operand, Result
from pyiree.compiler.ir.traits import Pure, SameOperandsAndResultShape
from pyiree.compiler.ir.types import element_type_of

Constants = list[Attribute | None]


class _Cast(Op):
    traits = (Pure, SameOperandsAndResultShape)
    format = "$in attr-dict `:` type($in) `to` type($out)"


class _IntegerCast(_Cast):
    in_: Operand[SignlessIntegerLike]
    out: Result[SignlessIntegerLike]


class ExtSIOp(_IntegerCast, name="arith.extsi"):
    """Widens, keeping the sign."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_integer(self, constants, signed)

    def verify_(self) -> None:
        _check_wider(self)


class ExtUIOp(_IntegerCast, name="arith.extui"):
    """Widens with zeros."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_integer(self, constants, unsigned)

    def verify_(self) -> None:
        _check_wider(self)


class TruncIOp(_IntegerCast, name="arith.trunci"):
    """Keeps the low bits."""

    def fold(self, constants: Constants) -> list[Any] | None:
        widened = self.in_.defining_op
        if isinstance(widened, ExtSIOp | ExtUIOp) and widened.in_.type is self.out.type:
            return [widened.in_]
        return _fold_integer(self, constants, unsigned)

    def verify_(self) -> None:
        if element_type_of(self.in_.type).width <= element_type_of(self.out.type).width:
            raise self.error(f"doesn't narrow {self.in_.type} to {self.out.type}")


class IndexCastOp(_IntegerCast, name="arith.index_cast"):
    """Between index and an integer; widening keeps the sign."""

    def fold(self, constants: Constants) -> list[Any] | None:
        inner = self.in_.defining_op
        # Through index and back: index holds every integer that it came from.
        if isinstance(inner, IndexCastOp) and inner.in_.type is self.out.type and inner.out.type.is_index:
            return [inner.in_]
        return _fold_integer(self, constants, signed)


class IndexCastUIOp(_IntegerCast, name="arith.index_castui"):
    """Between index and an integer; widening fills with zeros."""

    def fold(self, constants: Constants) -> list[Any] | None:
        inner = self.in_.defining_op
        if isinstance(inner, IndexCastUIOp) and inner.in_.type is self.out.type and inner.out.type.is_index:
            return [inner.in_]
        return _fold_integer(self, constants, unsigned)


class ExtFOp(_Cast, name="arith.extf"):
    """Widens a float, exactly."""

    in_: Operand[FloatLike]
    out: Result[FloatLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_float(self, constants)


class TruncFOp(_Cast, name="arith.truncf"):
    """Rounds to a narrower float, to nearest even."""

    in_: Operand[FloatLike]
    out: Result[FloatLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        widened = self.in_.defining_op
        if isinstance(widened, ExtFOp) and widened.in_.type is self.out.type:
            return [widened.in_]
        return _fold_float(self, constants)


class SIToFPOp(_Cast, name="arith.sitofp"):
    """A signed integer as the nearest float."""

    in_: Operand[SignlessIntegerLike]
    out: Result[FloatLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_to_float(self, constants, signed)


class UIToFPOp(_Cast, name="arith.uitofp"):
    """An unsigned integer as the nearest float."""

    in_: Operand[SignlessIntegerLike]
    out: Result[FloatLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_to_float(self, constants, unsigned)


class FPToSIOp(_Cast, name="arith.fptosi"):
    """A float towards zero as a signed integer; undefined out of range."""

    in_: Operand[FloatLike]
    out: Result[SignlessIntegerLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_to_integer(self, constants, True)


class FPToUIOp(_Cast, name="arith.fptoui"):
    """A float towards zero as an unsigned integer; undefined out of range."""

    in_: Operand[FloatLike]
    out: Result[SignlessIntegerLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        return _fold_to_integer(self, constants, False)


class BitcastOp(_Cast, name="arith.bitcast"):
    """The same bits as another type of the same width."""

    in_: Operand[SignlessIntegerLike | FloatLike]
    out: Result[SignlessIntegerLike | FloatLike]

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.in_.type is self.out.type:
            return [self.in_]
        inner = self.in_.defining_op
        if isinstance(inner, BitcastOp) and inner.in_.type is self.out.type:
            return [inner.in_]
        constant, target = constants[0], self.out.type
        if isinstance(constant, FloatAttr) and target.is_integer:
            return [IntegerAttr(constant.bits, target)]
        if isinstance(constant, IntegerAttr) and target.is_float:
            return [FloatAttr.from_bits(constant.value, target)]
        return None

    def verify_(self) -> None:
        if element_type_of(self.in_.type).width != element_type_of(self.out.type).width:
            raise self.error(f"reads {self.in_.type} as {self.out.type}, which has another width")


def _check_wider(op: Any) -> None:
    if element_type_of(op.in_.type).width >= element_type_of(op.out.type).width:
        raise op.error(f"doesn't widen {op.in_.type} to {op.out.type}")


def _fold_integer(op: Any, constants: Constants, read: Any) -> list[Any] | None:
    constant = constants[0]
    if not isinstance(constant, IntegerAttr):
        return None
    return [IntegerAttr(read(constant.value, constant.type), op.out.type)]


def _fold_float(op: Any, constants: Constants) -> list[Any] | None:
    constant = constants[0]
    return [FloatAttr(constant.value, op.out.type)] if isinstance(constant, FloatAttr) else None


def _fold_to_float(op: Any, constants: Constants, read: Any) -> list[Any] | None:
    constant = constants[0]
    if not isinstance(constant, IntegerAttr):
        return None
    value = integer_to_float(read(constant.value, constant.type), op.out.type)
    return None if value is None else [value]


def _fold_to_integer(op: Any, constants: Constants, is_signed: bool) -> list[Any] | None:
    constant = constants[0]
    if not isinstance(constant, FloatAttr):
        return None
    value = float_to_integer(constant, op.out.type, is_signed)
    return None if value is None else [value]
