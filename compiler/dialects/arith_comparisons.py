"""Comparisons and selection of the arith dialect, on scalars, vectors and tensors.

%0 = arith.cmpf olt, %a, %b : f32
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith_attributes import (
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    CmpFPredicate,
    CmpIPredicate,
    FastMathFlagsAttr,
)
from pyiree.compiler.dialects.scalar_folding import is_all_ones, is_one, is_zero, signed, unsigned
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.constraints import AnyType, BoolLike, FloatLike, SignlessIntegerLike
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Operand, OptionalAttr, Result
from pyiree.compiler.ir.traits import Elementwise, Pure, SameTypeOperands
from pyiree.compiler.ir.types import Type, VectorType, i1

Constants = list[Attribute | None]


class CmpIOp(Op, name="arith.cmpi"):
    """Integer comparison.

    %0 = arith.cmpi slt, %a, %b : i32
    """

    predicate: CmpIPredicate
    lhs: Operand[SignlessIntegerLike]
    rhs: Operand[SignlessIntegerLike]
    result: Result[BoolLike]
    traits = (Pure, Elementwise, SameTypeOperands)
    format = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)"

    def infer_types(self) -> list[Type]:
        return [boolean_like(self.lhs.type)]

    def fold(self, constants: Constants) -> list[Any] | None:
        name = self.predicate
        lhs, rhs = constants
        if self.lhs is self.rhs and getattr(self.lhs.type, "shape", None) is None:
            return [IntegerAttr(int(name in ("eq", "sle", "sge", "ule", "uge")), i1)]
        if not (isinstance(lhs, IntegerAttr) and isinstance(rhs, IntegerAttr)):
            if self.lhs.type.is_i1 and (
                (name == "ne" and is_zero(rhs)) or (name == "eq" and is_all_ones(rhs))
            ):
                return [self.lhs]
            return None
        read = unsigned if name.startswith("u") else signed
        a, b = read(lhs.value, lhs.type), read(rhs.value, rhs.type)
        return [IntegerAttr(int(INTEGER_PREDICATES[name](a, b)), i1)]


class CmpFOp(Op, name="arith.cmpf"):
    """Float comparison; the predicate says what NaN gives.

    %0 = arith.cmpf olt, %a, %b : f32
    """

    predicate: CmpFPredicate
    lhs: Operand[FloatLike]
    rhs: Operand[FloatLike]
    fastmath: OptionalAttr[FastMathFlagsAttr]
    result: Result[BoolLike]
    traits = (Pure, Elementwise, SameTypeOperands)
    format = "$predicate `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"

    def infer_types(self) -> list[Type]:
        return [boolean_like(self.lhs.type)]

    def fold(self, constants: Constants) -> list[Any] | None:
        lhs, rhs = constants
        if not (isinstance(lhs, FloatAttr) and isinstance(rhs, FloatAttr)):
            return None
        return [IntegerAttr(int(FLOAT_PREDICATES[self.predicate](lhs.value, rhs.value)), i1)]


class SelectOp(Op, name="arith.select"):
    """One of two values by a condition.

    %0 = arith.select %c, %a, %b : f32
    """

    condition: Operand[BoolLike]
    true_value: Operand[AnyType]
    false_value: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure,)

    def infer_types(self) -> list[Type]:
        return [self.true_value.type]

    @classmethod
    def parse(cls, parser: Any) -> Any:
        at = parser.start
        operands = parser.parse_operands()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_type_list()
        condition = types[0] if len(types) == 2 else i1
        parser.resolve_all(operands, [condition, types[-1], types[-1]], at)
        return cls(*operands, attributes=attributes)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.names(self.operands)}")
        printer.print_attr_dict(self)
        shaped_condition = "" if self.condition.type is i1 else f"{printer.type_text(self.condition.type)}, "
        printer.emit(f" : {shaped_condition}{printer.type_text(self.result.type)}")

    def verify_(self) -> None:
        if not self.true_value.type is self.false_value.type is self.result.type:
            raise self.error(f"chooses between {self.true_value.type} and {self.false_value.type}")

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.true_value is self.false_value:
            return [self.true_value]
        condition = constants[0]
        if isinstance(condition, IntegerAttr):
            return [self.true_value if condition.value else self.false_value]
        if self.result.type.is_i1 and is_one(constants[1]) and is_zero(constants[2]):
            return [self.condition]
        if constants[1] is not None and constants[1] is constants[2]:
            return [constants[1]]
        return None


def boolean_like(type: Type) -> Type:
    """i1 in the shape of `type`."""
    if isinstance(type, VectorType):
        return VectorType(type.shape, i1, type.scalable)
    return type.with_element_type(i1) if hasattr(type, "with_element_type") else i1
