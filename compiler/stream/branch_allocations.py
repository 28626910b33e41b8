"""Memory that the branches of an iteration allocate, allocated in front of them.

Enters: an `scf.if` or `scf.index_switch` in a loop, and the timepoint with which the iteration begins. Leaves: no
allocation of known size in its regions: transients come first, and every region writes a result into the same memory,
or copies it there. What then stands in front of the branch can leave the loop. What a region exports is copied first.

    %r:2 = scf.if %c -> … {
      %new, %t1 = stream.resource.alloca uninitialized await(%t) => …{%n}
      %t2 = stream.cmd.execute await(%t1) => with(%new as %a) { … }
      scf.yield %new, %t2
    } else { scf.yield %old, %t }
    →
    %memory, %t0 = stream.resource.alloca uninitialized await(%t) => …{%n}
    %r:2 = scf.if %c -> … {
      %t1 = stream.timepoint.join max(%t, %t0)
      %t2 = stream.cmd.execute await(%t1) => with(%memory as %a) { … }
      scf.yield %memory, %t2
    } else {
      %t3 = stream.cmd.execute await(join of %t and %t0) => with(%old as %a, %memory as %b) { copy }
      scf.yield %memory, %t3
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.types import index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.resource_uses import resource_uses
from pyiree.compiler.stream.analysis.timepoint_coverage import is_timepoint
from pyiree.compiler.stream.types import is_resource, timepoint

Branch = scf.IfOp | scf.IndexSwitchOp

#: Results of so many bytes are copied to where they belong; larger ones stay where they are.
MOST_COPIED = 1 << 16


def hoist_out_of_branch(branch: Branch) -> None:
    """Allocates in front of a branch in a loop what its regions do, after the timepoint with which the iteration
    begins."""
    block = _body_around(branch)
    bodies = [body for region in branch.regions for body in region.blocks]
    if block is None or len(bodies) > len(branch.regions):
        return
    for body in bodies:
        for op in list(body.ops):
            if isinstance(op, ops.TensorExportOp) and not _is_inside(_waited_for(op.source), branch):
                _export_copy(op)
    times = [result for result in branch.results if is_timepoint(result)]
    begins = [argument for argument in block.arguments if is_timepoint(argument)]
    if len(times) != 1 or len(begins) != 1:
        return
    time = begins[0]
    for result in branch.results:
        if is_resource(result.type):
            _share_result(branch, result, times[0].index, time, affinity_in(block.parent_op))
    for body in bodies:
        for op in list(body.ops):
            if isinstance(op, ops.ResourceAllocaOp) and _is_transient(op, branch):
                _move_in_front(op, branch, times[0], time)


def _waited_for(resource: Value) -> Value:
    """A resource by the name that it had before it was waited for."""
    op = resource.defining_op
    while isinstance(op, ops.TimepointAwaitOp):
        resource = op.resource_operands[resource.index]  # type: ignore[attr-defined]
        op = resource.defining_op
    return resource


def _export_copy(op: Any) -> None:
    """Lets a caller outside have a copy of what is exported, which nobody writes any more: then the resource may be
    used again."""
    size = _constant(op.source_size)
    if size is None or size > MOST_COPIED:
        return
    builder = Builder.before(op)
    bytes_ = builder.insert(ConstantOp(IntegerAttr(size, index))).result
    made = ops.ResourceAllocaOp(
        bytes_, None, None, op.affinity, result_=op.source.type, result_timepoint=timepoint, location=op.location
    )
    memory = builder.insert(made)
    time = _copy(builder, op.source, memory.results[0], bytes_, memory.result_timepoint, op.affinity)
    (op.source,) = builder.insert(ops.TimepointAwaitOp([memory.results[0]], [bytes_], time)).results


def _share_result(branch: Branch, result: Any, time_index: int, time: Value, affinity: Attribute | None) -> None:
    """Lets all regions leave a result in memory that is allocated in front."""
    ends = [region.entry.terminator for region in branch.regions]
    values = [end.operands[result.index] for end in ends]
    sizes = {size_of(value) for value in values}
    if None in sizes or len(sizes) != 1 or not any(_is_inside(value, branch) for value in values):
        return
    (size,) = sizes
    owned = [_is_owned(value, end, result.index, branch) for value, end in zip(values, ends)]
    if not all(owned) and size > MOST_COPIED:
        return
    bytes_ = Builder.before(branch).insert(ConstantOp(IntegerAttr(size, index))).result
    memory = _allocate(branch, bytes_, affinity, result.type, time)
    for value, end, is_owned in zip(values, ends, owned):
        if is_owned:
            _use_instead(value.defining_op, memory)
        else:
            copy_at_end(end, value, memory, bytes_, time_index, affinity)
        operands = list(end.operands)
        operands[result.index] = memory.results[0]
        end.operands = operands
    result.replace_all_uses_with(memory.results[0])


def size_of(value: Value) -> int | None:
    """How many bytes a resource has, if that is a constant."""
    uses = resource_uses(value)
    for name in uses.names:
        op: Any = name.defining_op
        if isinstance(op, ops.ResourceAllocaOp):
            return _constant(op.storage_size)
    for op in uses.work:
        if isinstance(op, ops.CmdExecuteOp):
            for resource, size in zip(op.resource_operands, op.resource_operand_sizes):
                if resource in uses.names:
                    return _constant(size)
    return None


def _constant(size: Value) -> int | None:
    op = size.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None  # type: ignore[attr-defined]


def _is_inside(value: Value, branch: Branch) -> bool:
    block: Block | None = value.block  # type: ignore[attr-defined]
    parent = None if block is None else block.parent_op
    return parent is not None and branch.is_ancestor_of(parent)


def _is_owned(value: Value, end: Any, number: int, branch: Branch) -> bool:
    """Whether a region allocates what it yields, for that alone."""
    op = value.defining_op
    if not isinstance(op, ops.ResourceAllocaOp) or op.block is not end.block:
        return False
    return [(use.owner, use.index) for use in resource_uses(value, branch).escapes] == [(end, number)]


def affinity_in(op: Any) -> Attribute | None:
    """Where work in the regions of an op is done."""
    for inner in op.walk():
        if isinstance(inner, ops.CmdExecuteOp | ops.ResourceAllocaOp):
            return inner.affinity
    return None


def _allocate(branch: Branch, size: Value, affinity: Any, type: Any, time: Value) -> ops.ResourceAllocaOp:
    made = ops.ResourceAllocaOp(
        size, time, None, affinity, result_=type, result_timepoint=timepoint, location=branch.location
    )
    return Builder.before(branch).insert(made)


def _use_instead(alloca: Any, memory: ops.ResourceAllocaOp) -> None:
    """Other memory for an allocation; whoever waited for it waits for both."""
    awaited = [] if alloca.await_timepoint is None else [alloca.await_timepoint]
    alloca.result_timepoint.replace_all_uses_with(_join(Builder.before(alloca), [*awaited, memory.result_timepoint]))
    alloca.results[0].replace_all_uses_with(memory.results[0])
    alloca.erase()


def _join(builder: Builder, times: Sequence[Value]) -> Value:
    if len(times) == 1:
        return times[0]
    return builder.insert(ops.TimepointJoinOp(list(times), result_timepoint=timepoint)).result_timepoint


def copy_at_end(end: Any, value: Value, memory: Any, size: Value, time_index: int, affinity: Any) -> None:
    """Copies a value into memory as the last thing that a region does."""
    builder = Builder.before(end)
    time = _join(builder, [end.operands[time_index], memory.result_timepoint])
    operands = list(end.operands)
    operands[time_index] = _copy(builder, value, memory.results[0], size, time, affinity)
    end.operands = operands


def _copy(builder: Builder, value: Value, target: Value, size: Value, time: Value, affinity: Any) -> Value:
    """Copies a resource after a time; when that is done."""
    zero = builder.insert(ConstantOp(IntegerAttr(0, index))).result
    body = Block([value.type, target.type])
    inner = Builder.at_end(body, builder.location)
    inner.insert(ops.CmdCopyOp(body.arguments[0], size, zero, body.arguments[1], size, zero, size))
    inner.insert(ops.YieldOp((), ()))
    execute = ops.CmdExecuteOp(
        [value, target], [size, size], time, None, affinity, body=body, result_timepoint=timepoint
    )
    return builder.insert(execute).result_timepoint


def _is_transient(alloca: ops.ResourceAllocaOp, branch: Branch) -> bool:
    return _constant(alloca.storage_size) is not None and not resource_uses(alloca.results[0], branch).escapes


def _move_in_front(alloca: ops.ResourceAllocaOp, branch: Branch, done: Value, time: Value) -> None:
    """Allocates a transient in front of the branch, and frees it behind if the region does."""
    size = Builder.before(branch).insert(alloca.storage_size.defining_op.clone()).results[0]  # type: ignore[union-attr]
    memory = _allocate(branch, size, alloca.affinity, alloca.results[0].type, time)
    freed = remove_deallocations(alloca.results[0])
    _use_instead(alloca, memory)
    if freed:
        free = ops.ResourceDeallocaOp(
            memory.results[0], size, done, False, memory.affinity, result_timepoint=timepoint, location=memory.location
        )
        Builder.after(branch).insert(free)
        done.replace_uses_if(free.result_timepoint, lambda use: use.owner is not free)


def remove_deallocations(memory: Value) -> bool:
    """Takes away what frees memory, if anything does; who waits for it waits for what it waited for."""
    found = [op for op in memory.users if isinstance(op, ops.ResourceDeallocaOp)]
    for op in found:
        awaited = op.await_timepoint
        if awaited is None:
            immediate = ops.TimepointImmediateOp(result_timepoint=timepoint)
            awaited = Builder.before(op).insert(immediate).result_timepoint
        op.result_timepoint.replace_all_uses_with(awaited)
        op.erase()
    return bool(found)


def _body_around(branch: Operation) -> Block | None:
    """The block of the loop that a branch is in, and perhaps other branches around it."""
    block: Any = branch.block
    while block is not None and (parent := block.parent_op) is not None:
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            return block
        block = parent.block
    return None
