"""Tensor ops of known shapes, for passes that build them: pieces of a dim, tensors filled with a number."""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.complex import ConstantOp as ComplexConstantOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.static_indices import split_indices
from pyiree.compiler.dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp
from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp, PadOp, YieldOp
from pyiree.compiler.ir.attributes import ArrayAttr, FloatAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import ComplexType, FloatType, TensorType, Type, i64, index


def zero_of(builder: Builder, type: Type) -> Value:
    """The zero of an element type."""
    if isinstance(type, ComplexType):
        part = FloatAttr(0.0, type.element_type)
        return builder.insert(ComplexConstantOp(ArrayAttr([part, part]), result=type)).result
    zero = FloatAttr(0.0, type) if isinstance(type, FloatType) else IntegerAttr(0, type)
    return builder.insert(ConstantOp(zero)).result


def fill_scalar(builder: Builder, value: Value) -> Value | None:
    """The number that a tensor is filled with, or None if it is no such tensor."""
    op = value.defining_op
    if isinstance(op, FillOp):
        return op.inputs[0]
    if isinstance(op, ConstantOp) and isinstance(op.value, DenseElementsAttr) and op.value.is_splat:
        element = value.type.element_type  # type: ignore[attr-defined]
        number = op.value.splat_value()
        attribute = FloatAttr(number, element) if isinstance(element, FloatType) else IntegerAttr(int(number), element)
        return builder.insert(ConstantOp(attribute)).result
    return None


def empty(builder: Builder, shape: Sequence[int], like: Value) -> Value:
    """A tensor of some shape, of the elements of another, whose contents don't matter."""
    return builder.insert(EmptyOp([], result=TensorType(shape, like.type.element_type))).result  # type: ignore[attr-defined]


def filled(builder: Builder, scalar: Value, shape: Sequence[int]) -> Value:
    """A tensor filled with a number."""
    target = builder.insert(EmptyOp([], result=TensorType(shape, scalar.type))).result
    return builder.insert(FillOp([scalar], [target])).results[0]


def part_of_dim(builder: Builder, value: Value, dim: int, start: int, size: int) -> Value:
    """The elements of a tensor from `start` on along a dim."""
    shape = list(value.type.shape)  # type: ignore[attr-defined]
    if size == shape[dim]:
        return value
    offsets = [start if d == dim else 0 for d in range(len(shape))]
    sizes = [size if d == dim else n for d, n in enumerate(shape)]
    fields = [split_indices(numbers) for numbers in (offsets, sizes, [1] * len(shape))]
    type = TensorType(sizes, value.type.element_type)  # type: ignore[attr-defined]
    return builder.insert(
        ExtractSliceOp(value, *[v for v, _ in fields], *[static for _, static in fields], result=type)
    ).result


def _groups(rank: int, dim: int) -> ArrayAttr:
    """Each dim on its own, but `dim` and the one after it together."""
    groups = [[d] for d in range(dim)] + [[dim, dim + 1]] + [[d + 1] for d in range(dim + 1, rank)]
    return ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in group]) for group in groups])


def in_blocks(builder: Builder, value: Value, dim: int, blocks: int) -> Value:
    """A dim as two: blocks, and the elements of each."""
    shape = list(value.type.shape)  # type: ignore[attr-defined]
    new = [*shape[:dim], blocks, shape[dim] // blocks, *shape[dim + 1 :]]
    dynamic, static = split_indices(new)
    type = TensorType(new, value.type.element_type)  # type: ignore[attr-defined]
    return builder.insert(ExpandShapeOp(value, dynamic, _groups(len(shape), dim), static, result=type)).result


def out_of_blocks(builder: Builder, value: Value, dim: int) -> Value:
    """A dim and the one after it as one."""
    shape = list(value.type.shape)  # type: ignore[attr-defined]
    new = [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]]
    type = TensorType(new, value.type.element_type)  # type: ignore[attr-defined]
    return builder.insert(CollapseShapeOp(value, _groups(len(new), dim), result=type)).result


def padded_dim(builder: Builder, value: Value, dim: int, size: int, scalar: Value) -> Value:
    """A tensor with a number behind its elements along a dim."""
    shape = list(value.type.shape)  # type: ignore[attr-defined]
    if shape[dim] == size:
        return value
    high = [size - n if d == dim else 0 for d, n in enumerate(shape)]
    body = Block([index] * len(shape))
    Builder.at_end(body).insert(YieldOp(scalar))
    dynamic_low, low = split_indices([0] * len(shape))
    dynamic_high, static_high = split_indices(high)
    type = TensorType([n + more for n, more in zip(shape, high)], value.type.element_type)  # type: ignore[attr-defined]
    return builder.insert(
        PadOp(value, dynamic_low, dynamic_high, low, static_high, region=body, result=type)
    ).result
