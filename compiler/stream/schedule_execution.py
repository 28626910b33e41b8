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

from typing import Any

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.analysis.partitioning import Partition, Partitioning
from pyiree.compiler.stream.capture import move_into_region
from pyiree.compiler.stream.interfaces import is_streamable
from pyiree.compiler.stream.ops import AsyncExecuteOp, TensorExportOp, TimepointAwaitOp
from pyiree.compiler.stream.types import timepoint


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
    for op in partition.ops:
        # Inside a region of one device no op says which.
        op.properties.pop("affinity", None)

    def make(captured: Any, sizes: Any, result_sizes: Any, ties: Any, body: Any, types: Any) -> AsyncExecuteOp:
        return AsyncExecuteOp(
            captured, sizes, result_sizes, None, ties, partition.affinity, body, results_=types,
            result_timepoint=timepoint,
        )  # fmt: skip

    execute = move_into_region(partition.ops, anchor, make)
    if len(execute.results) > 1:
        _await_results(execute, anchor)


def _await_results(execute: AsyncExecuteOp, anchor: Operation) -> None:
    """Whatever stands outside sees the results behind a wait."""
    results = execute.results[:-1]
    wait = TimepointAwaitOp(results, execute.result_sizes, execute.result_timepoint)
    Builder.before(anchor, execute.location).insert(wait)
    for result, awaited in zip(results, wait.results):
        result.replace_uses_if(awaited, lambda use: use.owner is not wait)
