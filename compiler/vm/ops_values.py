"""Constants, arithmetic, comparisons, conversions and selections: the regular part of the vm dialect, from tables.

Enters: nothing. Leaves: one op class a row, in `FAMILY_OPS`. The part of a mnemonic that names a type is the type that
it works on; conversions name both.

    %c5 = vm.const.i32 5            %0 = vm.add.i32 %a, %b : i32         %1 = vm.ext.i32.i64.s %0 : i32 -> i64
    %eq = vm.cmp.eq.i64 %a, %b : i64                                     %2 = vm.select.ref %c, %x, %y : !vm.ref<?>
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.fields import AttrSpec, Operand, Result, Variadic
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.registry import register_constant_materializer
from pyiree.compiler.ir.traits import Commutative, ConstantLike, Pure, SameOperandsAndResultType, SameTypeOperands
from pyiree.compiler.ir.types import Type, f32, f64, i32, i64
from pyiree.compiler.vm.folding import fold_value
from pyiree.compiler.vm.ops_base import FAMILY_OPS, AnyRef, VmOp
from pyiree.compiler.vm.pseudo_ops import PSEUDO_OP_PATTERNS

_TYPES: dict[str, Any] = {"i32": i32, "i64": i64, "f32": f32, "f64": f64, "ref": AnyRef}
#: The types in the mnemonics of conversions: narrow integers are held in 32 bits.
_CONVERTED = {**_TYPES, "i8": i32, "i16": i32, "si32": i32, "ui32": i32, "si64": i64, "ui64": i64}

_UNARY = """
    abs.i32 abs.i64 not.i32 not.i64 ctlz.i32 ctlz.i64
    abs.f32 neg.f32 ceil.f32 floor.f32 round.f32 round.f32.even
    atan.f32 cos.f32 sin.f32 exp.f32 exp2.f32 expm1.f32 log.f32 log10.f32 log1p.f32 log2.f32
    rsqrt.f32 sqrt.f32 tanh.f32 erf.f32
    abs.f64 neg.f64 ceil.f64 floor.f64 round.f64 round.f64.even
    atan.f64 cos.f64 sin.f64 exp.f64 exp2.f64 expm1.f64 log.f64 log10.f64 log1p.f64 log2.f64
    rsqrt.f64 sqrt.f64 tanh.f64 erf.f64
"""
_BINARY = """
    sub.i32 div.i32.s div.i32.u rem.i32.s rem.i32.u min.i32.s min.i32.u max.i32.s max.i32.u
    sub.i64 div.i64.s div.i64.u rem.i64.s rem.i64.u min.i64.s min.i64.u max.i64.s max.i64.u
    sub.f32 div.f32 rem.f32 min.f32 max.f32 atan2.f32 pow.f32
    sub.f64 div.f64 rem.f64 min.f64 max.f64 atan2.f64 pow.f64
"""
_COMMUTATIVE = """
    add.i32 mul.i32 and.i32 or.i32 xor.i32
    add.i64 mul.i64 and.i64 or.i64 xor.i64
    add.f32 mul.f32 add.f64 mul.f64
"""
_TERNARY = "fma.i32 fma.i64 fma.f32 fma.f64"
_SHIFTS = "shl.i32 shl.i64 shr.i32.s shr.i32.u shr.i64.s shr.i64.u"
_CONVERSIONS = """
    trunc.i32.i8 trunc.i32.i16 trunc.i64.i32 trunc.f64.f32
    ext.i8.i32.s ext.i8.i32.u ext.i16.i32.s ext.i16.i32.u ext.i32.i64.s ext.i32.i64.u ext.f32.f64
    cast.si32.f32 cast.ui32.f32 cast.si64.f32 cast.ui64.f32
    cast.f32.si32 cast.f32.ui32 cast.f32.si64 cast.f32.ui64
    cast.si64.f64 cast.ui64.f64 cast.f64.si64 cast.f64.ui64
    bitcast.i32.f32 bitcast.f32.i32 bitcast.i64.f64 bitcast.f64.i64
"""
_COMPARISONS = """
    cmp.lt.i32.s cmp.lt.i32.u cmp.lt.i64.s cmp.lt.i64.u
    cmp.lt.f32.o cmp.lt.f32.u cmp.lte.f32.o cmp.lte.f32.u
    cmp.lt.f64.o cmp.lt.f64.u cmp.lte.f64.o cmp.lte.f64.u
"""
_EQUALITIES = """
    cmp.eq.i32 cmp.ne.i32 cmp.eq.i64 cmp.ne.i64 cmp.eq.ref cmp.ne.ref
    cmp.eq.f32.o cmp.eq.f32.u cmp.ne.f32.o cmp.ne.f32.u
    cmp.eq.f64.o cmp.eq.f64.u cmp.ne.f64.o cmp.ne.f64.u
"""
_UNARY_COMPARISONS = "cmp.nz.i32 cmp.nz.i64 cmp.nz.ref cmp.nan.f32 cmp.nan.f64"
#: No instructions: canonicalization writes them with others.
_PSEUDO_CONVERSIONS = """
    trunc.i16.i8 trunc.i64.i8 trunc.i64.i16 ext.i8.i64.s ext.i8.i64.u ext.i16.i64.s ext.i16.i64.u
"""
_PSEUDO_COMPARISONS = """
    cmp.lte.i32.s cmp.lte.i32.u cmp.gt.i32.s cmp.gt.i32.u cmp.gte.i32.s cmp.gte.i32.u
    cmp.lte.i64.s cmp.lte.i64.u cmp.gt.i64.s cmp.gt.i64.u cmp.gte.i64.s cmp.gte.i64.u
    cmp.gt.f32.o cmp.gt.f32.u cmp.gte.f32.o cmp.gte.f32.u
    cmp.gt.f64.o cmp.gt.f64.u cmp.gte.f64.o cmp.gte.f64.u
"""
_PSEUDO_UNARY_COMPARISONS = "cmp.nz.f32.o cmp.nz.f32.u cmp.nz.f64.o cmp.nz.f64.u"

_COMPARISON_NAMES = {"eq.ref": "req", "ne.ref": "rne", "nz.ref": "rnz"}


def _comparison_name(mnemonic: str) -> str:
    """The name of a comparison's result: `slt` for `cmp.lt.i32.s`, none for floats."""
    _, relation, type, *sign = mnemonic.split(".")
    if type.startswith("f"):
        return ""
    return _COMPARISON_NAMES.get(f"{relation}.{type}") or "".join(sign) + relation


# ------------------------------------------------------------------ constants


@directive("BareNumber")
class BareNumber:
    """A float without its type, which the mnemonic names: `5.000000e-01`."""

    @staticmethod
    def print(printer: Any, op: Any, type_name: str, value: FloatAttr) -> None:
        printer.emit(value.bare_text())

    @staticmethod
    def parse(parser: Any, type_name: str) -> Any:
        return parser.parse_number_attribute(_TYPES[type_name])


class _Constant(VmOp):
    """A number written in the program."""

    value: AttrSpec(Attribute)
    result: Result[AnyType]
    traits = (Pure, ConstantLike)

    def result_names(self) -> list[str]:
        if not isinstance(self.value, IntegerAttr):
            return [""]
        return [f"c{self.value.value}" if self.value.value else "zero"]


class _Zero(VmOp):
    """Zero, which takes no bytes in the program."""

    value: AttrSpec(Attribute)
    result: Result[AnyType]
    traits = (Pure, ConstantLike)

    def result_names(self) -> list[str]:
        return ["zero"]

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("value",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        return cls(attributes=parser.parse_optional_attr_dict())


class ConstRefZeroOp(VmOp, name="vm.const.ref.zero"):
    """The null reference of a type.

    %null = vm.const.ref.zero : !vm.ref<!hal.fence>
    """

    result: Result[AnyRef]
    traits = (Pure,)
    format = "`:` type($result) attr-dict"

    def result_names(self) -> list[str]:
        return ["null"]


# ------------------------------------------------------------------ families


class _Unary(VmOp):
    """A function of one value."""

    operand: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure, SameOperandsAndResultType)
    format = "$operand attr-dict `:` type($result)"
    fold = fold_value


class _Binary(VmOp):
    """A function of two values."""

    lhs: Operand[AnyType]
    rhs: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure, SameOperandsAndResultType)
    format = "operands attr-dict `:` type($result)"
    fold = fold_value


class _CommutativeBinary(_Binary):
    """A function of two values that may change places."""

    traits = (Commutative,)


class _Ternary(VmOp):
    """a * b + c."""

    a: Operand[AnyType]
    b: Operand[AnyType]
    c: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure, SameOperandsAndResultType)
    format = "operands attr-dict `:` type($result)"


class _Shift(VmOp):
    """A shift by a number of bits, taken modulo the width."""

    operand: Operand[AnyType]
    amount: Operand[i32]
    result: Result[AnyType]
    traits = (Pure,)
    format = "$operand `,` $amount attr-dict `:` type($operand)"
    fold = fold_value


class _Conversion(VmOp):
    """A value as another type."""

    operand: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand) `->` type($result)"
    fold = fold_value


class _Comparison(VmOp):
    """1 if a relation holds, else 0."""

    lhs: Operand[AnyType]
    rhs: Operand[AnyType]
    result: Result[i32]
    traits = (Pure, SameTypeOperands)
    format = "operands attr-dict `:` type($lhs)"
    fold = fold_value

    def result_names(self) -> list[str]:
        return [_comparison_name(self.name[3:])]


class _Equality(_Comparison):
    """1 if two values are equal (or differ), else 0."""

    traits = (Commutative,)


class _UnaryComparison(VmOp):
    """1 if a value is not zero (or not a number), else 0."""

    operand: Operand[AnyType]
    result: Result[i32]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand)"
    fold = fold_value

    def result_names(self) -> list[str]:
        return [_comparison_name(self.name[3:])]


class _Select(VmOp):
    """The first value if the condition is not 0, else the second."""

    condition: Operand[i32]
    true_value: Operand[AnyType]
    false_value: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure,)
    format = "operands attr-dict `:` type($result)"

    def infer_types(self) -> list[Type]:
        return [self.true_value.type]

    def fold(self, constants: list[Attribute | None]) -> list[Any] | None:
        if isinstance(constants[0], IntegerAttr):
            return [self.true_value if constants[0].value else self.false_value]
        return [self.true_value] if self.true_value is self.false_value else None


class _Switch(VmOp):
    """The value at an index, or the default where the index is outside."""

    index_: Operand[i32]
    default_value: Operand[AnyType]
    values: Variadic[AnyType]
    result: Result[AnyType]
    traits = (Pure,)

    def infer_types(self) -> list[Type]:
        return [self.default_value.type]

    def print(self, printer: Any) -> None:
        index, default = printer.name(self.index_), printer.name(self.default_value)
        printer.emit(f" {index}[{printer.names(self.values)}] else {default}")
        printer.print_attr_dict(self)
        printer.emit(f" : {printer.type_text(self.result.type)}")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        index = parser.parse_operand(i32)
        values = parser.parse_list(parser.parse_operand, "[", "]")
        parser.parse_literal("else")
        default = parser.parse_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        values = [parser.resolve(v, type) for v in values]
        return cls(index, parser.resolve(default, type), values, attributes=attributes)


# ------------------------------------------------------------------ from rows to classes


def _type_of(mnemonic: str) -> Any:
    return next(_TYPES[part] for part in mnemonic.split(".") if part in _TYPES)


def _family(base: Any, rows: str, operands: str, **namespace: Any) -> None:
    """Classes for rows whose named operands (and result, if it is named among them) have the row's type."""
    for mnemonic in rows.split():
        type = _type_of(mnemonic)
        fields = {name: (Result if name == "result" else Operand)[type] for name in operands.split()}
        FAMILY_OPS.add(mnemonic, base, fields, **namespace)


def _conversions(rows: str, **namespace: Any) -> None:
    for mnemonic in rows.split():
        source, target = [_CONVERTED[part] for part in mnemonic.split(".") if part in _CONVERTED]
        FAMILY_OPS.add(mnemonic, _Conversion, {"operand": Operand[source], "result": Result[target]}, **namespace)


def _constants() -> None:
    for name, type in list(_TYPES.items())[:4]:
        attribute, zero = (FloatAttr, FloatAttr(0.0, type)) if type.is_float else (IntegerAttr, IntegerAttr(0, type))
        make = lambda v, a=attribute, t=type: a(v, t)  # noqa: E731
        spec = AttrSpec(attribute, False, None, make, "attribute" if type.is_float else "integer", type)
        fields = {"value": spec, "result": Result[type]}
        number = f'custom<BareNumber>("{name}", $value)' if type.is_float else "$value"
        FAMILY_OPS.add(f"const.{name}", _Constant, fields, format=f"{number} attr-dict")
        FAMILY_OPS.add(f"const.{name}.zero", _Zero, fields, value=zero)


_constants()
_family(_Unary, _UNARY, "operand result")
_family(_Binary, _BINARY, "lhs rhs result")
_family(_CommutativeBinary, _COMMUTATIVE, "lhs rhs result")
_family(_Ternary, _TERNARY, "a b c result")
_family(_Shift, _SHIFTS, "operand result")
_family(_Comparison, _COMPARISONS, "lhs rhs")
_family(_Equality, _EQUALITIES, "lhs rhs")
_family(_UnaryComparison, _UNARY_COMPARISONS, "operand")
_family(_Comparison, _PSEUDO_COMPARISONS, "lhs rhs", canonicalize_patterns=PSEUDO_OP_PATTERNS)
_family(_UnaryComparison, _PSEUDO_UNARY_COMPARISONS, "operand", canonicalize_patterns=PSEUDO_OP_PATTERNS)
_family(_Select, "select.i32 select.i64 select.f32 select.f64 select.ref", "true_value false_value result")
_family(_Switch, "switch.i32 switch.i64 switch.f32 switch.f64 switch.ref", "default_value result")
_conversions(_CONVERSIONS)
_conversions(_PSEUDO_CONVERSIONS, canonicalize_patterns=PSEUDO_OP_PATTERNS)


def constant_op(value: Attribute, type: Type, location: Location) -> Operation | None:
    """The op of a number in one of the VM's types, the short form for zero; None for any other constant."""
    if isinstance(value, IntegerAttr) and type in (i32, i64):
        is_zero = value.value == 0
    elif isinstance(value, FloatAttr) and type in (f32, f64):
        is_zero = value.bits == 0
    else:
        return None
    if is_zero:
        return FAMILY_OPS[f"const.{type}.zero"](location=location)
    return FAMILY_OPS[f"const.{type}"](value, location=location)


register_constant_materializer("vm", constant_op)
