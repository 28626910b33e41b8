"""The iree_tensor_ext dialect: how a dispatch reads and writes its bindings, and how many workgroups it takes.

%0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [8], strides = [1]
    : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.static_indices import mixed_indices, split_indices
from pyiree.compiler.ir.constraints import AnyTensor
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import IntArrayProp, IntProp, Operand, Result, Variadic
from pyiree.compiler.ir.parametrized import DialectType, Keyword
from pyiree.compiler.ir.traits import MemoryRead, MemoryWrite, Pure, SameOperandsAndResultType
from pyiree.compiler.ir.types import IndexType, TensorType, Type, i64, index

READ_ONLY, READ_WRITE, WRITE_ONLY = Keyword("readonly"), Keyword("readwrite"), Keyword("writeonly")


class DispatchTensorType(DialectType, name="iree_tensor_ext.dispatch.tensor"):
    """A binding as a tensor in memory, and what may be done with it."""

    access: Keyword
    bound_type: Type
    format = "`<` $access `` `:` `` $bound_type `>`"

    def verify(self) -> None:
        if self.access not in (READ_ONLY, READ_WRITE, WRITE_ONLY):
            raise ValueError(f"'{self.access}' is not readonly, readwrite or writeonly")

    @property
    def shape(self) -> tuple:
        """The shape of the tensor."""
        return getattr(self.bound_type, "shape", ())

    @property
    def element_type(self) -> Type:
        """The element type of the tensor (or the bound type itself, if it is no tensor)."""
        return getattr(self.bound_type, "element_type", self.bound_type)

    @property
    def is_readable(self) -> bool:
        """Whether it may be loaded from."""
        return self.access != WRITE_ONLY

    @property
    def is_writable(self) -> bool:
        """Whether it may be stored to."""
        return self.access != READ_ONLY


class _TensorAccess(Op):
    """Loads and stores: a slice of a binding."""

    @property
    def mixed_offsets(self) -> list[int | Value]:
        """Offsets, as constants or SSA values."""
        return mixed_indices(self.offsets, self.static_offsets)  # type: ignore[attr-defined]

    @property
    def mixed_sizes(self) -> list[int | Value]:
        """Sizes, as constants or SSA values."""
        return mixed_indices(self.sizes, self.static_sizes)  # type: ignore[attr-defined]

    @property
    def mixed_strides(self) -> list[int | Value]:
        """Strides, as constants or SSA values."""
        return mixed_indices(self.strides, self.static_strides)  # type: ignore[attr-defined]

    def covers(self, type: DispatchTensorType, dims: Sequence[Value]) -> bool:
        """Whether the slice is all of the binding."""
        remaining = iter(dims)
        whole = [n if n is not None else next(remaining, None) for n in type.shape]
        return (
            all(o == 0 for o in self.mixed_offsets)
            and self.mixed_sizes == whole
            and all(s == 1 for s in self.mixed_strides)
        )

    def _verify_slice(self, type: DispatchTensorType, dims: Sequence[Value]) -> None:
        rank = len(type.shape)
        lists = (self.static_offsets, self.static_sizes, self.static_strides)  # type: ignore[attr-defined]
        if any(len(entries) != rank for entries in lists):
            raise self.error(f"needs {rank} offsets, sizes and strides for {type}")
        if type.shape.count(None) != len(dims):
            raise self.error(f"has {len(dims)} sizes for the dynamic dimensions of {type}")


def whole_slice(shape: Sequence[int | None], dims: Sequence[Value]) -> tuple[list, list, list]:
    """Offsets, sizes and strides of all of a binding."""
    remaining = iter(dims)
    sizes = [n if n is not None else next(remaining) for n in shape]
    return [0] * len(sizes), sizes, [1] * len(sizes)


class DispatchTensorLoadOp(_TensorAccess, name="iree_tensor_ext.dispatch.tensor.load"):
    """A slice of a binding as a tensor; the result may leave out dimensions of one element."""

    source: Operand[DispatchTensorType]
    source_dims: Variadic[IndexType]
    offsets: Variadic[IndexType]
    sizes: Variadic[IndexType]
    strides: Variadic[IndexType]
    static_offsets: IntArrayProp[i64]
    static_sizes: IntArrayProp[i64]
    static_strides: IntArrayProp[i64]
    result: Result[AnyTensor]
    traits = (MemoryRead,)
    format = (
        "$source `,` `offsets` `=` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`,` `sizes` `=` custom<DynamicIndexList>($sizes, $static_sizes) "
        "`,` `strides` `=` custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) (`` `{` $source_dims^ `}`)? `->` type($result)"
    )

    @classmethod
    def of(
        cls,
        source: Value,
        source_dims: Sequence[Value] = (),
        offsets: Sequence[int | Value] | None = None,
        sizes: Sequence[int | Value] | None = None,
        strides: Sequence[int | Value] | None = None,
        result_type: Type | None = None,
        **keywords: Any,
    ) -> DispatchTensorLoadOp:
        """A load from mixed lists; all of the binding where they are left out."""
        whole = whole_slice(source.type.shape, source_dims)  # type: ignore[attr-defined]
        parts = [split_indices(p if p is not None else w) for p, w in zip((offsets, sizes, strides), whole)]
        if result_type is None:
            shape = [n if isinstance(n, int) else None for n in (sizes if sizes is not None else whole[1])]
            result_type = TensorType(shape, source.type.element_type)  # type: ignore[attr-defined]
        values, static = [p[0] for p in parts], [p[1] for p in parts]
        return cls(source, source_dims, *values, *static, result=result_type, **keywords)

    @property
    def is_whole(self) -> bool:
        """Whether it loads all of the binding."""
        return self.covers(self.source.type, self.source_dims)

    def verify_(self) -> None:
        self._verify_slice(self.source.type, self.source_dims)
        if not self.source.type.is_readable:
            raise self.error(f"loads from {self.source.type}")


class DispatchTensorStoreOp(_TensorAccess, name="iree_tensor_ext.dispatch.tensor.store"):
    """Writes a tensor to a slice of a binding.

    iree_tensor_ext.dispatch.tensor.store %0, %arg1, offsets = [0], sizes = [8], strides = [1]
        : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
    """

    value: Operand[AnyTensor]
    target: Operand[DispatchTensorType]
    target_dims: Variadic[IndexType]
    offsets: Variadic[IndexType]
    sizes: Variadic[IndexType]
    strides: Variadic[IndexType]
    static_offsets: IntArrayProp[i64]
    static_sizes: IntArrayProp[i64]
    static_strides: IntArrayProp[i64]
    traits = (MemoryWrite,)
    format = (
        "$value `,` $target `,` `offsets` `=` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`,` `sizes` `=` custom<DynamicIndexList>($sizes, $static_sizes) "
        "`,` `strides` `=` custom<DynamicIndexList>($strides, $static_strides) "
        "attr-dict `:` type($value) `->` type($target) (`` `{` $target_dims^ `}`)?"
    )

    @classmethod
    def of(
        cls,
        value: Value,
        target: Value,
        target_dims: Sequence[Value] = (),
        offsets: Sequence[int | Value] | None = None,
        sizes: Sequence[int | Value] | None = None,
        strides: Sequence[int | Value] | None = None,
        **keywords: Any,
    ) -> DispatchTensorStoreOp:
        """A store from mixed lists; to all of the binding where they are left out."""
        whole = whole_slice(target.type.shape, target_dims)  # type: ignore[attr-defined]
        parts = [split_indices(p if p is not None else w) for p, w in zip((offsets, sizes, strides), whole)]
        return cls(value, target, target_dims, *[p[0] for p in parts], *[p[1] for p in parts], **keywords)

    @property
    def is_whole(self) -> bool:
        """Whether it stores all of the binding."""
        return self.covers(self.target.type, self.target_dims)

    def verify_(self) -> None:
        self._verify_slice(self.target.type, self.target_dims)
        if not self.target.type.is_writable:
            raise self.error(f"stores to {self.target.type}")


class DispatchWorkloadOrdinalOp(Op, name="iree_tensor_ext.dispatch.workload.ordinal"):
    """Says which entry of the workload a value inside a dispatch is.

    %1 = iree_tensor_ext.dispatch.workload.ordinal %0, 0 : index
    """

    operand: Operand[IndexType]
    ordinal: IntProp[index]
    result: Result[IndexType]
    traits = (Pure, SameOperandsAndResultType)
    format = "$operand `,` $ordinal attr-dict `:` type($operand)"


class _WorkgroupCount(Op):
    operands: Variadic[IndexType]
    x: Result[IndexType]
    y: Result[IndexType]
    z: Result[IndexType]
    traits = (Pure,)
    format = "`(` $operands `)` attr-dict"

    def result_names(self) -> list[str]:
        return ["x", "y", "z"]


class DispatchWorkgroupCountFromSliceOp(_WorkgroupCount, name="iree_tensor_ext.dispatch.workgroup_count_from_slice"):
    """The workgroups of a dispatch, which its code decides on, from the workload.

    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
    """


class DispatchWorkgroupCountFromDagRootOp(
    _WorkgroupCount, name="iree_tensor_ext.dispatch.workgroup_count_from_dag_root"
):
    """The workgroups of a dispatch by the loops of its root op."""


class BitcastOp(Op, name="iree_tensor_ext.bitcast"):
    """The same bytes as a tensor of another shape and element type.

    %1 = iree_tensor_ext.bitcast %0 : tensor<16xi4> -> tensor<8xi8>
    """

    source: Operand[AnyTensor]
    source_dims: Variadic[IndexType]
    result_dims: Variadic[IndexType]
    result: Result[AnyTensor]
    traits = (Pure,)
    format = (
        "$source attr-dict `:` type($source) (`` `{` $source_dims^ `}`)? `->` "
        "type($result) (`` `{` $result_dims^ `}`)?"
    )


class _ComputeBarrier(Op):
    value: Operand[AnyTensor]
    value_dims: Variadic[IndexType]
    result: Result[AnyTensor]
    format = "$value attr-dict `:` type($value) (`` `{` $value_dims^ `}`)? `->` type($result)"

    def infer_types(self) -> list[Type]:
        return [self.value.type]


class ComputeBarrierStartOp(_ComputeBarrier, name="iree_tensor_ext.compute_barrier.start"):
    """Nothing is moved upwards across it."""


class ComputeBarrierEndOp(_ComputeBarrier, name="iree_tensor_ext.compute_barrier.end"):
    """Nothing is moved downwards across it."""


