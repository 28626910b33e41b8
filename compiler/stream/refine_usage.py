"""iree-stream-refine-usage: every resource gets its lifetime.

Before: `!stream.resource<*>`, joined to known lifetimes by casts and transfers.
After:  no `*`; casts are gone, and so are transfers that change nothing. Slices stay within a lifetime; one into
        another is an allocation and a copy.

    %1 = stream.async.cast %0 : !stream.resource<external>{%s} -> !stream.resource<*>{%s}
    %2 = stream.async.dispatch @e::@f(%1…) : … -> !stream.resource<*>{%s}
    →
    %2 = stream.async.dispatch @e::@f(%0…) : … -> !stream.resource<transient>{%s}
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.util import FuncOp, ReturnOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FunctionType, index
from pyiree.compiler.stream.analysis.resource_usage import ResourceUsageAnalysis
from pyiree.compiler.stream.ops import AsyncAllocaOp, AsyncCastOp, AsyncCopyOp, AsyncSliceOp, AsyncTransferOp
from pyiree.compiler.stream.types import CONSTANT, UNKNOWN, is_resource


@register_pass("iree-stream-refine-usage")
def refine_usage(module: Operation, context: PassContext) -> None:
    """Decides the lifetime of every resource and removes the casts that stood in for it."""
    usage = ResourceUsageAnalysis(module)
    hosts = [op for op in module.regions[0].ops if op.name in ("util.func", "util.initializer")]
    for host in hosts:
        _retype(host, usage)
    for host in hosts:
        _remove_casts(host)
        _split_slices(host)


def _retype(host: Operation, usage: ResourceUsageAnalysis) -> None:
    for op in host.walk():
        arguments = [a for region in op.regions for block in region.blocks for a in block.arguments]
        for value in (*op.results, *arguments):
            if is_resource(value.type) and value.type.lifetime == UNKNOWN:  # type: ignore[attr-defined]
                value.type = value.type.with_lifetime(usage.lifetime(value))  # type: ignore[attr-defined]
    if isinstance(host, FuncOp) and not host.is_declaration:
        results = next(
            (b.last_op.operand_types for b in host.body.blocks if isinstance(b.last_op, ReturnOp)),
            host.function_type.results,
        )
        host.function_type = FunctionType(host.entry_block.argument_types, results)


def _remove_casts(host: Operation) -> None:
    for op in list(host.walk()):
        if (isinstance(op, AsyncCastOp) and op.source.type is op.result.type) or (
            isinstance(op, AsyncTransferOp)
            and op.source.type is op.result.type
            and op.source.type.lifetime == CONSTANT  # type: ignore[attr-defined]
            and ResourceUsageAnalysis.is_same_place(op)
        ):
            op.replace_all_uses_with([op.source])
            op.erase()


def _split_slices(host: Operation) -> None:
    """A slice into memory of another lifetime is a copy into new memory."""
    for op in list(host.walk_type(AsyncSliceOp)):
        if op.source.type is op.result.type:
            continue
        builder = Builder.before(op)
        zero = builder.insert(ConstantOp(IntegerAttr(0, index))).result
        size = op.result_size
        target = builder.insert(AsyncAllocaOp(size, op.affinity, result=op.result.type)).result
        copy = AsyncCopyOp(
            target, size, zero, size, op.source, op.source_size, op.source_offset, op.source_end, size, op.affinity
        )
        op.replace_all_uses_with(builder.insert(copy))
        op.erase()
