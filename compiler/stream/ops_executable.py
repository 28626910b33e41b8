"""Stream ops of executables: what holds dispatch functions, and what stands inside of these."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import assembly as _shared  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    IntProp,
    Operand,
    OptionalStringProp,
    Result,
    SymbolName,
    SymbolRef,
    Variadic,
)
from pyiree.compiler.ir.traits import (
    HasParent,
    ImplicitTerminator,
    IsolatedFromAbove,
    Pure,
    ReturnLike,
    SingleBlock,
    Symbol,
    SymbolTable,
    Terminator,
)
from pyiree.compiler.ir.types import index
from pyiree.compiler.stream.types import BindingType


class ExecutableOp(Op, name="stream.executable"):
    """A module of dispatch functions and the exports that name them.

    stream.executable private @exe { stream.executable.export public @entry builtin.module { … } }
    """

    sym_name: SymbolName
    sym_visibility: OptionalStringProp
    body: Region
    traits = (
        IsolatedFromAbove, SingleBlock, ImplicitTerminator("stream.executable.end"), Symbol, SymbolTable,
    )  # fmt: skip
    format = "custom<SymbolVisibility>($sym_visibility) $sym_name attr-dict-with-keyword regions"


class ExecutableEndOp(Op, name="stream.executable.end"):
    """Ends the body of an executable; it is not written."""

    traits = (Terminator, HasParent("stream.executable"))
    format = "attr-dict"


class ExecutableExportOp(Op, name="stream.executable.export"):
    """An entry of an executable, and how many workgroups run for a workload.

    stream.executable.export public @entry workgroups(%w: index) -> (index, index, index) { stream.return %x, %y, %z … }
    """

    sym_name: SymbolName
    function_ref: SymbolRef
    sym_visibility: OptionalStringProp
    workgroup_count: Region
    traits = (HasParent("stream.executable"), Symbol, IsolatedFromAbove)
    format = (
        "custom<SymbolVisibility>($sym_visibility) custom<SymbolAlias>($sym_name, $function_ref) "
        "custom<WorkgroupCountRegion>($workgroup_count) attr-dict-with-keyword"
    )


class ReturnOp(Op, name="stream.return"):
    """Ends a workgroup count region.

    stream.return %x, %y, %z : index, index, index
    """

    operands_: Variadic[AnyType]
    traits = (Pure, ReturnLike, Terminator, HasParent("stream.executable.export"))
    format = "attr-dict $operands `:` type($operands)"


class BindingSubspanOp(Op, name="stream.binding.subspan"):
    """The tensor (or memory) at an offset of a binding.

    %t = stream.binding.subspan %binding[%offset] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<…>{%dim}
    """

    binding: Operand[BindingType]
    byte_offset: Operand[index]
    dynamic_dims: Variadic[index]
    result: Result[AnyType]
    format = (
        "$binding `` `[` $byte_offset `]` attr-dict `:` type($binding) `->` type($result) (`{` $dynamic_dims^ `}`)?"
    )


class _WorkgroupQuery:
    """`stream.dispatch.workgroup.id[0] : index`."""

    __slots__ = ()

    def print(self, printer: Any) -> None:
        printer.emit(f"[{self.dimension}]")  # type: ignore[attr-defined]
        printer.print_attr_dict(self, ("dimension",))
        printer.emit(" : index")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        parser.parse_punctuation("[")
        dimension = IntegerAttr(parser.parse_integer(), index)
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return parser.build_registered(cls, (), (parser.parse_type(),), {"dimension": dimension}, attributes, ())


class DispatchWorkgroupIDOp(_WorkgroupQuery, Op, name="stream.dispatch.workgroup.id"):
    """Which workgroup this is, along a dimension."""

    dimension: IntProp[index]
    result: Result[index]
    traits = (Pure,)

    def result_names(self) -> list[str]:
        return [f"workgroup_id_{self.dimension}"]


class DispatchWorkgroupCountOp(_WorkgroupQuery, Op, name="stream.dispatch.workgroup.count"):
    """How many workgroups there are along a dimension."""

    dimension: IntProp[index]
    result: Result[index]
    traits = (Pure,)

    def result_names(self) -> list[str]:
        return [f"workgroup_count_{self.dimension}"]


class DispatchWorkgroupSizeOp(_WorkgroupQuery, Op, name="stream.dispatch.workgroup.size"):
    """How large a workgroup is along a dimension."""

    dimension: IntProp[index]
    result: Result[index]
    traits = (Pure,)

    def result_names(self) -> list[str]:
        return [f"workgroup_size_{self.dimension}"]
