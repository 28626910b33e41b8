"""Which results of a dispatch may take over the storage of what it reads.

Enters: a dispatch region. Leaves: for each result the tensor from outside whose place it takes, or None.

An update of a part, and a scatter, leave most of their tensor as it was. If that tensor comes from outside, and the
region reads it nowhere but where it writes, element for element, the dispatch writes where it lies: each element is
read and written by the same workgroup. So does a loop that puts slices into what it carries. Whoever needs the old
contents gets a copy; that is decided in the stream phase.
"""

from __future__ import annotations

from pyiree.compiler.dialects.iree_linalg_ext import ScatterOp
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.dialects.pointwise_loops import pointwise_loop
from pyiree.compiler.dialects.scf import ForOp, WhileOp
from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp, InsertSliceOp
from pyiree.compiler.flow.op_kinds import ELEMENTWISE, captured_tensors, elements_of, kind_of
from pyiree.compiler.flow.ops import DispatchRegionOp
from pyiree.compiler.ir.core import BlockArgument, Operation, Value

#: Tensors of fewer elements are sooner written anew than copied where the old contents are needed.
_SMALL = 1 << 12


def tied_values(region: DispatchRegionOp) -> list[Value | None]:
    """For each result of a region the value from outside that it is written over."""
    taken: set[Value] = set()
    found: list[Value | None] = []
    for value in region.body.entry.terminator.operands:
        target = _written_over(value, region)
        if target is not None and (target in taken or target.type is not value.type):
            target = None
        if target is not None:
            taken.add(target)
        found.append(target)
    return found if _has_one_domain(region, found) else [None] * len(found)


def _has_one_domain(region: DispatchRegionOp, tied: list[Value | None]) -> bool:
    """Whether what is written of several results is of one shape; slices may be of another than whole results are."""
    shapes = set()
    is_part = False
    for value, target in zip(region.body.entry.terminator.operands, tied):
        op = value.defining_op
        part = target is not None and isinstance(op, InsertSliceOp)
        is_part = is_part or part
        shapes.add((op.source if part else value).type.shape)  # type: ignore[attr-defined, union-attr]
    return not is_part or len(shapes) == 1


def _written_over(value: Value, region: DispatchRegionOp) -> Value | None:
    op = value.defining_op
    if op is None or not value.has_one_use:
        return None
    if isinstance(op, ScatterOp):
        target = op.outputs[0]
    elif isinstance(op, ForOp):
        loop = pointwise_loop(op)
        if loop is None or not loop.carried[value.index].updates:  # type: ignore[attr-defined]
            return None
        target = op.init_args[value.index]  # type: ignore[attr-defined]
    elif isinstance(op, InsertSliceOp) and elements_of(value) >= _SMALL:
        target = op.dest
        # Where the old contents are needed, all of it is sooner written anew than copied and then mostly written.
        if elements_of(value) < 2 * elements_of(op.source) and not _is_gone_behind(target, region):
            return None
    else:
        return None
    if target.defining_op is not None and region.is_ancestor_of(target.defining_op):
        return None
    users = [use.owner for use in target.uses]
    if users.count(op) > 1:  # a scatter of what it is made to, or from where it is made to: read at other places too
        return None
    others = [user for user in users if user is not op and region.is_ancestor_of(user)]
    return target if all(_reads_what_it_writes(op, other) for other in others) else None


def updates_itself(op: Operation) -> bool:
    """Whether an op puts a slice into a large tensor that is computed from what it replaces, element for element."""
    if not isinstance(op, InsertSliceOp) or elements_of(op.result) < _SMALL:
        return False
    users = [user for user in op.dest.users if user is not op and user.block is op.block and user.results]
    reads = [user for user in users if _depends(op.source, user.results[0])]
    return bool(reads) and all(_reads_what_it_writes(op, read) for read in reads)


def _is_gone_behind(value: Value, region: DispatchRegionOp) -> bool:
    """Whether a value that an iteration of a loop gets or makes is used by nothing behind a region."""
    block = region.block
    if block is None or not isinstance(block.parent_op, ForOp | WhileOp):
        return False
    home = value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr]
    if home is not block:
        return False
    for user in value.users:
        while user.block is not block:
            user = user.parent_op  # type: ignore[assignment]
        if user is not region and not user.is_before_in_block(region):
            return False
    return True


def _reads_what_it_writes(update: Operation, read: Operation) -> bool:
    """Whether an op is the slice that an update replaces, and the new elements come from the old ones one by one."""
    if not isinstance(update, InsertSliceOp) or not isinstance(read, ExtractSliceOp):
        return False
    boxes = [(op.mixed_offsets, op.mixed_sizes, op.mixed_strides) for op in (update, read)]
    return boxes[0] == boxes[1] and read.result.type is update.source.type and _is_pointwise(update.source, read.result)


def _is_pointwise(value: Value, source: Value) -> bool:
    """Whether every element of `value` depends on no element of `source` but the one at its own index."""
    if value is source or not _depends(value, source):
        return True
    op = value.defining_op
    if not isinstance(op, GenericOp) or kind_of(op) != ELEMENTWISE or not all(m.is_identity for m in op.maps()):
        return False
    if any(_depends(captured, source) for captured in captured_tensors(op)):
        return False
    return all(_is_pointwise(operand, source) for operand in op.inputs)


def _depends(value: Value, source: Value) -> bool:
    pending, seen = [value], set()
    while pending:
        current = pending.pop()
        if current is source:
            return True
        op = current.defining_op
        if op is not None and op.block is source.defining_op.block and op not in seen:  # type: ignore[union-attr]
            seen.add(op)
            pending += [*op.operands, *captured_tensors(op)]
    return False
