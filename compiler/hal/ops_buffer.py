"""Hal ops on allocators, buffers and buffer views."""

from __future__ import annotations

from pyiree.compiler.dialects.hal import AllocatorType, BufferType, BufferViewType
from pyiree.compiler.dialects.util_types import BufferType as HostBufferType
from pyiree.compiler.hal import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import IntProp, Operand, Result, StringProp, Variadic
from pyiree.compiler.ir.traits import MemoryAlloc, MemoryRead, MemoryWrite, Pure
from pyiree.compiler.ir.types import i1, i32, i64, index

_DICT = "attr-dict-with-keyword"
_BUFFER = "`<` $buffer `:` type($buffer) `>` "
_VIEW = "`<` $buffer_view `:` type($buffer_view) `>` "


class MemoryTypeOp(Op, name="hal.memory_type"):
    """Where memory is and who can reach it.

    %t = hal.memory_type<"DeviceVisible|DeviceLocal"> : i32
    """

    type_: IntProp[i32]
    result: Result[i32]
    traits = (Pure,)
    format = '`<` custom<Bits>($type, "MemoryType") `>` attr-dict `:` type($result)'

    def result_names(self) -> list[str]:
        return ["memory_type"]


class BufferUsageOp(Op, name="hal.buffer_usage"):
    """What a buffer may be used for.

    %u = hal.buffer_usage<"TransferSource|DispatchStorageRead"> : i32
    """

    usage: IntProp[i32]
    result: Result[i32]
    traits = (Pure,)
    format = '`<` custom<Bits>($usage, "BufferUsage") `>` attr-dict `:` type($result)'

    def result_names(self) -> list[str]:
        return ["buffer_usage"]


class AllocatorAllocateOp(Op, name="hal.allocator.allocate"):
    """Allocates a buffer at once."""

    allocator: Operand[AllocatorType]
    queue_affinity: Operand[i64]
    memory_types: Operand[i32]
    buffer_usage: Operand[i32]
    result_size: Operand[index]
    result: Result[BufferType]
    traits = (MemoryAlloc,)
    format = (
        "`<` $allocator `:` type($allocator) `>` `affinity` `(` $queue_affinity `)` `type` `(` $memory_types `)` "
        f"`usage` `(` $buffer_usage `)` `:` type($result) `` `{{` $result_size `}}` {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["buffer"]


class AllocatorImportOp(Op, name="hal.allocator.import"):
    """Makes a buffer over bytes of the host, if the device can reach them."""

    allocator: Operand[AllocatorType]
    queue_affinity: Operand[i64]
    memory_types: Operand[i32]
    buffer_usage: Operand[i32]
    source: Operand[HostBufferType]
    offset: Operand[index]
    length: Operand[index]
    did_import: Result[i1]
    result: Result[BufferType]
    traits = (MemoryAlloc,)
    format = (
        "`<` $allocator `:` type($allocator) `>` `source` `(` $source `:` type($source) `)` "
        "`` `[` $offset `,` $length `]` `affinity` `(` $queue_affinity `)` `type` `(` $memory_types `)` "
        f"`usage` `(` $buffer_usage `)` `:` type($did_import) `,` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["did_import", "mapped"]


class BufferAssertOp(Op, name="hal.buffer.assert"):
    """Fails the invocation unless a buffer is long enough and may be used like this."""

    buffer: Operand[BufferType]
    allocator: Operand[AllocatorType]
    minimum_length: Operand[index]
    message: StringProp
    memory_types: IntProp[i32]
    buffer_usage: IntProp[i32]
    format = (
        f"{_BUFFER}`message` `(` $message `)` `allocator` `(` $allocator `:` type($allocator) `)` "
        '`minimum_length` `(` $minimum_length `)` `type` `(` custom<Bits>($memory_types, "MemoryType") `)` '
        f'`usage` `(` custom<Bits>($buffer_usage, "BufferUsage") `)` {_DICT}'
    )


class BufferAllocationPreserveOp(Op, name="hal.buffer.allocation.preserve"):
    """Takes a share in an allocation's life."""

    buffer: Operand[BufferType]
    format = f"{_BUFFER}{_DICT}"


class BufferAllocationDiscardOp(Op, name="hal.buffer.allocation.discard"):
    """Gives up a share in an allocation's life; true if it was the last."""

    buffer: Operand[BufferType]
    result: Result[i1]
    format = f"{_BUFFER}`:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["was_terminal"]


class BufferAllocationIsTerminalOp(Op, name="hal.buffer.allocation.is_terminal"):
    """Whether nothing else holds an allocation."""

    buffer: Operand[BufferType]
    result: Result[i1]
    traits = (MemoryRead,)
    format = f"{_BUFFER}`:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["is_terminal"]


class BufferSubspanOp(Op, name="hal.buffer.subspan"):
    """A range of a buffer, as a buffer."""

    source_buffer: Operand[BufferType]
    source_offset: Operand[index]
    length: Operand[index]
    result: Result[BufferType]
    traits = (Pure,)
    format = (
        "`<` $source_buffer `:` type($source_buffer) `>` `` `[` $source_offset `,` $length `]` "
        f"`:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["buffer"]


class BufferLengthOp(Op, name="hal.buffer.length"):
    """The bytes of a buffer."""

    buffer: Operand[BufferType]
    result: Result[index]
    traits = (Pure,)
    format = f"{_BUFFER}`:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["length"]


class BufferLoadOp(Op, name="hal.buffer.load"):
    """Reads one number of a buffer that the host can reach."""

    source_buffer: Operand[BufferType]
    source_offset: Operand[index]
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = f"`<` $source_buffer `:` type($source_buffer) `>` `` `[` $source_offset `]` `:` type($result) {_DICT}"


class BufferStoreOp(Op, name="hal.buffer.store"):
    """Writes one number to a buffer that the host can reach."""

    value: Operand[AnyType]
    target_buffer: Operand[BufferType]
    target_offset: Operand[index]
    traits = (MemoryWrite,)
    format = (
        "`<` $target_buffer `:` type($target_buffer) `>` `` `[` $target_offset `]` "
        f"`value` `(` $value `:` type($value) `)` {_DICT}"
    )


class BufferViewCreateOp(Op, name="hal.buffer_view.create"):
    """A buffer view over a range of a buffer."""

    source_buffer: Operand[BufferType]
    source_offset: Operand[index]
    source_length: Operand[index]
    element_type: Operand[i32]
    encoding_type: Operand[i32]
    shape: Variadic[index]
    result: Result[BufferViewType]
    traits = (Pure,)
    format = (
        "`buffer` `(` $source_buffer `:` type($source_buffer) `)` `` `[` $source_offset `,` $source_length `]` "
        "`shape` `(` `[` $shape `]` `)` `type` `(` $element_type `)` `encoding` `(` $encoding_type `)` "
        f"`:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["view"]


class BufferViewBufferOp(Op, name="hal.buffer_view.buffer"):
    """The buffer of a buffer view."""

    buffer_view: Operand[BufferViewType]
    result: Result[BufferType]
    traits = (Pure,)
    format = f"{_VIEW}`:` type($result) {_DICT}"

    def result_names(self) -> list[str]:
        return ["buffer"]


class BufferViewElementTypeOp(Op, name="hal.buffer_view.element_type"):
    """The element type of a buffer view."""

    buffer_view: Operand[BufferViewType]
    result: Result[i32]
    traits = (Pure,)
    format = f"{_VIEW}`:` type($result) {_DICT}"


class BufferViewEncodingTypeOp(Op, name="hal.buffer_view.encoding_type"):
    """The encoding of a buffer view."""

    buffer_view: Operand[BufferViewType]
    result: Result[i32]
    traits = (Pure,)
    format = f"{_VIEW}`:` type($result) {_DICT}"


class BufferViewRankOp(Op, name="hal.buffer_view.rank"):
    """The number of dims of a buffer view."""

    buffer_view: Operand[BufferViewType]
    result: Result[index]
    traits = (Pure,)
    format = f"{_VIEW}`:` type($result) {_DICT}"


class BufferViewTraceOp(Op, name="hal.buffer_view.trace"):
    """Prints buffer views when the program comes by."""

    operands: Variadic[BufferViewType]
    key: StringProp
    format = f"$key `=` $operands `:` type($operands) {_DICT}"


