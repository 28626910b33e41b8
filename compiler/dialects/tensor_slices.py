"""The parts of the tensor dialect that take tensors apart and put them together: slices, padding, concatenation.

Offsets, sizes and strides are mixed lists (`static_indices.py`): `[%i, 0] [2, 4] [1, 1]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.static_indices import mixed_indices, split_indices
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.constraints import AnyTensor, AnyType
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.fields import IntArrayProp, IntProp, Operand, OptionalUnitAttr, Result, Variadic
from pyiree.compiler.ir.traits import Pure, ReturnLike, SingleBlock, Terminator
from pyiree.compiler.ir.types import IndexType, TensorType, Type, i64

Constants = list[Attribute | None]


class ExtractSliceOp(Op, name="tensor.extract_slice"):
    """A part of a tensor; the result may leave out dimensions of one element.

    %r = tensor.extract_slice %t[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
    """

    source: Operand[AnyTensor]
    offsets: Variadic[IndexType]
    sizes: Variadic[IndexType]
    strides: Variadic[IndexType]
    static_offsets: IntArrayProp[i64]
    static_sizes: IntArrayProp[i64]
    static_strides: IntArrayProp[i64]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "custom<DynamicIndexList>($sizes, $static_sizes) custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `to` type($result)"
    )

    @classmethod
    def of(
        cls,
        source: Value,
        offsets: Sequence[int | Value],
        sizes: Sequence[int | Value],
        strides: Sequence[int | Value] | None = None,
        result_type: Type | None = None,
        location: Any = None,
    ) -> ExtractSliceOp:
        """A slice from mixed lists; the result keeps all dimensions unless `result_type` says otherwise."""
        parts = [split_indices(part) for part in (offsets, sizes, strides or [1] * len(sizes))]
        if result_type is None:
            result_type = source.type.with_shape([s if isinstance(s, int) else None for s in sizes])  # type: ignore
        keywords = {} if location is None else {"location": location}
        return cls(source, *[p[0] for p in parts], *[p[1] for p in parts], result=result_type, **keywords)

    @property
    def mixed_offsets(self) -> list[int | Value]:
        """Offsets, as constants or SSA values."""
        return mixed_indices(self.offsets, self.static_offsets)

    @property
    def mixed_sizes(self) -> list[int | Value]:
        """Sizes, as constants or SSA values."""
        return mixed_indices(self.sizes, self.static_sizes)

    @property
    def mixed_strides(self) -> list[int | Value]:
        """Strides, as constants or SSA values."""
        return mixed_indices(self.strides, self.static_strides)

    def dropped_dims(self) -> list[int]:
        """The dimensions of the source that the result leaves out."""
        return dropped_dims(self.mixed_sizes, self.result.type.shape)

    def result_names(self) -> list[str]:
        return ["extracted_slice"]

    def verify_(self) -> None:
        _check_slice(self, self.source.type, self.result.type)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.source.type is self.result.type and _is_whole(self, self.source.type):
            return [self.source]
        value = constants[0]
        if isinstance(value, DenseElementsAttr) and value.is_splat and self.result.type.has_static_shape:
            return [value.reshaped(self.result.type)] if self.result.type.num_elements else None
        return None


class InsertSliceOp(Op, name="tensor.insert_slice"):
    """A tensor with a part replaced by another tensor.

    %r = tensor.insert_slice %s into %t[0, %j] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x8xf32>
    """

    source: Operand[AnyTensor]
    dest: Operand[AnyTensor]
    offsets: Variadic[IndexType]
    sizes: Variadic[IndexType]
    strides: Variadic[IndexType]
    static_offsets: IntArrayProp[i64]
    static_sizes: IntArrayProp[i64]
    static_strides: IntArrayProp[i64]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$source `into` $dest `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "custom<DynamicIndexList>($sizes, $static_sizes) custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `into` type($dest)"
    )

    @classmethod
    def of(
        cls,
        source: Value,
        dest: Value,
        offsets: Sequence[int | Value],
        sizes: Sequence[int | Value],
        strides: Sequence[int | Value] | None = None,
        location: Any = None,
    ) -> InsertSliceOp:
        """An insertion from mixed lists."""
        parts = [split_indices(part) for part in (offsets, sizes, strides or [1] * len(sizes))]
        keywords = {} if location is None else {"location": location}
        return cls(source, dest, *[p[0] for p in parts], *[p[1] for p in parts], **keywords)

    mixed_offsets = ExtractSliceOp.mixed_offsets
    mixed_sizes = ExtractSliceOp.mixed_sizes
    mixed_strides = ExtractSliceOp.mixed_strides

    def infer_types(self) -> list[Type]:
        return [self.dest.type]

    def dropped_dims(self) -> list[int]:
        """The dimensions of the destination that the source leaves out."""
        return dropped_dims(self.mixed_sizes, self.source.type.shape)

    def result_names(self) -> list[str]:
        return ["inserted_slice"]

    def verify_(self) -> None:
        _check_slice(self, self.dest.type, self.source.type)

    def fold(self, constants: Constants) -> list[Any] | None:
        if self.source.type is self.dest.type and _is_whole(self, self.dest.type):
            return [self.source]
        return None


class ParallelInsertSliceOp(Op, name="tensor.parallel_insert_slice"):
    """An insertion at the end of a parallel loop's body.

    tensor.parallel_insert_slice %s into %t[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
    """

    source: Operand[AnyTensor]
    dest: Operand[AnyTensor]
    offsets: Variadic[IndexType]
    sizes: Variadic[IndexType]
    strides: Variadic[IndexType]
    static_offsets: IntArrayProp[i64]
    static_sizes: IntArrayProp[i64]
    static_strides: IntArrayProp[i64]
    format = (
        "$source `into` $dest `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "custom<DynamicIndexList>($sizes, $static_sizes) custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `into` type($dest)"
    )
    mixed_offsets = ExtractSliceOp.mixed_offsets
    mixed_sizes = ExtractSliceOp.mixed_sizes
    mixed_strides = ExtractSliceOp.mixed_strides

    def verify_(self) -> None:
        _check_slice(self, self.dest.type, self.source.type)


class PadOp(Op, name="tensor.pad"):
    """A tensor with elements added around it; the body yields the added element.

    %r = tensor.pad %t low[1, 0] high[2, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %x : f32
    } : tensor<4x8xf32> to tensor<7x11xf32>
    """

    source: Operand[AnyTensor]
    low: Variadic[IndexType]
    high: Variadic[IndexType]
    static_low: IntArrayProp[i64]
    static_high: IntArrayProp[i64]
    nofold: OptionalUnitAttr
    result: Result[AnyTensor]
    region: Region
    traits = (Pure, SingleBlock)
    format = (
        "$source (`nofold` $nofold^)? `low` `` custom<DynamicIndexList>($low, $static_low) "
        "`high` `` custom<DynamicIndexList>($high, $static_high) $region attr-dict "
        "`:` type($source) `to` type($result)"
    )

    @property
    def mixed_low(self) -> list[int | Value]:
        """How many elements come in front, as constants or SSA values."""
        return mixed_indices(self.low, self.static_low)

    @property
    def mixed_high(self) -> list[int | Value]:
        """How many elements come behind, as constants or SSA values."""
        return mixed_indices(self.high, self.static_high)

    def result_names(self) -> list[str]:
        return ["padded"]

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        for i, (size, low, high, total) in enumerate(
            zip(source.shape, self.mixed_low, self.mixed_high, result.shape)
        ):
            if all(isinstance(n, int) for n in (size, low, high, total)) and size + low + high != total:
                raise self.error(f"makes dimension {i} of {source} {size + low + high} long, not {total}")


class YieldOp(Op, name="tensor.yield"):
    """The element of a generated or padded tensor."""

    value: Operand[AnyType]
    traits = (Pure, Terminator, ReturnLike)
    format = "$value attr-dict `:` type($value)"


class ConcatOp(Op, name="tensor.concat"):
    """Tensors one after another along a dimension.

    %r = tensor.concat dim(0) %a, %b : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    """

    dim: IntProp[i64]
    inputs: Variadic[AnyTensor]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = "`dim` `(` $dim `)` $inputs attr-dict `:` functional-type(operands, results)"

    def infer_types(self) -> list[Type]:
        first = self.inputs[0].type
        sizes = [v.type.shape[self.dim] for v in self.inputs]
        shape = list(first.shape)
        shape[self.dim] = None if None in sizes else sum(sizes)
        return [first.with_shape(shape)]

    def result_names(self) -> list[str]:
        return ["concat"]

    def verify_(self) -> None:
        rank = len(self.result.type.shape)
        if not self.inputs or not 0 <= self.dim < rank:
            raise self.error(f"along dimension {self.dim} needs tensors of rank {rank}")
        sizes = [v.type.shape[self.dim] for v in self.inputs]
        total = self.result.type.shape[self.dim]
        if None not in sizes and total is not None and sum(sizes) != total:
            raise self.error(f"puts {sizes} along dimension {self.dim} into {total}")

    def fold(self, constants: Constants) -> list[Any] | None:
        return [self.inputs[0]] if len(self.inputs) == 1 and self.inputs[0].type is self.result.type else None


def dropped_dims(sizes: Sequence[int | Value], shape: Sequence[int | None]) -> list[int]:
    """The positions of `sizes`, each of size 1, that are missing in `shape`."""
    missing = len(sizes) - len(shape)
    dropped: list[int] = []
    position = 0
    for i, size in enumerate(sizes):
        if len(dropped) < missing and size == 1 and (position == len(shape) or shape[position] != 1):
            dropped.append(i)
        else:
            position += 1
    return dropped


def _check_slice(op: Any, whole: TensorType, part: TensorType) -> None:
    rank = len(whole.shape)
    lists = (op.static_offsets, op.static_sizes, op.static_strides)
    if any(len(entries) != rank for entries in lists):
        raise op.error(f"needs {rank} offsets, sizes and strides for {whole}")
    sizes = [s if isinstance(s, int) else None for s in op.mixed_sizes]
    kept = [s for i, s in enumerate(sizes) if i not in dropped_dims(op.mixed_sizes, part.shape)]
    if len(kept) != len(part.shape) or any(
        a is not None and b is not None and a != b for a, b in zip(kept, part.shape)
    ):
        raise op.error(f"takes sizes {sizes} of {whole}, which is not {part}")
    for i, (offset, size, stride, total) in enumerate(
        zip(op.mixed_offsets, op.mixed_sizes, op.mixed_strides, whole.shape)
    ):
        if all(isinstance(n, int) for n in (offset, size, stride, total)) and size:
            if offset < 0 or offset + (size - 1) * stride >= total:
                raise op.error(f"runs out of bounds along dimension {i} of {whole}")


def _is_whole(op: Any, whole: TensorType) -> bool:
    """Whether a slice is all of a tensor of static shape."""
    return (
        whole.has_static_shape
        and all(o == 0 for o in op.mixed_offsets)
        and tuple(op.mixed_sizes) == tuple(whole.shape)
        and all(s == 1 for s in op.mixed_strides)
    )
