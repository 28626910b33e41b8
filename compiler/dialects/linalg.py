"""The linalg dialect: computations over an iteration space, on tensors.

`linalg.generic` says everything itself: one map an operand from loops to its indices, the kind of each loop, and a
body on scalars. The named ops (`linalg_named.py`) stand for generics that have a usual name; the structured
ones here (`reduce`, `map`, `transpose`, `broadcast`) lie in between. All write into their outputs, whose contents
they may read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.linalg_canonicalization import GENERIC_PATTERNS
from pyiree.compiler.dialects.linalg_interface import (
    PARALLEL,
    REDUCTION,
    IteratorTypeAttr,
    LinalgOp,
    parse_operand_groups,
    parse_result_types,
    print_operand_groups,
    print_result_types,
)
from pyiree.compiler.dialects.linalg_named import *  # noqa: F403  (this module is the whole dialect)
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, StringAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Block, Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Attr, IntArrayProp, IntProp, OptionalStringProp, Result, Variadic
from pyiree.compiler.ir.traits import Pure, ReturnLike, SingleBlock, Terminator
from pyiree.compiler.ir.types import IndexType, Type, i64


class GenericOp(LinalgOp, name="linalg.generic"):
    """A computation with its maps, loops and body written out.

    %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    """

    indexing_maps: Attr[ArrayAttr]
    iterator_types: Attr[ArrayAttr]
    doc: OptionalStringProp
    library_call: OptionalStringProp
    body: Region
    traits = (SingleBlock,)
    canonicalize_patterns = GENERIC_PATTERNS

    def maps(self) -> tuple[AffineMap, ...]:
        return self.indexing_maps.value

    def iterators(self) -> tuple[str, ...]:
        return tuple([kind.value for kind in self.iterator_types.value])

    @property
    def body_block(self) -> Block:
        """The block of the body."""
        return self.body.blocks[0]

    def block_argument_names(self, region: Region) -> list[str]:
        return ["in"] * len(self.inputs) + ["out"] * len(self.outputs)

    def print(self, printer: Any) -> None:
        iterators = ", ".join([f'"{kind}"' for kind in self.iterators()])
        entries = [
            f"indexing_maps = {printer.attr_text(self.indexing_maps)}",
            f"iterator_types = [{iterators}]",
        ]
        if self.doc is not None:
            entries.insert(0, f"doc = {StringAttr(self.doc)}")
        if self.library_call is not None:
            entries.append(f"library_call = {StringAttr(self.library_call)}")
        printer.emit(f" {{{', '.join(entries)}}}")
        print_operand_groups(self, printer)
        if self.attributes:
            printer.emit(f" attrs = {printer.dict_text(sorted(self.attributes.items()))}")
        printer.emit(" ")
        printer.print_region(self.body)
        print_result_types(self, printer)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        properties = parser.parse_optional_attr_dict()
        kinds = properties.get("iterator_types")
        if isinstance(kinds, ArrayAttr):
            words = [IteratorTypeAttr(k.value) if isinstance(k, StringAttr) else k for k in kinds]
            properties["iterator_types"] = ArrayAttr(words)
        inputs, outputs = parse_operand_groups(parser)
        attributes = {}
        if parser.parse_optional_literal("attrs"):
            parser.parse_punctuation("=")
            attributes = parser.parse_optional_attr_dict()
        body = parser.parse_region(op_class=cls)
        return cls(
            inputs,
            outputs,
            result_types=parse_result_types(parser, outputs),
            attributes=attributes,
            body=body,
            **properties,
        )

    def verify_(self) -> None:
        self._verify_results()
        maps, loops = self.maps(), len(self.iterators())
        if len(maps) != len(self.operands):
            raise self.error(f"has {len(self.operands)} operands, but {len(maps)} indexing maps")
        for value, indexing in zip(self.operands, maps):
            rank = len(getattr(value.type, "shape", ()))
            if indexing.num_dims != loops:
                raise self.error(f"has {loops} loops, but a map of {indexing.num_dims} dimensions: {indexing}")
            if indexing.num_results != rank:
                raise self.error(f"indexes {value.type} by {indexing.num_results} results: {indexing}")
        self._verify_body()
        self._verify_ranges(maps)

    def _verify_body(self) -> None:
        block = self.body.entry
        expected = [getattr(v.type, "element_type", v.type) for v in self.operands]
        if list(block.argument_types) != expected:
            raise self.error(f"has a body over ({', '.join(map(str, block.argument_types))}), expected "
                             f"({', '.join(map(str, expected))})")  # fmt: skip
        yielded = block.last_op
        if not isinstance(yielded, YieldOp):
            raise self.error("has a body that doesn't end in linalg.yield")
        wanted = [v.type.element_type for v in self.outputs]  # type: ignore[attr-defined]
        if list(yielded.operand_types) != wanted:
            raise self.error(f"yields ({', '.join(map(str, yielded.operand_types))}), expected "
                             f"({', '.join(map(str, wanted))})")  # fmt: skip

    def _verify_ranges(self, maps: Sequence[AffineMap]) -> None:
        ranges: dict[int, int] = {}
        for value, indexing in zip(self.operands, maps):
            for dim, size in zip(indexing.dim_positions(), getattr(value.type, "shape", ())):
                if dim is None or size is None:
                    continue
                if ranges.setdefault(dim, size) != size:
                    raise self.error(f"runs loop {dim} both {ranges[dim]} and {size} times")


class YieldOp(Op, name="linalg.yield"):
    """Ends a body with the elements of the outputs.

    linalg.yield %0 : f32
    """

    values: Variadic[AnyType]
    traits = (Pure, Terminator, ReturnLike)
    format = "attr-dict ($values^ `:` type($values))?"


class IndexOp(Op, name="linalg.index"):
    """The index of the current iteration along a loop, inside a body.

    %0 = linalg.index 1 : index
    """

    dim: IntProp[i64]
    result: Result[IndexType]
    traits = (Pure,)
    format = "$dim attr-dict `:` type($result)"


class TransposeOp(LinalgOp, name="linalg.transpose"):
    """Dimension `i` of the output is dimension `permutation[i]` of the input.

    %r = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%b : tensor<8x4xf32>) permutation = [1, 0]
    """

    permutation: IntArrayProp[i64]

    def maps(self) -> tuple[AffineMap, ...]:
        permutation = self.permutation
        inverse = [permutation.index(i) for i in range(len(permutation))]
        return AffineMap.permutation(inverse), AffineMap.identity(len(permutation))

    def iterators(self) -> tuple[str, ...]:
        return (PARALLEL,) * len(self.permutation)

    def result_names(self) -> list[str]:
        return ["transposed"]

    def print(self, printer: Any) -> None:
        print_operand_groups(self, printer)
        printer.emit(f" permutation = [{', '.join(map(str, self.permutation))}]")
        printer.print_attr_dict(self, ("permutation",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        inputs, outputs = parse_operand_groups(parser)
        permutation = _parse_dims(parser, "permutation")
        return cls(inputs, outputs, permutation, attributes=parser.parse_optional_attr_dict())

    def verify_(self) -> None:
        self._verify_results()
        source, target = self.inputs[0].type.shape, self.outputs[0].type.shape
        if sorted(self.permutation) != list(range(len(source))):
            raise self.error(f"has no permutation of {len(source)} dimensions: {list(self.permutation)}")
        if tuple(source[p] for p in self.permutation) != tuple(target):
            raise self.error(f"doesn't bring {self.inputs[0].type} to {self.outputs[0].type}")


class BroadcastOp(LinalgOp, name="linalg.broadcast"):
    """The input repeated along `dimensions` of the output.

    %r = linalg.broadcast ins(%a : tensor<8xf32>) outs(%b : tensor<4x8xf32>) dimensions = [0]
    """

    dimensions: IntArrayProp[i64]

    def maps(self) -> tuple[AffineMap, ...]:
        rank = len(self.outputs[0].type.shape)
        identity = AffineMap.identity(rank)
        return identity.sub_map([i for i in range(rank) if i not in self.dimensions]), identity

    def iterators(self) -> tuple[str, ...]:
        return (PARALLEL,) * len(self.outputs[0].type.shape)

    def result_names(self) -> list[str]:
        return ["broadcasted"]

    def print(self, printer: Any) -> None:
        print_operand_groups(self, printer)
        printer.emit(f" dimensions = [{', '.join(map(str, self.dimensions))}]")
        printer.print_attr_dict(self, ("dimensions",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        inputs, outputs = parse_operand_groups(parser)
        dimensions = _parse_dims(parser, "dimensions")
        return cls(inputs, outputs, dimensions, attributes=parser.parse_optional_attr_dict())

    def verify_(self) -> None:
        self._verify_results()
        kept = tuple(n for i, n in enumerate(self.outputs[0].type.shape) if i not in self.dimensions)
        if tuple(self.inputs[0].type.shape) != kept:
            raise self.error(f"doesn't bring {self.inputs[0].type} to {self.outputs[0].type}")


class _BodyInTail(LinalgOp):
    """`linalg.map` and `linalg.reduce`: the body follows, or is one op in braces in front."""

    body: Region

    def block_argument_names(self, region: Region) -> list[str]:
        return ["in"] * len(self.inputs) + ["init"] * len(self.outputs)

    def _print_body(self, printer: Any) -> None:
        printer.name_region_arguments(self.body)
        printer.emit(" (")
        printer.print_arguments(self.body.entry.arguments)
        printer.emit(") ")
        printer.print_region(self.body, arguments=False)

    @classmethod
    def _parse_short_body(cls, parser: Any) -> str | None:
        if not parser.parse_optional("{"):
            return None
        name = parser.parse_identifier("the name of an op")
        parser.parse_punctuation("}")
        return name

    @classmethod
    def _body_of(cls, name: str, types: Sequence[Type], arguments: Sequence[int], parser: Any) -> Region:
        from pyiree.compiler.ir.registry import lookup_operation

        op_class = lookup_operation(name)
        if op_class is None:
            raise parser.error(f"op '{name}' is not registered")
        block = Block(types)
        op = op_class(*[block.arguments[i] for i in arguments])
        block.append(op)
        block.append(YieldOp(op.results))
        return Region(block)


class MapOp(_BodyInTail, name="linalg.map"):
    """One body over all elements of the inputs.

    %r = linalg.map ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) (%in: f32, %init: f32) { … }
    """

    def maps(self) -> tuple[AffineMap, ...]:
        return (AffineMap.identity(len(self.outputs[0].type.shape)),) * len(self.operands)

    def iterators(self) -> tuple[str, ...]:
        return (PARALLEL,) * len(self.outputs[0].type.shape)

    def result_names(self) -> list[str]:
        return ["mapped"]

    def print(self, printer: Any) -> None:
        print_operand_groups(self, printer)
        printer.print_attr_dict(self)
        self._print_body(printer)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        short = cls._parse_short_body(parser)
        inputs, outputs = parse_operand_groups(parser)
        attributes = parser.parse_optional_attr_dict()
        if short is None:
            body = parser.parse_region(parser.parse_argument_list(), op_class=cls)
        else:
            types = [v.type.element_type for v in (*inputs, *outputs)]
            body = cls._body_of(short, types, range(len(inputs)), parser)
        return cls(inputs, outputs, body=body, attributes=attributes)


class ReduceOp(_BodyInTail, name="linalg.reduce"):
    """Combines the elements of the inputs along `dimensions` into the outputs.

    %r = linalg.reduce ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) dimensions = [1]
        (%in: f32, %init: f32) { … }
    """

    dimensions: IntArrayProp[i64]

    def maps(self) -> tuple[AffineMap, ...]:
        rank = len(self.inputs[0].type.shape)
        identity = AffineMap.identity(rank)
        kept = identity.sub_map([i for i in range(rank) if i not in self.dimensions])
        return (identity,) * len(self.inputs) + (kept,) * len(self.outputs)

    def iterators(self) -> tuple[str, ...]:
        rank = len(self.inputs[0].type.shape)
        return tuple([REDUCTION if i in self.dimensions else PARALLEL for i in range(rank)])

    def result_names(self) -> list[str]:
        return ["reduced"] + [""] * (len(self.results) - 1)

    def print(self, printer: Any) -> None:
        print_operand_groups(self, printer)
        printer.emit(f" dimensions = [{', '.join(map(str, self.dimensions))}]")
        printer.print_attr_dict(self, ("dimensions",))
        self._print_body(printer)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        short = cls._parse_short_body(parser)
        inputs, outputs = parse_operand_groups(parser)
        dimensions = _parse_dims(parser, "dimensions")
        attributes = parser.parse_optional_attr_dict()
        if short is None:
            body = parser.parse_region(parser.parse_argument_list(), op_class=cls)
        else:
            types = [v.type.element_type for v in (*inputs, *outputs)]
            body = cls._body_of(short, types, (1, 0), parser)
        return cls(inputs, outputs, dimensions, body=body, attributes=attributes)


def _parse_dims(parser: Any, keyword: str) -> list[int]:
    parser.parse_literal(keyword)
    parser.parse_punctuation("=")
    return parser.parse_list(parser.parse_integer, "[", "]")


class SoftmaxOp(LinalgOp, name="linalg.softmax"):
    """The softmax along one dimension.

    %r = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%b : tensor<4x8xf32>) -> tensor<4x8xf32>
    """

    dimension: IntProp[i64]

    def iterators(self) -> tuple[str, ...]:
        rank = len(self.inputs[0].type.shape)
        return tuple([REDUCTION if i == self.dimension else PARALLEL for i in range(rank)])

    def maps(self) -> tuple[AffineMap, ...]:
        return (AffineMap.identity(len(self.inputs[0].type.shape)),) * 2

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("dimension",))
        printer.emit(f" dimension({self.dimension})")
        print_operand_groups(self, printer)
        print_result_types(self, printer)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_literal("dimension")
        parser.parse_punctuation("(")
        dimension = parser.parse_integer()
        parser.parse_punctuation(")")
        inputs, outputs = parse_operand_groups(parser)
        types = parse_result_types(parser, outputs)
        return cls(inputs, outputs, dimension, result_types=types, attributes=attributes)


