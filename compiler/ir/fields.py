"""Field kinds of op declarations: what an annotation in an op class means.

What enters: annotations such as `lhs: Operand[FloatLike]` or `sync: OptionalUnitAttr`. What leaves: specifications
that `definition.py` turns into accessors, constructor parameters and checks, and `format.py` into text.

An attribute field is either raw (`Attr[X]`: reads as the attribute itself) or a property (`…Prop`, `SymbolName`,
`OptionalUnitAttr`: reads and takes plain Python values such as str, int, bool, Type or tuples).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from pyiree.compiler.ir.constraints import TypeConstraint, constraint

ONE, OPTIONAL, VARIADIC = "one", "optional", "variadic"


class FieldSpec:
    """Base of what an annotation evaluates to."""

    __slots__ = ()


class ValueSpec(FieldSpec):
    """Operands or results: a constraint and how many."""

    __slots__ = ("arity", "constraint", "is_result")

    def __init__(self, kind: TypeConstraint, arity: str, is_result: bool) -> None:
        self.constraint = kind
        self.arity = arity
        self.is_result = is_result


class _ValueField:
    arity = ONE
    is_result = False

    def __class_getitem__(cls, item: Any) -> ValueSpec:
        return ValueSpec(constraint(item), cls.arity, cls.is_result)


class Operand(_ValueField):
    """One operand."""


class OptionalOperand(_ValueField):
    """An operand or none."""

    arity = OPTIONAL


class Variadic(_ValueField):
    """Any number of operands."""

    arity = VARIADIC


class Result(_ValueField):
    """One result."""

    is_result = True


class OptionalResult(_ValueField):
    """A result or none."""

    arity = OPTIONAL
    is_result = True


class Results(_ValueField):
    """Any number of results."""

    arity = VARIADIC
    is_result = True


class RegionSpec(FieldSpec):
    """One region, or any number of them at the end."""

    __slots__ = ("variadic",)

    def __init__(self, variadic: bool) -> None:
        self.variadic = variadic


class SuccessorSpec(FieldSpec):
    """One successor block, or any number of them at the end."""

    __slots__ = ("variadic",)

    def __init__(self, variadic: bool) -> None:
        self.variadic = variadic


RegionField = RegionSpec(False)
VariadicRegion = RegionSpec(True)
Successor = SuccessorSpec(False)
VariadicSuccessor = SuccessorSpec(True)


class AttrSpec(FieldSpec):
    """An attribute: its class, and how it maps to Python values and to text.

    `to_python` and `from_python` are None where the field reads as the raw attribute. `style` tells the format
    engine how `$field` is written: "attribute", "integer", "string", "symbol_name", "type", "unit", "stripped",
    "keyword".
    """

    __slots__ = ("attr_class", "from_python", "optional", "style", "to_python", "value_type")

    def __init__(
        self,
        attr_class: Any,
        optional: bool = False,
        to_python: Callable[[Any], Any] | None = None,
        from_python: Callable[[Any], Attribute] | None = None,
        style: str = "attribute",
        value_type: Any = None,
    ) -> None:
        self.attr_class = attr_class
        self.optional = optional
        self.to_python = to_python
        self.from_python = from_python
        self.style = style
        self.value_type = value_type

    def as_optional(self) -> AttrSpec:
        """The same attribute, allowed to be absent."""
        return AttrSpec(self.attr_class, True, self.to_python, self.from_python, self.style, self.value_type)


class Attr:
    """A required attribute of a class (or of any of a tuple or union of classes)."""

    optional = False

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        spec = item.field_spec() if hasattr(item, "field_spec") else AttrSpec(item)
        return spec.as_optional() if cls.optional else spec


class OptionalAttr(Attr):
    """An attribute that may be absent (None)."""

    optional = True


def _int_spec(value_type: Any) -> AttrSpec:
    return AttrSpec(
        IntegerAttr, False, lambda a: a.value, lambda v: IntegerAttr(v, value_type), "integer", value_type
    )


class IntProp:
    """`IntProp[i64]`: an integer attribute of that type, read as an int."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return _int_spec(item)


class OptionalIntProp:
    """`OptionalIntProp[i64]`: an int or None."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return _int_spec(item).as_optional()


class TypeProp:
    """`TypeProp[FunctionType]`: a type attribute, read as the type."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return AttrSpec(TypeAttr, False, lambda a: a.value, TypeAttr, "type", item)


class OptionalTypeProp:
    """`OptionalTypeProp[TensorType]`: a type or None."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return TypeProp[item].as_optional()


class IntArrayProp:
    """`IntArrayProp[i64]`: `array<i64: …>`, read as a tuple of ints and written `[1, 2]` in formats."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return AttrSpec(DenseArrayAttr, False, tuple, lambda v: DenseArrayAttr(item, v), "int_array", item)


class OptionalIntArrayProp:
    """`OptionalIntArrayProp[i64]`: a tuple of ints or None."""

    def __class_getitem__(cls, item: Any) -> AttrSpec:
        return IntArrayProp[item].as_optional()


def _symbol_ref(value: str) -> SymbolRefAttr:
    return SymbolRefAttr(*value.split("::@"))


#: A string attribute, read as str.
StringProp = AttrSpec(StringAttr, False, lambda a: a.value, StringAttr, "string")
OptionalStringProp = StringProp.as_optional()
#: The name of a symbol, read as str and written `@name`.
SymbolName = AttrSpec(StringAttr, False, lambda a: a.value, StringAttr, "symbol_name")
OptionalSymbolName = SymbolName.as_optional()
#: A reference to a symbol, read as the attribute; a str is taken as `root` or `root::@nested`.
SymbolRef = AttrSpec(SymbolRefAttr, False, None, _symbol_ref, "attribute")
OptionalSymbolRef = SymbolRef.as_optional()
#: Present or not, read as bool.
OptionalUnitAttr = AttrSpec(UnitAttr, True, lambda a: True, lambda v: UnitAttr() if v else None, "unit")
#: `true` or `false`, read as bool.
BoolProp = AttrSpec(IntegerAttr, False, lambda a: a.value != 0, lambda v: IntegerAttr(int(v), T.i1), "integer", T.i1)
OptionalBoolProp = BoolProp.as_optional()

