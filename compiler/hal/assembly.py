"""Directives of the hal dialect's assembly: binding lists, and the regions of exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.assembly import parse_many
from pyiree.compiler.hal import bits as _bits  # noqa: F401  (registers the directive)
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import Type, index


def _print_lines(printer: Any, lines: Sequence[str]) -> None:
    for i, line in enumerate(lines):
        printer.emit(f"{', ' if i else ''}{printer.indent}  {line}")
    printer.emit(printer.indent)


def _parse_bindings(parser: Any, closing: str) -> Any:
    types: list[Type] = []
    offsets: list[Value] = []
    lengths: list[Value] = []

    def entry() -> Value:
        parser.parse_punctuation("(")
        value = parser.parse_typed_operand()
        parser.parse_punctuation(")")
        parser.parse_punctuation("[")
        offsets.append(parser.parse_operand(index))
        parser.parse_punctuation(",")
        lengths.append(parser.parse_operand(index))
        parser.parse_punctuation("]")
        types.append(value.type)
        return value

    buffers = parse_many(parser, entry, closing)
    return buffers, types, offsets, lengths


@directive("Bindings")
class Bindings:
    """Lines of `(%buffer_or_slot : type)[%offset, %length]`."""

    @staticmethod
    def print(
        printer: Any, op: Any, buffers: Sequence[Value], types: Sequence[Type], offsets: Sequence[Value],
        lengths: Sequence[Value],
    ) -> None:  # fmt: skip
        lines = [
            f"({printer.name(b)} : {printer.type_text(b.type)})[{printer.name(o)}, {printer.name(n)}]"
            for b, o, n in zip(buffers, offsets, lengths)
        ]
        _print_lines(printer, lines)

    @staticmethod
    def parse(parser: Any) -> Any:
        return _parse_bindings(parser, "]")


@directive("BindingTable")
class BindingTable(Bindings):
    """The same, for the table that an indirect execution gets."""


class _ExportRegion:
    """`word(%device: !hal.device, %w: index) -> types {…}`."""

    word: str
    types: str

    @classmethod
    def print(cls, printer: Any, op: Any, region: Region) -> None:
        if not region.blocks:
            return
        printer.name_region_arguments(region)
        printer.emit(f" {cls.word}(")
        printer.print_arguments(region.blocks[0].arguments)
        printer.emit(f") -> {cls.types} ")
        printer.print_region(region, arguments=False)

    @classmethod
    def parse(cls, parser: Any) -> Region:
        if not parser.parse_optional(cls.word):
            return Region()
        arguments = parser.parse_argument_list()
        parser.parse_punctuation("->")
        parser.parse_result_types()
        return parser.parse_region(arguments, isolated=True)


@directive("CountRegion")
class CountRegion(_ExportRegion):
    """`count(%device: !hal.device, %w: index) -> (index, index, index) {…}`."""

    word = "count"
    types = "(index, index, index)"


@directive("ConditionRegion")
class ConditionRegion(_ExportRegion):
    """`condition(%device: !hal.device) -> i1 {…}`."""

    word = "condition"
    types = "i1"
