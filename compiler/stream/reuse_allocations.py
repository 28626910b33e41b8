"""iree-stream-reuse-allocations: memory that is given back is taken again.

Before: an allocation waits, in the same block, for a deallocation of as many bytes of the same kind.
After:  it is the same memory; neither op is left.

    %t1 = stream.resource.dealloca await(%t0) => %a : !stream.resource<transient>{%n} => !stream.timepoint
    %b, %t2 = stream.resource.alloca uninitialized await(%t1) => !stream.resource<transient>{%n} => !stream.timepoint
    →
    %b is %a, and %t2 is %t0
"""

from __future__ import annotations

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.types import timepoint


@register_pass("iree-stream-reuse-allocations", on=("util.func", "util.initializer"))
def reuse_allocations(host: Operation, context: PassContext) -> None:
    """Pairs the allocations of a host function with earlier deallocations."""
    for alloca in list(host.walk_type(ops.ResourceAllocaOp)):
        freed = _freed_before(alloca)
        if freed is not None:
            _reuse(alloca, freed)


def _freed_before(alloca: ops.ResourceAllocaOp) -> ops.ResourceDeallocaOp | None:
    """A deallocation that the allocation waits for, itself or through joins, and that fits it."""
    pending: list[Value] = [] if alloca.await_timepoint is None else [alloca.await_timepoint]
    while pending:
        op = pending.pop().defining_op
        if op is None or op.block is not alloca.block:
            continue
        if isinstance(op, ops.TimepointJoinOp):
            pending.extend(op.await_timepoints)
        elif isinstance(op, ops.ResourceDeallocaOp) and _fits(op, alloca):
            return op
    return None


def _fits(freed: ops.ResourceDeallocaOp, alloca: ops.ResourceAllocaOp) -> bool:
    return (
        freed.operand_size is alloca.storage_size
        and freed.operand.type is alloca.results[0].type
        and freed.affinity is alloca.affinity
    )


def _reuse(alloca: ops.ResourceAllocaOp, freed: ops.ResourceDeallocaOp) -> None:
    available = freed.await_timepoint
    if available is None:
        immediate = ops.TimepointImmediateOp(result_timepoint=timepoint)
        available = Builder.before(freed).insert(immediate).result_timepoint
    alloca.replace_all_uses_with([freed.operand, alloca.await_timepoint])
    alloca.erase()
    freed.replace_all_uses_with([available])
    freed.erase()
