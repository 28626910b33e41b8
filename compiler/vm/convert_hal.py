"""hal → vm: calls of the hal module.

Enters: hal ops. Leaves: calls of imports, which are declared as they are used. An op has the name of the function that
it calls, and its operands and attributes have the names of the function's parameters, so most need no code here;
strings become data, flags become constants.

    %allocator = hal.device.allocator<%device : !hal.device> : !hal.allocator
    →  %ref = vm.call @hal.device.allocator(%device) : (!vm.ref<!hal.device>) -> !vm.ref<!hal.allocator>
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import hal
from pyiree.compiler.hal import ops as _hal  # noqa: F401  (the dialect, as a whole)
from pyiree.compiler.ir.attributes import IntegerAttr, StringAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.definition import ValueField
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.fields import VARIADIC
from pyiree.compiler.ir.types import Type, bit_width, f32, f64, i1, i32, i64
from pyiree.compiler.vm.conversion import Converter, converts
from pyiree.compiler.vm.hal_imports import hal_import_row
from pyiree.compiler.vm.ops import FAMILY_OPS, BufferAllocOp
from pyiree.compiler.vm.types import BufferType, RefType, is_ref
from pyiree.runtime.vmfb import abi

#: Parameters whose field in the op has another name.
_FIELDS = {
    ("hal.buffer_view.create", "buffer"): "source_buffer",
    ("hal.allocator.allocate", "allocation_size"): "result_size",
    ("hal.device.queue.alloca", "allocation_size"): "result_size",
}
_ELF_MIME_TYPE = "application/x-elf"


@converts(
    "hal.allocator.allocate",
    "hal.buffer.assert",
    "hal.buffer.allocation.preserve",
    "hal.buffer.allocation.discard",
    "hal.buffer.allocation.is_terminal",
    "hal.buffer.subspan",
    "hal.buffer.length",
    "hal.buffer_view.create",
    "hal.buffer_view.assert",
    "hal.buffer_view.buffer",
    "hal.buffer_view.element_type",
    "hal.buffer_view.encoding_type",
    "hal.buffer_view.rank",
    "hal.buffer_view.dim",
    "hal.buffer_view.trace",
    "hal.command_buffer.finalize",
    "hal.command_buffer.begin_debug_group",
    "hal.command_buffer.end_debug_group",
    "hal.command_buffer.execution_barrier",
    "hal.device.allocator",
    "hal.device.queue.alloca",
    "hal.device.queue.dealloca",
    "hal.device.queue.update",
    "hal.device.queue.copy",
    "hal.device.queue.read",
    "hal.device.queue.write",
    "hal.device.queue.barrier",
    "hal.device.queue.execute",
    "hal.device.queue.flush",
    "hal.devices.count",
    "hal.devices.get",
    "hal.ex.file.from_memory",
    "hal.fence.create",
    "hal.fence.join",
    "hal.fence.query",
    "hal.fence.signal",
    "hal.fence.fail",
    "hal.fence.await",
)
def _call_of_same_name(conv: Converter, op: Any) -> None:
    row = hal_import_row(op.name)
    arguments = [_argument(conv, op, n, t) for n, t in zip(row.names, row.function_type.inputs)]
    _replace(conv, op, conv.call_import(op.name, arguments))


def _argument(conv: Converter, op: Any, name: str, type: Type) -> Any:
    """What an op passes for a parameter."""
    field = op.definition.by_name[_FIELDS.get((op.name, name), name)]
    if isinstance(field, ValueField):
        found = getattr(op, field.python_name)
        return conv.values(found) if field.arity == VARIADIC else conv.value(found)
    attribute = op.properties[field.name]
    if isinstance(attribute, StringAttr):
        return conv.string(attribute.value)
    return conv.constant(attribute.value, type)


def _replace(conv: Converter, op: Any, results: list[Value]) -> None:
    """Makes results of a call the results of an op: an index is wider than what some functions give."""
    fitted = []
    for value, old in zip(results, op.results):
        wanted = conv.type(old.type, op)
        fitted.append(conv.emit("ext.i32.i64.s", value) if value.type is i32 and wanted is i64 else value)
    conv.replace(op, *fitted)


# ------------------------------------------------------------------ numbers


@converts("hal.memory_type")
def _memory_type(conv: Converter, op: Any) -> None:
    conv.replace(op, conv.constant(op.type_, i32))


@converts("hal.buffer_usage")
def _buffer_usage(conv: Converter, op: Any) -> None:
    conv.replace(op, conv.constant(op.usage, i32))


@converts("hal.element_type")
def _element_type(conv: Converter, op: Any) -> None:
    code = abi.ELEMENT_TYPES.get(str(op.type_))
    if code is None:
        raise ConversionError(f"buffer views cannot have elements of type {op.type_}", op.location)
    conv.replace(op, conv.constant(code, i32))


@converts("hal.encoding_type")
def _encoding_type(conv: Converter, op: Any) -> None:
    if op.encoding is not None:
        raise ConversionError(f"buffer views cannot have the encoding {op.encoding}", op.location)
    conv.replace(op, conv.constant(abi.ENCODING_DENSE_ROW_MAJOR, i32))


# ------------------------------------------------------------------ devices and queues


@converts("hal.device.query")
def _device_query(conv: Converter, op: Any) -> None:
    """Devices give 64 bits; the value is cut to its type, and the default takes its place where there is none."""
    arguments = [conv.value(op.device), conv.string(op.category), conv.string(op.key)]
    ok, value = conv.call_import("hal.device.query.i64", arguments)
    type = op.value.type
    if type is i1:
        value = conv.emit("cmp.nz.i64", value)
    elif not type.is_index and type.width <= 32:
        value = conv.emit("trunc.i64.i32", value)
    default = op.default_value
    if isinstance(default, IntegerAttr):
        other = conv.constant(default.value, value.type)
        value = conv.emit(f"select.{value.type}", ok, value, other)
        ok = conv.constant(1, i32)
    conv.replace(op, ok, value)


@converts("hal.device.queue.fill")
def _queue_fill(conv: Converter, op: Any) -> None:
    pattern, length = _pattern(conv, op)
    arguments = [
        *conv.values((op.device, op.queue_affinity, op.wait_fence, op.signal_fence)),
        *conv.values((op.target_buffer, op.target_offset, op.length)),
        pattern,
        length,
        conv.constant(op.flags, i64),
    ]
    conv.call_import("hal.device.queue.fill", arguments)


def _pattern(conv: Converter, op: Any) -> tuple[Value, Value]:
    """A fill's pattern in 64 bits, and how many bytes of it count."""
    type = op.pattern.type
    pattern = conv.to_i64(conv.unsigned(conv.value(op.pattern), type))
    return pattern, conv.constant((type.width + 7) // 8, i32)


@converts("hal.device.queue.execute.indirect")
def _execute_indirect(conv: Converter, op: Any) -> None:
    table = [
        tuple(conv.values(entry)) for entry in zip(op.binding_buffers, op.binding_offsets, op.binding_lengths)
    ]
    arguments = [
        *conv.values((op.device, op.queue_affinity, op.wait_fence, op.signal_fence, op.command_buffer)),
        conv.constant(op.flags, i64),
        table,
    ]
    conv.call_import("hal.device.queue.execute.indirect", arguments)


# ------------------------------------------------------------------ buffers


@converts("hal.allocator.import")
def _allocator_import(conv: Converter, op: Any) -> None:
    arguments = [
        conv.value(op.allocator),
        conv.constant(1, i32),  # a null buffer says that it was not possible
        *conv.values((op.queue_affinity, op.memory_types, op.buffer_usage, op.source, op.offset, op.length)),
    ]
    (buffer,) = conv.call_import("hal.allocator.import", arguments)
    conv.replace(op, conv.emit("cmp.nz.ref", buffer), buffer)


@converts("hal.buffer.load")
def _buffer_load(conv: Converter, op: Any) -> None:
    """The host reads 32 bits at a time."""
    buffer, offset, type = conv.value(op.source_buffer), conv.value(op.source_offset), op.result.type
    size = (bit_width(type) + 7) // 8 if not type.is_index else 8

    def load(at: Value, length: int) -> Value:
        return conv.call_import("hal.buffer.load", [buffer, at, conv.constant(length, i32)])[0]

    if size <= 4:
        value = load(offset, size)
        if type is i1:
            value = conv.emit("cmp.nz.i32", value)
        conv.replace(op, conv.emit("bitcast.i32.f32", value) if type is f32 else value)
        return
    low = conv.emit("ext.i32.i64.u", load(offset, 4))
    high = conv.emit("ext.i32.i64.u", load(conv.emit("add.i64", offset, conv.constant(4, i64)), 4))
    value = conv.emit("or.i64", low, conv.emit("shl.i64", high, conv.constant(32, i32)))
    conv.replace(op, conv.emit("bitcast.i64.f64", value) if type is f64 else value)


@converts("hal.buffer.store")
def _buffer_store(conv: Converter, op: Any) -> None:
    value, buffer, offset = conv.values((op.value, op.target_buffer, op.target_offset))
    type = op.value.type
    size = (bit_width(type) + 7) // 8 if not type.is_index else 8
    if type in (f32, f64):
        value = conv.emit("bitcast.f32.i32" if type is f32 else "bitcast.f64.i64", value)

    def store(part: Value, at: Value, length: int) -> None:
        conv.call_import("hal.buffer.store", [part, buffer, at, conv.constant(length, i32)])

    if size <= 4:
        store(value, offset, size)
        return
    store(conv.emit("trunc.i64.i32", value), offset, 4)
    high = conv.emit("trunc.i64.i32", conv.emit("shr.i64.u", value, conv.constant(32, i32)))
    store(high, conv.emit("add.i64", offset, conv.constant(4, i64)), 4)


# ------------------------------------------------------------------ command buffers


def _buffer_and_slot(conv: Converter, value: Value) -> tuple[Value, Value]:
    """A binding as the function takes it: a buffer and slot 0, or null and the slot to look it up in."""
    converted = conv.value(value)
    if is_ref(converted.type):
        return converted, conv.constant(0, i32)
    return conv.null(RefType(hal.BufferType())), conv.to_i32(converted)


@converts("hal.command_buffer.create")
def _command_buffer_create(conv: Converter, op: Any) -> None:
    capacity = op.binding_capacity
    arguments = [
        conv.value(op.device),
        conv.constant(op.modes, i32),
        conv.constant(op.command_categories, i32),
        conv.value(op.queue_affinity),
        conv.constant(0, i32) if capacity is None else conv.value(capacity),
    ]
    conv.replace(op, *conv.call_import("hal.command_buffer.create", arguments))


@converts("hal.command_buffer.fill_buffer")
def _command_fill(conv: Converter, op: Any) -> None:
    target, slot = _buffer_and_slot(conv, op.target_buffer)
    pattern, pattern_length = _pattern(conv, op)
    arguments = [
        conv.value(op.command_buffer), target, *conv.values((op.target_offset, op.length)), slot, pattern,
        pattern_length, conv.constant(op.flags, i64),
    ]  # fmt: skip
    conv.call_import("hal.command_buffer.fill_buffer", arguments)


@converts("hal.command_buffer.update_buffer")
def _command_update(conv: Converter, op: Any) -> None:
    target, slot = _buffer_and_slot(conv, op.target_buffer)
    arguments = [
        *conv.values((op.command_buffer, op.source_buffer, op.source_offset)), target,
        *conv.values((op.target_offset, op.length)), slot, conv.constant(op.flags, i64),
    ]  # fmt: skip
    conv.call_import("hal.command_buffer.update_buffer", arguments)


@converts("hal.command_buffer.copy_buffer")
def _command_copy(conv: Converter, op: Any) -> None:
    source, source_slot = _buffer_and_slot(conv, op.source_buffer)
    target, target_slot = _buffer_and_slot(conv, op.target_buffer)
    arguments = [
        conv.value(op.command_buffer), source_slot, target_slot, source, conv.value(op.source_offset), target,
        *conv.values((op.target_offset, op.length)), conv.constant(op.flags, i64),
    ]  # fmt: skip
    conv.call_import("hal.command_buffer.copy_buffer", arguments)


@converts("hal.command_buffer.dispatch")
def _command_dispatch(conv: Converter, op: Any) -> None:
    bindings = []
    for binding, offset, length in zip(op.binding_buffers, op.binding_offsets, op.binding_lengths):
        buffer, slot = _buffer_and_slot(conv, binding)
        bindings.append((conv.constant(0, i32), slot, buffer, *conv.values((offset, length))))
    arguments = [
        *conv.values((op.command_buffer, op.executable, op.entry_point)),
        *conv.values((op.workgroup_x, op.workgroup_y, op.workgroup_z)),
        conv.constant(op.flags, i64),
        conv.values(op.constants),
        bindings,
    ]
    conv.call_import("hal.command_buffer.dispatch", arguments)


# ------------------------------------------------------------------ executables


@converts("hal.executable.create")
def _executable_create(conv: Converter, op: Any) -> None:
    binary = _binary(conv, op)
    mime_type = binary.mime_type
    if mime_type is None and binary.format_.startswith("embedded-elf"):
        mime_type = _ELF_MIME_TYPE
    format_ = conv.string(binary.format_)
    name = f"{op.executable_target.root}_{binary.sym_name}"
    data = conv.data(name, binary.data, alignment=16, mime_type=mime_type)
    arguments = [*conv.values((op.device, op.queue_affinity)), format_, data, _packed_constants(conv, op.constants)]
    conv.replace(op, *conv.call_import("hal.executable.create", arguments))


def _binary(conv: Converter, op: Any) -> Any:
    executable: Any = conv.executables.get(op.executable_target.root)
    nested = () if executable is None else executable.body.ops
    for found in nested:
        if found.name == "hal.executable.binary" and found.sym_name == op.executable_target.leaf:
            return found
    raise ConversionError(f"{op.executable_target} is no binary of an executable; translate it first", op.location)


def _packed_constants(conv: Converter, constants: Any) -> Value:
    """The constants of an executable in a buffer, or null for none."""
    if not constants:
        return conv.null(BufferType())
    size = conv.constant(4 * len(constants), i64)
    buffer = conv.insert(BufferAllocOp(size, conv.constant(16, i32))).result
    for position, constant in enumerate(constants):
        store = FAMILY_OPS["buffer.store.i32"]
        conv.insert(store(buffer, conv.constant(position, i64), conv.value(constant)))
    return buffer


@converts("hal.executable.lookup.function")
def _lookup_function(conv: Converter, op: Any) -> None:
    arguments = [conv.value(op.executable), conv.string(op.entry_point.leaf)]
    conv.replace(op, *conv.call_import("hal.executable.lookup.function", arguments))
