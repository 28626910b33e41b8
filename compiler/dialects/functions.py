"""What `func.func` and `util.func` have in common: signature, attributes of arguments and results, text.

Enters: the fields `sym_name`, `function_type`, `sym_visibility`, `arg_attrs`, `res_attrs` and the body. Leaves: their
text (`public @f(%arg0: t {a = 1}) -> (t {b}) attributes {…} { … }`) and accessors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyiree.compiler.dialects.tied_results import (
    UNTIED,
    tied_operand_indices,
    tied_operands_attr,
    tied_result_text,
)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, TypeAttr
from pyiree.compiler.ir.core import Block, Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import OptionalAttr, OptionalStringProp, SymbolName, TypeProp
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.traits import IsolatedFromAbove, Symbol
from pyiree.compiler.ir.types import FunctionType, Type

_DECLARED = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs", "tied_operands")


class FunctionOp(Op):
    """Base of function ops. A function without a body is a declaration."""

    sym_name: SymbolName
    function_type: TypeProp[FunctionType]
    sym_visibility: OptionalStringProp
    arg_attrs: OptionalAttr[ArrayAttr]
    res_attrs: OptionalAttr[ArrayAttr]
    body: Region
    traits = (IsolatedFromAbove, Symbol)
    #: Whether `public` is written, and whether results may be tied to arguments.
    writes_public = False
    ties_results = False

    @classmethod
    def create(
        cls,
        name: str,
        inputs: Sequence[Type],
        results: Sequence[Type],
        visibility: str | None = None,
        location: Location = UNKNOWN,
        attributes: dict[str, Attribute] | None = None,
    ) -> Any:
        """A function with an entry block that has its arguments."""
        return cls(
            sym_name=name,
            function_type=FunctionType(inputs, results),
            sym_visibility=visibility,
            body=Block(inputs),
            location=location,
            attributes=attributes,
        )

    @property
    def is_declaration(self) -> bool:
        """Whether there is no body."""
        return self.body.is_empty

    @property
    def entry_block(self) -> Block:
        """The first block."""
        return self.body.entry

    @property
    def is_public(self) -> bool:
        """Whether other modules see it."""
        return self.sym_visibility in (None, "public")

    def argument_attributes(self, index: int) -> DictAttr:
        """The attributes of an argument."""
        return DictAttr() if self.arg_attrs is None else self.arg_attrs[index]

    def result_attributes(self, index: int) -> DictAttr:
        """The attributes of a result."""
        return DictAttr() if self.res_attrs is None else self.res_attrs[index]

    def set_argument_attributes(self, attributes: Sequence[Mapping[str, Attribute]]) -> None:
        """Replaces the attributes of all arguments."""
        self.arg_attrs = _attributes_of(attributes)

    def set_result_attributes(self, attributes: Sequence[Mapping[str, Attribute]]) -> None:
        """Replaces the attributes of all results."""
        self.res_attrs = _attributes_of(attributes)

    def tied_indices(self) -> list[int]:
        """For each result the number of the argument it is tied to, or -1."""
        return tied_operand_indices(self.properties.get("tied_operands"), len(self.function_type.results))

    def verify_(self) -> None:
        if self.is_declaration:
            return
        if tuple(self.entry_block.argument_types) != tuple(self.function_type.inputs):
            raise self.error(f"has a body over {self.entry_block.argument_types}, but type {self.function_type}")

    def print(self, printer: Any) -> None:
        visibility = self.sym_visibility
        if visibility is not None and (visibility != "public" or self.writes_public):
            printer.emit(f" {visibility}")
        elif self.writes_public:
            printer.emit(" public")
        printer.emit(" ")
        printer.print_symbol(self.sym_name)
        self._print_arguments(printer)
        self._print_results(printer)
        printer.print_attr_dict(self, _DECLARED, keyword=True)
        printer.print_optional_region(self.body, arguments=False)

    def _print_arguments(self, printer: Any) -> None:
        printer.emit("(")
        inputs = self.function_type.inputs
        if self.is_declaration:
            parts = []
            for i, type in enumerate(inputs):
                attributes = self.argument_attributes(i)
                suffix = f" {printer.dict_text(attributes.items())}" if len(attributes) else ""
                prefix = f"%arg{i}: " if self.ties_results else ""
                parts.append(f"{prefix}{printer.type_text(type)}{suffix}")
            printer.emit(", ".join(parts))
        else:
            printer.name_region_arguments(self.body)
            for i, argument in enumerate(self.entry_block.arguments):
                if i:
                    printer.emit(", ")
                attributes = self.argument_attributes(i)
                printer.print_argument(argument, attributes if len(attributes) else None)
        printer.emit(")")

    def _print_results(self, printer: Any) -> None:
        results = self.function_type.results
        if not results:
            return
        parts = []
        has_attributes = False
        for i, (type, tied) in enumerate(zip(results, self.tied_indices())):
            attributes = self.result_attributes(i)
            suffix = f" {printer.dict_text(attributes.items())}" if len(attributes) else ""
            has_attributes = has_attributes or bool(suffix)
            parts.append(self._result_text(printer, type, tied) + suffix)
        text = ", ".join(parts)
        plain = len(parts) == 1 and not has_attributes and not isinstance(results[0], FunctionType)
        printer.emit(f" -> {text}" if plain else f" -> ({text})")

    def _result_text(self, printer: Any, type: Type, tied: int) -> str:
        if tied == UNTIED:
            return printer.type_text(type)
        if self.is_declaration:
            argument_type = self.function_type.inputs[tied]
            return f"%arg{tied}" if argument_type is type else f"%arg{tied} as {printer.type_text(type)}"
        return tied_result_text(printer, type, self.entry_block.arguments[tied])

    @classmethod
    def parse(cls, parser: Any) -> Any:
        properties: dict[str, Attribute] = {}
        visibility = None
        for word in ("public", "private", "nested"):
            if parser.parse_optional_literal(word):
                visibility = word
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        properties["sym_name"] = StringAttr(parser.parse_symbol_name())
        arguments, types, arg_attrs = cls._parse_arguments(parser)
        results, res_attrs, tied = cls._parse_results(parser, arguments)
        properties["function_type"] = TypeAttr(FunctionType(types, results))
        for key, entries in (("arg_attrs", arg_attrs), ("res_attrs", res_attrs)):
            made = _attributes_of(entries)
            if made is not None:
                properties[key] = made
        ties = tied_operands_attr(tied)
        if ties is not None:
            properties["tied_operands"] = ties
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = Region()
        if parser.at("{"):
            region = parser.parse_region(arguments, op_class=cls)
        return parser.build_registered(cls, (), (), properties, attributes, [region])

    @classmethod
    def _parse_arguments(cls, parser: Any) -> tuple[list[Any], list[Type], list[Any]]:
        arguments: list[Any] = []
        types: list[Type] = []
        attributes: list[Any] = []

        def entry() -> None:
            if parser.kind == "VALUE":
                argument = parser.parse_argument(allow_attributes=True)
                arguments.append(argument)
                types.append(argument.type)
                attributes.append(argument.attributes)
            else:
                types.append(parser.parse_type())
                attributes.append(parser.parse_optional_attr_dict())

        parser.parse_list(entry, "(", ")")
        return arguments, types, attributes

    @classmethod
    def _parse_results(cls, parser: Any, arguments: Sequence[Any]) -> tuple[list[Type], list[Any], list[int]]:
        types: list[Type] = []
        attributes: list[Any] = []
        tied: list[int] = []

        def entry() -> None:
            type, number = cls._parse_result(parser, arguments)
            types.append(type)
            tied.append(number)
            attributes.append(parser.parse_optional_attr_dict() if parenthesized else {})

        if parser.parse_optional("->"):
            parenthesized = parser.at("(")
            if parenthesized:
                parser.parse_list(entry, "(", ")")
            else:
                entry()
        return types, attributes, tied

    @classmethod
    def _parse_result(cls, parser: Any, arguments: Sequence[Any]) -> tuple[Type, int]:
        if parser.kind != "VALUE" or not cls.ties_results:
            return parser.parse_type(), UNTIED
        name, at = parser.token, parser.start
        parser.advance()
        number = next((i for i, argument in enumerate(arguments) if argument.name == name), None)
        if number is None:
            raise parser.error_at(at, f"'{name}' is no argument to tie a result to")
        return (parser.parse_type() if parser.parse_optional_literal("as") else arguments[number].type), number


def _attributes_of(entries: Sequence[Mapping[str, Attribute]]) -> ArrayAttr | None:
    """The attribute of per-argument dictionaries; None if all are empty."""
    made = [entry if isinstance(entry, DictAttr) else DictAttr(entry) for entry in entries]
    return ArrayAttr(made) if any(len(entry) for entry in made) else None
