"""Growable lists, in the util dialect.

%0 = util.list.create %n : !util.list<?>
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.util_types import ListType, VariantType
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Operand, OptionalOperand, Result
from pyiree.compiler.ir.traits import MemoryAlloc, MemoryRead, MemoryWrite
from pyiree.compiler.ir.types import IndexType, index

__all__ = ["ListCreateOp", "ListGetOp", "ListResizeOp", "ListSetOp", "ListSizeOp"]


class ListCreateOp(Op, name="util.list.create"):
    """A new list.

    %0 = util.list.create %n : !util.list<?>
    """

    initial_capacity: OptionalOperand[IndexType]
    result: Result[ListType]
    traits = (MemoryAlloc,)
    format = "($initial_capacity^)? attr-dict `:` qualified(type($result))"


class ListSizeOp(Op, name="util.list.size"):
    """How many elements a list has."""

    list: Operand[ListType]
    result: Result[IndexType]
    traits = (MemoryRead,)
    format = "operands attr-dict `:` qualified(type($list))"


class ListResizeOp(Op, name="util.list.resize"):
    """Makes a list longer or shorter."""

    list: Operand[ListType]
    new_size: Operand[IndexType]
    traits = (MemoryWrite,)
    format = "operands attr-dict `:` qualified(type($list))"


class ListGetOp(Op, name="util.list.get"):
    """An element of a list.

    %0 = util.list.get %l[%i] : !util.list<i32>
    """

    list: Operand[ListType]
    index_: Operand[IndexType]
    result: Result[AnyType]
    traits = (MemoryRead,)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.list)}[{printer.name(self.index_)}]")
        printer.print_attr_dict(self)
        element = self.list.type.element_type
        suffix = f" -> {printer.type_text(self.result.type)}" if isinstance(element, VariantType) else ""
        printer.emit(f" : {printer.type_text(self.list.type)}{suffix}")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        operand, position, attributes, type = _parse_list_element(parser)
        result = parser.parse_type() if parser.parse_optional("->") else type.element_type
        return cls(parser.resolve(operand, type), position, result=result, attributes=attributes)


class ListSetOp(Op, name="util.list.set"):
    """Replaces an element of a list.

    util.list.set %l[%i], %0 : !util.list<i32>
    """

    list: Operand[ListType]
    index_: Operand[IndexType]
    value: Operand[AnyType]
    traits = (MemoryWrite,)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.list)}[{printer.name(self.index_)}], {printer.name(self.value)}")
        printer.print_attr_dict(self)
        variant = isinstance(self.list.type.element_type, VariantType)
        prefix = f"{printer.type_text(self.value.type)} -> " if variant else ""
        printer.emit(f" : {prefix}{printer.type_text(self.list.type)}")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        target = parser.parse_operand()
        position = parser.parse_list(lambda: parser.parse_operand(index), "[", "]")[0]
        parser.parse_punctuation(",")
        value = parser.parse_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if parser.parse_optional("->"):
            parser.resolve(value, type)
            type = parser.parse_type()
        else:
            parser.resolve(value, type.element_type)
        return cls(parser.resolve(target, type), position, value, attributes=attributes)


def _parse_list_element(parser: Any) -> tuple[Any, Any, Any, Any]:
    operand = parser.parse_operand()
    position = parser.parse_list(lambda: parser.parse_operand(index), "[", "]")[0]
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    return operand, position, attributes, parser.parse_type()
