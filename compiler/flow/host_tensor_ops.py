"""iree-flow-convert-tensor-ops: what the host does with tensors without a dispatch.

Before: `tensor` and `linalg.fill` ops outside of dispatch regions.
After:  `flow.tensor` ops: ranges are copied, shapes change without a copy, one element is read.

    %1 = tensor.collapse_shape %0 [[0, 1]] …   →   %1 = flow.tensor.reshape %0 …
    %2 = tensor.extract %0[] …                 →   %2 = flow.tensor.load %0 …
    %3 = tensor.from_elements %n               →   %3 = flow.tensor.splat %n

Slices are the host's only where their bytes lie in one piece; others are dispatches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.complex import ConstantOp as ComplexConstantOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.tensor import (
    BitcastOp,
    CastOp,
    CollapseShapeOp,
    EmptyOp,
    ExpandShapeOp,
    ExtractOp,
    FromElementsOp,
    InsertOp,
)
from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp, InsertSliceOp
from pyiree.compiler.flow.ops import (
    DispatchRegionOp,
    TensorBitCastOp,
    TensorConstantOp,
    TensorEmptyOp,
    TensorLoadOp,
    TensorReshapeOp,
    TensorSliceOp,
    TensorSplatOp,
    TensorStoreOp,
    TensorUpdateOp,
)
from pyiree.compiler.flow.resolve_dims import dynamic_dims, index_constant
from pyiree.compiler.ir.attributes import FloatAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import ComplexType, FloatType, TensorType, bit_width, element_type_of


def stays_on_host(op: Operation) -> bool:
    """Whether a tensor op needs no dispatch: it changes the type only, or moves bytes that lie in one piece."""
    if isinstance(op, ExpandShapeOp | CollapseShapeOp | CastOp | BitcastOp):
        return True
    if isinstance(op, ExtractSliceOp):
        return _is_one_piece(op.mixed_offsets, op.mixed_sizes, op.mixed_strides, op.source.type)
    if isinstance(op, InsertSliceOp):
        return _is_one_piece(op.mixed_offsets, op.mixed_sizes, op.mixed_strides, op.dest.type)
    return False


def _is_one_piece(
    offsets: Sequence[int | Value], sizes: Sequence[int | Value], strides: Sequence[int | Value], whole: TensorType
) -> bool:
    """Whether a box is one range of bytes: dims of one element, then one of any size, then whole dims."""
    if any(s != 1 for s in strides) or bit_width(whole.element_type) < 8:
        return False
    ranged = False
    for offset, size, extent in zip(offsets, sizes, whole.shape):
        is_whole = size == extent and offset == 0
        if ranged and not is_whole:
            return False
        ranged = ranged or size != 1
    return True


@register_pass("iree-flow-convert-tensor-ops", on=("util.func", "util.initializer"))
def convert_tensor_ops(func: Operation, context: PassContext) -> None:
    """Turns the tensor ops that are left on the host into flow ops."""
    for op in list(_host_ops(func)):
        convert = _CONVERSIONS.get(type(op))
        if convert is not None:
            convert(op, Builder.before(op))


def _host_ops(op: Operation):
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                if not isinstance(nested, DispatchRegionOp):
                    yield from _host_ops(nested)
                yield nested


def _replace(op: Operation, new: Operation, builder: Builder) -> None:
    builder.insert(new)
    op.replace_all_uses_with(new.results)
    op.erase()


def _convert_reshape(op: ExpandShapeOp | CollapseShapeOp | CastOp, builder: Builder) -> None:
    source, result = op.operands[0], op.results[0]
    dims = dynamic_dims(builder, result)
    _replace(op, TensorReshapeOp(source, dynamic_dims(builder, source), dims, result=result.type), builder)


def _convert_bitcast(op: BitcastOp, builder: Builder) -> None:
    source = op.operands[0]
    dims = dynamic_dims(builder, source)
    _replace(op, TensorBitCastOp(source, dims, dims, result=op.results[0].type), builder)


def _values(builder: Builder, mixed: Sequence[int | Value]) -> list[Value]:
    return [m if isinstance(m, Value) else index_constant(builder, m) for m in mixed]


def _convert_slice(op: ExtractSliceOp, builder: Builder) -> None:
    source, result = op.source, op.results[0].type
    full = TensorType([s if isinstance(s, int) else None for s in op.mixed_sizes], result.element_type)
    lengths = [s for s in op.mixed_sizes if isinstance(s, Value)]
    piece = TensorSliceOp(
        source, dynamic_dims(builder, source), _values(builder, op.mixed_offsets),
        _values(builder, op.mixed_sizes), lengths, result=full,
    )  # fmt: skip
    if full is result:
        _replace(op, piece, builder)
    else:
        builder.insert(piece)
        _replace(op, TensorReshapeOp(piece.result, lengths, lengths, result=result), builder)


def _convert_update(op: InsertSliceOp, builder: Builder) -> None:
    update = op.source
    full = TensorType([s if isinstance(s, int) else None for s in op.mixed_sizes], update.type.element_type)
    lengths = [s for s in op.mixed_sizes if isinstance(s, Value)]
    if full is not update.type:
        update = builder.insert(TensorReshapeOp(update, lengths, lengths, result=full)).result
    new = TensorUpdateOp(
        op.dest, dynamic_dims(builder, op.dest), _values(builder, op.mixed_offsets), update, lengths
    )
    _replace(op, new, builder)


def _convert_extract(op: ExtractOp, builder: Builder) -> None:
    source = op.operands[0]
    _replace(op, TensorLoadOp(source, dynamic_dims(builder, source), op.operands[1:]), builder)


def _convert_insert(op: InsertOp, builder: Builder) -> None:
    value, target, *indices = op.operands
    _replace(op, TensorStoreOp(value, target, dynamic_dims(builder, target), indices), builder)


def _convert_elements(op: FromElementsOp, builder: Builder) -> None:
    first, *others = op.operands
    new: Operation = builder.insert(TensorSplatOp(first, (), result=op.results[0].type))
    for place, value in zip(list(np.ndindex(*op.results[0].type.shape))[1:], others):
        if value is not first:
            indices = [index_constant(builder, i) for i in place]
            new = builder.insert(TensorStoreOp(value, new.results[0], (), indices))
    op.replace_all_uses_with(new.results)
    op.erase()


def _convert_empty(op: EmptyOp, builder: Builder) -> None:
    _replace(op, TensorEmptyOp(op.operands, result=op.results[0].type), builder)


def _convert_fill(op: FillOp, builder: Builder) -> None:
    value, target = op.inputs[0], op.outputs[0]
    number = value.defining_op
    dims = dynamic_dims(builder, target)
    if not isinstance(number, ComplexConstantOp):
        _replace(op, TensorSplatOp(value, dims, result=target.type), builder)
        return
    # The host has no complex scalars.
    if not dims:
        _replace(op, TensorConstantOp(DenseElementsAttr.splat(target.type, number.value)), builder)
    else:
        _fill_parts(op, number.value, dims, builder)
    if not value.uses:
        number.erase()


def _fill_parts(op: FillOp, parts: Sequence[FloatAttr], dims: Sequence[Value], builder: Builder) -> None:
    """A tensor of so many complex numbers with two equal parts, such as zeros."""
    type = op.results[0].type
    if parts[0] != parts[1]:
        raise op.error("of a dynamic shape has a complex number of two different parts, which the host can't fill in")
    number = builder.insert(ConstantOp(parts[0])).result
    pairs = TensorType([*type.shape, 2], number.type)  # type: ignore[attr-defined]
    splat = builder.insert(TensorSplatOp(number, dims, result=pairs)).result
    _replace(op, TensorBitCastOp(splat, dims, dims, result=type), builder)


def _convert_constant(op: ConstantOp, builder: Builder) -> None:
    value = op.value
    if not isinstance(value, DenseElementsAttr):
        return
    element = element_type_of(value.type)
    if not value.is_splat or isinstance(element, ComplexType):
        _replace(op, TensorConstantOp(value), builder)
        return
    number = value.splat_value()
    attribute = FloatAttr(number, element) if isinstance(element, FloatType) else IntegerAttr(int(number), element)
    scalar = builder.insert(ConstantOp(attribute)).result
    _replace(op, TensorSplatOp(scalar, (), result=value.type), builder)


_CONVERSIONS = {
    ExpandShapeOp: _convert_reshape,
    CollapseShapeOp: _convert_reshape,
    CastOp: _convert_reshape,
    BitcastOp: _convert_bitcast,
    ExtractSliceOp: _convert_slice,
    InsertSliceOp: _convert_update,
    ExtractOp: _convert_extract,
    InsertOp: _convert_insert,
    FromElementsOp: _convert_elements,
    EmptyOp: _convert_empty,
    FillOp: _convert_fill,
    ConstantOp: _convert_constant,
}
