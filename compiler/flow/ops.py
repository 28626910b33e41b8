"""The flow dialect: dispatches of executables, and tensors moved by the host program.

Tensors are values; `{%d}` gives the `?` of the type before it. Inside a `dispatch.region` stand the tensor ops that
will be one dispatch; outlined, they are a function of a `flow.executable` that `flow.dispatch` names.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import assembly as _shared  # noqa: F401  (registers the directives)
from pyiree.compiler.dialects.assembly import dims_text, parse_dims, parse_shaped_types, shaped_types_text
from pyiree.compiler.dialects.tied_results import tied_operand_indices
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.constraints import AnyTensor, AnyType
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalStringProp,
    Result,
    Results,
    StringProp,
    SymbolName,
    SymbolRef,
    Variadic,
)
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.traits import (
    ConstantLike,
    HasParent,
    ImplicitTerminator,
    IsolatedFromAbove,
    MemoryAlloc,
    Pure,
    RecursivelyPure,
    ReturnLike,
    SingleBlock,
    Symbol,
    SymbolTable,
    Terminator,
)
from pyiree.compiler.ir.types import Type, element_type_of, index

_DICT = "attr-dict-with-keyword"
_RESHAPED = (
    "$source `:` type($source) (`{` $source_dims^ `}`)? `->` "
    f"type($result) (`{{` $result_dims^ `}}`)? {_DICT}"
)


class DispatchRegionOp(Op, name="flow.dispatch.region"):
    """Tensor ops that will run as one dispatch; they see the values around them.

    %0 = flow.dispatch.region -> (tensor<?xf32>{%d}) { … flow.return %1 : tensor<?xf32> }
    """

    result_dims: Variadic[index]
    workload: Variadic[index]
    body: Region
    results: Results[AnyType]
    traits = (SingleBlock, RecursivelyPure)

    def print(self, printer: Any) -> None:
        if self.workload:
            printer.emit(f"[{printer.names(self.workload)}]")
        types = ", ".join(shaped_types_text(printer, self.result_types, self.result_dims))
        printer.emit(f" -> ({types})")
        printer.print_attr_dict(self, keyword=True)
        printer.emit(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Any) -> DispatchRegionOp:
        workload = parser.parse_list(lambda: parser.parse_operand(index), "[", "]") if parser.at("[") else []
        parser.parse_punctuation("->")
        types, dims = parse_shaped_types(parser, "(", ")")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(op_class=cls)
        return cls(dims, workload, body, results=types, attributes=attributes)


class ReturnOp(Op, name="flow.return"):
    """Ends a dispatch region or a workgroup count.

    flow.return %0, %1 : tensor<4xf32>, tensor<i32>
    """

    operands: Variadic[AnyType]
    traits = (Pure, ReturnLike, Terminator)
    format = "attr-dict ($operands^ `:` type($operands))?"


class ExecutableOp(Op, name="flow.executable"):
    """A module of dispatch functions and the exports that name them.

    flow.executable private @exe { flow.executable.export public @entry builtin.module { … } }
    """

    sym_name: SymbolName
    sym_visibility: OptionalStringProp
    body: Region
    traits = (IsolatedFromAbove, SingleBlock, ImplicitTerminator("flow.executable_end"), Symbol, SymbolTable)
    format = "custom<SymbolVisibility>($sym_visibility) $sym_name attr-dict-with-keyword regions"


class ExecutableEndOp(Op, name="flow.executable_end"):
    """Ends the body of an executable; it is not written."""

    traits = (Terminator, HasParent("flow.executable"))
    format = "attr-dict"


class ExecutableExportOp(Op, name="flow.executable.export"):
    """An entry of an executable, and how many workgroups run for a workload.

    flow.executable.export public @entry workgroups(%w: index) -> (index, index, index) { flow.return %x, %y, %z … }
    """

    sym_name: SymbolName
    function_ref: SymbolRef
    sym_visibility: OptionalStringProp
    workgroup_count: Region
    traits = (HasParent("flow.executable"), Symbol, IsolatedFromAbove)
    format = (
        "custom<SymbolVisibility>($sym_visibility) custom<SymbolAlias>($sym_name, $function_ref) "
        "custom<WorkgroupCountRegion>($workgroup_count) attr-dict-with-keyword"
    )


class DispatchOp(Op, name="flow.dispatch"):
    """Runs an entry of an executable on tensors and numbers; results may take over operands.

    %1 = flow.dispatch @exe::@entry[%w](%0, %n) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
    """

    workload: Variadic[index]
    arguments: Variadic[AnyType]
    argument_dims: Variadic[index]
    result_dims: Variadic[index]
    entry_points: Attr[ArrayAttr]
    tied_operands: OptionalAttr[ArrayAttr]
    results: Results[AnyType]
    traits = (Pure,)
    format = (
        "custom<DispatchEntryPoints>($entry_points) (`[` $workload^ `]`)? `` `(` $arguments `)` attr-dict `:` "
        "custom<ShapedFunctionType>(ref($arguments), type($arguments), $argument_dims, type($results), "
        "$result_dims, $tied_operands)"
    )

    def tied_indices(self) -> list[int]:
        """For each result the number of the operand it is tied to, or -1."""
        return tied_operand_indices(self.tied_operands, len(self.results))


class TensorConstantOp(Op, name="flow.tensor.constant"):
    """A tensor whose contents are known.

    %0 = flow.tensor.constant dense<1.0> : tensor<4xf32>
    """

    value: Attr[Attribute]
    result: Result[AnyTensor]
    traits = (Pure, ConstantLike)
    format = "attr-dict $value"

    def infer_types(self) -> list[Type]:
        return [self.value.type]


class TensorReshapeOp(Op, name="flow.tensor.reshape"):
    """The same elements in row-major order under another shape.

    %1 = flow.tensor.reshape %0 : tensor<?xf32>{%a} -> tensor<?x4xf32>{%b}
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[index]
    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = _RESHAPED

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result is."""
        return self.source

    def verify_(self) -> None:
        if element_type_of(self.source.type) is not element_type_of(self.result.type):
            raise self.error("changes the element type; that is flow.tensor.bitcast")


class TensorBitCastOp(Op, name="flow.tensor.bitcast"):
    """The same bytes as another element type or shape.

    %1 = flow.tensor.bitcast %0 : tensor<4xf32> -> tensor<4xi32>
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[index]
    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = _RESHAPED

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result is."""
        return self.source


class TensorLoadOp(Op, name="flow.tensor.load"):
    """Reads one element on the host, which waits for it.

    %v = flow.tensor.load %0[%i] : tensor<4xi32>
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[index]
    indices: Variadic[index]
    result: Result[AnyType]
    traits = (Pure,)
    format = f"$source (`[` $indices^ `]`)? `:` type($source) (`{{` $source_dims^ `}}`)? {_DICT}"

    def infer_types(self) -> list[Type]:
        return [element_type_of(self.source.type)]


class TensorStoreOp(Op, name="flow.tensor.store"):
    """The tensor with one element written by the host.

    %1 = flow.tensor.store %v, %0[%i] : tensor<4xi32>
    """

    value: Operand[AnyType]
    target: Operand[AnyTensor]
    target_dims: Variadic[index]
    indices: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = f"$value `,` $target (`[` $indices^ `]`)? `:` type($target) (`{{` $target_dims^ `}}`)? {_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.target.type]


class TensorAllocaOp(Op, name="flow.tensor.alloca"):
    """A tensor with storage of its own and contents that don't matter.

    %0 = flow.tensor.alloca : tensor<?xf32>{%d}
    """

    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (MemoryAlloc,)
    format = f"`:` type($result) (`{{` $result_dims^ `}}`)? {_DICT}"


class TensorEmptyOp(Op, name="flow.tensor.empty"):
    """A tensor whose contents don't matter.

    %0 = flow.tensor.empty : tensor<?xf32>{%d}
    """

    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = f"`:` type($result) (`{{` $result_dims^ `}}`)? {_DICT}"


class TensorSplatOp(Op, name="flow.tensor.splat"):
    """A tensor filled with one number.

    %0 = flow.tensor.splat %v : tensor<?xf32>{%d}
    """

    value: Operand[AnyType]
    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.value)} : {printer.type_text(self.result.type)}")
        printer.emit(dims_text(printer, self.result_dims))
        printer.print_attr_dict(self, keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> TensorSplatOp:
        value = parser.parse_operand()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        dims = parse_dims(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.resolve(value, element_type_of(result))
        return cls(value, dims, result=result, attributes=attributes)


class TensorCloneOp(Op, name="flow.tensor.clone"):
    """A copy of a tensor.

    %1 = flow.tensor.clone %0 : tensor<?xf32>{%d}
    """

    operand: Operand[AnyTensor]
    operand_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = f"$operand `:` type($operand) (`{{` $operand_dims^ `}}`)? {_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.operand.type]


class TensorTransferOp(Op, name="flow.tensor.transfer"):
    """The tensor on another device.

    %1 = flow.tensor.transfer %0 : tensor<4xf32> to #hal.device.affinity<@device_b>
    """

    operand: Operand[AnyTensor]
    operand_dims: Variadic[index]
    target: Attr[Attribute]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = f"$operand `:` type($operand) (`{{` $operand_dims^ `}}`)? `to` $target {_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.operand.type]


class TensorBarrierOp(Op, name="flow.tensor.barrier"):
    """The tensor itself, as a point where work may not be merged across.

    %1 = flow.tensor.barrier %0 : tensor<4xf32> on #hal.device.affinity<@device_a>
    """

    operand: Operand[AnyTensor]
    operand_dims: Variadic[index]
    target: Attr[Attribute]
    result: Result[AnyTensor]
    format = f"$operand `:` type($operand) (`{{` $operand_dims^ `}}`)? `on` $target {_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.operand.type]


class TensorSliceOp(Op, name="flow.tensor.slice"):
    """A box of a tensor.

    %1 = flow.tensor.slice %0[%i, %j for %n, %m] : tensor<4x4xf32> -> tensor<2x2xf32>
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[index]
    start_indices: Variadic[index]
    lengths: Variadic[index]
    result_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$source `[` $start_indices `for` $lengths `]` `:` type($source) (`{` $source_dims^ `}`)? `->` "
        f"type($result) (`{{` $result_dims^ `}}`)? {_DICT}"
    )


@directive("TiedToTarget")
class TiedToTarget:
    """`%target as type{%dims}`."""

    @staticmethod
    def print(printer: Any, op: Any, type: Type, dims: Any) -> None:
        printer.emit(f"{printer.name(op.target)} as {printer.type_text(type)}{dims_text(printer, dims)}")

    @staticmethod
    def parse(parser: Any) -> Any:
        parser.parse_operand()
        parser.parse_literal("as")
        return parser.parse_type(), parse_dims(parser)


class TensorUpdateOp(Op, name="flow.tensor.update"):
    """The target with a box of it replaced by another tensor.

    %1 = flow.tensor.update %u, %0[%i, %j] : tensor<2x2xf32> -> %0 as tensor<4x4xf32>
    """

    target: Operand[AnyTensor]
    target_dims: Variadic[index]
    start_indices: Variadic[index]
    update: Operand[AnyTensor]
    update_dims: Variadic[index]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$update `,` $target `[` $start_indices `]` `:` type($update) (`{` $update_dims^ `}`)? `->` "
        f"custom<TiedToTarget>(type($target), $target_dims) {_DICT}"
    )

    def infer_types(self) -> list[Type]:
        return [self.target.type]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result takes over."""
        return self.target


@directive("ShapedOperandList")
class ShapedOperandList:
    """`%a : type{%d}, %b : type`."""

    @staticmethod
    def print(printer: Any, op: Any, values: Any, types: Any, dims: Any) -> None:
        texts = shaped_types_text(printer, types, dims)
        printer.emit(", ".join([f"{printer.name(v)} : {t}" for v, t in zip(values, texts)]))

    @staticmethod
    def parse(parser: Any) -> Any:
        dims: list[Value] = []

        def entry() -> Value:
            value = parser.parse_typed_operand()
            dims.extend(parse_dims(parser))
            return value

        values = parser.parse_list(entry)
        return values, [v.type for v in values], dims


class TensorTraceOp(Op, name="flow.tensor.trace"):
    """Prints tensors when the program comes by.

    flow.tensor.trace "key" = [%0 : tensor<4xf32>]
    """

    values: Variadic[AnyTensor]
    value_dims: Variadic[index]
    key: StringProp
    format = f"$key `=` `[` custom<ShapedOperandList>($values, type($values), $value_dims) `]` {_DICT}"
