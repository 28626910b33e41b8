"""Lists of indices of which some are constants and some SSA values: `[%i, 0, 4]`.

Enters: the SSA values and a static array in which a sentinel marks their places. Leaves: text and back, and the
merged list. The directive is `custom<DynamicIndexList>($values, $static_values)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.ir.attributes import DenseArrayAttr, IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import DYNAMIC_INT64, i64, index


@directive("DynamicIndexList")
class DynamicIndexList:
    """`[%i, 0, 4]`."""

    @staticmethod
    def print(printer: Any, op: Any, values: Sequence[Value], static: DenseArrayAttr) -> None:
        printer.emit(index_list_text(printer, values, static.value))

    @staticmethod
    def parse(parser: Any) -> Any:
        return parse_index_list(parser)


def index_list_text(printer: Any, values: Sequence[Value], static: Iterable[int]) -> str:
    """`[%i, 0, 4]` of the SSA values and the static array."""
    names = iter(values)
    entries = [printer.name(next(names)) if s == DYNAMIC_INT64 else str(s) for s in static]
    return f"[{', '.join(entries)}]"


def parse_index_list(parser: Any, opening: str = "[", closing: str = "]") -> tuple[list[Value], DenseArrayAttr]:
    """The SSA values and the static array of `[%i, 0, 4]`."""
    values: list[Value] = []

    def entry() -> int:
        if parser.kind == "VALUE":
            values.append(parser.parse_operand(index))
            return DYNAMIC_INT64
        return parser.parse_integer()

    static = parser.parse_list(entry, opening, closing)
    return values, DenseArrayAttr(i64, static)


def split_indices(indices: Iterable[int | Value | None]) -> tuple[list[Value], DenseArrayAttr]:
    """The SSA values and the static array of a mixed list."""
    entries = list(indices)
    values = [e for e in entries if isinstance(e, Value)]
    return values, DenseArrayAttr(i64, [DYNAMIC_INT64 if isinstance(e, Value) else e for e in entries])


def mixed_indices(values: Sequence[Value], static: Iterable[int]) -> list[int | Value]:
    """The mixed list of SSA values and constants."""
    remaining = iter(values)
    return [next(remaining) if s == DYNAMIC_INT64 else s for s in static]


def constant_index(value: Value) -> int | None:
    """The integer that an SSA value is known to be, or None."""
    owner = value.defining_op
    if owner is None or owner.name != "arith.constant":
        return None
    attribute = owner.properties["value"]
    return attribute.value if isinstance(attribute, IntegerAttr) else None
