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
from pyiree.compiler.stream.analysis.ownership import Ownership
from pyiree.compiler.stream.interfaces import RENAMING, resource_size, tied_results
from pyiree.compiler.stream.types import UNKNOWN, resource


@register_pass("iree-stream-materialize-copy-on-write", on=("util.func", "util.initializer"))
def materialize_copy_on_write(host: Operation, context: PassContext) -> None:
    """Puts a copy before every op that writes in place, and before exports of memory that others see."""
    for op in list(host.walk()):
        if not isinstance(op, RENAMING) and not op.regions:
            for _, operand in list(tied_results(op)):
                _copy_operand(op, operand)
    _copy_shared_exports(host)


def clone_before(op: Any, value: Value, affinity: Any) -> Value | None:
    """A copy of a resource, made before an op; None if its size is not known there."""
    size = resource_size(value)
    if size is None:
        return None
    clone = ops.AsyncCloneOp(value, size, size, affinity, result=value.type)
    return Builder.before(op).insert(clone).result


def _copy_operand(op: Any, operand: Value) -> None:
    copy = clone_before(op, operand, op.properties.get("affinity"))
    if copy is None:
        raise op.error("writes into a resource of unknown size")
    # A dispatch may read the operand in other places as well; only the tied one is written.
    tied = {operand: copy}
    op.set_operands([tied.get(v, v) for v in op.operands])


def _copy_shared_exports(host: Operation) -> None:
    """No result shares memory with an argument, a constant or another result."""
    ownership = Ownership()
    taken: set[Value] = set()
    for export in list(host.walk_type(ops.TensorExportOp)):
        origins = ownership.origins(export.source)
        if all(ownership.is_own(origin) for origin in origins) and taken.isdisjoint(origins):
            taken.update(origins)
            continue
        cast = export.source.defining_op
        if isinstance(cast, ops.AsyncCastOp):
            value: Value = cast.source
            copy = ops.AsyncCloneOp(
                value, cast.source_size, cast.result_size, cast.affinity, result=resource(UNKNOWN)
            )
            cast.source = Builder.before(cast).insert(copy).result
        else:
            copy = ops.AsyncCloneOp(
                export.source, export.source_size, export.source_size, export.affinity, result=export.source.type
            )
            export.source = Builder.before(export).insert(copy).result
