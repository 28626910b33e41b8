"""What passes ask of stream ops: devices, sizes, ties, ranges, and whether work may run in an execution region.

Enters: ops and values of the tensor and async levels. Leaves: for a value its size and the storage it takes over, for
an op the byte ranges it reads and writes. The protocols say which fields make an op answer which question.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from pyiree.compiler.dialects.tied_results import UNTIED, tied_operand_indices
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.core import BlockArgument, Operation, OpResult, Value
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.types import is_resource
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


class AffinityOp(Protocol):
    """An op that names the device it runs on."""

    affinity: Attribute | None


class TimelineOp(Protocol):
    """An op whose work is done at a timepoint of its own."""

    result_timepoint: Value


class TiedOp(Protocol):
    """An op whose one result takes over, or is, the storage of its first operand."""

    tied_operand: Value


#: Work that a device does; everything else is done by the host.
STREAMABLE = (
    ops.AsyncAllocaOp, ops.AsyncConstantOp, ops.AsyncSplatOp, ops.AsyncCloneOp, ops.AsyncSliceOp, ops.AsyncFillOp,
    ops.AsyncUpdateOp, ops.AsyncCopyOp, ops.AsyncTransferOp, ops.AsyncDispatchOp,
)  # fmt: skip
#: Ops whose results are other names of their operands.
RENAMING = (ops.TimepointAwaitOp, ops.TimepointBarrierOp, ops.AsyncCastOp, ops.AsyncBarrierOp)

READ, WRITE = 1, 2


@cache
def _answers(op_class: type, protocol: type) -> bool:
    """Whether ops of a class have the fields of a protocol."""
    return all(hasattr(op_class, field) for field in protocol.__annotations__)


def is_streamable(op: Operation) -> bool:
    """Whether an op is device work at the async level."""
    return isinstance(op, STREAMABLE)


def execution_affinity(op: Any) -> Attribute | None:
    """The device that does the work of an op; a transfer is done where it says, else by its source or target."""
    if isinstance(op, ops.AsyncTransferOp):
        return op.affinity or op.target_affinity or op.source_affinity
    return op.affinity if _answers(type(op), AffinityOp) else None


_DISPATCHES = (ops.TensorDispatchOp, ops.AsyncDispatchOp)
_REGIONS = (ops.AsyncExecuteOp, ops.AsyncConcurrentOp)


def tied_position(value: Value) -> int | None:
    """Which operand (by position) a result takes over the storage of, or None."""
    if not isinstance(value, OpResult) or not is_resource(value.type):
        return None
    op: Any = value.op
    if _answers(type(op), TiedOp) or isinstance(op, ops.TimepointBarrierOp):
        return 0
    if isinstance(op, ops.TimepointAwaitOp):
        return value.index
    if isinstance(op, _DISPATCHES + _REGIONS) and op.tied_operands is not None:
        tie = op.tied_operands[value.index].value
        if tie != UNTIED:
            return tie + (len(op.workload) if isinstance(op, _DISPATCHES) else 0)
    return None


def tied_operand(value: Value) -> Value | None:
    """The operand whose storage a result takes over, or None."""
    position = tied_position(value)
    return None if position is None else value.op.operands[position]  # type: ignore[attr-defined]


def tied_results(op: Operation) -> Iterator[tuple[OpResult, Value]]:
    """The results of an op that take over an operand, with that operand."""
    for result in op.results:
        operand = tied_operand(result)
        if operand is not None:
            yield result, operand


class StorageRoots:
    """The value in whose storage each value lives, as far as the ops that tie results say; each is found once."""

    def __init__(self) -> None:
        self._known: dict[Value, Value] = {}

    def __getitem__(self, value: Value) -> Value:
        chain = []
        root = value
        while root not in self._known:
            chain.append(root)
            back = tied_operand(root)
            if back is None:
                break
            root = back
        root = self._known.get(root, root)
        self._known.update(dict.fromkeys(chain, root))
        return root


def sized_operands(op: Any) -> list[tuple[Value, Value]]:
    """The resource operands of an op, each with the size beside it."""
    if isinstance(op, ops.AsyncDispatchOp | ops.AsyncExecuteOp | ops.AsyncConcurrentOp | ops.CmdExecuteOp):
        resources = [v for v in op.resource_operands if is_resource(v.type)]
        return list(zip(resources, op.resource_operand_sizes))
    if isinstance(op, ops.YieldOp | ops.TimepointAwaitOp):
        return list(zip(op.resource_operands, op.resource_operand_sizes))
    if isinstance(op, ops.TensorDispatchOp):
        resources = [v for v in op.mixed_operands if is_resource(v.type)]
        return list(zip(resources, op.operand_sizes))
    pairs = []
    for name in ("source", "target", "update", "resource", "operand", "storage"):
        value, size = getattr(op, name, None), getattr(op, f"{name}_size", None)
        if isinstance(value, Value) and size is not None and is_resource(value.type):
            pairs.append((value, size))
    return pairs


def result_size(value: OpResult) -> Value | None:
    """The size that an op gives beside a resource that it makes, or None if it gives none."""
    op: Any = value.op
    if isinstance(op, ops.TimepointAwaitOp):
        return op.resource_operand_sizes[value.index]
    sizes = getattr(op, "result_sizes", None)
    if sizes is not None:
        return sizes[value.index]
    for name in ("result_size", "target_size", "storage_size", "resource_size", "source_size"):
        size = getattr(op, name, None)
        if isinstance(size, Value) and size not in op.results:
            return size
    return None


def size_at(value: Value, op: Operation) -> Value | None:
    """The size of a resource, if its maker, the region that captures it, or one of its uses says it to `op`."""
    if isinstance(value, OpResult):
        found = result_size(value)
        if found is not None:
            return found
    elif isinstance(value, BlockArgument):
        parent: Any = value.block.parent_op
        if isinstance(parent, _REGIONS + (ops.CmdExecuteOp,)):
            return parent.resource_operand_sizes[value.index]
    for user in value.users:
        for operand, size in sized_operands(user):
            if operand is value and is_visible_at(size, op):
                return size
    return None


def is_visible_at(value: Value, op: Operation) -> bool:
    """Whether a value of structured code exists where an op stands."""
    home = value.block  # type: ignore[attr-defined]
    around: Operation | None = op
    while around is not None and around.block is not home:
        around = around.parent_op
    if around is None:
        return False
    definer = value.defining_op
    return definer is None or (definer is not around and definer.is_before_in_block(around))


@dataclass(frozen=True, eq=False, slots=True)
class AccessRange:
    """Bytes `[start, end)` of a resource that an op reads, writes or both; `start` is None for the first byte."""

    access: int
    resource: Value
    size: Value
    start: Value | None
    end: Value

    @property
    def reads(self) -> bool:
        """Whether the bytes are read."""
        return bool(self.access & READ)

    @property
    def writes(self) -> bool:
        """Whether the bytes are written."""
        return bool(self.access & WRITE)


def access_ranges(op: Any) -> list[AccessRange]:
    """What an async op reads and writes; a range of a tied operand is written, and read if the op may look at it."""
    if isinstance(op, ops.AsyncDispatchOp):
        return _dispatch_ranges(op)
    found: list[AccessRange] = []
    if isinstance(op, ops.AsyncSliceOp | ops.AsyncCopyOp):
        found.append(AccessRange(READ, op.source, op.source_size, op.source_offset, op.source_end))
    elif isinstance(op, ops.AsyncCloneOp | ops.AsyncTransferOp):
        found.append(AccessRange(READ, op.source, op.source_size, None, op.source_size))
    elif isinstance(op, ops.AsyncUpdateOp):
        found.append(AccessRange(READ, op.update, op.update_size, None, op.update_size))
    if isinstance(op, ops.AsyncFillOp | ops.AsyncUpdateOp | ops.AsyncCopyOp):
        found.append(AccessRange(WRITE, op.target, op.target_size, op.target_offset, op.target_end))
    elif is_streamable(op) and not isinstance(op, ops.AsyncAllocaOp):
        found.append(AccessRange(WRITE, op.result, op.result_size, None, op.result_size))
    return found


def _dispatch_ranges(op: ops.AsyncDispatchOp) -> list[AccessRange]:
    ties = tied_operand_indices(op.tied_operands, len(op.results))
    found = []
    ranges = iter(zip(op.resource_operand_sizes, op.resource_operand_offsets, op.resource_operand_ends))
    for i, value in enumerate(op.resource_operands):
        if is_resource(value.type):
            size, start, end = next(ranges)
            found.append(AccessRange(READ | WRITE if i in ties else READ, value, size, start, end))
    for result, size, tie in zip(op.results, op.result_sizes, ties):
        if tie == UNTIED:
            found.append(AccessRange(WRITE, result, size, None, size))
    return found
