"""Types of the vm dialect: references, and which bank of registers a type lives in.

Enters: the text `!vm.ref<!hal.device>`, `!vm.buffer`, `!vm.list<i32>`. Leaves: the types, `is_ref`, and the codes
and names that calling conventions and type tables use.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.parametrized import DialectType
from pyiree.compiler.ir.types import Type, f32, f64, i32, i64


class OpaqueType(DialectType, name="vm.opaque"):
    """Anything: the element of `!vm.list<?>`, the object of `!vm.ref<?>`."""


def _element_text(printer: Any, element: Type) -> str:
    return "<?>" if isinstance(element, OpaqueType) else f"<{printer.type_text(element)}>"


def _parse_element(parser: Any) -> tuple[Type]:
    parser.parse_punctuation("<")
    element = OpaqueType() if parser.parse_optional("?") else parser.parse_type()
    parser.parse_punctuation(">")
    return (element,)


class RefType(DialectType, name="vm.ref"):
    """A counted reference to an object: `!vm.ref<!hal.device>`, `!vm.ref<?>`."""

    object_type: Type

    def print_parameters(self, printer: Any) -> str:
        return _element_text(printer, self.object_type)

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        return _parse_element(parser)


class BufferType(DialectType, name="vm.buffer"):
    """A reference to bytes of the host."""


class ListType(DialectType, name="vm.list"):
    """A reference to a growable list: `!vm.list<i32>`, `!vm.list<?>`."""

    element_type: Type

    def print_parameters(self, printer: Any) -> str:
        return _element_text(printer, self.element_type)

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        return _parse_element(parser)


#: The code of each value type in calling conventions; references are `r`.
VALUE_CODES = {i32: "i", i64: "I", f32: "f", f64: "F"}


_REFERENCES = frozenset((RefType, BufferType, ListType))


def is_ref(type: Type) -> bool:
    """Whether values of the type live in the reference bank."""
    return type.__class__ in _REFERENCES


def is_vm_type(type: Type) -> bool:
    """Whether a register can hold it."""
    return type in VALUE_CODES or is_ref(type)


def value_code(type: Type) -> str:
    """The type in a calling convention."""
    return VALUE_CODES.get(type) or "r"


def table_name(type: Type) -> str:
    """The type in a module's type table: a value type, or the object that a reference is to."""
    if isinstance(type, RefType):
        return table_name(type.object_type)
    return "!vm.list" if isinstance(type, ListType) else str(type)
