"""What every phase knows of the `hal` dialect: its types, devices and targets as attributes, and the tensor boundary.

The phases before HAL carry device affinities, executable targets and buffer views without knowing what becomes of
them. The rest of the dialect, the device programming interface itself, belongs to the phase `compiler/hal/`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
)
from pyiree.compiler.ir.constraints import AnyTensor
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    IntProp,
    Operand,
    OptionalAttr,
    OptionalOperand,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    Results,
    StringProp,
    TypeProp,
    Variadic,
)
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.parametrized import DialectAttr, DialectType
from pyiree.compiler.ir.traits import Pure
from pyiree.compiler.ir.types import Type, i32, index


class AllocatorType(DialectType, name="hal.allocator"):
    """Allocates buffers for a device."""


class BufferType(DialectType, name="hal.buffer"):
    """A range of memory that a device can reach."""


class BufferViewType(DialectType, name="hal.buffer_view"):
    """A buffer with a shape, an element type and an encoding: what crosses the boundary of a program."""


class ChannelType(DialectType, name="hal.channel"):
    """A collective channel."""


class CommandBufferType(DialectType, name="hal.command_buffer"):
    """A recording of commands, submitted as a whole."""


class DeviceType(DialectType, name="hal.device"):
    """A device and its queues."""


class EventType(DialectType, name="hal.event"):
    """A synchronization point inside command buffers."""


class ExecutableType(DialectType, name="hal.executable"):
    """A loaded executable: compiled kernels."""


class FenceType(DialectType, name="hal.fence"):
    """A point in time: a set of semaphores and values."""


class FileType(DialectType, name="hal.file"):
    """A file that queues read from and write to."""


class DeviceAffinityAttr(DialectAttr, name="hal.device.affinity"):
    """The device, by its global, and the queues of it that something belongs to.

    #hal.device.affinity<@device_a>, #hal.device.affinity<@device_a, [0, 1]>
    """

    device: SymbolRefAttr
    queue_mask: int

    def print_parameters(self, printer: Any) -> str:
        queues = [str(i) for i in range(64) if self.queue_mask >> i & 1] if self.queue_mask != -1 else None
        return f"<{self.device}>" if queues is None else f"<{self.device}, [{', '.join(queues)}]>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        device = parser.parse_symbol_ref()
        mask = -1
        if parser.parse_optional(","):
            if parser.parse_optional("*"):
                mask = -1
            else:
                mask = sum(1 << i for i in parser.parse_list(parser.parse_integer, "[", "]"))
        parser.parse_punctuation(">")
        return device, mask


def _symbol_fragment(name: str) -> str:
    return name.lower().replace("-", "_")


class ExecutableTargetAttr(DialectAttr, name="hal.executable.target"):
    """A code generator's back end, the format of its binaries, and its configuration.

    #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "…"}>
    """

    backend: str
    binary_format: str
    configuration: DictAttr | None = None

    @property
    def symbol_name_fragment(self) -> str:
        """The format as part of a symbol's name."""
        return _symbol_fragment(self.binary_format)

    @property
    def alias(self) -> str:  # type: ignore[override]
        """The name that stands for it in the text of a module."""
        return f"executable_target_{self.symbol_name_fragment}"


class DeviceTargetAttr(DialectAttr, name="hal.device.target"):
    """A device by the id its driver gives it, how to choose it, and the targets that its executables may have.

    #hal.device.target<"local", {ordinal = 0 : index}, [#hal.executable.target<…>]> : !hal.device
    """

    device_id: str
    configuration: DictAttr | None
    executable_targets: ArrayAttr

    @property
    def type(self) -> Type:
        """The type of the global that holds the device."""
        return DeviceType()

    @property
    def alias(self) -> str:  # type: ignore[override]
        """The name that stands for it in the text of a module."""
        ordinal = None if self.configuration is None else self.configuration.get("ordinal")
        suffix = "" if ordinal is None else f"_{ordinal.value}_"
        return f"device_target_{_symbol_fragment(self.device_id)}{suffix}"

    def print_parameters(self, printer: Any) -> str:
        parts = [str(StringAttr(self.device_id))]
        if self.configuration is not None and self.configuration.items_:
            parts.append(printer.attr_text(self.configuration))
        if len(self.executable_targets):
            parts.append("[" + ", ".join([printer.attr_text(t) for t in self.executable_targets]) + "]")
        return f"<{', '.join(parts)}> : !hal.device"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        device_id = parser.parse_string()
        configuration = None
        targets = ArrayAttr([])
        while parser.parse_optional(","):
            if parser.at("{"):
                configuration = parser.parse_attribute()
            else:
                targets = ArrayAttr(parser.parse_list(parser.parse_attribute, "[", "]"))
        parser.parse_punctuation(">")
        if parser.parse_optional(":"):
            parser.parse_type()
        return device_id, configuration, targets


@directive("TypeAlias")
class TypeAlias:
    """`tensor<4xui8> as tensor<4xi8>`: the type at the boundary, and the storage type where that is another."""

    @staticmethod
    def print(printer: Any, op: Op, encoding: TypeAttr, storage: Type) -> None:
        text = printer.type_text(encoding.value)
        printer.emit(text if encoding.value is storage else f"{text} as {printer.type_text(storage)}")

    @staticmethod
    def parse(parser: Any) -> tuple[Type, Type]:
        encoding = parser.parse_type()
        return encoding, parser.parse_type() if parser.parse_optional("as") else encoding


class TensorImportOp(Op, name="hal.tensor.import"):
    """Makes a tensor of an outside buffer view, without a copy.

    %0 = hal.tensor.import %view "input0" : !hal.buffer_view -> tensor<4xf32>
    """

    source: Operand[BufferType | BufferViewType]
    target_dims: Variadic[index]
    wait_fence: OptionalOperand[FenceType]
    byte_offset: OptionalOperand[index]
    target_encoding: TypeProp[Type]
    consume: OptionalUnitAttr
    name_: OptionalStringProp
    affinity: OptionalAttr[Attribute]
    target: Result[AnyTensor]
    format = (
        "(`on` `(` $affinity^ `)`)? (`wait` `(` $wait_fence^ `)` `=` `` `>`)? (`consume` $consume^)? $source "
        "(`offset` `(` $byte_offset^ `)`)? ($name^)? `:` type($source) `->` "
        "custom<TypeAlias>($target_encoding, type($target)) (`{` $target_dims^ `}`)? attr-dict"
    )


class TensorExportOp(Op, name="hal.tensor.export"):
    """Makes a buffer view for the outside of a tensor.

    %view = hal.tensor.export %0 "output0" : tensor<4xf32> -> !hal.buffer_view
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[index]
    source_encoding: TypeProp[Type]
    name_: OptionalStringProp
    affinity: OptionalAttr[Attribute]
    target: Result[BufferType | BufferViewType]
    format = (
        "(`on` `(` $affinity^ `)`)? $source ($name^)? `:` custom<TypeAlias>($source_encoding, type($source)) "
        "(`{` $source_dims^ `}`)? `->` type($target) attr-dict"
    )


class TensorBarrierOp(Op, name="hal.tensor.barrier"):
    """Signals a fence once all the tensors are there.

    %r = hal.tensor.barrier join(%0 : tensor<4xf32>) => %fence : !hal.fence
    """

    sources: Variadic[AnyTensor]
    signal_fence: Operand[FenceType]
    results: Results[AnyTensor]
    format = (
        "`join` `` `(` $sources `:` type($sources) `)` `=` `` `>` $signal_fence `:` type($signal_fence) "
        "attr-dict-with-keyword"
    )

    def infer_types(self) -> list[Type]:
        return [v.type for v in self.sources]


class ElementTypeOp(Op, name="hal.element_type"):
    """The number by which buffer views name an element type.

    %t = hal.element_type<f32> : i32
    """

    type_: TypeProp[Type]
    result: Result[i32]
    traits = (Pure,)
    format = "`<` $type `>` attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return [f"element_type_{self.type_}"]


class EncodingTypeOp(Op, name="hal.encoding_type"):
    """The number by which buffer views name an encoding; without one, dense row-major.

    %e = hal.encoding_type<dense_row_major> : i32
    """

    encoding: OptionalAttr[Attribute]
    result: Result[i32]
    traits = (Pure,)

    def print(self, printer: Any) -> None:
        name = "dense_row_major" if self.encoding is None else printer.attr_text(self.encoding)
        printer.emit(f"<{name}>")
        printer.print_attr_dict(self, ("encoding",))
        printer.emit(" : i32")

    @classmethod
    def parse(cls, parser: Any) -> EncodingTypeOp:
        parser.parse_punctuation("<")
        properties = {} if parser.parse_optional("dense_row_major") else {"encoding": parser.parse_attribute()}
        parser.parse_punctuation(">")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return parser.build_registered(cls, (), (parser.parse_type(),), properties, attributes, ())

    def result_names(self) -> list[str]:
        return ["dense_row_major"] if self.encoding is None else []


class BufferViewDimOp(Op, name="hal.buffer_view.dim"):
    """The size of a buffer view along a dimension.

    %d = hal.buffer_view.dim<%view : !hal.buffer_view>[0] : index
    """

    buffer_view: Operand[BufferViewType]
    index_: IntProp[index]
    result: Result[index]
    traits = (Pure,)
    format = (
        "`<` $buffer_view `:` type($buffer_view) `>` `` `[` $index `]` attr-dict `:` type($result)"
    )


class BufferViewAssertOp(Op, name="hal.buffer_view.assert"):
    """Fails the invocation unless a buffer view has this element type, encoding and shape.

    hal.buffer_view.assert<%view : !hal.buffer_view> message("input0") shape([%d0]) type(%t) encoding(%e)
    """

    buffer_view: Operand[BufferViewType]
    element_type: Operand[i32]
    encoding_type: Operand[i32]
    shape: Variadic[index]
    message: StringProp
    format = (
        "`<` $buffer_view `:` type($buffer_view) `>` `message` `(` $message `)` `shape` `(` `[` $shape `]` `)` "
        "`type` `(` $element_type `)` `encoding` `(` $encoding_type `)` attr-dict-with-keyword"
    )


def device_affinity(name: str) -> DeviceAffinityAttr:
    """The affinity to any queue of the device that the global `name` holds."""
    return DeviceAffinityAttr(SymbolRefAttr(name), -1)


def local_device_target(targets: list[ExecutableTargetAttr], ordinal: int | None = None) -> DeviceTargetAttr:
    """A CPU device: any `local*` driver; with an ordinal, the device at that place among those that match."""
    configuration = None if ordinal is None else DictAttr({"ordinal": IntegerAttr(ordinal, index)})
    return DeviceTargetAttr("local", configuration, ArrayAttr(targets))
