"""The checks that close the levels of the stream phase.

iree-stream-verify-lowering-to-tensors          no tensor is left on the host, all work is `stream.tensor.*`
iree-stream-verify-lowering-to-async-resources  tensors are bytes: no `stream.tensor.*` but imports and exports
iree-stream-verify-lowering-to-async            every lifetime is known, and work stands in execution regions
iree-stream-verify-lowering-to-cmd              all memory is allocated: no `stream.async.*`, regions hold commands only
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.interfaces import is_streamable
from pyiree.compiler.stream.types import UNKNOWN, is_resource

_EXECUTABLES = ("stream.executable", "flow.executable", "hal.executable")
_BOUNDARY = (ops.TensorImportOp, ops.TensorExportOp)


def host_ops(module: Operation) -> Iterator[Operation]:
    """All ops of a module but those of dispatch functions."""
    for op in module.regions[0].ops:
        if op.name not in _EXECUTABLES:
            yield from op.walk()


def _values(op: Operation) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


@register_pass("iree-stream-verify-lowering-to-tensors")
def verify_lowering_to_tensors(module: Operation, context: PassContext) -> None:
    """Checks that conversion left no tensors."""
    for op in module.regions[0].ops:
        if op.name == "flow.executable":
            raise CompileError(f"@{op.properties['sym_name'].value} was not converted", op.location)  # type: ignore[attr-defined]
    for op in host_ops(module):
        if op.name.startswith("flow."):
            raise CompileError(f"'{op.name}' was not converted to the stream dialect", op.location)
        for value in _values(op):
            if isinstance(value.type, TensorType):
                raise CompileError(f"'{op.name}' still has a value of type {value.type} on the host", op.location)


@register_pass("iree-stream-verify-lowering-to-async-resources")
def verify_lowering_to_async_resources(module: Operation, context: PassContext) -> None:
    """Checks that every tensor was encoded."""
    for op in host_ops(module):
        if op.name.startswith("stream.tensor.") and not isinstance(op, _BOUNDARY):
            raise CompileError(f"'{op.name}' was not encoded as bytes", op.location)


@register_pass("iree-stream-verify-lowering-to-async")
def verify_lowering_to_async(module: Operation, context: PassContext) -> None:
    """Checks that lifetimes are known and that no work is left outside of execution regions."""
    for op in host_ops(module):
        if is_streamable(op) and op.parent_of_type(ops.AsyncExecuteOp) is None:
            raise CompileError(f"'{op.name}' is in no execution region", op.location)
        for value in _values(op):
            if is_resource(value.type) and value.type.lifetime == UNKNOWN:  # type: ignore[attr-defined]
                raise CompileError(f"'{op.name}' has a resource of unknown lifetime", op.location)


@register_pass("iree-stream-verify-lowering-to-cmd")
def verify_lowering_to_cmd(module: Operation, context: PassContext) -> None:
    """Checks that all work became commands."""
    for op in host_ops(module):
        if op.name.startswith("stream.async."):
            raise CompileError(f"'{op.name}' was not turned into commands", op.location)
        if isinstance(op, ops.ResourcePackOp | ops.ResourceConstantsOp):
            raise CompileError(f"'{op.name}' was not resolved", op.location)
        if isinstance(op, ops.CmdExecuteOp):
            for command in op.body.walk():
                if not command.name.startswith("stream.cmd.") and not isinstance(command, ops.YieldOp):
                    raise CompileError(f"'{command.name}' is no command", command.location)
