"""Types and attributes of the util dialect."""

from __future__ import annotations

import math
from typing import Any

from pyiree.compiler.ir.attributes import Attribute, TypedAttr
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.parametrized import DialectAttr, DialectType
from pyiree.compiler.ir.types import Type


class BufferType(DialectType, name="util.buffer"):
    """A byte buffer of the host."""


class ObjectType(DialectType, name="util.object"):
    """Any reference-counted object."""


class VariantType(DialectType, name="util.variant"):
    """A list element of any type; written `?` inside a list type."""


class ListType(DialectType, name="util.list"):
    """A growable list: `!util.list<i32>`, or `!util.list<?>` of anything."""

    element_type: Type

    def print_parameters(self, printer: Any) -> str:
        inner = "?" if isinstance(self.element_type, VariantType) else printer.type_text(self.element_type)
        return f"<{inner}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        element = VariantType() if parser.parse_optional("?") else parser.parse_type()
        parser.parse_punctuation(">")
        return (element,)


class PtrType(DialectType, name="util.ptr"):
    """The address of a global of a type."""

    target_type: Type


class InlineNeverAttr(DialectAttr, name="util.inline.never"):
    """A function or global that is never inlined."""


class InlineAlwaysAttr(DialectAttr, name="util.inline.always"):
    """A function or global that is always inlined."""


class UninitializedAttr(DialectAttr, TypedAttr, name="util.uninitialized"):
    """The initial value of a global whose contents don't matter."""

    type: Type

    def print_parameters(self, printer: Any) -> str:
        return f" : {printer.type_text(self.type)}"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation(":")
        return (parser.parse_type(),)


class CompositeAttr(DialectAttr, name="util.composite"):
    """Constants one after another: `#util.composite<16xi8, [dense<…> : …, …]>`; the size is in bytes."""

    total_length: int
    values: tuple[Attribute, ...]

    def print_parameters(self, printer: Any) -> str:
        lines = "".join([f"\n    {printer.attr_text(value)}," for value in self.values])
        return f"<{self.total_length}xi8, [{lines}\n]>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        length = parser.parse_integer()
        parser.parse_literal("xi8")
        parser.parse_punctuation(",")
        values: list[Attribute] = []
        parser.parse_punctuation("[")
        while not parser.at("]"):
            values.append(parser.parse_attribute())
            if not parser.parse_optional(","):
                break
        parser.parse_punctuation("]")
        parser.parse_punctuation(">")
        return (length, tuple(values))


def storage_size(attribute: Attribute) -> int:
    """The bytes that a constant takes when it is serialized."""
    if isinstance(attribute, CompositeAttr):
        return attribute.total_length
    if isinstance(attribute, DenseElementsAttr):
        return math.prod(attribute.type.shape) * attribute.data.dtype.itemsize
    raise ValueError(f"{attribute} has no storage size")


class IntAssumptionAttr(DialectAttr, name="util.int.assumption"):
    """What is known of an integer: its unsigned bounds and a divisor; any may be absent."""

    umin: Any
    umax: Any
    udiv: Any

    def print_parameters(self, printer: Any) -> str:
        return self.body()

    def body(self) -> str:
        """`<umin = 4, udiv = 2>`."""
        known = [(name, getattr(self, name)) for name in ("umin", "umax", "udiv")]
        return f"<{', '.join([f'{name} = {value}' for name, value in known if value is not None])}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        found: dict[str, int] = {}
        parser.parse_punctuation("<")
        while not parser.at(">"):
            name = parser.parse_one_of(("umin", "umax", "udiv"), "an assumption")
            parser.parse_punctuation("=")
            found[name] = parser.parse_integer()
            if not parser.parse_optional(","):
                break
        parser.parse_punctuation(">")
        return (found.get("umin"), found.get("umax"), found.get("udiv"))
