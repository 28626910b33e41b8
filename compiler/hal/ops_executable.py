"""Hal ops of executables: kernels for one or several targets, their exports, and what stands inside of them."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.hal import DeviceType, ExecutableTargetAttr, ExecutableType
from pyiree.compiler.hal import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.hal.bits import DESCRIPTOR_FLAG, PIPELINE_LAYOUT_FLAG, bits_text, parse_bits
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DictAttr, IntegerAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    IntProp,
    Operand,
    OptionalAttr,
    OptionalIntProp,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    StringProp,
    SymbolName,
    SymbolRef,
    Variadic,
)
from pyiree.compiler.ir.parametrized import DialectAttr, EnumAttr
from pyiree.compiler.ir.traits import (
    HasParent,
    ImplicitTerminator,
    IsolatedFromAbove,
    Pure,
    SingleBlock,
    Symbol,
    SymbolTable,
    Terminator,
)
from pyiree.compiler.ir.types import i32, i64, index

_DICT = "attr-dict-with-keyword"


class DescriptorTypeAttr(EnumAttr, name="hal.descriptor_type"):
    """How a kernel sees a binding."""

    cases = ("storage_buffer", "uniform_buffer")


class PipelineBindingAttr(DialectAttr, name="hal.pipeline.binding"):
    """One binding of a pipeline layout: `#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">`."""

    type_: str
    flags: int = 0

    def print_parameters(self, printer: Any) -> str:
        if not self.flags:
            return f"<{self.type_}>"
        return f"<{self.type_}, {bits_text(DESCRIPTOR_FLAG, self.flags)}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        kind = parser.parse_one_of(DescriptorTypeAttr.cases, "a descriptor type")
        flags = parse_bits(parser, DESCRIPTOR_FLAG) if parser.parse_optional(",") else 0
        parser.parse_punctuation(">")
        return kind, flags


class PipelineLayoutAttr(DialectAttr, name="hal.pipeline.layout"):
    """What a kernel takes: `#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<…>]>`."""

    bindings: tuple[PipelineBindingAttr, ...]
    constants: int
    flags: int = 0
    alias = "pipeline_layout"

    def print_parameters(self, printer: Any) -> str:
        parts = [f"constants = {self.constants}"] if self.constants else []
        parts.append(f"bindings = [{', '.join([printer.attr_text(b) for b in self.bindings])}]")
        if self.flags:
            parts.append(f"flags = {bits_text(PIPELINE_LAYOUT_FLAG, self.flags)}")
        return f"<{', '.join(parts)}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        found: dict[str, Any] = {"bindings": (), "constants": 0, "flags": 0}
        parser.parse_punctuation("<")
        while not parser.at(">"):
            name = parser.parse_one_of(("constants", "bindings", "flags"), "a part of a pipeline layout")
            parser.parse_punctuation("=")
            if name == "constants":
                found[name] = parser.parse_integer()
            elif name == "bindings":
                found[name] = tuple(parser.parse_list(parser.parse_attribute, "[", "]"))
            else:
                found[name] = parse_bits(parser, PIPELINE_LAYOUT_FLAG)
            if not parser.parse_optional(","):
                break
        parser.parse_punctuation(">")
        return found["bindings"], found["constants"], found["flags"]


class ExecutableOp(Op, name="hal.executable"):
    """Kernels, in a variant for each target.

    hal.executable private @exe { hal.executable.variant public @embedded_elf_x86_64 target(<…>) { … } }
    """

    sym_name: SymbolName
    sym_visibility: OptionalStringProp
    lazy: OptionalUnitAttr
    body: Region
    traits = (IsolatedFromAbove, SingleBlock, ImplicitTerminator("hal.executable_end"), Symbol, SymbolTable)
    format = f"custom<SymbolVisibility>($sym_visibility) (`lazy` $lazy^)? $sym_name {_DICT} regions"


class ExecutableEndOp(Op, name="hal.executable_end"):
    """Ends the body of an executable; it is not written."""

    traits = (Terminator, HasParent("hal.executable"))
    format = "attr-dict"


class ExecutableVariantOp(Op, name="hal.executable.variant"):
    """Kernels for one target: exports, and a module of their functions."""

    sym_name: SymbolName
    target: Attr[ExecutableTargetAttr]
    sym_visibility: OptionalStringProp
    objects: OptionalAttr[ArrayAttr]
    sources: OptionalAttr[DictAttr]
    body: Region
    traits = (
        IsolatedFromAbove, SingleBlock, ImplicitTerminator("hal.executable.variant_end"), Symbol, SymbolTable,
        HasParent("hal.executable"),
    )  # fmt: skip
    format = (
        "custom<SymbolVisibility>($sym_visibility) $sym_name `target` `(` $target `)` "
        f"(`objects` `(` $objects^ `)`)? (`sources` `(` $sources^ `)`)? {_DICT} $body"
    )


class ExecutableVariantEndOp(Op, name="hal.executable.variant_end"):
    """Ends the body of a variant; it is not written."""

    traits = (Terminator, HasParent("hal.executable.variant"))
    format = "attr-dict"


class ExecutableExportOp(Op, name="hal.executable.export"):
    """A function that command buffers can dispatch, and how many workgroups run for a workload.

    hal.executable.export public @entry ordinal(0) layout(#hal.pipeline.layout<…>) count(…) -> (…) { … }
    """

    sym_name: SymbolName
    layout: Attr[PipelineLayoutAttr]
    sym_visibility: OptionalStringProp
    ordinal: OptionalIntProp[index]
    condition_fallback: OptionalAttr[SymbolRefAttr]
    workgroup_local_memory: OptionalIntProp[index]
    source_locs: OptionalAttr[DictAttr]
    workgroup_count: Region
    condition: Region
    traits = (HasParent("hal.executable.variant", "hal.executable.source"), Symbol, IsolatedFromAbove)
    format = (
        "custom<SymbolVisibility>($sym_visibility) $sym_name (`ordinal` `(` $ordinal^ `)`)? "
        "`layout` `(` qualified($layout) `)` `` custom<ConditionRegion>($condition) "
        f"(`fallback` `(` $condition_fallback^ `)`)? `` custom<CountRegion>($workgroup_count) {_DICT}"
    )


class ExecutableBinaryOp(Op, name="hal.executable.binary"):
    """The compiled form of a variant.

    hal.executable.binary public @embedded_elf_x86_64 <format = "…", data = dense<…> : vector<…xi8>, mime_type = "…">
    """

    sym_name: SymbolName
    format_: StringProp
    data: Attr[Attribute]
    sym_visibility: OptionalStringProp
    mime_type: OptionalStringProp
    traits = (HasParent("hal.executable"), Symbol)

    def print(self, printer: Any) -> None:
        if self.sym_visibility is not None:
            printer.emit(f" {self.sym_visibility}")
        printer.emit(" ")
        printer.print_symbol(self.sym_name)
        shown = [(k, self.properties[k]) for k in ("format", "data", "mime_type") if k in self.properties]
        printer.emit(f" <{', '.join([printer.entry_text(k, v) for k, v in shown])}>")
        printer.print_attr_dict(self, self.properties, keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> ExecutableBinaryOp:
        properties: dict[str, Attribute] = {}
        for word in ("private", "public"):
            if parser.parse_optional(word):
                properties["sym_visibility"] = StringAttr(word)
        properties["sym_name"] = StringAttr(parser.parse_symbol_name())
        parser.parse_punctuation("<")
        while not parser.at(">"):
            name = parser.parse_one_of(("format", "data", "mime_type"), "a part of a binary")
            parser.parse_punctuation("=")
            properties[name] = parser.parse_attribute()
            if not parser.parse_optional(","):
                break
        parser.parse_punctuation(">")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return parser.build_registered(cls, (), (), properties, attributes, ())


class ExecutableCreateOp(Op, name="hal.executable.create"):
    """Loads an executable on a device."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    constants: Variadic[i32]
    executable_target: SymbolRef
    result: Result[ExecutableType]
    traits = (Pure,)
    format = (
        "`device` `(` $device `:` type($device) `)` `affinity` `(` $queue_affinity `)` "
        f"`target` `(` $executable_target `)` (`constants` `(` `[` $constants^ `]` `)`)? `:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["executable"]


class ExecutableLookupOp(Op, name="hal.executable.lookup"):
    """The loaded executable of a symbol; becomes the load of a global."""

    device: Operand[DeviceType]
    executable: SymbolRef
    result: Result[ExecutableType]
    traits = (Pure,)
    format = f"`device` `(` $device `:` type($device) `)` `executable` `(` $executable `)` `:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["exe"]


class ExecutableLookupFunctionOp(Op, name="hal.executable.lookup.function"):
    """The number by which a loaded executable names one of its functions."""

    executable: Operand[ExecutableType]
    entry_point: SymbolRef
    result: Result[i64]
    traits = (Pure,)
    format = (
        "`target` `(` $executable `:` type($executable) `)` `function` `(` $entry_point `)` "
        f"`:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["function_id"]


class ExecutableExportOrdinalOp(Op, name="hal.executable.export.ordinal"):
    """The place of an export in its executable."""

    entry_point: SymbolRef
    result: Result[index]
    traits = (Pure,)
    format = f"`target` `(` $entry_point `)` `:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["ordinal"]


class ExecutableCalculateWorkgroupsOp(Op, name="hal.executable.calculate_workgroups"):
    """How many workgroups an export runs for a workload; becomes what its count region says."""

    device: Operand[DeviceType]
    workload: Variadic[index]
    entry_point: SymbolRef
    workgroup_x: Result[index]
    workgroup_y: Result[index]
    workgroup_z: Result[index]
    traits = (Pure,)
    format = (
        "`device` `(` $device `:` type($device) `)` `target` `(` $entry_point `)` "
        "(`workload` `(` `[` $workload^ `]` `)`)? `:` type($workgroup_x) `,` type($workgroup_y) `,` "
        f"type($workgroup_z) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["workgroup_x", "workgroup_y", "workgroup_z"]


class InterfaceConstantLoadOp(Op, name="hal.interface.constant.load"):
    """A push constant of a kernel.

    %0 = hal.interface.constant.load layout(#hal.pipeline.layout<…>) ordinal(0) : i32
    """

    layout: Attr[PipelineLayoutAttr]
    ordinal: IntProp[index]
    alignment: OptionalIntProp[index]
    values: OptionalAttr[ArrayAttr]
    result: Result[AnyType]
    traits = (Pure,)
    format = (
        "`layout` `(` qualified($layout) `)` `ordinal` `(` $ordinal `)` (`alignment` `(` $alignment^ `)`)? "
        "(`values` `(` $values^ `)`)? attr-dict `:` type($result)"
    )


class InterfaceBindingSubspanOp(Op, name="hal.interface.binding.subspan"):
    """The tensor (or memory) at an offset of a binding of a kernel.

    %0 = hal.interface.binding.subspan layout(#hal.pipeline.layout<…>) binding(0) offset(%o) : !…{%dim}
    """

    byte_offset: Variadic[index]
    dynamic_dims: Variadic[index]
    layout: Attr[PipelineLayoutAttr]
    binding: IntProp[index]
    alignment: OptionalIntProp[index]
    descriptor_flags: OptionalIntProp[i32]
    result: Result[AnyType]
    traits = (Pure,)

    def print(self, printer: Any) -> None:
        printer.emit(f" layout({printer.attr_text(self.layout)}) binding({self.binding})")
        if self.alignment is not None:
            printer.emit(f" alignment({self.alignment})")
        if self.byte_offset:
            printer.emit(f" offset({printer.name(self.byte_offset[0])})")
        if self.descriptor_flags is not None:
            printer.emit(f" flags({bits_text(DESCRIPTOR_FLAG, self.descriptor_flags)})")
        dims = f"{{{printer.names(self.dynamic_dims)}}}" if self.dynamic_dims else ""
        printer.print_attr_dict(self, self.properties)
        printer.emit(f" : {printer.type_text(self.result.type)}{dims}")

    @classmethod
    def parse(cls, parser: Any) -> InterfaceBindingSubspanOp:
        layout = _parse_in_parentheses(parser, "layout", parser.parse_attribute)
        binding = _parse_in_parentheses(parser, "binding", parser.parse_integer)
        alignment = offset = flags = None
        if parser.at("alignment"):
            alignment = _parse_in_parentheses(parser, "alignment", parser.parse_integer)
        if parser.at("offset"):
            offset = _parse_in_parentheses(parser, "offset", lambda: parser.parse_operand(index))
        if parser.at("flags"):
            flags = _parse_in_parentheses(parser, "flags", lambda: parse_bits(parser, DESCRIPTOR_FLAG))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        dims = parser.parse_list(lambda: parser.parse_operand(index), "{", "}") if parser.at("{") else []
        return cls(
            [] if offset is None else [offset], dims, layout, binding, alignment, flags,
            result=result, attributes=attributes,
        )  # fmt: skip


def _parse_in_parentheses(parser: Any, word: str, parse: Any) -> Any:
    parser.parse_literal(word)
    parser.parse_punctuation("(")
    found = parse()
    parser.parse_punctuation(")")
    return found


class _WorkgroupQuery:
    """`hal.interface.workgroup.id[0] : index`."""

    __slots__ = ()

    def result_names(self) -> list[str]:
        mnemonic = self.name.removeprefix("hal.interface.").replace(".", "_")  # type: ignore[attr-defined]
        return [f"{mnemonic}_{'xyz'[self.dimension]}"]  # type: ignore[attr-defined]

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


class InterfaceWorkgroupIDOp(_WorkgroupQuery, Op, name="hal.interface.workgroup.id"):
    """Which workgroup this is, along a dimension."""

    dimension: IntProp[index]
    result: Result[index]
    traits = (Pure,)


class InterfaceWorkgroupCountOp(_WorkgroupQuery, Op, name="hal.interface.workgroup.count"):
    """How many workgroups there are along a dimension."""

    dimension: IntProp[index]
    result: Result[index]
    traits = (Pure,)
