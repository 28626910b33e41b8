"""iree-stream-schedule-execution: async ops move into execution regions, one for each piece of work.

Before: async ops and host ops in one block, ordered by their operands.
After:  `stream.async.execute` regions hold the device's work; what the host or other regions need of it is awaited.

    %1 = stream.async.dispatch on(#a) @e::@f(%0…) : … -> !stream.resource<external>{%s}
    %2 = stream.tensor.export %1 …
    →
    %r, %t = stream.async.execute on(#a) with(%0 as %x: …) -> !stream.resource<external>{%s} {
      %3 = stream.async.dispatch @e::@f(%x…) …
      stream.yield %3 : !stream.resource<external>{%s}
    } => !stream.timepoint
    %1 = stream.timepoint.await %t => %r : …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.tied_results import UNTIED, tied_operands_attr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, OpResult, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.analysis.partitioning import Partition, Partitioning
from pyiree.compiler.stream.interfaces import is_streamable, resource_size, tied_operand
from pyiree.compiler.stream.ops import AsyncExecuteOp, TensorExportOp, TimepointAwaitOp, YieldOp
from pyiree.compiler.stream.types import is_resource, timepoint


@register_pass("iree-stream-schedule-execution", on=("util.func", "util.initializer"))
def schedule_execution(host: Operation, context: PassContext) -> None:
    """Gathers the async ops of every block of a host function into execution regions."""
    blocks = [block for op in host.walk() for region in op.regions for block in region.blocks]
    for block in blocks:
        if any(is_streamable(op) for op in block.ops):
            _schedule_block(block)


def _sink_exports(block: Block) -> None:
    """The host waits for results when it has nothing else to start."""
    for op in list(block.ops):
        if isinstance(op, TensorExportOp) and all(user is block.terminator for user in op.result.users):
            op.move_before(block.terminator)


def _schedule_block(block: Block) -> None:
    _sink_exports(block)
    partitioning = Partitioning(block)
    host_at = {partitioning.position(op): op for op in partitioning.host_ops}
    positions = sorted(host_at)
    for partition in partitioning.partitions:
        anchor = next((host_at[p] for p in positions if p >= partition.before), block.terminator)
        _build_execution(partition, anchor)


def _build_execution(partition: Partition, anchor: Operation) -> None:
    inside = set(partition.ops)
    captured = list(
        dict.fromkeys(
            v for op in partition.ops for v in op.operands if is_resource(v.type) and v.defining_op not in inside
        )
    )
    escaping = [
        r for op in partition.ops for r in op.results if is_resource(r.type) and any(u not in inside for u in r.users)
    ]
    ties = [_tied_capture(value, captured) for value in escaping]
    builder = Builder.before(anchor, partition.ops[0].location)
    body = Block([v.type for v in captured])
    execute = AsyncExecuteOp(
        captured, _sizes(captured), _sizes(escaping), None, tied_operands_attr(ties), partition.affinity, body,
        results_=[v.type for v in escaping], result_timepoint=timepoint,
    )  # fmt: skip
    builder.insert(execute)
    for op in partition.ops:
        op.move_to_end(body)
        _drop_affinity(op)
    for value, argument in zip(captured, body.arguments):
        value.replace_uses_if(argument, lambda use: use.owner in inside)
    body.append(YieldOp(escaping, execute.result_sizes, location=execute.location))
    if escaping:
        _await_results(execute, escaping, anchor)


def _sizes(values: Sequence[Value]) -> list[Value]:
    sizes = []
    for value in values:
        size = resource_size(value)
        if size is None:
            owner = value.defining_op or value.block.parent_op  # type: ignore[attr-defined]
            raise CompileError("the size of a resource is not known where work uses it", owner.location)
        sizes.append(size)
    return sizes


def _tied_capture(value: Value, captured: Sequence[Value]) -> int:
    """The captured value that a result is stored in, or -1."""
    back: Value | None = value
    while back is not None:
        if back in captured:
            return captured.index(back)
        back = tied_operand(back)
    return UNTIED


def _drop_affinity(op: Any) -> None:
    """Inside a region of one device no op says which."""
    op.properties.pop("affinity", None)


def _await_results(execute: AsyncExecuteOp, escaping: Sequence[OpResult], anchor: Operation) -> None:
    """Whatever stands outside sees the results behind a wait."""
    body_ops = set(execute.body.walk())
    wait = Builder.before(anchor, execute.location).insert(
        TimepointAwaitOp(execute.results[:-1], execute.result_sizes, execute.result_timepoint)
    )
    for value, awaited in zip(escaping, wait.results):
        value.replace_uses_if(awaited, lambda use: use.owner not in body_ops)
