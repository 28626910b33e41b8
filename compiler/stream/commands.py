"""Async ops as commands on memory.

Enters: the block of an execution region, and the place in memory of every value in it. Leaves: `stream.cmd.*` ops with
explicit ranges; offsets inside places are computed on the host, in front of the region.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.dialects.tied_results import UNTIED, tied_operand_indices
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.encoding import IndexMath
from pyiree.compiler.stream.types import STAGING, ResourceAccessAttr, is_resource
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_READ, _WRITE, _BOTH = ResourceAccessAttr("ro"), ResourceAccessAttr("wo"), ResourceAccessAttr("rw")


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Bytes `[offset, offset + length)` of a resource of `size` bytes; an offset of None is the first byte."""

    resource: Value
    size: Value
    offset: Value | None
    length: Value


class CommandBuilder:
    """Turns the async ops of a region into commands, in place."""

    def __init__(self, host: Builder, affinity: Attribute | None, place: Callable[[Value], Place]) -> None:
        self._math = IndexMath(host)
        self._affinity = affinity
        self._place = place

    def convert(self, block: Block) -> None:
        """Replaces every op of a block; its end yields nothing."""
        for op in reversed(list(block.ops)):
            convert = _CONVERSIONS.get(type(op))
            if convert is None:
                raise CompileError(f"'{op.name}' has no command", op.location)
            convert(self, op, Builder.before(op))
        # Users first: when an op goes, nothing names its results any more.
        for op in reversed(list(block.ops)):
            if type(op) in _CONVERSIONS and not isinstance(op, ops.YieldOp):
                op.erase()

    def _offset(self, place: Place, inside: Value | None = None) -> Value:
        if place.offset is None:
            return self._math.value(0) if inside is None else inside
        return self._math.value(place.offset if inside is None else self._math.add(place.offset, inside))

    def _target(self, value: Value, inside: Value | None = None) -> tuple[Value, Value, Value]:
        place = self._place(value)
        return place.resource, place.size, self._offset(place, inside)

    def _copy(self, b: Builder, source: Any, target: Any, length: Value) -> None:
        b.insert(ops.CmdCopyOp(*source, *target, length))

    def _nothing(self, op: Operation, b: Builder) -> None:
        """Storage is there before the region starts."""

    def _splat(self, op: ops.AsyncSplatOp, b: Builder) -> None:
        b.insert(ops.CmdFillOp(*self._target(op.result), op.result_size, op.value))

    def _fill(self, op: ops.AsyncFillOp, b: Builder) -> None:
        b.insert(ops.CmdFillOp(*self._target(op.target, op.target_offset), op.target_length, op.value))

    def _clone(self, op: ops.AsyncCloneOp, b: Builder) -> None:
        self._copy(b, self._target(op.source), self._target(op.result), op.result_size)

    def _slice(self, op: ops.AsyncSliceOp, b: Builder) -> None:
        self._copy(b, self._target(op.source, op.source_offset), self._target(op.result), op.result_size)

    def _update(self, op: ops.AsyncUpdateOp, b: Builder) -> None:
        self._copy(b, self._target(op.update), self._target(op.target, op.target_offset), op.update_size)

    def _copy_range(self, op: ops.AsyncCopyOp, b: Builder) -> None:
        source = self._target(op.source, op.source_offset)
        self._copy(b, source, self._target(op.target, op.target_offset), op.length)

    def _transfer(self, op: ops.AsyncTransferOp, b: Builder) -> None:
        source, target = self._place(op.source), self._place(op.result)
        if self._is_elsewhere(op.source_affinity, op.source):
            b.insert(
                ops.CmdInvalidateOp(
                    source.resource, source.size, self._offset(source), source.length, op.source_affinity
                )
            )
        self._copy(b, self._target(op.source), self._target(op.result), op.source_size)
        if self._is_elsewhere(op.target_affinity, op.result):
            b.insert(
                ops.CmdFlushOp(target.resource, target.size, self._offset(target), target.length, op.target_affinity)
            )

    def _is_elsewhere(self, affinity: Attribute | None, value: Value) -> bool:
        """Whether a resource is reached by others than the device that runs the region."""
        return (affinity is not None and affinity is not self._affinity) or value.type.lifetime == STAGING  # type: ignore[attr-defined]

    def _dispatch(self, op: ops.AsyncDispatchOp, b: Builder) -> None:
        ties = tied_operand_indices(op.tied_operands, len(op.results))
        uniform: list[Value] = []
        bindings: list[tuple[Value, Value, Value, Value]] = []
        accesses: list[Attribute] = []
        ranges = iter(zip(op.resource_operand_offsets, op.resource_operand_lengths))
        for i, operand in enumerate(op.resource_operands):
            if not is_resource(operand.type):
                uniform.append(operand)
                continue
            offset, length = next(ranges)
            bindings.append((*self._target(operand, offset), length))
            accesses.append(_BOTH if i in ties else _READ)
        for result, size, tie in zip(op.results, op.result_sizes, ties):
            if tie == UNTIED:
                bindings.append((*self._target(result), size))
                accesses.append(_WRITE)
        b.insert(
            ops.CmdDispatchOp(
                op.workload,
                uniform,
                [x[0] for x in bindings],
                [x[1] for x in bindings],
                [x[2] for x in bindings],
                [x[3] for x in bindings],
                op.entry_points,
                ArrayAttr(accesses),
                attributes=op.attributes,
            )
        )

    def _concurrent(self, op: ops.AsyncConcurrentOp, b: Builder) -> None:
        new = ops.CmdConcurrentOp()
        self.convert(op.body.entry)
        new.body.take_body(op.body)
        for argument in reversed(list(new.body.entry.arguments)):
            new.body.entry.erase_argument(argument.index)
        b.insert(new)

    def _yield(self, op: ops.YieldOp, b: Builder) -> None:
        op.resource_operands = ()
        op.resource_operand_sizes = ()


_CONVERSIONS: dict[type, Any] = {
    ops.AsyncAllocaOp: CommandBuilder._nothing,
    ops.AsyncConstantOp: CommandBuilder._nothing,
    ops.AsyncSplatOp: CommandBuilder._splat,
    ops.AsyncFillOp: CommandBuilder._fill,
    ops.AsyncCloneOp: CommandBuilder._clone,
    ops.AsyncSliceOp: CommandBuilder._slice,
    ops.AsyncUpdateOp: CommandBuilder._update,
    ops.AsyncCopyOp: CommandBuilder._copy_range,
    ops.AsyncTransferOp: CommandBuilder._transfer,
    ops.AsyncDispatchOp: CommandBuilder._dispatch,
    ops.AsyncConcurrentOp: CommandBuilder._concurrent,
    ops.YieldOp: CommandBuilder._yield,
}
