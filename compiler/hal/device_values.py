"""What conversions to hal ask for again and again: devices, queues, fences, constants."""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import AllocatorType, DeviceAffinityAttr, DeviceType, FenceType
from pyiree.compiler.dialects.util import GlobalLoadOp, NullOp
from pyiree.compiler.hal.bits import BUFFER_USAGE, MEMORY_TYPE
from pyiree.compiler.hal.ops_buffer import BufferUsageOp, MemoryTypeOp
from pyiree.compiler.hal.ops_device import DeviceAllocatorOp, FenceCreateOp
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import Type, i32, i64, index

DEFAULT_AFFINITY = "stream.affinity.default"
ANY_QUEUE = -1

_DEVICE_MEMORY = MEMORY_TYPE["DeviceVisible"] | MEMORY_TYPE["DeviceLocal"]
_STAGING_MEMORY = MEMORY_TYPE["HostLocal"] | MEMORY_TYPE["DeviceVisible"]
_USAGE = BUFFER_USAGE["Transfer"] | BUFFER_USAGE["DispatchStorage"]
#: For each lifetime the memory that a resource is in, and what it may be used for.
PROPERTIES: dict[str, tuple[int, int]] = {
    "external": (_DEVICE_MEMORY, _USAGE),
    "transient": (_DEVICE_MEMORY, _USAGE),
    "variable": (_DEVICE_MEMORY, _USAGE),
    "constant": (_DEVICE_MEMORY, _USAGE | BUFFER_USAGE["SharingImmutable"]),
    "staging": (
        _STAGING_MEMORY | MEMORY_TYPE["HostVisible"],
        _USAGE | BUFFER_USAGE["MappingScoped"] | BUFFER_USAGE["MappingAccessRandom"],
    ),
}


class Conversion:
    """One module's conversion: its default device, and builders of the common values."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.default = module.attributes.get(DEFAULT_AFFINITY)

    def affinity_of(self, op: Operation) -> DeviceAffinityAttr:
        """The device that an op names, or that of an op around it, or the module's."""
        current: Operation | None = op
        while current is not None:
            found: Attribute | None = current.get_attr("affinity")
            if isinstance(found, DeviceAffinityAttr):
                return found
            current = current.parent_op
        if isinstance(self.default, DeviceAffinityAttr):
            return self.default
        raise CompileError(f"'{op.name}' is on no device, and the module names no default one", op.location)

    def device(self, builder: Builder, op: Operation) -> Value:
        """The device of an op."""
        return self.device_of(builder, self.affinity_of(op))

    @staticmethod
    def device_of(builder: Builder, affinity: DeviceAffinityAttr) -> Value:
        """The device of an affinity."""
        return builder.insert(GlobalLoadOp(affinity.device, True, result=DeviceType())).result

    def queue(self, builder: Builder, op: Operation) -> Value:
        """The mask of the queues that an op may use."""
        return constant(builder, self.affinity_of(op).queue_mask, i64)

    def allocator(self, builder: Builder, device: Value) -> Value:
        """The allocator of a device."""
        return builder.insert(DeviceAllocatorOp(device, result=AllocatorType())).result


def constant(builder: Builder, value: int, type: Type = index) -> Value:
    """An integer constant."""
    return builder.insert(ConstantOp(IntegerAttr(value, type))).result


def null_fence(builder: Builder) -> Value:
    """The fence that is always reached."""
    return builder.insert(NullOp(result=FenceType())).result


def new_fence(builder: Builder, device: Value) -> Value:
    """A fence that a queue will signal."""
    return builder.insert(FenceCreateOp(device, 0, result=FenceType())).result


def awaited(builder: Builder, timepoint: Value | None) -> Value:
    """The fence to wait for: of the timepoint, or null."""
    return null_fence(builder) if timepoint is None else timepoint


def memory_properties(builder: Builder, lifetime: str) -> tuple[Value, Value]:
    """The memory type and usage of a lifetime, as values."""
    memory, usage = PROPERTIES[lifetime]
    return (
        builder.insert(MemoryTypeOp(memory, result=i32)).result,
        builder.insert(BufferUsageOp(usage, result=i32)).result,
    )
