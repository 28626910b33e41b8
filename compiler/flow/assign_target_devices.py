"""iree-hal-assign-target-devices: says which device the program runs on.

Before: the module names no device.
After:  `util.global private @__device_0 = #hal.device.target<"local", …>`, and the module's
        `stream.affinity.default` is that device. Programs that name devices themselves are left alone.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import (
    DeviceTargetAttr,
    DeviceType,
    ExecutableTargetAttr,
    device_affinity,
    local_device_target,
)
from pyiree.compiler.dialects.util import GlobalOp
from pyiree.compiler.ir.attributes import DictAttr, IntegerAttr, StringAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import i64
from pyiree.compiler.options import CompileOptions

DEFAULT_DEVICE = "__device_0"
DEFAULT_AFFINITY = "stream.affinity.default"


@register_pass("iree-hal-assign-target-devices")
def assign_target_devices(module: ModuleOp, context: PassContext) -> None:
    """Adds the default device to a module without one."""
    if any(isinstance(op.initial_value, DeviceTargetAttr) for op in module.walk_type(GlobalOp)):
        return
    target = executable_target(context.options or CompileOptions())
    builder = Builder.at_start(module.body_block, module.location)
    builder.insert(
        GlobalOp(
            sym_visibility="private",
            sym_name=DEFAULT_DEVICE,
            type=DeviceType(),
            initial_value=local_device_target([target]),
        )
    )
    module.attributes[DEFAULT_AFFINITY] = device_affinity(DEFAULT_DEVICE)


def executable_target(options: CompileOptions) -> ExecutableTargetAttr:
    """What executables are made for: back end, binary format and the CPU as attributes."""
    target = options.target
    configuration = {
        name: StringAttr(value) if isinstance(value, str) else IntegerAttr(value, i64)
        for name, value in target.hal_attributes().items()
    }
    return ExecutableTargetAttr("llvm-cpu", target.executable_format, DictAttr(configuration))
