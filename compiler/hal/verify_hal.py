"""iree-hal-verify: what holds at the end of the hal phase.

On the host there are hal, util, arith and cf ops only. Devices are found by initializers, executables are binaries and
loaded once, command buffers that can be kept are kept: nothing asks for what an earlier pass should have resolved. A
binding slot that a command buffer names exists in it, and an execution fills all of them.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import DeviceTargetAttr
from pyiree.compiler.dialects.util import FuncOp, GlobalOp, InitializerOp
from pyiree.compiler.hal.ops_command_buffer import (
    CommandBufferCopyBufferOp,
    CommandBufferCreateOp,
    CommandBufferDispatchOp,
    CommandBufferFillBufferOp,
    CommandBufferUpdateBufferOp,
)
from pyiree.compiler.hal.ops_device import DeviceMemoizeOp, DeviceQueueExecuteIndirectOp
from pyiree.compiler.hal.ops_executable import (
    ExecutableCalculateWorkgroupsOp,
    ExecutableExportOrdinalOp,
    ExecutableLookupOp,
    ExecutableOp,
    ExecutableVariantOp,
)
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import IndexType

_HOST_DIALECTS = frozenset({"hal", "util", "arith", "cf", "math"})
_RESOLVED = (
    DeviceMemoizeOp,
    ExecutableLookupOp,
    ExecutableExportOrdinalOp,
    ExecutableCalculateWorkgroupsOp,
)


@register_pass("iree-hal-verify")
def verify_hal(module: ModuleOp, context: PassContext) -> None:
    """Raises CompileError at the first op that breaks a rule."""
    for op in module.body_block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DeviceTargetAttr):
            raise op.error("holds a device that no initializer finds")
        if isinstance(op, ExecutableOp):
            for part in op.body.entry.ops:
                if isinstance(part, ExecutableVariantOp):
                    raise part.error("was not made a binary")
        elif isinstance(op, FuncOp | InitializerOp):
            for nested in op.walk():
                _verify_op(nested)


def _verify_op(op: Operation) -> None:
    if op.name.partition(".")[0] not in _HOST_DIALECTS:
        raise CompileError(f"'{op.name}' is no op of the host at the end of the hal phase", op.location)
    if isinstance(op, _RESOLVED):
        raise op.error("should have been resolved")
    if isinstance(op, CommandBufferDispatchOp):
        for buffer in op.binding_buffers:
            _verify_slot(op, buffer)
    elif isinstance(op, CommandBufferFillBufferOp | CommandBufferUpdateBufferOp):
        _verify_slot(op, op.target_buffer)
    elif isinstance(op, CommandBufferCopyBufferOp):
        _verify_slot(op, op.source_buffer)
        _verify_slot(op, op.target_buffer)
    elif isinstance(op, DeviceQueueExecuteIndirectOp):
        slots = _capacity(op.command_buffer)
        if slots is not None and slots != len(op.binding_buffers):
            raise op.error(f"fills {len(op.binding_buffers)} binding slots of a command buffer that has {slots}")


def _verify_slot(op: Operation, buffer: Value) -> None:
    """A binding is a buffer, or the number of a slot that its command buffer has."""
    if not isinstance(buffer.type, IndexType):
        return
    slot, slots = _number(buffer), _capacity(op.operands[0])
    if slots is not None and slot is not None and not 0 <= slot < slots:
        raise CompileError(
            f"'{op.name}' binds slot {slot} of a command buffer that has {slots} binding slots", op.location
        )


def _capacity(commands: Value) -> int | None:
    create = commands.defining_op
    if not isinstance(create, CommandBufferCreateOp):
        return None
    return 0 if create.binding_capacity is None else _number(create.binding_capacity)


def _number(value: Value) -> int | None:
    owner = value.defining_op
    return owner.value.value if isinstance(owner, ConstantOp) else None
