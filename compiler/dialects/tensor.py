"""The tensor dialect: making, reading and reshaping tensors; `tensor_slices.py` has its slices and pads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.static_indices import constant_index, mixed_indices
from pyiree.compiler.dialects.tensor_slices import (  # noqa: F401  (this module is the whole dialect)
    ConcatOp,
    ExtractSliceOp,
    InsertSliceOp,
    PadOp,
    ParallelInsertSliceOp,
    YieldOp,
    dropped_dims,
)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.constraints import AnyTensor, AnyType
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.fields import (
    Attr,
    IntArrayProp,
    Operand,
    Result,
    Variadic,
)
from pyiree.compiler.ir.traits import (
    Pure,
    SameOperandsAndResultShape,
    SingleBlock,
)
from pyiree.compiler.ir.types import IndexType, TensorType, Type, i64, index

Constants = list[Attribute | None]


class EmptyOp(Op, name="tensor.empty"):
    """A tensor of undefined contents.

    %0 = tensor.empty(%n) : tensor<?x4xf32>
    """

    dynamic_sizes: Variadic[IndexType]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "`(` $dynamic_sizes `)` attr-dict `:` type($result)"

    def verify_(self) -> None:
        _check_dynamic_sizes(self, self.result.type, self.dynamic_sizes)


class ExtractOp(Op, name="tensor.extract"):
    """One element.

    %x = tensor.extract %t[%i, %j] : tensor<4x8xf32>
    """

    tensor: Operand[AnyTensor]
    indices: Variadic[IndexType]
    result: Result[AnyType]
    traits = (Pure,)
    format = "$tensor `[` $indices `]` attr-dict `:` type($tensor)"

    def infer_types(self) -> list[Type]:
        return [self.tensor.type.element_type]

    def result_names(self) -> list[str]:
        return ["extracted"]

    def verify_(self) -> None:
        if len(self.indices) != len(self.tensor.type.shape):
            raise self.error(f"indexes {self.tensor.type} by {len(self.indices)} indices")

    def fold(self, constants: Constants) -> list[Any] | None:
        source = self.tensor.defining_op
        if isinstance(source, FromElementsOp):
            position = _linear_index(self.tensor.type.shape, self.indices)
            if position is not None:
                return [source.elements[position]]
        if isinstance(source, SplatOp):
            return [source.input]
        value = constants[0]
        if isinstance(value, DenseElementsAttr) and self.result.type.is_integer | self.result.type.is_float:
            if value.is_splat:
                return [value.splat_value()]
            position = _linear_index(self.tensor.type.shape, self.indices)
            if position is not None:
                element = value.data[position : position + 1]
                return [DenseElementsAttr(TensorType((), value.type.element_type), element).splat_value()]
        return None


class InsertOp(Op, name="tensor.insert"):
    """The tensor with one element replaced.

    %r = tensor.insert %x into %t[%i, %j] : tensor<4x8xf32>
    """

    scalar: Operand[AnyType]
    dest: Operand[AnyTensor]
    indices: Variadic[IndexType]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)"

    def infer_types(self) -> list[Type]:
        return [self.dest.type]

    def result_names(self) -> list[str]:
        return ["inserted"]

    def verify_(self) -> None:
        if len(self.indices) != len(self.dest.type.shape):
            raise self.error(f"indexes {self.dest.type} by {len(self.indices)} indices")


class _Reassociated(Op):
    """`tensor.expand_shape` and `tensor.collapse_shape`."""

    @property
    def groups(self) -> list[list[int]]:
        """For each dimension of the smaller tensor those of the larger one."""
        return [[i.value for i in group] for group in self.reassociation]  # type: ignore[attr-defined]

    def _check(self, large: TensorType, small: TensorType) -> None:
        groups = self.groups
        if len(groups) != len(small.shape) and (groups or small.shape):
            raise self.error(f"groups the dimensions of {large} in {len(groups)}, expected {len(small.shape)}")
        if groups and [i for group in groups for i in group] != list(range(len(large.shape))):
            raise self.error(f"doesn't group the dimensions of {large} in order")
        for size, group in zip(small.shape, groups):
            parts = [large.shape[i] for i in group]
            if size is not None and None not in parts and math.prod(parts) != size:
                raise self.error(f"brings dimensions {parts} to {size}")


class ExpandShapeOp(_Reassociated, name="tensor.expand_shape"):
    """Splits dimensions.

    %r = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
    """

    src: Operand[AnyTensor]
    output_shape: Variadic[IndexType]
    reassociation: Attr[ArrayAttr]
    static_output_shape: IntArrayProp[i64]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) "
        "attr-dict `:` type($src) `into` type($result)"
    )

    @property
    def mixed_output_shape(self) -> list[int | Value]:
        """The sizes of the result, as constants or SSA values."""
        return mixed_indices(self.output_shape, self.static_output_shape)

    def result_names(self) -> list[str]:
        return ["expanded"]

    def verify_(self) -> None:
        self._check(self.result.type, self.src.type)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.src.type is self.result.type:
            return [self.src]
        source = self.src.defining_op
        if isinstance(source, CollapseShapeOp) and source.src.type is self.result.type:
            if self.result.type.has_static_shape:
                return [source.src]
        return _fold_reshape(self.result.type, constants[0])


class CollapseShapeOp(_Reassociated, name="tensor.collapse_shape"):
    """Joins dimensions.

    %r = tensor.collapse_shape %t [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
    """

    src: Operand[AnyTensor]
    reassociation: Attr[ArrayAttr]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "$src $reassociation attr-dict `:` type($src) `into` type($result)"

    def result_names(self) -> list[str]:
        return ["collapsed"]

    def verify_(self) -> None:
        self._check(self.src.type, self.result.type)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.src.type is self.result.type:
            return [self.src]
        source = self.src.defining_op
        if isinstance(source, ExpandShapeOp) and source.src.type is self.result.type:
            if self.result.type.has_static_shape:
                return [source.src]
        return _fold_reshape(self.result.type, constants[0])


class ReshapeOp(Op, name="tensor.reshape"):
    """The same elements in a shape given by a tensor.

    %r = tensor.reshape %t(%shape) : (tensor<4xf32>, tensor<2xindex>) -> tensor<2x2xf32>
    """

    source: Operand[AnyTensor]
    shape: Operand[AnyTensor]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)"

    def result_names(self) -> list[str]:
        return ["reshape"]


class DimOp(Op, name="tensor.dim"):
    """The size of a dimension.

    %n = tensor.dim %t, %c0 : tensor<?x4xf32>
    """

    source: Operand[AnyTensor]
    index_: Operand[IndexType]
    result: Result[IndexType]
    traits = (Pure,)
    format = "$source `,` $index_ attr-dict `:` type($source)"

    def result_names(self) -> list[str]:
        return ["dim"]

    @property
    def constant_index(self) -> int | None:
        """Which dimension, where it is a constant."""
        return constant_index(self.index_)

    def fold(self, constants: Constants) -> list[Any] | None:
        which = self.constant_index
        if which is None or not isinstance(self.source.type, TensorType):
            return None
        if not 0 <= which < len(self.source.type.shape):
            return None
        size = self.source.type.shape[which]
        if size is not None:
            return [IntegerAttr(size, index)]
        return _dynamic_dim(self.source, which)


class CastOp(Op, name="tensor.cast"):
    """The same tensor in a type that knows more or less of its shape.

    %r = tensor.cast %t : tensor<4xf32> to tensor<?xf32>
    """

    source: Operand[AnyTensor]
    dest: Result[AnyTensor]
    traits = (Pure,)
    format = "$source attr-dict `:` type($source) `to` type($dest)"

    def result_names(self) -> list[str]:
        return ["cast"]

    def verify_(self) -> None:
        source, dest = self.source.type, self.dest.type
        if source.element_type is not dest.element_type or len(source.shape) != len(dest.shape):
            raise self.error(f"{source} and {dest} are not the same tensor")
        if any(a is not None and b is not None and a != b for a, b in zip(source.shape, dest.shape)):
            raise self.error(f"{source} and {dest} have different shapes")

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.source.type is self.dest.type:
            return [self.source]
        inner = self.source.defining_op
        if isinstance(inner, CastOp) and inner.source.type is self.dest.type:
            return [inner.source]
        return None


class FromElementsOp(Op, name="tensor.from_elements"):
    """A tensor of scalars in row-major order.

    %t = tensor.from_elements %a, %b : tensor<2xf32>
    """

    elements: Variadic[AnyType]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "$elements attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return ["from_elements"]

    def verify_(self) -> None:
        type = self.result.type
        if len(self.elements) != type.num_elements:
            raise self.error(f"has {len(self.elements)} elements for {type}")
        if any(v.type is not type.element_type for v in self.elements):
            raise self.error(f"has elements of another type than {type.element_type}")

    def fold(self, constants: Constants) -> list[Any] | None:
        if not constants or any(c is None or not hasattr(c, "value") for c in constants):
            return None
        type = self.result.type
        if len(constants) == 1:
            return [DenseElementsAttr.splat(type, constants[0])]
        if type.element_type.is_integer or type.element_type.is_index:
            return [DenseElementsAttr.from_values(type, [c.value for c in constants])]  # type: ignore[union-attr]
        return None


class GenerateOp(Op, name="tensor.generate"):
    """A tensor whose elements a body computes from their indices.

    %t = tensor.generate %n {
    ^bb0(%i: index):
      tensor.yield %x : f32
    } : tensor<?xf32>
    """

    dynamic_extents: Variadic[IndexType]
    result: Result[AnyTensor]
    body: Region
    traits = (Pure, SingleBlock)
    format = "$dynamic_extents $body attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return ["generated"]

    def verify_(self) -> None:
        _check_dynamic_sizes(self, self.result.type, self.dynamic_extents)


class SplatOp(Op, name="tensor.splat"):
    """A scalar everywhere.

    %t = tensor.splat %x[%n] : tensor<?xf32>
    """

    input: Operand[AnyType]
    dynamic_sizes: Variadic[IndexType]
    aggregate: Result[AnyTensor]
    traits = (Pure,)
    format = "$input (`[` $dynamic_sizes^ `]`)? attr-dict `:` type($aggregate)"

    def result_names(self) -> list[str]:
        return ["splat"]

    def fold(self, constants: Constants) -> list[Any] | None:
        value, type = constants[0], self.aggregate.type
        if value is None or not type.has_static_shape or not type.num_elements:
            return None
        return [DenseElementsAttr.splat(type, value)]


class BitcastOp(Op, name="tensor.bitcast"):
    """The same bits as elements of another type of the same width.

    %r = tensor.bitcast %t : tensor<4xf32> to tensor<4xi32>
    """

    source: Operand[AnyTensor]
    dest: Result[AnyTensor]
    traits = (Pure, SameOperandsAndResultShape)
    format = "$source attr-dict `:` type($source) `to` type($dest)"

    def fold(self, constants: Constants) -> list[Any] | None:
        return [self.source] if self.source.type is self.dest.type else None


class RankOp(Op, name="tensor.rank"):
    """The number of dimensions."""

    tensor: Operand[AnyTensor]
    result: Result[IndexType]
    traits = (Pure,)
    format = "$tensor attr-dict `:` type($tensor)"

    def fold(self, constants: Constants) -> list[Any] | None:
        return [IntegerAttr(len(self.tensor.type.shape), index)]


def _check_dynamic_sizes(op: Any, type: TensorType, sizes: Sequence[Value]) -> None:
    if type.num_dynamic_dims != len(sizes):
        raise op.error(f"has {len(sizes)} sizes for the {type.num_dynamic_dims} dynamic dimensions of {type}")


def _linear_index(shape: Sequence[int | None], indices: Sequence[Value]) -> int | None:
    """The position of an element in row-major order, if all is constant and within bounds."""
    position = 0
    for size, entry in zip(shape, indices):
        value = constant_index(entry)
        if value is None or size is None or not 0 <= value < size:
            return None
        position = position * size + value
    return position


def _fold_reshape(type: TensorType, value: Attribute | None) -> list[Any] | None:
    if isinstance(value, DenseElementsAttr) and type.has_static_shape:
        return [value.reshaped(type)]
    return None


def _dynamic_dim(source: Value, which: int) -> list[Any] | None:
    """The size of a dynamic dimension from the op that made the tensor."""
    owner = source.defining_op
    if isinstance(owner, EmptyOp | GenerateOp | SplatOp):
        sizes = owner.operands[-source.type.num_dynamic_dims :]  # type: ignore[attr-defined]
        return [sizes[source.type.shape[:which].count(None)]]  # type: ignore[attr-defined]
    if isinstance(owner, ExtractSliceOp) and not owner.dropped_dims():
        size = owner.mixed_sizes[which]
        return [size if isinstance(size, Value) else IntegerAttr(size, index)]
    if isinstance(owner, ExpandShapeOp):
        size = owner.mixed_output_shape[which]
        return [size if isinstance(size, Value) else IntegerAttr(size, index)]
    return None


