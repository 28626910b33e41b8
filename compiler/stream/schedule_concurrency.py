"""iree-stream-schedule-concurrency: what may run at the same time is put in concurrency regions.

Before: the ops of an execution region, in program order.
After:  in waves: each wave of several ops is a `stream.async.concurrent` region, and waves follow each other.

    %1 = stream.async.dispatch @e::@f(%a…) …
    %2 = stream.async.dispatch @e::@g(%a…) …
    →
    %1:2 = stream.async.concurrent with(%a as %x: …) -> (…) { both }
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.analysis.resource_hazards import ResourceHazardAnalysis
from pyiree.compiler.stream.capture import move_into_region
from pyiree.compiler.stream.interfaces import is_streamable
from pyiree.compiler.stream.ops import AsyncAllocaOp, AsyncConcurrentOp, AsyncConstantOp, AsyncExecuteOp


@register_pass("iree-stream-schedule-concurrency", on=("util.func", "util.initializer"))
def schedule_concurrency(host: Operation, context: PassContext) -> None:
    """Gathers the independent commands of every execution region of a host function."""
    for execute in list(host.walk_type(AsyncExecuteOp)):
        _schedule_region(execute)


def _is_command(op: Operation) -> bool:
    """Whether the device does something for the op; storage and constants are there before the region starts."""
    return is_streamable(op) and not isinstance(op, AsyncAllocaOp | AsyncConstantOp)


def _schedule_region(execute: AsyncExecuteOp) -> None:
    block = execute.body.entry
    hazards = ResourceHazardAnalysis(block)
    commands = [op for op in block.ops if _is_command(op)]
    for wave in hazards.waves(commands):
        for op in wave:
            op.move_before(block.terminator)
        if len(wave) > 1:
            move_into_region(wave, block.terminator, _make_concurrent)


def _make_concurrent(
    captured: Any, sizes: Any, result_sizes: Any, ties: Any, body: Any, types: Any
) -> AsyncConcurrentOp:
    return AsyncConcurrentOp(captured, sizes, result_sizes, ties, None, body, results_=types)
