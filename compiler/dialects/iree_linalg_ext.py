"""The iree_linalg_ext dialect: computations on tensors that no linalg generic can say: sort, scatter, gather, scan,
FFT and top-k. They take inputs and write into outputs, as linalg's ops do, and some have a body on scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.linalg_interface import parse_operand_groups, print_operand_groups
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import BoolProp, IntArrayProp, IntProp, Results, Variadic
from pyiree.compiler.ir.traits import Pure, ReturnLike, SingleBlock, Terminator
from pyiree.compiler.ir.types import TensorType, Type, i1, i64


class YieldOp(Op, name="iree_linalg_ext.yield"):
    """Ends the body of an op of this dialect."""

    operands: Variadic[AnyType]
    traits = (Pure, Terminator, ReturnLike)
    format = "attr-dict ($operands^ `:` type($operands))?"


class LinalgExtOp(Op):
    """Base of the ops that compute outputs from inputs."""

    inputs: Variadic[AnyType]
    outputs: Variadic[AnyType]
    result_tensors: Results[TensorType]
    traits = (Pure,)

    def infer_types(self) -> Sequence[Type]:
        return [value.type for value in self.outputs if isinstance(value.type, TensorType)]

    def verify_(self) -> None:
        if list(self.result_types) != list(self.infer_types()):
            raise self.error("results in other types than those of its outputs")

    def _check_body(self, types: Sequence[Type], yields: Sequence[Type]) -> None:
        block = self.regions[0].entry
        if list(block.argument_types) != list(types):
            found = ", ".join(map(str, block.argument_types))
            raise self.error(f"has a body over ({found}), expected ({', '.join(map(str, types))})")
        last = block.last_op
        if not isinstance(last, YieldOp) or list(last.operand_types) != list(yields):
            raise self.error(f"has a body that should yield ({', '.join(map(str, yields))})")


def _print_types(op: Any, printer: Any, arrow: str) -> None:
    if op.results:
        printer.emit(f" {arrow} {printer.types_text(op.result_types)}")


def _parse_types(parser: Any, arrow: str) -> list[Type]:
    return parser.parse_type_list() if parser.parse_optional(arrow) else []


def _element_types(values: Sequence[Any]) -> list[Type]:
    return [v.type.element_type for v in values]


class ScatterOp(LinalgExtOp, name="iree_linalg_ext.scatter"):
    """Combines updates into the original at positions given by indices.

    The last dimension of the indices holds one index for each entry of `dimension_map`; those in front number the
    updates, whose other dimensions are a window of the original. Updates are applied in order. An index outside of
    the original drops its update.

    %r = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
        ins(%updates, %indices : tensor<5x3xf32>, tensor<5x1xi32>) outs(%original : tensor<10x3xf32>) {
    ^bb0(%update: f32, %old: f32): … iree_linalg_ext.yield %new : f32
    } -> tensor<10x3xf32>
    """

    dimension_map: IntArrayProp[i64]
    unique_indices: BoolProp
    region: Region
    traits = (SingleBlock,)

    @property
    def updates(self) -> Any:
        """The updates."""
        return self.inputs[0]

    @property
    def indices(self) -> Any:
        """The indices."""
        return self.inputs[1]

    @property
    def original(self) -> Any:
        """The tensor that is updated."""
        return self.outputs[0]

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("dimension_map", "unique_indices"))
        printer.emit(f" dimension_map = [{', '.join(map(str, self.dimension_map))}]")
        printer.emit(f" unique_indices({'true' if self.unique_indices else 'false'})")
        print_operand_groups(self, printer)
        printer.emit(" ")
        printer.print_region(self.region)
        _print_types(self, printer, "->")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_literal("dimension_map")
        parser.parse_punctuation("=")
        dims = parser.parse_list(parser.parse_integer, "[", "]")
        unique = True
        if parser.parse_optional_literal("unique_indices"):
            unique = _parse_parenthesized_bool(parser)
        inputs, outputs = parse_operand_groups(parser)
        region = parser.parse_region(op_class=cls)
        types = _parse_types(parser, "->")
        return cls(inputs, outputs, dims, unique, region, result_types=types, attributes=attributes)

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) not in (2, 3) or len(self.outputs) != 1:
            raise self.error("takes updates and indices, and writes one tensor")
        element = self.original.type.element_type
        self._check_body([self.updates.type.element_type, element], [element])


def _parse_parenthesized_bool(parser: Any) -> bool:
    parser.parse_punctuation("(")
    value = parser.parse_one_of(("true", "false"), "a truth value") == "true"
    parser.parse_punctuation(")")
    return value


def _parse_dimension(parser: Any) -> int:
    parser.parse_literal("dimension")
    parser.parse_punctuation("(")
    dimension = parser.parse_integer()
    parser.parse_punctuation(")")
    return dimension


class GatherOp(LinalgExtOp, name="iree_linalg_ext.gather"):
    """Windows of the source at positions given by indices.

    %r = iree_linalg_ext.gather dimension_map = [0] ins(%source, %indices : tensor<10x3xf32>, tensor<5xi32>)
        outs(%out : tensor<5x3xf32>) -> tensor<5x3xf32>
    """

    dimension_map: IntArrayProp[i64]

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("dimension_map",))
        printer.emit(f" dimension_map = [{', '.join(map(str, self.dimension_map))}]")
        print_operand_groups(self, printer)
        _print_types(self, printer, "->")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_literal("dimension_map")
        parser.parse_punctuation("=")
        dims = parser.parse_list(parser.parse_integer, "[", "]")
        inputs, outputs = parse_operand_groups(parser)
        types = _parse_types(parser, "->")
        return cls(inputs, outputs, dims, result_types=types, attributes=attributes)


class _AlongDimension(LinalgExtOp):
    """Sort and top-k: a dimension, and a body that compares."""

    dimension: IntProp[i64]
    region: Region
    traits = (SingleBlock,)

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("dimension",))
        printer.emit(f" dimension({self.dimension})")
        print_operand_groups(self, printer)
        printer.emit(" ")
        printer.print_region(self.region)
        _print_types(self, printer, "->")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        dimension = _parse_dimension(parser)
        inputs, outputs = parse_operand_groups(parser)
        region = parser.parse_region(op_class=cls)
        types = _parse_types(parser, "->")
        return cls(inputs, outputs, dimension, region, result_types=types, attributes=attributes)


class SortOp(_AlongDimension, name="iree_linalg_ext.sort"):
    """Sorts tensors together along a dimension, stably; the body says whether the first element comes before.

    %r = iree_linalg_ext.sort dimension(1) outs(%a : tensor<4x8xf32>) {
    ^bb0(%lhs: f32, %rhs: f32): … iree_linalg_ext.yield %before : i1
    } -> tensor<4x8xf32>
    """

    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.dimension < len(self.outputs[0].type.shape):
            raise self.error(f"has no dimension {self.dimension} in {self.outputs[0].type}")
        self._check_body([t for e in _element_types(self.outputs) for t in (e, e)], [i1])


class ScanOp(LinalgExtOp, name="iree_linalg_ext.scan"):
    """Running combinations along a dimension, and the last one of each row as the second output.

    %r:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%a : tensor<4x8xf32>)
        outs(%out, %acc : tensor<4x8xf32>, tensor<4xf32>) {
    ^bb0(%so_far: f32, %next: f32): … iree_linalg_ext.yield %sum : f32
    } -> tensor<4x8xf32>, tensor<4xf32>
    """

    dimension: IntProp[i64]
    inclusive: BoolProp
    region: Region
    traits = (SingleBlock,)

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("dimension", "inclusive"))
        printer.emit(f" dimension({self.dimension}) inclusive({'true' if self.inclusive else 'false'})")
        print_operand_groups(self, printer)
        printer.emit(" ")
        printer.print_region(self.region)
        _print_types(self, printer, "->")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        dimension = _parse_dimension(parser)
        parser.parse_literal("inclusive")
        inclusive = _parse_parenthesized_bool(parser)
        inputs, outputs = parse_operand_groups(parser)
        region = parser.parse_region(op_class=cls)
        types = _parse_types(parser, "->")
        return cls(inputs, outputs, dimension, inclusive, region, result_types=types, attributes=attributes)

    def verify_(self) -> None:
        super().verify_()
        if len(self.outputs) != 2 * len(self.inputs):
            raise self.error("writes the running values and the last ones, for each input")


class TopkOp(_AlongDimension, name="iree_linalg_ext.topk"):
    """The largest elements along a dimension and their indices; the body compares.

    %r:2 = iree_linalg_ext.topk dimension(1) ins(%a : tensor<8x4xf32>)
        outs(%v, %i : tensor<8x2xf32>, tensor<8x2xi32>) { … } -> tensor<8x2xf32>, tensor<8x2xi32>
    """


class FftOp(LinalgExtOp, name="iree_linalg_ext.fft"):
    """One stage of a radix-2 FFT, in place; inputs are the stage and its twiddle factors.

    %r:2 = iree_linalg_ext.fft ins(%stage, %re, %im : index, tensor<2xf32>, tensor<2xf32>)
        outs(%a, %b : tensor<8xf32>, tensor<8xf32>) : tensor<8xf32>, tensor<8xf32>
    """

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self)
        print_operand_groups(self, printer)
        _print_types(self, printer, ":")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs = parse_operand_groups(parser)
        types = _parse_types(parser, ":")
        return cls(inputs, outputs, result_types=types, attributes=attributes)
