"""iree-stream-automatic-reference-counting: memory is given back when the last work that uses it is done.

Before: allocations that a region of work makes for later regions live until the function returns.
After:  where all uses of an allocation are known, a `stream.resource.dealloca` follows them in the order of the queue.

    %r, %t0 = stream.resource.alloca uninitialized …
    %t1 = stream.cmd.execute await(%t0) => with(%r as %a) { … }
    %t2 = stream.cmd.execute await(%t1) => with(%r as %a, …) { … }
    →
    … %t2 = stream.cmd.execute …
    %t3 = stream.resource.dealloca await(%t2) => %r : …

Memory that leaves a function, a branch or an iteration is not given back here: it goes with its last reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.resource_uses import ResourceUses, resource_uses
from pyiree.compiler.stream.analysis.timepoint_coverage import TimepointCoverage, is_timepoint
from pyiree.compiler.stream.types import timepoint


@register_pass("iree-stream-automatic-reference-counting", on=("util.func", "util.initializer"))
def automatic_reference_counting(host: Operation, context: PassContext) -> None:
    """Adds deallocations to a host function."""
    for alloca in list(host.walk_type(ops.ResourceAllocaOp)):
        if not alloca.indeterminate_lifetime:
            _give_back(alloca)


def _give_back(alloca: ops.ResourceAllocaOp) -> None:
    block = alloca.block
    assert block is not None
    uses = resource_uses(alloca.results[0], block.parent_op)
    if uses.escapes or any(isinstance(op, ops.ResourceDeallocaOp) for op in uses.work):
        return
    times = _last_times(uses, block)
    if not times:
        return
    last = _last_op([*uses.work, *uses.accesses, *[t.defining_op for t in times]], block)
    builder = Builder.after(last, alloca.location)
    done = times[0]
    if len(times) > 1:
        done = builder.insert(ops.TimepointJoinOp(times, result_timepoint=timepoint)).result_timepoint
    free = ops.ResourceDeallocaOp(
        alloca.results[0], alloca.storage_size, done, alloca.affinity is None, alloca.affinity,
        result_timepoint=timepoint,
    )  # fmt: skip
    builder.insert(free)
    # Whoever waits for the last use waits for the memory too: an allocation behind it can have it.
    times[-1].replace_uses_if(free.result_timepoint, lambda use: _comes_behind(use.owner, free))


def _last_times(uses: ResourceUses, block: Block) -> list[Value]:
    """The timepoints in a block when all work on a resource is done, in order; empty if there are none."""
    coverage = TimepointCoverage()
    found: dict[Value, Operation] = {}
    for work in uses.work:
        around = _in_block(work, block)
        if around is work:
            found[work.result_timepoint] = around
            continue
        outer = [r for r in around.results if is_timepoint(r) and coverage.covers(r, work.result_timepoint)]
        if not outer:
            return []
        found[outer[0]] = around
    return coverage.last_of(sorted(found, key=_Position(found)))


class _Position:
    """Orders timepoints by the ops of one block that they belong to."""

    def __init__(self, owners: dict[Value, Operation]) -> None:
        first = next(iter(owners.values()))
        number = {op: i for i, op in enumerate(first.block.ops)}  # type: ignore[union-attr]
        self._number = {t: number[op] for t, op in owners.items()}

    def __call__(self, time: Value) -> int:
        return self._number[time]


def _in_block(op: Any, block: Block) -> Operation:
    """The op of a block that is, or holds, another one."""
    while op.block is not block:
        op = op.parent_op
    return op


def _last_op(found: Sequence[Any], block: Block) -> Operation:
    around = [_in_block(op, block) for op in found]
    last = around[0]
    for op in around[1:]:
        if last.is_before_in_block(op):
            last = op
    return last


def _comes_behind(op: Operation, free: ops.ResourceDeallocaOp) -> bool:
    around = _in_block(op, free.block)  # type: ignore[arg-type]
    return around is not free and free.is_before_in_block(around)
