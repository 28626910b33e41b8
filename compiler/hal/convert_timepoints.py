"""stream.timepoint ops to hal: fences, joined and waited for.

    %r1 = stream.timepoint.await %t => %r : …
    →
    %status = hal.fence.await until([%t]) timeout_millis(%c-1_i32) flags("None") : i32
    util.status.check_ok %status, "failed to wait on timepoint"
"""

from __future__ import annotations

from pyiree.compiler.dialects.hal import FenceType
from pyiree.compiler.dialects.util import NullOp, StatusCheckOkOp
from pyiree.compiler.hal.device_values import Conversion, constant, null_fence
from pyiree.compiler.hal.ops_device import DeviceQueueBarrierOp, FenceAwaitOp, FenceJoinOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import i32
from pyiree.compiler.stream import ops as stream

_FOREVER = -1


def _immediate(op: stream.TimepointImmediateOp, conversion: Conversion) -> None:
    op.replace_all_uses_with([null_fence(Builder.before(op))])
    op.erase()


def _is_null(value: Value) -> bool:
    return isinstance(value.defining_op, NullOp | stream.TimepointImmediateOp)


def _join(op: stream.TimepointJoinOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    fences = list(dict.fromkeys([f for f in op.await_timepoints if not _is_null(f)]))
    if not fences:
        joined = null_fence(b)
    elif len(fences) == 1:
        joined = fences[0]
    else:
        joined = b.insert(FenceJoinOp(fences, 0, result=FenceType())).result
    op.replace_all_uses_with([joined])
    op.erase()


def _await(op: stream.TimepointAwaitOp, conversion: Conversion) -> None:
    if not _is_null(op.await_timepoint):
        b = Builder.before(op)
        waited = b.insert(FenceAwaitOp(constant(b, _FOREVER, i32), [op.await_timepoint], 0, status=i32))
        b.insert(StatusCheckOkOp(waited.status, "failed to wait on timepoint"))
    op.replace_all_uses_with(list(op.resource_operands))
    op.erase()


def _barrier(op: stream.TimepointBarrierOp, conversion: Conversion) -> None:
    op.replace_all_uses_with([op.resource, null_fence(Builder.before(op))])
    op.erase()


def _import(op: stream.TimepointImportOp, conversion: Conversion) -> None:
    if len(op.operands) != 1 or not isinstance(op.operands[0].type, FenceType):
        raise CompileError("only one !hal.fence can be imported as a timepoint", op.location)
    op.replace_all_uses_with([op.operands[0]])
    op.erase()


def _export(op: stream.TimepointExportOp, conversion: Conversion) -> None:
    if len(op.results) != 1 or not isinstance(op.results[0].type, FenceType):
        raise CompileError("a timepoint can only be exported as one !hal.fence", op.location)
    op.replace_all_uses_with([op.await_timepoint])
    op.erase()


def _chain_external(op: stream.TimepointChainExternalOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    device, queue = conversion.device(b, op), conversion.queue(b, op)
    for fence in op.external_values:
        if not isinstance(fence.type, FenceType):
            raise CompileError(f"a timepoint cannot be chained to {fence.type}", op.location)
        b.insert(DeviceQueueBarrierOp(device, queue, op.await_timepoint, fence, 0))
    op.erase()


TIMEPOINT_CONVERSIONS = {
    stream.TimepointImmediateOp: _immediate,
    stream.TimepointJoinOp: _join,
    stream.TimepointAwaitOp: _await,
    stream.TimepointBarrierOp: _barrier,
    stream.TimepointImportOp: _import,
    stream.TimepointExportOp: _export,
    stream.TimepointChainExternalOp: _chain_external,
}

