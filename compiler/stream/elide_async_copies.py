"""iree-stream-elide-async-copies: copies that nobody needs are gone.

Before: every op that writes in place works on a copy.
After:  it writes into the original where nobody looks at that any more; a loop that updates what it carries copies it
        at most once, before the loop; slices that dispatches read are ranges of the original.

    %c = stream.async.clone %0 …                     // the last use of %0
    %1 = stream.async.update %u, %c[%a to %b] …
    →
    %1 = stream.async.update %u, %0[%a to %b] …
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import scf
from pyiree.compiler.ir.core import BlockArgument, Operation, OpResult, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.ownership import LOOPS, Ownership
from pyiree.compiler.stream.interfaces import size_at, tied_results
from pyiree.compiler.stream.materialize_copy_on_write import clone_before
from pyiree.compiler.stream.types import is_resource
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@register_pass("iree-stream-elide-async-copies", on=("util.func", "util.initializer"))
def elide_async_copies(host: Operation, context: PassContext) -> None:
    """Removes the copies of a host function that are made of memory nobody looks at afterwards."""
    ownership = Ownership()
    # From the last to the first: the memory of each copy has few names as long as those before it are there.
    _elide_all(list(host.walk_type(ops.AsyncCloneOp)), ownership)
    loops = [op for op in host.walk(post_order=True) if isinstance(op, LOOPS)]
    for loop in loops:
        for slot in _slots(loop):
            _elide_in_slot(slot, ownership)
    if loops:
        _elide_all(list(host.walk_type(ops.AsyncCloneOp)), ownership)
    for part in list(host.walk_type(ops.AsyncSliceOp)):
        _fold_slice_into_dispatches(part, ownership)


def _elide_clone(clone: ops.AsyncCloneOp, ownership: Ownership) -> bool:
    """Removes a copy whose original may be overwritten instead."""
    if clone.source.type is not clone.result.type or clone.source_size is not clone.result_size:
        return False
    writer = _writer_of(clone, ownership)
    if writer is None:
        allowed = ownership.may_overwrite(clone.source, clone)
    else:
        allowed = ownership.may_overwrite(clone.source, writer, instead_of=clone)
    if allowed:
        clone.replace_all_uses_with([clone.source])
        clone.erase()
    return allowed


def _writer_of(clone: ops.AsyncCloneOp, ownership: Ownership) -> Operation | None:
    """The op that the copy was made for: its only user, which writes over it."""
    if not clone.result.has_one_use:
        return None
    user = clone.result.users[0]
    if user.block is clone.block and any(operand is clone.result for _, operand in ownership.ties(user)):
        return user
    return None


@dataclass(eq=False)
class _Slot:
    """A value that a loop carries: what goes in, its name in an iteration, what is handed on, what comes out."""

    loop: Any
    operand_index: int
    argument: BlockArgument
    yielded: Value
    result: OpResult

    @property
    def init(self) -> Value:
        return self.loop.operands[self.operand_index]


def _slots(loop: Any) -> list[_Slot]:
    """The resources that a loop carries, those aside that a condition mixes up."""
    slots = []
    if isinstance(loop, scf.ForOp):
        for i, (argument, yielded, result) in enumerate(zip(loop.iter_args, loop.yielded, loop.results)):
            slots.append(_Slot(loop, 3 + i, argument, yielded, result))
    else:
        passed = loop.condition.args
        for i, (argument, yielded) in enumerate(zip(loop.before_block.arguments, loop.after_block.terminator.operands)):
            at = [j for j, value in enumerate(passed) if value is argument]
            if len(at) == 1:
                slots.append(_Slot(loop, i, loop.after_block.arguments[at[0]], yielded, loop.results[at[0]]))
    return [slot for slot in slots if is_resource(slot.argument.type)]


def _elide_in_slot(slot: _Slot, ownership: Ownership) -> None:
    """Lets the body of a loop write into a carried value, with one copy before the loop if it is needed."""
    copies = [c for c in _copies_of(slot.argument, ownership) if _writer_of(c, ownership) is not None]
    if not copies or size_at(slot.init, slot.loop) is None or not _hands_on_alone(slot, ownership):
        return
    ownership.own_argument(slot.argument)
    if _elide_all(copies, ownership) == 0:
        ownership.disown_argument(slot.argument)
        return
    if not ownership.may_overwrite(slot.init, slot.loop):
        copy = clone_before(slot.loop, slot.init, None)
        assert copy is not None
        slot.loop.set_operand(slot.operand_index, copy)
    ownership.own_slot(slot.result, slot.loop, slot.operand_index)


def _copies_of(root: Value, ownership: Ownership) -> list[ops.AsyncCloneOp]:
    return [user for name in ownership.names(root) for user in name.users if isinstance(user, ops.AsyncCloneOp)]


def _elide_all(copies: list[ops.AsyncCloneOp], ownership: Ownership) -> int:
    """Removes what can be removed, later ones first; says how many that were."""
    return sum([_elide_clone(copy, ownership) for copy in reversed(copies)])


def _hands_on_alone(slot: _Slot, ownership: Ownership) -> bool:
    """Whether what an iteration hands on is memory of its own, which no other carried value shares."""
    root = ownership.root(slot.yielded)
    end = slot.argument.block.terminator
    if sum(ownership.root(v) is root for v in end.operands if is_resource(v.type)) != 1:
        return False
    if root is slot.argument:
        return True
    return isinstance(root, OpResult) and root.block is slot.argument.block and ownership.is_own(root)


def _fold_slice_into_dispatches(part: ops.AsyncSliceOp, ownership: Ownership) -> None:
    """Lets dispatches read a range of the original, if it does not change before they do."""
    users = part.result.users
    if not users or ownership.is_written_after(part.source, part):
        return
    if not all(isinstance(user, ops.AsyncDispatchOp) and _only_reads(user, part.result) for user in users):
        return
    for dispatch in users:
        _read_range(dispatch, part)
    part.erase()


def _only_reads(dispatch: ops.AsyncDispatchOp, value: Value) -> bool:
    return all(operand is not value for _, operand in tied_results(dispatch))


def _read_range(dispatch: Any, part: ops.AsyncSliceOp) -> None:
    """Replaces a slice that is an operand as a whole by the range of its source."""
    operands, sizes = list(dispatch.resource_operands), list(dispatch.resource_operand_sizes)
    offsets, ends = list(dispatch.resource_operand_offsets), list(dispatch.resource_operand_ends)
    at = 0
    for i, value in enumerate(operands):
        if not is_resource(value.type):
            continue
        if value is part.result:
            operands[i], sizes[at] = part.source, part.source_size
            offsets[at], ends[at] = part.source_offset, part.source_end
        at += 1
    dispatch.resource_operands, dispatch.resource_operand_sizes = operands, sizes
    dispatch.resource_operand_offsets, dispatch.resource_operand_ends = offsets, ends
