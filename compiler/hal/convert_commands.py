"""stream.cmd ops to hal: execution regions become command buffers and their submission.

    %t = stream.cmd.execute await(%t0) => with(%r as %a: !stream.resource<transient>{%n}) { … } => !stream.timepoint
    →
    %cmd = hal.device.memoize<%device : !hal.device> affinity(…) -> !hal.command_buffer { record …; hal.return %cb }
    %fence = hal.fence.create …
    hal.device.queue.execute.indirect<%device : !hal.device> … wait(%t0) signal(%fence) commands(%cmd)
        bindings([(%r : !hal.buffer)[%c0, %n]])

Resources of a region are binding slots of its command buffer, in order. A region that depends on nothing but constants
is recorded once (`hal.device.memoize`); one in a loop that depends on nothing of the loop, once before the loop; any
other, for one use, where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.dialects.hal import CommandBufferType, ExecutableType
from pyiree.compiler.hal.bits import COMMAND_BUFFER_MODE, COMMAND_CATEGORY, EXECUTION_STAGE
from pyiree.compiler.hal.device_values import Conversion, awaited, constant, new_fence
from pyiree.compiler.hal.loop_invariants import place_before_loop
from pyiree.compiler.hal.ops_command_buffer import (
    CommandBufferCopyBufferOp,
    CommandBufferCreateOp,
    CommandBufferDispatchOp,
    CommandBufferExecutionBarrierOp,
    CommandBufferFillBufferOp,
    CommandBufferFinalizeOp,
)
from pyiree.compiler.hal.ops_device import DeviceMemoizeOp, DeviceQueueExecuteIndirectOp, ReturnOp
from pyiree.compiler.hal.ops_executable import (
    ExecutableExportOp,
    ExecutableLookupFunctionOp,
    ExecutableLookupOp,
)
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.symbol_table import lookup_symbol
from pyiree.compiler.ir.types import bit_width, i8, i16, i32, i64
from pyiree.compiler.stream import ops as stream

_BEFORE = EXECUTION_STAGE["Dispatch"] | EXECUTION_STAGE["Transfer"] | EXECUTION_STAGE["CommandRetire"]
_AFTER = EXECUTION_STAGE["CommandIssue"] | EXECUTION_STAGE["Dispatch"] | EXECUTION_STAGE["Transfer"]
_REUSABLE = 0
#: What says something about memory, and needs no command.
_WITHOUT_EFFECT = (stream.YieldOp, stream.CmdDiscardOp, stream.CmdFlushOp, stream.CmdInvalidateOp)
_CATEGORIES = COMMAND_CATEGORY["Transfer"] | COMMAND_CATEGORY["Dispatch"]


def _execute(op: stream.CmdExecuteOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device, queue = conversion.device(b, op), conversion.queue(b, op)
    commands = _commands(op, conversion, b, device, queue)
    wait = awaited(b, op.await_timepoint)
    fence = new_fence(b, device)
    zero = constant(b, 0)
    resources = list(op.resource_operands)
    submit = DeviceQueueExecuteIndirectOp(
        device, queue, wait, fence, commands, resources, [zero] * len(resources), list(op.resource_operand_sizes), 0
    )
    b.insert(submit)
    op.replace_all_uses_with([fence])
    op.erase()


def _commands(op: stream.CmdExecuteOp, conversion: Conversion, b: Builder, device: Value, queue: Value) -> Value:
    """The command buffer of a region: recorded as early, and used as often, as what it depends on allows."""
    values = _outer_values(op)
    if not op.once:
        if all(_is_constant(v) for v in values):
            return _memoize(op, conversion, b, device, queue, values)
        place = place_before_loop(op, values)
        if place is not None:
            there, its_queue = conversion.device(place, op), conversion.queue(place, op)
            return _Recording(op, conversion, place, there, its_queue, {}, _REUSABLE).record()
    return _Recording(op, conversion, b, device, queue, {}, COMMAND_BUFFER_MODE["OneShot"]).record()


def _outer_values(op: stream.CmdExecuteOp) -> list[Value]:
    """What is recorded of the outside: ranges, numbers and workloads. How large resources are is not."""
    found: dict[Value, None] = {}
    for command in op.walk():
        recorded = _RECORDED.get(type(command))
        if recorded is not None:
            for value in recorded(command):
                owner = value.defining_op
                if owner is None or not op.is_ancestor_of(owner):
                    found[value] = None
    return list(found)


#: The operands of a command that are part of its recording, the resources aside.
_RECORDED: dict[type, Callable[[Any], tuple[Value, ...]]] = {
    stream.CmdFillOp: lambda c: (c.value, c.target_offset, c.target_length),
    stream.CmdCopyOp: lambda c: (c.source_offset, c.target_offset, c.length),
    stream.CmdDispatchOp: lambda c: (*c.workload, *c.uniform_operands, *c.resource_offsets, *c.resource_lengths),
}


def _is_constant(value: Value) -> bool:
    owner = value.defining_op
    return owner is not None and owner.name == "arith.constant"


def _memoize(
    op: stream.CmdExecuteOp, conversion: Conversion, b: Builder, device: Value, queue: Value, values: list[Value]
) -> Value:
    body = Block()
    inner = Builder.at_end(body, op.location)
    mapping: dict[Value, Value] = {}
    for value in values:
        copy = inner.insert(value.defining_op.clone())  # type: ignore[union-attr]
        mapping[value] = copy.result
    own_device, own_queue = conversion.device(inner, op), conversion.queue(inner, op)
    commands = _Recording(op, conversion, inner, own_device, own_queue, mapping, _REUSABLE).record()
    inner.insert(ReturnOp([commands]))
    return b.insert(DeviceMemoizeOp(device, queue, body, results=[CommandBufferType()])).results[0]


def _is_recorded(command: Operation) -> bool:
    """Whether a command does anything on the device."""
    if isinstance(command, stream.CmdSerialOp | stream.CmdConcurrentOp):
        return any(_is_recorded(c) for c in command.body.entry.ops)
    return not isinstance(command, _WITHOUT_EFFECT)


class _Recording:
    """Records the commands of a region at the builder's place."""

    def __init__(
        self, op: stream.CmdExecuteOp, conversion: Conversion, builder: Builder, device: Value, queue: Value,
        mapping: dict[Value, Value], mode: int,
    ) -> None:  # fmt: skip
        self.op = op
        self.conversion = conversion
        self.builder = builder
        self.device = device
        self.queue = queue
        self.mapping = mapping
        self.mode = mode
        self.executables: dict[str, Value] = {}

    def record(self) -> Value:
        """The finished command buffer."""
        b = self.builder
        arguments = self.op.body.entry.arguments
        slots = constant(b, len(arguments))
        create = CommandBufferCreateOp(
            self.device, self.queue, slots, self.mode, _CATEGORIES, result=CommandBufferType()
        )
        self.commands = b.insert(create).result
        for slot, argument in enumerate(arguments):
            self.mapping[argument] = constant(b, slot)
        self._serial(self.op.body.entry)
        b.insert(CommandBufferFinalizeOp(self.commands))
        return self.commands

    def _value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def _serial(self, block: Block) -> None:
        """Commands one after the other, a barrier between each two."""
        for number, command in enumerate([c for c in block.ops if _is_recorded(c)]):
            if number:
                self.builder.insert(CommandBufferExecutionBarrierOp(self.commands, _BEFORE, _AFTER, 0))
            self._record(command)

    def _record(self, command: Operation) -> None:
        record: Callable[[Any], None] | None = getattr(self, f"_record_{command.name.rpartition('.')[2]}", None)
        if record is None:
            raise CompileError(f"'{command.name}' cannot be recorded into a command buffer", command.location)
        record(command)

    def _record_serial(self, command: stream.CmdSerialOp) -> None:
        self._serial(command.body.entry)

    def _record_concurrent(self, command: stream.CmdConcurrentOp) -> None:
        """Commands that need no order; a serial part of them keeps its own."""
        for nested in command.body.entry.ops:
            if _is_recorded(nested):
                self._record(nested)

    def _record_fill(self, command: stream.CmdFillOp) -> None:
        pattern = self._value(command.value)
        if bit_width(pattern.type) > 32 or pattern.type not in (i8, i16, i32):
            raise CompileError(f"a fill pattern must be i8, i16 or i32, not {pattern.type}", command.location)
        fill = CommandBufferFillBufferOp(
            self.commands, self._value(command.target), self._value(command.target_offset),
            self._value(command.target_length), pattern, 0,
        )  # fmt: skip
        self.builder.insert(fill)

    def _record_copy(self, command: stream.CmdCopyOp) -> None:
        copy = CommandBufferCopyBufferOp(
            self.commands, self._value(command.source), self._value(command.source_offset),
            self._value(command.target), self._value(command.target_offset), self._value(command.length), 0,
        )  # fmt: skip
        self.builder.insert(copy)

    def _record_dispatch(self, command: stream.CmdDispatchOp) -> None:
        b = self.builder
        if len(command.entry_points) != 1:
            raise CompileError("a dispatch with a choice of entry points cannot be recorded", command.location)
        entry = command.entry_points[0]
        executable = self.executables.get(entry.root)
        if executable is None:
            lookup = ExecutableLookupOp(self.device, entry.root, result=ExecutableType())
            executable = self.executables[entry.root] = b.insert(lookup).result
        function = b.insert(ExecutableLookupFunctionOp(executable, entry, result=i64)).result
        counts = self._workgroups(entry, [self._value(w) for w in command.workload])
        dispatch = CommandBufferDispatchOp(
            self.commands, executable, function, *counts,
            [self._value(v) for v in command.uniform_operands],
            [self._value(v) for v in command.resources],
            [self._value(v) for v in command.resource_offsets],
            [self._value(v) for v in command.resource_lengths], 0,
        )  # fmt: skip
        b.insert(dispatch)

    def _workgroups(self, entry: Any, workload: list[Value]) -> list[Value]:
        """The count region of the export, inlined."""
        export = lookup_symbol(self.conversion.module, entry)
        if not isinstance(export, ExecutableExportOp):
            raise CompileError(f"there is no export {entry}", self.op.location)
        block = export.workgroup_count.entry
        mapping: dict[Value, Value] = dict(zip(block.arguments, [self.device, *workload]))
        end = block.terminator
        for op in block.ops:
            if op is not end:
                self.builder.insert(op.clone(mapping))
        return [mapping.get(v, v) for v in end.operands]


COMMAND_CONVERSIONS = {stream.CmdExecuteOp: _execute}

