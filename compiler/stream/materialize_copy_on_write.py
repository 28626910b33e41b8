"""iree-stream-materialize-copy-on-write: values stay what they are when another op takes over their storage.

Before: ops whose result is tied to an operand, which other ops may still read; exports of any memory.
After:  such ops work on a copy of that operand, and whatever goes outside has memory of its own. Copies that nobody
        needs are removed by iree-stream-elide-async-copies.

    %1 = stream.async.update %u, %0[%a to %b] : … -> %0 as !stream.resource<*>{%s}
    →
    %c = stream.async.clone %0 : …
    %1 = stream.async.update %u, %c[%a to %b] : … -> %c as !stream.resource<*>{%s}
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.ownership import BRANCHES, Ownership
from pyiree.compiler.stream.interfaces import RENAMING, size_at, tied_position, tied_results


@register_pass("iree-stream-materialize-copy-on-write", on=("util.func", "util.initializer"))
def materialize_copy_on_write(host: Operation, context: PassContext) -> None:
    """Puts a copy before every op that writes in place, and before exports of memory that others see."""
    for op in list(host.walk()):
        if not isinstance(op, RENAMING) and not op.regions:
            for result, operand in list(tied_results(op)):
                _copy_operand(op, operand, tied_position(result))
    _copy_shared_exports(host)


def clone_before(op: Any, value: Value, affinity: Any) -> Value | None:
    """A copy of a resource, made before an op; None if its size is not known there."""
    size = size_at(value, op)
    if size is None:
        return None
    clone = ops.AsyncCloneOp(value, size, size, affinity, result=value.type)
    return Builder.before(op).insert(clone).result


def _copy_operand(op: Any, operand: Value, position: int | None) -> None:
    copy = clone_before(op, operand, op.properties.get("affinity"))
    if copy is None or position is None:
        raise op.error("writes into a resource of unknown size")
    # A dispatch may read the same operand in other places as well; these go on reading the original.
    op.set_operand(position, copy)


def _copy_shared_exports(host: Operation) -> None:
    """No result shares memory with an argument, a constant or another result."""
    ownership = Ownership()
    taken: set[Value] = set()
    for export in list(host.walk_type(ops.TensorExportOp)):
        origins = ownership.origins(export.source)
        own = {origin for origin in origins if ownership.is_own(origin)}
        if own == origins and taken.isdisjoint(own):
            taken.update(own)
            continue
        # The copy stands before the cast to external memory, where it may still turn out to be needless.
        user: Any = export
        if isinstance(export.source.defining_op, ops.AsyncCastOp) and export.source.has_one_use:
            user = export.source.defining_op
        if taken.isdisjoint(own):
            taken.update(own)
            _copy_foreign(user, user.source, user.source_size, user.affinity, ownership)
        else:
            _copy(user, user.source, user.source_size, user.affinity)


def _copy_foreign(user: Operation, value: Value, size: Value, affinity: Any, ownership: Ownership) -> None:
    """Copies what a user gets of others' memory; of two branches only the one that hands it on makes a copy."""
    branches = value.defining_op
    if not isinstance(branches, BRANCHES) or not value.has_one_use:
        _copy(user, value, size, affinity)
        return
    for region in branches.regions:
        end = region.entry.terminator
        handed = end.operands[value.index]  # type: ignore[attr-defined]
        if not all(ownership.is_own(origin) for origin in ownership.origins(handed)):
            inner = size_at(handed, end)
            if inner is None:
                _copy(user, value, size, affinity)
                return
            _copy_foreign(end, handed, inner, affinity, ownership)


def _copy(user: Operation, value: Value, size: Value, affinity: Any) -> None:
    copy = Builder.before(user).insert(ops.AsyncCloneOp(value, size, size, affinity, result=value.type)).result
    user.set_operands([copy if v is value else v for v in user.operands])
