"""Hal ops on devices, queues and fences: the host's side of asynchronous work."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.hal import (
    AllocatorType,
    BufferType,
    CommandBufferType,
    DeviceAffinityAttr,
    DeviceType,
    FenceType,
    FileType,
)
from pyiree.compiler.dialects.util_types import BufferType as HostBufferType
from pyiree.compiler.hal import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.constraints import AnyInteger, AnyType
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    IntProp,
    Operand,
    OptionalAttr,
    Result,
    Results,
    StringProp,
    Variadic,
)
from pyiree.compiler.ir.traits import MemoryAlloc, Pure, ReturnLike, SingleBlock, Terminator
from pyiree.compiler.ir.types import i1, i32, i64, index

_DEVICE = "`<` $device `:` type($device) `>` `affinity` `(` $queue_affinity `)` "
_FENCES = "`wait` `(` $wait_fence `)` `signal` `(` $signal_fence `)` "
_FLAGS = "`flags` `(` custom<Bits>($flags, \"Flag\") `)` "
_SOURCE = "`source` `(` $source_buffer `:` type($source_buffer) `)` `` `[` $source_offset `]` "
_TARGET = "`target` `(` $target_buffer `:` type($target_buffer) `)` `` `[` $target_offset `]` "
_LENGTH = "`length` `(` $length `)` "
_DICT = "attr-dict-with-keyword"


class DevicesCountOp(Op, name="hal.devices.count"):
    """How many devices the program was given."""

    result: Result[index]
    traits = (Pure,)
    format = "attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return ["device_count"]


class DevicesGetOp(Op, name="hal.devices.get"):
    """A device by its place among those that the program was given."""

    index_: Operand[index]
    result: Result[DeviceType]
    traits = (Pure,)
    format = "$index attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return ["device_n"]


class DeviceResolveOp(Op, name="hal.device.resolve"):
    """The device (and allocator, queue mask) of an affinity."""

    affinity: OptionalAttr[DeviceAffinityAttr]
    results: Results[AnyType]
    traits = (Pure,)
    format = "(`on` `(` qualified($affinity)^ `)`)? attr-dict `:` type($results)"

    def result_names(self) -> list[str]:
        names = {DeviceType(): "device", AllocatorType(): "allocator", i64: "queue_affinity"}
        return [names.get(type, "") for type in self.result_types]


class DeviceAllocatorOp(Op, name="hal.device.allocator"):
    """The allocator of a device."""

    device: Operand[DeviceType]
    result: Result[AllocatorType]
    traits = (Pure,)
    format = f"`<` $device `:` type($device) `>` `:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["allocator"]


class DeviceQueryOp(Op, name="hal.device.query"):
    """Asks a device for a value; `ok` says whether it has one.

    %ok, %v = hal.device.query<%device : !hal.device> key("hal.device.id" :: "local*") : i1, i1 = false
    """

    device: Operand[DeviceType]
    category: StringProp
    key: StringProp
    default_value: OptionalAttr[Attribute]
    ok: Result[i1]
    value: Result[AnyType]
    traits = (Pure,)

    def print(self, printer: Any) -> None:
        printer.emit(f"<{printer.name(self.device)} : {printer.type_text(self.device.type)}> key(")
        printer.emit(f"{self.properties['category']} :: {self.properties['key']}) : ")
        printer.emit(f"{printer.types_text(self.result_types)}")
        if self.default_value is not None:
            printer.emit(f" = {self.default_value.bare_text()}")
        printer.print_attr_dict(self, ("category", "key", "default_value"), keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> DeviceQueryOp:
        parser.parse_punctuation("<")
        device = parser.parse_typed_operand()
        parser.parse_punctuation(">")
        parser.parse_literal("key")
        parser.parse_punctuation("(")
        category = parser.parse_string()
        parser.parse_punctuation("::")
        key = parser.parse_string()
        parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        types = parser.parse_type_list()
        default = parser.parse_attribute(types[1]) if parser.parse_optional("=") else None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls(device, category, key, default, ok=types[0], value=types[1], attributes=attributes)

    def result_names(self) -> list[str]:
        return ["ok", "value"]


class DeviceMemoizeOp(Op, name="hal.device.memoize"):
    """Values that depend on the device alone and are made once; outlined into a function and globals.

    %cb = hal.device.memoize<%device : !hal.device> affinity(%a) -> !hal.command_buffer { … hal.return %1 }
    """

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    body: Region
    results: Results[AnyType]
    traits = (SingleBlock,)
    format = f"{_DEVICE}`->` type($results) {_DICT} $body"


class ReturnOp(Op, name="hal.return"):
    """Ends a region of hal ops."""

    operands: Variadic[AnyType]
    traits = (Terminator, ReturnLike)
    format = "attr-dict ($operands^ `:` type($operands))?"


class DeviceQueueAllocaOp(Op, name="hal.device.queue.alloca"):
    """Allocates a buffer in the order of a queue. Its signal is an effect: it stays when the buffer is unused."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    pool: Operand[i64]
    memory_types: Operand[i32]
    buffer_usage: Operand[i32]
    result_size: Operand[index]
    flags: IntProp[i64]
    result: Result[BufferType]
    format = (
        f"{_DEVICE}{_FENCES}`pool` `(` $pool `)` `type` `(` $memory_types `)` `usage` `(` $buffer_usage `)` "
        f'`flags` `(` custom<Bits>($flags, "AllocaFlag") `)` `:` type($result) `` `{{` $result_size `}}` {_DICT}'
    )

    def result_names(self) -> list[str]:
        return ["transient_buffer"]


class DeviceQueueDeallocaOp(Op, name="hal.device.queue.dealloca"):
    """Frees a buffer in the order of a queue."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    buffer: Operand[BufferType]
    flags: IntProp[i64]
    format = (
        f"{_DEVICE}{_FENCES}`buffer` `(` $buffer `:` type($buffer) `)` "
        f'`flags` `(` custom<Bits>($flags, "DeallocaFlag") `)` {_DICT}'
    )


class DeviceQueueFillOp(Op, name="hal.device.queue.fill"):
    """Fills a range with a pattern."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    target_buffer: Operand[BufferType]
    target_offset: Operand[index]
    length: Operand[index]
    pattern: Operand[AnyInteger]
    flags: IntProp[i64]
    format = f"{_DEVICE}{_FENCES}{_TARGET}{_LENGTH}`pattern` `(` $pattern `:` type($pattern) `)` {_FLAGS}{_DICT}"


class DeviceQueueUpdateOp(Op, name="hal.device.queue.update"):
    """Copies bytes of the host into a range."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    source_buffer: Operand[HostBufferType]
    source_offset: Operand[index]
    target_buffer: Operand[BufferType]
    target_offset: Operand[index]
    length: Operand[index]
    flags: IntProp[i64]
    format = f"{_DEVICE}{_FENCES}{_SOURCE}{_TARGET}{_LENGTH}{_FLAGS}{_DICT}"


class DeviceQueueCopyOp(Op, name="hal.device.queue.copy"):
    """Copies a range between buffers."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    source_buffer: Operand[BufferType]
    source_offset: Operand[index]
    target_buffer: Operand[BufferType]
    target_offset: Operand[index]
    length: Operand[index]
    flags: IntProp[i64]
    format = f"{_DEVICE}{_FENCES}{_SOURCE}{_TARGET}{_LENGTH}{_FLAGS}{_DICT}"


class DeviceQueueReadOp(Op, name="hal.device.queue.read"):
    """Reads a range of a file into a buffer."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    source_file: Operand[FileType]
    source_offset: Operand[i64]
    target_buffer: Operand[BufferType]
    target_offset: Operand[index]
    length: Operand[index]
    flags: IntProp[i64]
    format = (
        f"{_DEVICE}{_FENCES}`source` `(` $source_file `:` type($source_file) `)` `` `[` $source_offset `]` "
        f"{_TARGET}{_LENGTH}{_FLAGS}{_DICT}"
    )


class DeviceQueueWriteOp(Op, name="hal.device.queue.write"):
    """Writes a range of a buffer to a file."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    source_buffer: Operand[BufferType]
    source_offset: Operand[index]
    target_file: Operand[FileType]
    target_offset: Operand[i64]
    length: Operand[index]
    flags: IntProp[i64]
    format = (
        f"{_DEVICE}{_FENCES}{_SOURCE}`target` `(` $target_file `:` type($target_file) `)` "
        f"`` `[` $target_offset `]` {_LENGTH}{_FLAGS}{_DICT}"
    )


class DeviceQueueBarrierOp(Op, name="hal.device.queue.barrier"):
    """Signals one fence after another, in the order of a queue."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    flags: IntProp[i64]
    format = f"{_DEVICE}{_FENCES}{_FLAGS}{_DICT}"


class DeviceQueueExecuteOp(Op, name="hal.device.queue.execute"):
    """Runs a command buffer whose buffers are all known."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    command_buffer: Operand[CommandBufferType]
    flags: IntProp[i64]
    format = f"{_DEVICE}{_FENCES}`commands` `(` $command_buffer `)` {_FLAGS}{_DICT}"


class DeviceQueueExecuteIndirectOp(Op, name="hal.device.queue.execute.indirect"):
    """Runs a command buffer with a table of the buffers for its binding slots."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    wait_fence: Operand[FenceType]
    signal_fence: Operand[FenceType]
    command_buffer: Operand[CommandBufferType]
    binding_buffers: Variadic[BufferType]
    binding_offsets: Variadic[index]
    binding_lengths: Variadic[index]
    flags: IntProp[i64]
    format = (
        f"{_DEVICE}{_FENCES}`commands` `(` $command_buffer `)` `bindings` `(` `[` "
        "custom<BindingTable>($binding_buffers, type($binding_buffers), $binding_offsets, $binding_lengths) "
        f"`]` `)` {_FLAGS}{_DICT}"
    )


class DeviceQueueFlushOp(Op, name="hal.device.queue.flush"):
    """Starts what was submitted but held back."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    format = f"{_DEVICE}{_DICT}"


class ExFileFromMemoryOp(Op, name="hal.ex.file.from_memory"):
    """A file over bytes of the host."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    buffer: Operand[HostBufferType]
    offset: Operand[index]
    length: Operand[index]
    flags: Operand[i32]
    access: IntProp[i32]
    result: Result[FileType]
    format = (
        "`device` `(` $device `:` type($device) `)` `affinity` `(` $queue_affinity `)` "
        '`access` `(` custom<Bits>($access, "MemoryAccess") `)` `buffer` `(` $buffer `:` type($buffer) `)` '
        f"`` `[` $offset `for` $length `]` `flags` `(` $flags `)` `:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["memory_file"]


class FenceCreateOp(Op, name="hal.fence.create"):
    """A fence that something will signal."""

    device: Operand[DeviceType]
    flags: IntProp[i64]
    result: Result[FenceType]
    traits = (MemoryAlloc,)
    format = f"`device` `(` $device `:` type($device) `)` {_FLAGS}`:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["fence"]


class FenceJoinOp(Op, name="hal.fence.join"):
    """The fence that is reached when all of the given ones are."""

    fences: Variadic[FenceType]
    flags: IntProp[i64]
    result: Result[FenceType]
    traits = (Pure,)
    format = f"`at` `(` `[` $fences `]` `)` {_FLAGS}`->` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["fence"]


class FenceQueryOp(Op, name="hal.fence.query"):
    """The status of a fence, without waiting."""

    fence: Operand[FenceType]
    status: Result[i32]
    format = f"`<` $fence `:` type($fence) `>` `:` type($status) {_DICT}"


class FenceSignalOp(Op, name="hal.fence.signal"):
    """Signals a fence from the host."""

    fence: Operand[FenceType]
    format = f"`<` $fence `:` type($fence) `>` {_DICT}"


class FenceFailOp(Op, name="hal.fence.fail"):
    """Fails a fence from the host."""

    fence: Operand[FenceType]
    status: Operand[i32]
    format = f"`<` $fence `:` type($fence) `>` `status` `(` $status `)` {_DICT}"


class FenceAwaitOp(Op, name="hal.fence.await"):
    """Waits for fences and gives the status."""

    timeout_millis: Operand[i32]
    fences: Variadic[FenceType]
    flags: IntProp[i64]
    status: Result[i32]
    format = (
        "`until` `(` `[` $fences `]` `)` `timeout_millis` `(` $timeout_millis `)` "
        f"{_FLAGS}`:` type($status) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["status"]
