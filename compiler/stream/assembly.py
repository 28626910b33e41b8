"""Directives of the stream dialect's assembly: operand ranges, encoded types, and regions that capture resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.assembly import (
    dim_count,
    dims_text,
    parse_dims,
    parse_many,
    parse_shaped_results,
    result_list_text,
    shaped_results_text,
)
from pyiree.compiler.dialects.tied_results import (
    UNTIED,
    parse_tied_result,
    tied_operand_indices,
    tied_operands_attr,
    tied_result_text,
)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DenseArrayAttr, IntegerAttr, TypeAttr
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import Type, index
from pyiree.compiler.stream.types import ResourceAccessAttr, is_resource


@directive("DispatchOperands")
class DispatchOperands:
    """`(%a[%offset to %end for %length], %scalar)`."""

    @staticmethod
    def print(
        printer: Any, op: Any, operands: Sequence[Value], offsets: Sequence[Value], ends: Sequence[Value],
        lengths: Sequence[Value],
    ) -> None:
        ranges = iter(zip(offsets, ends, lengths))
        parts = []
        for value in operands:
            text = printer.name(value)
            if is_resource(value.type):
                offset, end, length = map(printer.name, next(ranges))
                text += f"[{offset} to {end} for {length}]"
            parts.append(text)
        printer.emit(f"({', '.join(parts)})")

    @staticmethod
    def parse(parser: Any) -> Any:
        offsets: list[Value] = []
        ends: list[Value] = []
        lengths: list[Value] = []

        def entry() -> Value:
            value = parser.parse_operand()
            if parser.parse_optional("["):
                offsets.append(parser.parse_operand(index))
                parser.parse_literal("to")
                ends.append(parser.parse_operand(index))
                parser.parse_literal("for")
                lengths.append(parser.parse_operand(index))
                parser.parse_punctuation("]")
            return value

        operands = parser.parse_list(entry, "(", ")")
        return operands, offsets, ends, lengths


def _encoded_text(
    printer: Any, type: Type, encoding: Attribute, dims: list[Value], sizes: list[Value], tied: Value | None = None
) -> str:
    """`tensor<…>{%d} in !stream.resource<*>{%size}` (`in %tied{%size}`), or just the type of a scalar."""
    if not is_resource(type):
        return printer.type_text(type)
    tensor = encoding.value  # type: ignore[attr-defined]
    count = dim_count(tensor)
    shape = dims_text(printer, dims[:count])
    del dims[:count]
    storage = tied_result_text(printer, type, tied)
    return f"{printer.type_text(tensor)}{shape} in {storage}{{{printer.name(sizes.pop(0))}}}"


@directive("EncodedShapedFunctionType")
class EncodedShapedFunctionType:
    """`(tensor<4xf32> in !stream.resource<*>{%c16}, index) -> tensor<4xf32> in !stream.resource<*>{%c16}`."""

    @staticmethod
    def print(
        printer: Any, op: Any, operands: Sequence[Value], operand_types: Sequence[Type],
        operand_sizes: Sequence[Value], operand_encodings: ArrayAttr, operand_dims: Sequence[Value],
        result_types: Sequence[Type], result_sizes: Sequence[Value], result_encodings: ArrayAttr,
        result_dims: Sequence[Value], tied: ArrayAttr | None,
    ) -> None:
        sizes, dims = list(operand_sizes), list(operand_dims)
        inputs = [_encoded_text(printer, t, e, dims, sizes) for t, e in zip(operand_types, operand_encodings)]
        sizes, dims = list(result_sizes), list(result_dims)
        outputs = []
        for t, e, tie in zip(result_types, result_encodings, tied_operand_indices(tied, len(result_types))):
            outputs.append(_encoded_text(printer, t, e, dims, sizes, None if tie == UNTIED else operands[tie]))
        printer.emit(f"({', '.join(inputs)}) -> {result_list_text(outputs)}")

    @staticmethod
    def parse(parser: Any, operands: Sequence[Value]) -> Any:
        sides = []
        tied: list[int] = []
        for side in range(2):
            types: list[Type] = []
            encodings: list[Attribute] = []
            dims: list[Value] = []
            sizes: list[Value] = []

            def entry(types=types, encodings=encodings, dims=dims, sizes=sizes, is_result=side == 1) -> None:
                first = parser.parse_type()
                encodings.append(TypeAttr(first))
                dims.extend(parse_dims(parser))
                tie = UNTIED
                if parser.parse_optional("in"):
                    first, tie = parse_tied_result(parser, operands)
                    sizes.extend(parse_dims(parser))
                types.append(first)
                if is_result:
                    tied.append(tie)

            if parser.at("("):
                parser.parse_list(entry, "(", ")")
            else:
                entry()
            sides.extend([types, sizes, ArrayAttr(encodings), dims])
            if side == 0:
                parser.resolve_all(operands, types)
                parser.parse_punctuation("->")
        return (*sides, tied_operands_attr(tied))


def _parse_captures(parser: Any) -> tuple[list[Value], list[Any], list[Value]]:
    """`(%a as %arg0: type{%size}, …)`: operands, region arguments and sizes."""
    sizes: list[Value] = []
    arguments: list[Any] = []

    def entry() -> Value:
        value = parser.parse_operand()
        parser.parse_literal("as")
        arguments.append(parser.parse_argument())
        parser.resolve(value, arguments[-1].type)
        sizes.extend(parse_dims(parser))
        return value

    return parser.parse_list(entry, "(", ")"), arguments, sizes


def _print_captures(printer: Any, operands: Sequence[Value], sizes: Sequence[Value], region: Region) -> None:
    printer.name_region_arguments(region)
    parts = [
        f"{printer.name(value)} as {printer.name(argument)}: {printer.type_text(argument.type)}{{{printer.name(size)}}}"
        for value, argument, size in zip(operands, region.entry.arguments, sizes)
    ]
    printer.emit(f"({', '.join(parts)})")


def _has_implied_end(region: Region) -> bool:
    last = region.entry.last_op
    return last is not None and last.name == "stream.yield" and not last.operands


@directive("ExplicitResourceRegion")
class ExplicitResourceRegion:
    """`(%a as %arg0: !stream.resource<*>{%size}) { … }`."""

    @staticmethod
    def print(
        printer: Any, op: Any, operands: Sequence[Value], types: Sequence[Type], sizes: Sequence[Value], region: Region
    ) -> None:
        _print_captures(printer, operands, sizes, region)
        printer.emit(" ")
        printer.print_region(region, arguments=False, terminator=not _has_implied_end(region))

    @staticmethod
    def parse(parser: Any) -> Any:
        operands, arguments, sizes = _parse_captures(parser)
        region = parser.parse_region(arguments)
        parser.add_terminator(region, "stream.yield", parser.start)
        return operands, [v.type for v in operands], sizes, region


@directive("ResourceRegion")
class ResourceRegion:
    """`(%a as %arg0: !stream.resource<*>{%size}) -> (%a as !stream.resource<*>{%size}) { … }`."""

    @staticmethod
    def print(
        printer: Any, op: Any, operands: Sequence[Value], types: Sequence[Type], sizes: Sequence[Value],
        result_types: Sequence[Type], result_sizes: Sequence[Value], tied: ArrayAttr | None, region: Region,
    ) -> None:
        _print_captures(printer, operands, sizes, region)
        if result_types:
            ties = tied_operand_indices(tied, len(result_types))
            outputs = shaped_results_text(printer, operands, result_types, result_sizes, ties)
            printer.emit(f" -> {result_list_text(outputs)}")
        printer.emit(" ")
        printer.print_region(region, arguments=False)

    @staticmethod
    def parse(parser: Any) -> Any:
        operands, arguments, sizes = _parse_captures(parser)
        operand_types = [v.type for v in operands]
        result_types: list[Type] = []
        result_sizes: list[Value] = []
        tied = None
        if parser.parse_optional("->"):
            result_types, result_sizes, tied = parse_shaped_results(parser, operands)
        region = parser.parse_region(arguments)
        return operands, operand_types, sizes, result_types, result_sizes, tied, region


@directive("DispatchResources")
class DispatchResources:
    """Lines of `ro %a[%offset for %length] : type{%size}`."""

    @staticmethod
    def print(
        printer: Any, op: Any, resources: Sequence[Value], types: Sequence[Type], sizes: Sequence[Value],
        offsets: Sequence[Value], lengths: Sequence[Value], accesses: ArrayAttr,
    ) -> None:
        for i, (value, size, offset, length, access) in enumerate(zip(resources, sizes, offsets, lengths, accesses)):
            printer.emit("," if i else "")
            printer.emit(printer.indent + "  ")
            names = [printer.name(v) for v in (value, offset, length, size)]
            printer.emit(
                f"{access.value} {names[0]}[{names[1]} for {names[2]}] : "
                f"{printer.type_text(value.type)}{{{names[3]}}}"
            )
        printer.emit(printer.indent)

    @staticmethod
    def parse(parser: Any) -> Any:
        sizes: list[Value] = []
        offsets: list[Value] = []
        lengths: list[Value] = []
        accesses: list[Attribute] = []

        def entry() -> Value:
            accesses.append(ResourceAccessAttr(ResourceAccessAttr.parse_word(parser)))
            value = parser.parse_operand()
            parser.parse_punctuation("[")
            offsets.append(parser.parse_operand(index))
            parser.parse_literal("for")
            lengths.append(parser.parse_operand(index))
            parser.parse_punctuation("]")
            parser.parse_punctuation(":")
            parser.resolve(value, parser.parse_type())
            sizes.extend(parse_dims(parser))
            return value

        resources = parse_many(parser, entry, "}")
        return resources, [v.type for v in resources], sizes, offsets, lengths, ArrayAttr(accesses)


@directive("PackSliceRanges")
class PackSliceRanges:
    """Lines of `[first, last] = %size`."""

    @staticmethod
    def print(
        printer: Any, op: Any, intervals: DenseArrayAttr | ArrayAttr, sizes: Sequence[Value], types: Sequence[Type]
    ) -> None:
        bounds = [b.value for b in intervals]  # type: ignore[union-attr]
        for i, size in enumerate(sizes):
            printer.emit("," if i else "")
            printer.emit(f"{printer.indent}  [{bounds[2 * i]}, {bounds[2 * i + 1]}] = {printer.name(size)}")
        printer.emit(printer.indent)

    @staticmethod
    def parse(parser: Any) -> Any:
        bounds: list[Attribute] = []
        sizes: list[Value] = []
        while parser.at("["):
            bounds.extend(
                IntegerAttr(n, index) for n in parser.parse_list(parser.parse_integer, "[", "]")
            )
            parser.parse_punctuation("=")
            sizes.append(parser.parse_operand(index))
            if not parser.parse_optional(","):
                break
        return ArrayAttr(bounds), sizes, [index] * len(sizes)


@directive("ConstantValueList")
class ConstantValueList:
    """Lines of `type{%size} = value`."""

    @staticmethod
    def print(printer: Any, op: Any, types: Sequence[Type], sizes: Sequence[Value], values: ArrayAttr) -> None:
        for i, (t, size, value) in enumerate(zip(types, sizes, values)):
            printer.emit("," if i else "")
            printer.emit(
                f"{printer.indent}  {printer.type_text(t)}{{{printer.name(size)}}} = {printer.attr_text(value)}"
            )

    @staticmethod
    def parse(parser: Any) -> Any:
        sizes: list[Value] = []
        values: list[Attribute] = []

        def entry() -> Type:
            found = parser.parse_type()
            sizes.extend(parse_dims(parser))
            parser.parse_punctuation("=")
            values.append(parser.parse_attribute())
            return found

        types = parse_many(parser, entry, "=>")
        return types, sizes, ArrayAttr(values)
