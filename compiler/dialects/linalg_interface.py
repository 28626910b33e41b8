"""What all linalg ops have in common: inputs and outputs, a map an operand, the kinds of the loops, their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Results, Variadic
from pyiree.compiler.ir.parametrized import EnumAttr
from pyiree.compiler.ir.traits import Pure
from pyiree.compiler.ir.types import TensorType, Type

PARALLEL, REDUCTION = "parallel", "reduction"


class IteratorTypeAttr(EnumAttr, name="linalg.iterator_type"):
    """What a loop is: its iterations are independent (`parallel`), or they combine into one result."""

    cases = ("parallel", "reduction", "window")


class LinalgOp(Op):
    """Base of the ops that compute outputs from inputs over loops."""

    inputs: Variadic[AnyType]
    outputs: Variadic[AnyType]
    result_tensors: Results[TensorType]
    traits = (Pure,)

    def infer_types(self) -> Sequence[Type]:
        return [value.type for value in self.outputs if isinstance(value.type, TensorType)]

    def maps(self) -> tuple[AffineMap, ...]:
        """The indexing map of each operand, inputs first."""
        raise NotImplementedError

    def iterators(self) -> tuple[str, ...]:
        """The kind of each loop."""
        raise NotImplementedError

    def loop_ranges(self) -> tuple[int | None, ...]:
        """How often each loop runs, by the shapes of the operands; None where it is dynamic or nothing tells."""
        ranges: dict[int, int | None] = {}
        for value, indexing in zip(self.operands, self.maps()):
            for dim, size in zip(indexing.dim_positions(), getattr(value.type, "shape", ())):
                if dim is not None and ranges.get(dim) is None:
                    ranges[dim] = size
        return tuple(ranges.get(i) for i in range(len(self.iterators())))

    def _verify_results(self) -> None:
        expected = tuple(self.infer_types())
        if tuple(r.type for r in self.results) != expected:
            found = ", ".join(map(str, self.result_types))
            raise self.error(f"results in ({found}), but its outputs are of type ({', '.join(map(str, expected))})")


def print_operand_groups(op: Any, printer: Any) -> None:
    """` ins(%a : t) outs(%b : t)`."""
    for keyword, values in (("ins", op.inputs), ("outs", op.outputs)):
        if values:
            printer.emit(f" {keyword}({printer.names(values)} : {printer.types_text([v.type for v in values])})")


def parse_operand_groups(parser: Any) -> tuple[list[Value], list[Value]]:
    """`ins(%a : t) outs(%b : t)`, each of which may be missing."""
    groups: list[list[Value]] = []
    for keyword in ("ins", "outs"):
        values: list[Value] = []
        if parser.parse_optional_literal(keyword):
            parser.parse_punctuation("(")
            at = parser.start
            values = parser.parse_operands()
            if values:
                parser.parse_punctuation(":")
                values = parser.resolve_all(values, parser.parse_type_list(), at)
            parser.parse_punctuation(")")
        groups.append(values)
    return groups[0], groups[1]


def print_result_types(op: Any, printer: Any) -> None:
    """` -> t`, or ` -> (t, t)`."""
    types = op.result_types
    if types:
        text = printer.types_text(types)
        printer.emit(f" -> {text}" if len(types) == 1 else f" -> ({text})")


def parse_result_types(parser: Any, outputs: Sequence[Value]) -> list[Type]:
    """`-> t`, `-> t, t` or `-> (t, t)`."""
    if not parser.parse_optional("->"):
        return []
    return parser.parse_result_types() if parser.at("(") else parser.parse_type_list()
