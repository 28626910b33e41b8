"""iree-stream-pack-constants: constants are ranges of one piece of data in the module.

Before: `stream.resource.constants`: values, each with a resource of its own.
After:  one `util.buffer.constant` that the device reads in place where it can, else a copy that is read as a file; each
        constant is a view of it.

    %0:2, %t = stream.resource.constants : !stream.resource<constant>{%c4} = dense<1> : tensor<1xi32>, … => …
    →
    %data = util.buffer.constant <alignment = 64> : !util.buffer = #util.composite<128xi8, [dense<1>…, padding, …]>
    %mapped, %r = stream.resource.try_map %data[%c0] : !util.buffer -> i1, !stream.resource<constant>{%c128}
    %t, %all = scf.if %mapped -> … { yields %immediate, %r } else {
      %new = stream.resource.alloc uninitialized …
      %file = stream.file.constant %data…
      %read = stream.file.read … %file[%c0_i64], %new[%c0], %c128 …
      yields %read, %new
    }
    %a = stream.resource.subview %all[%c0] …

Variables are written later, so they are always copies.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.util_buffers import BufferConstantOp
from pyiree.compiler.dialects.util_types import BufferType, CompositeAttr, storage_size
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import VectorType, i1, i8, i64
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.encoding import IndexMath
from pyiree.compiler.stream.layout_slices import SLICE_ALIGNMENT, align
from pyiree.compiler.stream.types import CONSTANT, FileType, timepoint


@register_pass("iree-stream-pack-constants", on=("util.func", "util.initializer"))
def pack_constants(host: Operation, context: PassContext) -> None:
    """Stores the constants of a host function in the module."""
    for op in list(host.walk_type(ops.ResourceConstantsOp)):
        _pack(op)


def _layout(values: Sequence[Attribute]) -> tuple[list[int], list[Attribute]]:
    """The offset of each value, and the values with padding between them."""
    offsets, parts, end = [], [], 0
    for value in values:
        offsets.append(end)
        size = storage_size(value)
        if size:
            parts.append(value)
        padding = align(size, SLICE_ALIGNMENT) - size
        if padding:
            parts.append(DenseElementsAttr.splat(VectorType((padding,), i8), 0))
        end += size + padding
    return offsets, parts


def _pack(op: ops.ResourceConstantsOp) -> None:
    builder = Builder.before(op)
    math = IndexMath(builder)
    offsets, parts = _layout(list(op.values))
    total = sum(storage_size(part) for part in parts)
    data = builder.insert(
        BufferConstantOp(None, CompositeAttr(total, tuple(parts)), SLICE_ALIGNMENT, result=BufferType())
    )
    length = math.value(total)
    if op.results[0].type.lifetime == CONSTANT:  # type: ignore[attr-defined]
        done, storage = _map_or_read(op, builder, data.result, length)
    else:
        done, storage = _read(op, builder, data.result, length)
    for result, offset, size in zip(op.results, offsets, op.result_sizes):
        view = builder.insert(ops.ResourceSubviewOp(storage, length, math.value(offset), size))
        result.replace_all_uses_with(view.result)
    op.result_timepoint.replace_all_uses_with(done)
    op.erase()


def _map_or_read(op: ops.ResourceConstantsOp, builder: Builder, data: Value, length: Value) -> tuple[Value, Value]:
    """The data in place, or a copy of it: the timepoint from which on it is there, and the resource."""
    type = op.results[0].type
    zero = IndexMath(builder).value(0)
    mapped = builder.insert(ops.ResourceTryMapOp(data, zero, length, op.affinity, did_map=i1, result_=type))
    at_once = builder.insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
    then, otherwise = Block(), Block()
    then.append(scf.YieldOp([at_once, mapped.results[1]], location=op.location))
    copy = Builder.at_end(otherwise, op.location)
    copy.insert(scf.YieldOp(_read(op, copy, data, length)))
    chosen = builder.insert(scf.IfOp(mapped.did_map, then, otherwise, results=[timepoint, type]))
    return chosen.results[0], chosen.results[1]


def _read(op: ops.ResourceConstantsOp, builder: Builder, data: Value, length: Value) -> tuple[Value, Value]:
    """A copy of the data: the timepoint from which on it is there, and the resource."""
    zero = IndexMath(builder).value(0)
    made = builder.insert(ops.ResourceAllocOp(length, True, op.affinity, result=op.results[0].type)).result
    file = builder.insert(ops.FileConstantOp(data, length, zero, length, op.affinity, result=FileType())).result
    start = builder.insert(ConstantOp(IntegerAttr(0, i64))).result
    read = ops.FileReadOp(file, start, made, length, zero, length, None, op.affinity, result_timepoint=timepoint)
    return builder.insert(read).result_timepoint, made
