"""iree-stream-emplace-allocations: what is made only to be put into something else is made there.

Before: an op makes a resource, and a `stream.async.update` copies it into a range of another one.
After:  the op writes that range: the pieces of a concatenation are computed in place.

    %1 = stream.async.dispatch @e::@f(%0[…]) : (…) -> !stream.resource<*>{%n}
    %2 = stream.async.update %1, %t[%a to %b] : … -> %t as !stream.resource<*>{%s}
    →
    %2 = stream.async.dispatch @e::@f(%0[…], %t[%a to %b for %n]) : (…) -> %t{%s}
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.tied_results import tied_operands_attr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.ownership import Ownership
from pyiree.compiler.stream.analysis.resource_usage import ResourceUsageAnalysis
from pyiree.compiler.stream.types import is_resource


@register_pass("iree-stream-emplace-allocations", on=("util.func", "util.initializer"))
def emplace_allocations(host: Operation, context: PassContext) -> None:
    """Makes the contents of updates where they end up."""
    ownership = Ownership()
    for update in list(host.walk_type(ops.AsyncUpdateOp)):
        maker: Any = update.update.defining_op
        if maker is None or maker.block is not update.block or not update.update.has_one_use:
            continue
        new = _emplaced(update, maker, ownership)
        if new is not None:
            Builder.before(update, maker.location).insert(new)
            update.replace_all_uses_with([new.results[0]])
            update.erase()
            maker.erase()


def _emplaced(update: ops.AsyncUpdateOp, maker: Any, ownership: Ownership) -> Any:
    """The op that does at once what `maker` and `update` do one after the other, or None."""
    if isinstance(maker, ops.AsyncSplatOp):
        return ops.AsyncFillOp(
            update.target, update.target_size, update.target_offset, update.target_end, update.update_size,
            maker.value, update.affinity,
        )  # fmt: skip
    sources = [v for v in maker.operands if is_resource(v.type)]
    if any(ownership.is_written_between(v, maker, update) for v in sources):
        return None
    if isinstance(maker, ops.AsyncTransferOp | ops.AsyncCloneOp):
        return _from_whole(update, maker, ownership)
    # What is read and written at once must be different memory.
    target = ownership.root(update.target)
    if any(ownership.root(v) is target for v in sources):
        return None
    if isinstance(maker, ops.AsyncSliceOp):
        return ops.AsyncCopyOp(
            update.target, update.target_size, update.target_offset, update.target_end, maker.source,
            maker.source_size, maker.source_offset, maker.source_end, update.update_size, update.affinity,
        )  # fmt: skip
    if isinstance(maker, ops.AsyncDispatchOp) and len(maker.results) == 1 and maker.tied_operands is None:
        return _dispatch_into(update, maker)
    return None


def _from_whole(update: ops.AsyncUpdateOp, maker: Any, ownership: Ownership) -> ops.AsyncUpdateOp | None:
    """An update needs no copy of what it copies."""
    if isinstance(maker, ops.AsyncTransferOp) and not ResourceUsageAnalysis.is_same_place(maker):
        return None
    if ownership.root(maker.source) is ownership.root(update.target):
        return None
    return ops.AsyncUpdateOp(
        update.target, update.target_size, update.target_offset, update.target_end, maker.source, maker.source_size,
        update.affinity,
    )  # fmt: skip


def _dispatch_into(update: ops.AsyncUpdateOp, maker: ops.AsyncDispatchOp) -> ops.AsyncDispatchOp | None:
    """A dispatch with its one result in a range of the target: the range is its last binding, as the result was."""
    if maker.affinity is not update.affinity:
        return None
    new = ops.AsyncDispatchOp(
        maker.workload,
        [*maker.resource_operands, update.target],
        [*maker.resource_operand_sizes, update.target_size],
        [*maker.resource_operand_offsets, update.target_offset],
        [*maker.resource_operand_ends, update.target_end],
        [*maker.resource_operand_lengths, update.update_size],
        [update.target_size],
        maker.entry_points,
        tied_operands_attr([len(maker.resource_operands)]),
        maker.affinity,
        results_=[update.target.type],
    )
    new.attributes.update(maker.attributes)
    return new
