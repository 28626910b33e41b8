"""iree-hal-conversion: stream becomes hal.

Before: resources, timepoints and execution regions (`stream.cmd.execute`).
After:  buffers, fences, command buffers and queue operations.

Resources become `!hal.buffer`, timepoints `!hal.fence` (null for what is reached at once); both are one value each, so
their types are changed in place, and then every stream op is replaced by what it means to the device. The conversions
stand in `convert_resources.py`, `convert_timepoints.py`, `convert_tensors.py` and `convert_commands.py`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import BufferType, FenceType, FileType
from pyiree.compiler.dialects.util import FuncOp, GlobalOp
from pyiree.compiler.hal.convert_commands import COMMAND_CONVERSIONS
from pyiree.compiler.hal.convert_resources import LIFETIME, RESOURCE_CONVERSIONS
from pyiree.compiler.hal.convert_tensors import TENSOR_CONVERSIONS
from pyiree.compiler.hal.convert_timepoints import TIMEPOINT_CONVERSIONS
from pyiree.compiler.hal.device_values import Conversion
from pyiree.compiler.ir.attributes import StringAttr, TypeAttr
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FunctionType, Type
from pyiree.compiler.stream import ops as stream

_CONVERSIONS: dict[type, Any] = {
    **RESOURCE_CONVERSIONS, **TIMEPOINT_CONVERSIONS, **TENSOR_CONVERSIONS, **COMMAND_CONVERSIONS,
}  # fmt: skip
_ALLOCATING = ("stream.resource.alloc", "stream.resource.alloca", "stream.resource.try_map")


@register_pass("iree-hal-conversion")
def convert_to_hal(module: ModuleOp, context: PassContext) -> None:
    """Converts the host program."""
    conversion = Conversion(module)
    for op in module.body_block.ops:
        if op.name in ("util.func", "util.initializer", "util.global"):
            _convert_types(op)
    for op in list(module.walk_type((*_CONVERSIONS,))):
        if op.block is not None:
            _CONVERSIONS[type(op)](op, conversion)
    for op in module.walk():
        if op.name.startswith("stream."):
            raise CompileError(f"'{op.name}' has no counterpart in the hal dialect", op.location)


def _convert_type(type: Type) -> Type:
    if isinstance(type, stream.ResourceType):
        return BufferType()
    if isinstance(type, stream.TimepointType):
        return FenceType()
    return FileType() if isinstance(type, stream.FileType) else type


def _convert_types(root: Operation) -> None:
    if isinstance(root, GlobalOp):
        root.type = _convert_type(root.type)
    if isinstance(root, FuncOp):
        signature = root.function_type
        root.function_type = FunctionType(
            [_convert_type(t) for t in signature.inputs], [_convert_type(t) for t in signature.results]
        )
    for op in root.walk():
        for result in op.results:
            if op.name in _ALLOCATING and isinstance(result.type, stream.ResourceType):
                op.attributes[LIFETIME] = StringAttr(result.type.lifetime)
            _retype(result)
        for name, attribute in op.properties.items():
            if isinstance(attribute, TypeAttr) and not isinstance(attribute.value, FunctionType):
                op.properties[name] = TypeAttr(_convert_type(attribute.value))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    _retype(argument)


def _retype(value: Value) -> None:
    value.type = _convert_type(value.type)
