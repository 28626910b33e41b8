"""What is done with a piece of memory: by the device, by the host, and where it escapes.

Enters: a resource of a host function at the cmd level, with structured control flow. Leaves: all its names, the work
that uses it, host accesses, and the uses by which it leaves: exports, globals, calls, and the ends of the region that
one looks at.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import SelectOp
from pyiree.compiler.ir.core import Operation, Use, Value
from pyiree.compiler.stream import ops
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Ops whose work has a timepoint.
TIMELINE = (ops.CmdExecuteOp, ops.FileReadOp, ops.FileWriteOp, ops.ResourceDeallocaOp)


@dataclass
class ResourceUses:
    """The uses of a resource under all its names."""

    names: set[Value] = field(default_factory=set)
    work: list[Any] = field(default_factory=list)
    accesses: list[Operation] = field(default_factory=list)
    escapes: list[Use] = field(default_factory=list)


def resource_uses(value: Value, within: Operation | None = None) -> ResourceUses:
    """The uses of a resource, through waits, views and control flow.

    At the ends of `within`'s own regions the resource escapes; it isn't followed into the next iteration.
    """
    found = ResourceUses()
    pending = [value]
    while pending:
        name = pending.pop()
        if name in found.names:
            continue
        found.names.add(name)
        for use in name.uses:
            _classify(use, within, found, pending)
    return found


def _classify(use: Use, within: Operation | None, found: ResourceUses, pending: list[Value]) -> None:
    op: Any = use.owner
    if isinstance(op, TIMELINE):
        found.work.append(op)
    elif isinstance(op, ops.TimepointAwaitOp):
        pending.append(op.results[use.index])
    elif isinstance(op, ops.ResourceSubviewOp | SelectOp):
        pending.append(op.result)
    elif isinstance(op, ops.ResourceLoadOp | ops.ResourceStoreOp | ops.ResourceSizeOp):
        found.accesses.append(op)
    elif isinstance(op, scf.ForOp):
        pending.append(op.body_block.arguments[use.index - 2])
        pending.append(op.results[use.index - 3])
    elif isinstance(op, scf.WhileOp):
        pending.append(op.before_block.arguments[use.index])
    elif isinstance(op, scf.YieldOp | scf.ConditionOp) and op.parent_op is not within:
        pending.extend(_handed_on(op, use.index))
    else:
        found.escapes.append(use)


def _handed_on(end: scf.YieldOp | scf.ConditionOp, index: int) -> list[Value]:
    """Where the operand of a region's end goes on."""
    op: Any = end.parent_op
    if isinstance(end, scf.ConditionOp):
        return [op.after_block.arguments[index - 1], op.results[index - 1]]
    if isinstance(op, scf.ForOp):
        return [op.iter_args[index], op.results[index]]
    if isinstance(op, scf.WhileOp):
        return [op.before_block.arguments[index]]
    return [op.results[index]]
