"""stream.resource and stream.file ops to hal: allocations, views, mapped constants, host access.

    %r, %t = stream.resource.alloca uninitialized : !stream.resource<transient>{%n} => !stream.timepoint
    →
    %fence = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
    %r = hal.device.queue.alloca<%device : !hal.device> … signal(%fence) … : !hal.buffer{%n}

The lifetime of an allocation decides its memory; it is read before the types change, so ops that allocate keep it in
an attribute until then.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp
from pyiree.compiler.dialects.hal import BufferType, FileType
from pyiree.compiler.hal.bits import MEMORY_ACCESS
from pyiree.compiler.hal.device_values import (
    Conversion,
    awaited,
    constant,
    memory_properties,
    new_fence,
)
from pyiree.compiler.hal.ops_buffer import (
    AllocatorAllocateOp,
    AllocatorImportOp,
    BufferAllocationDiscardOp,
    BufferAllocationIsTerminalOp,
    BufferAllocationPreserveOp,
    BufferLengthOp,
    BufferLoadOp,
    BufferStoreOp,
    BufferSubspanOp,
)
from pyiree.compiler.hal.ops_device import (
    DeviceQueueAllocaOp,
    DeviceQueueDeallocaOp,
    DeviceQueueReadOp,
    DeviceQueueWriteOp,
    ExFileFromMemoryOp,
)
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.types import i1, i32, i64, index
from pyiree.compiler.stream import ops as stream

#: Where the lifetime of an allocation is kept while types change.
LIFETIME = "hal.lifetime"


def _finish(op: Operation, values: list) -> None:
    op.replace_all_uses_with(values)
    op.erase()


def _lifetime(op: Operation) -> str:
    return op.attributes[LIFETIME].value  # type: ignore[attr-defined]


def _alloc(op: stream.ResourceAllocOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    memory, usage = memory_properties(b, _lifetime(op))
    made = AllocatorAllocateOp(
        conversion.allocator(b, device), conversion.queue(b, op), memory, usage, op.storage_size, result=BufferType()
    )
    _finish(op, [b.insert(made).result])


def _alloca(op: stream.ResourceAllocaOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    wait = awaited(b, op.await_timepoint)
    fence = new_fence(b, device)
    memory, usage = memory_properties(b, _lifetime(op))
    made = DeviceQueueAllocaOp(
        device, conversion.queue(b, op), wait, fence, constant(b, 0, i64), memory, usage, op.storage_size,
        int(op.indeterminate_lifetime), result=BufferType(),
    )  # fmt: skip
    _finish(op, [b.insert(made).result, fence])


def _dealloca(op: stream.ResourceDeallocaOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    wait = awaited(b, op.await_timepoint)
    fence = new_fence(b, device)
    b.insert(
        DeviceQueueDeallocaOp(device, conversion.queue(b, op), wait, fence, op.operand, int(op.prefer_origin))
    )
    _finish(op, [fence])


def _size(op: stream.ResourceSizeOp, conversion: Conversion) -> None:
    _finish(op, [Builder.before(op).insert(BufferLengthOp(op.operand, result=index)).result])


def _retain(op: stream.ResourceRetainOp, conversion: Conversion) -> None:
    Builder.before(op).insert(BufferAllocationPreserveOp(op.operand))
    op.erase()


def _release(op: stream.ResourceReleaseOp, conversion: Conversion) -> None:
    _finish(op, [Builder.before(op).insert(BufferAllocationDiscardOp(op.operand, result=i1)).result])


def _is_terminal(op: stream.ResourceIsTerminalOp, conversion: Conversion) -> None:
    _finish(op, [Builder.before(op).insert(BufferAllocationIsTerminalOp(op.operand, result=i1)).result])


def _try_map(op: stream.ResourceTryMapOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    memory, usage = memory_properties(b, _lifetime(op))
    made = AllocatorImportOp(
        conversion.allocator(b, device), conversion.queue(b, op), memory, usage, op.source, op.source_offset,
        op.result_size, did_import=i1, result=BufferType(),
    )  # fmt: skip
    _finish(op, list(b.insert(made).results))


def _load(op: stream.ResourceLoadOp, conversion: Conversion) -> None:
    made = BufferLoadOp(op.source, op.source_offset, result=op.result.type)
    _finish(op, [Builder.before(op).insert(made).result])


def _store(op: stream.ResourceStoreOp, conversion: Conversion) -> None:
    Builder.before(op).insert(BufferStoreOp(op.value, op.target, op.target_offset))
    op.erase()


def _subview(op: stream.ResourceSubviewOp, conversion: Conversion) -> None:
    made = BufferSubspanOp(op.source, op.source_offset, op.result_size, result=BufferType())
    _finish(op, [Builder.before(op).insert(made).result])


def _pack(op: stream.ResourcePackOp, conversion: Conversion) -> None:
    """Slices whose sizes are not known are laid end to end; those that are known were packed before."""
    b = Builder.before(op)
    offset = constant(b, 0) if op.offset is None else op.offset
    offsets = []
    for size in op.dynamic_slice_sizes:
        offsets.append(offset)
        offset = b.insert(AddIOp(offset, size)).result
    _finish(op, [offset, *offsets])


def _file_constant(op: stream.FileConstantOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    made = ExFileFromMemoryOp(
        device, conversion.queue(b, op), op.source, op.source_offset, op.source_length, constant(b, 0, i32),
        MEMORY_ACCESS["Read"], result=FileType(),
    )  # fmt: skip
    _finish(op, [b.insert(made).result])


def _file_read(op: stream.FileReadOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    wait = awaited(b, op.await_timepoint)
    fence = new_fence(b, device)
    read = DeviceQueueReadOp(
        device, conversion.queue(b, op), wait, fence, op.source, op.source_offset, op.target, op.target_offset,
        op.length, 0,
    )  # fmt: skip
    b.insert(read)
    _finish(op, [fence])


def _file_write(op: stream.FileWriteOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device = conversion.device(b, op)
    wait = awaited(b, op.await_timepoint)
    fence = new_fence(b, device)
    write = DeviceQueueWriteOp(
        device, conversion.queue(b, op), wait, fence, op.source, op.source_offset, op.target, op.target_offset,
        op.length, 0,
    )  # fmt: skip
    b.insert(write)
    _finish(op, [fence])


RESOURCE_CONVERSIONS = {
    stream.ResourceAllocOp: _alloc,
    stream.ResourceAllocaOp: _alloca,
    stream.ResourceDeallocaOp: _dealloca,
    stream.ResourceSizeOp: _size,
    stream.ResourceRetainOp: _retain,
    stream.ResourceReleaseOp: _release,
    stream.ResourceIsTerminalOp: _is_terminal,
    stream.ResourceTryMapOp: _try_map,
    stream.ResourceLoadOp: _load,
    stream.ResourceStoreOp: _store,
    stream.ResourceSubviewOp: _subview,
    stream.ResourcePackOp: _pack,
    stream.FileConstantOp: _file_constant,
    stream.FileReadOp: _file_read,
    stream.FileWriteOp: _file_write,
}
