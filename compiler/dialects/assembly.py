"""Directives that the assembly formats of IREE's dialects share: symbol heads, entry points, shaped and tied types.

Enters: the parts of ops that carry sizes or dims beside their types, or results tied to operands. Leaves: their text,
`!stream.resource<*>{%size}`, `(tensor<?xf32>{%d}) -> %0 as tensor<?xi32>{%d}`, and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.dialects.tied_results import (
    UNTIED,
    parse_tied_result,
    tied_operand_indices,
    tied_operands_attr,
    tied_result_text,
)
from pyiree.compiler.ir.attributes import ArrayAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import Type, index


@directive("SymbolVisibility")
class SymbolVisibility:
    """`private`; a public symbol says `public`."""

    @staticmethod
    def print(printer: Any, op: Any, visibility: StringAttr | None) -> None:
        printer.emit("public" if visibility is None else visibility.value)

    @staticmethod
    def parse(parser: Any) -> StringAttr | None:
        for word in ("public", "private", "nested"):
            if parser.parse_optional_literal(word):
                return StringAttr(word)
        return None


@directive("SymbolAlias")
class SymbolAlias:
    """`@function`, or `@function as("name")` where an export has another name than its function."""

    @staticmethod
    def print(printer: Any, op: Any, name: StringAttr, function: SymbolRefAttr) -> None:
        printer.emit(str(function))
        if function.leaf != name.value:
            printer.emit(f" as({name})")

    @staticmethod
    def parse(parser: Any) -> tuple[StringAttr, SymbolRefAttr]:
        function = SymbolRefAttr(parser.parse_symbol_name())
        if not parser.parse_optional_literal("as"):
            return StringAttr(function.leaf), function
        parser.parse_punctuation("(")
        name = StringAttr(parser.parse_string())
        parser.parse_punctuation(")")
        return name, function


@directive("WorkgroupCountRegion")
class WorkgroupCountRegion:
    """`workgroups(%arg0: index) -> (index, index, index) {…}`, or nothing."""

    @staticmethod
    def print(printer: Any, op: Any, region: Region) -> None:
        if not region.blocks:
            return
        printer.name_region_arguments(region)
        printer.emit("workgroups(")
        printer.print_arguments(region.blocks[0].arguments)
        printer.emit(") -> (index, index, index) ")
        printer.print_region(region, arguments=False)

    @staticmethod
    def parse(parser: Any) -> Region:
        if not parser.parse_optional("workgroups"):
            return Region()
        arguments = parser.parse_argument_list()
        parser.parse_punctuation("->")
        parser.parse_list(parser.parse_type, "(", ")")
        return parser.parse_region(arguments, isolated=True)


@directive("DispatchEntryPoints")
class DispatchEntryPoints:
    """`@executable::@entry`, or `{@a::@x, @b::@y}` for a choice of several."""

    @staticmethod
    def print(printer: Any, op: Any, entry_points: ArrayAttr) -> None:
        names = ", ".join([str(e) for e in entry_points])
        printer.emit(names if len(entry_points) == 1 else f"{{{names}}}")

    @staticmethod
    def parse(parser: Any) -> ArrayAttr:
        if parser.at("{"):
            return ArrayAttr(parser.parse_list(parser.parse_symbol_ref, "{", "}"))
        return ArrayAttr([parser.parse_symbol_ref()])


def is_dynamic(type: Type) -> bool:
    """Whether dims or a size stand beside a type: shaped with `?`, or a type that always has a size."""
    return dim_count(type) > 0


def dim_count(type: Type) -> int:
    """How many index values stand beside a type: one for sized types, else the number of its `?`."""
    if getattr(type, "is_sized", False):
        return 1
    shape = getattr(type, "shape", None)
    return 0 if shape is None else sum(d is None for d in shape)


def dims_text(printer: Any, dims: Sequence[Value]) -> str:
    """`{%a, %b}`, or nothing."""
    return f"{{{printer.names(dims)}}}" if dims else ""


def parse_dims(parser: Any) -> list[Value]:
    """The values of `{%a, %b}`, or none."""
    if not parser.at("{"):
        return []
    return parser.parse_list(lambda: parser.parse_operand(index), "{", "}")


def shaped_types_text(printer: Any, types: Sequence[Type], dims: Sequence[Value]) -> list[str]:
    """Each type with its dims."""
    remaining, parts = list(dims), []
    for t in types:
        count = dim_count(t)
        parts.append(printer.type_text(t) + dims_text(printer, remaining[:count]))
        del remaining[:count]
    return parts


def parse_shaped_types(parser: Any, opening: str = "", closing: str = "") -> tuple[list[Type], list[Value]]:
    """The types and dims of a list of types that carry them."""
    dims: list[Value] = []

    def entry() -> Type:
        found = parser.parse_type()
        dims.extend(parse_dims(parser))
        return found

    return parser.parse_list(entry, opening, closing), dims


@directive("ShapedTiedResult")
class ShapedTiedResult:
    """`%target as type{%size}`: a result that takes over the storage of the first operand that has its type."""

    @staticmethod
    def print(printer: Any, op: Any, type: Type, size: Value | Sequence[Value]) -> None:
        dims = [size] if isinstance(size, Value) else size
        printer.emit(f"{printer.name(op.tied_operand)} as {printer.type_text(type)}{dims_text(printer, dims)}")

    @staticmethod
    def parse(parser: Any) -> tuple[Type, Any]:
        parser.parse_operand()
        parser.parse_punctuation("as")
        found = parser.parse_type()
        return found, parse_dims(parser)[0]


@directive("ShapedTypeList")
class ShapedTypeList:
    """`type{%size}, type{%size}`; with a middle argument for result types that equal the operands'."""

    @staticmethod
    def print(printer: Any, op: Any, types: Sequence[Type], *rest: Any) -> None:
        printer.emit(", ".join(shaped_types_text(printer, types, rest[-1])))

    @staticmethod
    def parse(parser: Any) -> Any:
        types, dims = parse_shaped_types(parser)
        return types, dims


@directive("ShapedTypeListWithResults")
class ShapedTypeListWithResults:
    """`type{%size}, …` for operands whose types are the results' as well."""

    @staticmethod
    def print(printer: Any, op: Any, types: Sequence[Type], results: Sequence[Type], dims: Sequence[Value]) -> None:
        printer.emit(", ".join(shaped_types_text(printer, types, dims)))

    @staticmethod
    def parse(parser: Any) -> tuple[list[Type], list[Type], list[Value]]:
        types, dims = parse_shaped_types(parser)
        return types, list(types), dims


def shaped_results_text(
    printer: Any, operands: Sequence[Value], types: Sequence[Type], dims: Sequence[Value], tied: Sequence[int]
) -> list[str]:
    """Each result type with its dims; tied ones name their operand, and the type only where it differs."""
    remaining, parts = list(dims), []
    for t, target in zip(types, tied):
        count = dim_count(t)
        operand = None if target == UNTIED else operands[target]
        parts.append(tied_result_text(printer, t, operand) + dims_text(printer, remaining[:count]))
        del remaining[:count]
    return parts


def parse_shaped_results(
    parser: Any, operands: Sequence[Value]
) -> tuple[list[Type], list[Value], ArrayAttr | None]:
    """Types, dims and ties of a result list, in parentheses or a single one."""
    dims: list[Value] = []
    tied: list[int] = []

    def entry() -> Type:
        found, operand = parse_tied_result(parser, operands)
        tied.append(operand)
        dims.extend(parse_dims(parser))
        return found

    types = parser.parse_list(entry, "(", ")") if parser.at("(") else [entry()]
    return types, dims, tied_operands_attr(tied)


def result_list_text(parts: Sequence[str]) -> str:
    """A result list; a single result stands without parentheses."""
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


@directive("ShapedFunctionType")
class ShapedFunctionType:
    """`(type{%d}, …) -> (type{%d}, %tied as type{%d}, …)`."""

    @staticmethod
    def print(
        printer: Any, op: Any, operands: Sequence[Value], operand_types: Sequence[Type], operand_dims: Sequence[Value],
        result_types: Sequence[Type], result_dims: Sequence[Value], tied: ArrayAttr | None,
    ) -> None:
        ties = tied_operand_indices(tied, len(result_types))
        inputs = ", ".join(shaped_types_text(printer, operand_types, operand_dims))
        outputs = shaped_results_text(printer, operands, result_types, result_dims, ties)
        printer.emit(f"({inputs}) -> {result_list_text(outputs)}")

    @staticmethod
    def parse(parser: Any, operands: Sequence[Value]) -> Any:
        operand_types, operand_dims = parse_shaped_types(parser, "(", ")")
        parser.resolve_all(operands, operand_types)
        parser.parse_punctuation("->")
        result_types, result_dims, tied = parse_shaped_results(parser, operands)
        return operand_types, operand_dims, result_types, result_dims, tied


def parse_many(parser: Any, entry: Callable[[], Any], closing: str) -> list[Any]:
    """Entries separated by commas up to (not including) `closing`; there may be none."""
    return [] if parser.at(closing) else parser.parse_list(entry)

