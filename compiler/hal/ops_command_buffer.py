"""Hal ops that record command buffers. A binding is a buffer, or the number of a slot that is filled at execution."""

from __future__ import annotations

from pyiree.compiler.dialects.hal import BufferType, CommandBufferType, DeviceType, ExecutableType
from pyiree.compiler.dialects.util_types import BufferType as HostBufferType
from pyiree.compiler.hal import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.constraints import AnyInteger
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import IntProp, Operand, OptionalOperand, Result, StringProp, Variadic
from pyiree.compiler.ir.traits import MemoryAlloc
from pyiree.compiler.ir.types import IndexType, i32, i64, index

_COMMANDS = "`<` $command_buffer `:` type($command_buffer) `>` "
_FLAGS = "`flags` `(` custom<Bits>($flags, \"Flag\") `)` "
_TARGET = "`target` `(` $target_buffer `:` type($target_buffer) `)` "
_DICT = "attr-dict-with-keyword"
BufferOrSlot = BufferType | IndexType


class CommandBufferCreateOp(Op, name="hal.command_buffer.create"):
    """Begins to record a command buffer."""

    device: Operand[DeviceType]
    queue_affinity: Operand[i64]
    binding_capacity: OptionalOperand[index]
    modes: IntProp[i32]
    command_categories: IntProp[i32]
    result: Result[CommandBufferType]
    traits = (MemoryAlloc,)
    format = (
        "`device` `(` $device `:` type($device) `)` `mode` `(` custom<Bits>($modes, \"CommandBufferMode\") `)` "
        '`categories` `(` custom<Bits>($command_categories, "CommandCategory") `)` `affinity` `(` $queue_affinity `)` '
        f"(`bindings` `(` $binding_capacity^ `)`)? `:` type($result) {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["cmd"]


class CommandBufferFinalizeOp(Op, name="hal.command_buffer.finalize"):
    """Ends the recording."""

    command_buffer: Operand[CommandBufferType]
    format = f"{_COMMANDS}{_DICT}"


class CommandBufferBeginDebugGroupOp(Op, name="hal.command_buffer.begin_debug_group"):
    """Names what follows, for profilers."""

    command_buffer: Operand[CommandBufferType]
    label: StringProp
    format = f"{_COMMANDS}`label` `(` $label `)` {_DICT}"


class CommandBufferEndDebugGroupOp(Op, name="hal.command_buffer.end_debug_group"):
    """Ends the last named group."""

    command_buffer: Operand[CommandBufferType]
    format = f"{_COMMANDS}{_DICT}"


class CommandBufferExecutionBarrierOp(Op, name="hal.command_buffer.execution_barrier"):
    """Commands after it wait for those before it."""

    command_buffer: Operand[CommandBufferType]
    source_stage_mask: IntProp[i32]
    target_stage_mask: IntProp[i32]
    flags: IntProp[i64]
    format = (
        f'{_COMMANDS}`source` `(` custom<Bits>($source_stage_mask, "ExecutionStage") `)` '
        f'`target` `(` custom<Bits>($target_stage_mask, "ExecutionStage") `)` {_FLAGS}{_DICT}'
    )


class CommandBufferFillBufferOp(Op, name="hal.command_buffer.fill_buffer"):
    """Fills a range with a pattern."""

    command_buffer: Operand[CommandBufferType]
    target_buffer: Operand[BufferOrSlot]
    target_offset: Operand[index]
    length: Operand[index]
    pattern: Operand[AnyInteger]
    flags: IntProp[i64]
    format = (
        f"{_COMMANDS}{_TARGET}`` `[` $target_offset `,` $length `]` "
        f"`pattern` `(` $pattern `:` type($pattern) `)` {_FLAGS}{_DICT}"
    )


class CommandBufferUpdateBufferOp(Op, name="hal.command_buffer.update_buffer"):
    """Copies bytes of the host into a range; they are taken when it is recorded."""

    command_buffer: Operand[CommandBufferType]
    source_buffer: Operand[HostBufferType]
    source_size: Operand[index]
    source_offset: Operand[index]
    target_buffer: Operand[BufferOrSlot]
    target_offset: Operand[index]
    length: Operand[index]
    flags: IntProp[i64]
    format = (
        f"{_COMMANDS}`source` `(` $source_buffer `:` type($source_buffer) `` `{{` $source_size `}}` `)` "
        f"`` `[` $source_offset `]` {_TARGET}`` `[` $target_offset `]` `length` `(` $length `)` {_FLAGS}{_DICT}"
    )


class CommandBufferCopyBufferOp(Op, name="hal.command_buffer.copy_buffer"):
    """Copies a range between buffers."""

    command_buffer: Operand[CommandBufferType]
    source_buffer: Operand[BufferOrSlot]
    source_offset: Operand[index]
    target_buffer: Operand[BufferOrSlot]
    target_offset: Operand[index]
    length: Operand[index]
    flags: IntProp[i64]
    format = (
        f"{_COMMANDS}`source` `(` $source_buffer `:` type($source_buffer) `)` `` `[` $source_offset `]` "
        f"{_TARGET}`` `[` $target_offset `]` `length` `(` $length `)` {_FLAGS}{_DICT}"
    )


class CommandBufferDispatchOp(Op, name="hal.command_buffer.dispatch"):
    """Runs a function of an executable for a grid of workgroups."""

    command_buffer: Operand[CommandBufferType]
    executable: Operand[ExecutableType]
    entry_point: Operand[i64]
    workgroup_x: Operand[index]
    workgroup_y: Operand[index]
    workgroup_z: Operand[index]
    constants: Variadic[i32]
    binding_buffers: Variadic[BufferOrSlot]
    binding_offsets: Variadic[index]
    binding_lengths: Variadic[index]
    flags: IntProp[i64]
    format = (
        f"{_COMMANDS}`target` `(` $executable `:` type($executable) `)` `` `[` $entry_point `]` "
        "`workgroups` `(` `[` $workgroup_x `,` $workgroup_y `,` $workgroup_z `]` `)` "
        "(`constants` `(` `[` $constants^ `]` `)`)? `bindings` `(` `[` "
        "custom<Bindings>($binding_buffers, type($binding_buffers), $binding_offsets, $binding_lengths) "
        f"`]` `)` {_FLAGS}{_DICT}"
    )
