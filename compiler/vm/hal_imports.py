"""The functions of the `hal` module that programs may import: names and types of parameters, and what they do.

Enters: a name. Leaves: a `vm.import`. One row a function:

    name(parameter: type, …) -> types | marks

Types are those of the VM, or names of hal types for references to them; `bytes` is `!vm.buffer`. `type...` and
`(type, …)...` are spans. `pure` says that a call whose results are not used may go, `yields` that a call may suspend,
a number is the first version of the module that has the function in this form. That parameters and results agree with
the runtime's calling conventions is held by a test.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, TypeAttr, UnitAttr
from pyiree.compiler.ir.parametrized import DialectType
from pyiree.compiler.ir.registry import lookup_type
from pyiree.compiler.ir.types import FunctionType, TupleType, Type, i32, i64
from pyiree.compiler.vm.ops import ImportOp, segment_types_attr
from pyiree.compiler.vm.types import BufferType, RefType

_ROWS = """
ex.file.from_memory(device: device, queue_affinity: i64, access: i32, buffer: bytes, offset: i64, length: i64, flags: i32) -> file
allocator.allocate(allocator: allocator, queue_affinity: i64, memory_types: i32, buffer_usage: i32, allocation_size: i64) -> buffer
allocator.import(allocator: allocator, try: i32, queue_affinity: i64, memory_types: i32, buffer_usage: i32, source: bytes, offset: i64, length: i64) -> buffer
allocator.select(memory_types: i32, buffer_usage: i32, flags: i64, from: (device, i64)...) -> device, i64 | pure
buffer.assert(buffer: buffer, message: bytes, allocator: allocator, minimum_length: i64, memory_types: i32, buffer_usage: i32)
buffer.allocation.preserve(buffer: buffer)
buffer.allocation.discard(buffer: buffer) -> i32
buffer.allocation.is_terminal(buffer: buffer) -> i32
buffer.subspan(source_buffer: buffer, source_offset: i64, length: i64) -> buffer | pure
buffer.length(buffer: buffer) -> i64 | pure
buffer.load(source_buffer: buffer, source_offset: i64, length: i32) -> i32
buffer.store(value: i32, target_buffer: buffer, target_offset: i64, length: i32)
buffer_view.create(buffer: buffer, source_offset: i64, source_length: i64, element_type: i32, encoding_type: i32, shape: i64...) -> buffer_view | pure
buffer_view.assert(buffer_view: buffer_view, message: bytes, element_type: i32, encoding_type: i32, shape: i64...)
buffer_view.buffer(buffer_view: buffer_view) -> buffer | pure
buffer_view.element_type(buffer_view: buffer_view) -> i32 | pure
buffer_view.encoding_type(buffer_view: buffer_view) -> i32 | pure
buffer_view.rank(buffer_view: buffer_view) -> i32 | pure
buffer_view.dim(buffer_view: buffer_view, index: i32) -> i64 | pure
buffer_view.trace(key: bytes, operands: buffer_view...)
command_buffer.create(device: device, modes: i32, command_categories: i32, queue_affinity: i64, binding_capacity: i32) -> command_buffer | 6
command_buffer.finalize(command_buffer: command_buffer)
command_buffer.begin_debug_group(command_buffer: command_buffer, label: bytes)
command_buffer.end_debug_group(command_buffer: command_buffer)
command_buffer.execution_barrier(command_buffer: command_buffer, source_stage_mask: i32, target_stage_mask: i32, flags: i64)
command_buffer.advise_buffer(command_buffer: command_buffer, buffer: buffer, flags: i64, arg0: i64, arg1: i64, buffer_slot: i32)
command_buffer.fill_buffer(command_buffer: command_buffer, target_buffer: buffer, target_offset: i64, length: i64, target_buffer_slot: i32, pattern: i64, pattern_length: i32, flags: i64)
command_buffer.update_buffer(command_buffer: command_buffer, source_buffer: bytes, source_offset: i64, target_buffer: buffer, target_offset: i64, length: i64, target_buffer_slot: i32, flags: i64)
command_buffer.copy_buffer(command_buffer: command_buffer, source_buffer_slot: i32, target_buffer_slot: i32, source_buffer: buffer, source_offset: i64, target_buffer: buffer, target_offset: i64, length: i64, flags: i64)
command_buffer.dispatch(command_buffer: command_buffer, executable: executable, function_id: i64, workgroup_x: i32, workgroup_y: i32, workgroup_z: i32, flags: i64, constants: i32..., bindings: (i32, i32, buffer, i64, i64)...) | 7
command_buffer.dispatch.indirect(command_buffer: command_buffer, executable: executable, function_id: i64, workgroups_buffer_slot: i32, workgroups_buffer: buffer, workgroups_offset: i64, flags: i64, constants: i32..., bindings: (i32, i32, buffer, i64, i64)...) | 7
device.allocator(device: device) -> allocator | pure
device.query.i64(device: device, category: bytes, key: bytes) -> i32, i64 | pure
device.queue.alloca(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, pool: i64, memory_types: i32, buffer_usage: i32, allocation_size: i64, flags: i64) -> buffer
device.queue.dealloca(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, buffer: buffer, flags: i64)
device.queue.fill(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, target_buffer: buffer, target_offset: i64, length: i64, pattern: i64, pattern_length: i32, flags: i64)
device.queue.update(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, source_buffer: bytes, source_offset: i64, target_buffer: buffer, target_offset: i64, length: i64, flags: i64)
device.queue.copy(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, source_buffer: buffer, source_offset: i64, target_buffer: buffer, target_offset: i64, length: i64, flags: i64)
device.queue.read(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, source_file: file, source_offset: i64, target_buffer: buffer, target_offset: i64, length: i64, flags: i64)
device.queue.write(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, source_buffer: buffer, source_offset: i64, target_file: file, target_offset: i64, length: i64, flags: i64)
device.queue.barrier(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, flags: i64)
device.queue.execute(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, command_buffer: command_buffer, flags: i64)
device.queue.execute.indirect(device: device, queue_affinity: i64, wait_fence: fence, signal_fence: fence, command_buffer: command_buffer, flags: i64, binding_table: (buffer, i64, i64)...)
device.queue.flush(device: device, queue_affinity: i64)
devices.count() -> i32 | pure
devices.get(index: i32) -> device | pure
executable.create(device: device, queue_affinity: i64, executable_format: bytes, executable_data: bytes, constants: bytes) -> executable | pure
executable.lookup.function(executable: executable, function_name: bytes) -> i64 | pure 7
fence.create(device: device, flags: i64) -> fence
fence.join(flags: i64, fences: fence...) -> fence | pure
fence.query(fence: fence) -> i32
fence.signal(fence: fence)
fence.fail(fence: fence, status: i32)
fence.await(timeout_millis: i32, flags: i64, fences: fence...) -> i32 | yields
"""  # noqa: E501  (a row is a line)

_ROW = re.compile(r"(?P<name>[\w.]+)\((?P<parameters>.*?)\)(?: -> (?P<results>[^|]+))?(?: ?\| (?P<marks>.+))?$")
_PARAMETER = re.compile(r"(\w+): (\([^)]*\)|\w+)(\.\.\.)?(?:, |$)")


@cache
def _rows() -> dict[str, tuple[int, str]]:
    rows = [line for line in _ROWS.splitlines() if line]
    return {f"hal.{row.partition('(')[0]}": (number, row) for number, row in enumerate(rows)}


def hal_import_names() -> list[str]:
    """All functions of the module, in the order of the table."""
    return list(_rows())


def hal_import_position(name: str) -> int:
    """The place of a function in the table."""
    return _rows()[name][0]


def _type(text: str) -> Type:
    if text.startswith("("):
        return TupleType([_type(part) for part in text[1:-1].split(", ")])
    if text == "bytes":
        return BufferType()
    scalar = {"i32": i32, "i64": i64}.get(text)
    if scalar is not None:
        return scalar
    found = lookup_type(f"hal.{text}")
    assert isinstance(found, type) and issubclass(found, DialectType), text
    return RefType(found())


class HalImport(NamedTuple):
    """A row, taken apart."""

    function_type: FunctionType
    names: tuple[str, ...]
    spans: tuple[bool, ...]
    attributes: dict[str, Attribute]
    minimum_version: int | None
    arg_attrs: ArrayAttr | None
    segment_types: ArrayAttr

    @property
    def is_variadic(self) -> bool:
        """Whether any parameter is a span."""
        return any(self.spans)


@cache
def hal_import_row(name: str) -> HalImport:
    """What the table says of a function."""
    _, row = _rows()[name]
    match = _ROW.fullmatch(row)
    assert match is not None, row
    parameters = _PARAMETER.findall(match["parameters"])
    results = [_type(text) for text in (match["results"] or "").strip().split(", ") if text]
    marks: dict[str, Attribute] = {}
    version = None
    for mark in (match["marks"] or "").split():
        if mark.isdigit():
            version = int(mark)
        else:
            marks[{"pure": "nosideeffects", "yields": "vm.yield"}[mark]] = UnitAttr()
    names, spans = [parameter for parameter, _, _ in parameters], [bool(span) for _, _, span in parameters]
    inputs = [_type(type) for _, type, _ in parameters]
    arguments = [
        DictAttr({"vm.name": StringAttr(parameter), **({"vm.variadic": UnitAttr()} if is_span else {})})
        for parameter, is_span in zip(names, spans)
    ]
    return HalImport(
        FunctionType(inputs, results),
        tuple(names),
        tuple(spans),
        marks,
        version,
        ArrayAttr(arguments) if arguments else None,
        segment_types_attr(inputs),
    )


def hal_import(name: str) -> ImportOp:
    """A new `vm.import` of a function of the hal module."""
    row = hal_import_row(name)
    return ImportOp(
        sym_name=name,
        function_type=TypeAttr(row.function_type),
        arg_attrs=row.arg_attrs,
        sym_visibility="private",
        minimum_version=row.minimum_version,
        attributes=dict(row.attributes),
    )
