"""Results that take over an operand's storage, in text: `(t, i32) -> (%arg0, i32)`.

Enters: operands, result types, and an array of index attributes that says for each result which operand it is tied
to (-1 for none). Leaves: the directives `custom<OperandTypeList>(type($operands))` and
`custom<TiedFunctionResultList>(ref($operands), ref(type($operands)), type($results), $tied_operands)`, and helpers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import Type, index

UNTIED = -1


def tied_operands_attr(tied: Sequence[int]) -> ArrayAttr | None:
    """The attribute of a list of operand numbers; None when no result is tied."""
    if all(t == UNTIED for t in tied):
        return None
    return ArrayAttr([IntegerAttr(t, index) for t in tied])


def tied_operand_indices(attribute: ArrayAttr | None, num_results: int) -> list[int]:
    """For each result the number of the operand it is tied to, or -1."""
    return [UNTIED] * num_results if attribute is None else [entry.value for entry in attribute]


@directive("OperandTypeList")
class OperandTypeList:
    """`(t, i32)`."""

    @staticmethod
    def print(printer: Any, op: Any, types: Sequence[Type]) -> None:
        printer.emit(f"({printer.types_text(types)})")

    @staticmethod
    def parse(parser: Any) -> list[Type]:
        return parser.parse_list(parser.parse_type, "(", ")")


@directive("TiedFunctionResultList")
class TiedFunctionResultList:
    """`%arg0`, `%arg0 as t`, `t`, or a list of these in parentheses."""

    @staticmethod
    def print(
        printer: Any,
        op: Any,
        operands: Sequence[Value],
        operand_types: Sequence[Type],
        result_types: Sequence[Type],
        tied: ArrayAttr | None,
    ) -> None:
        entries = []
        for type, operand in zip(result_types, tied_operand_indices(tied, len(result_types))):
            entries.append(tied_result_text(printer, type, None if operand == UNTIED else operands[operand]))
        text = ", ".join(entries)
        printer.emit(text if len(entries) == 1 else f"({text})")

    @staticmethod
    def parse(parser: Any, operands: Sequence[Value], operand_types: Sequence[Type]) -> Any:
        types: list[Type] = []
        tied: list[int] = []

        def entry() -> None:
            type, operand = parse_tied_result(parser, operands)
            types.append(type)
            tied.append(operand)

        if parser.at("("):
            parser.parse_list(entry, "(", ")")
        else:
            entry()
        return types, tied_operands_attr(tied)


def tied_result_text(printer: Any, type: Type, operand: Value | None) -> str:
    """One result: its type, or the operand it is tied to (with the type where that differs)."""
    if operand is None:
        return printer.type_text(type)
    if operand.type is type:
        return printer.name(operand)
    return f"{printer.name(operand)} as {printer.type_text(type)}"


def parse_tied_result(parser: Any, operands: Sequence[Value]) -> tuple[Type, int]:
    """The type of one result and the number of the operand it is tied to, or -1."""
    if parser.kind != "VALUE":
        return parser.parse_type(), UNTIED
    at = parser.start
    value = parser.parse_operand()
    number = next((i for i, operand in enumerate(operands) if operand is value), None)
    if number is None:
        raise parser.error_at(at, "a result can only be tied to an operand")
    return (parser.parse_type() if parser.parse_optional_literal("as") else value.type), number
