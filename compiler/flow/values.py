"""Small values of the host program: constants, and the dims of tensors as SSA values."""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.tensor import DimOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import TensorType, Type, index


def index_constant(builder: Builder, value: int) -> Value:
    """An index constant at the builder's place."""
    return builder.insert(ConstantOp(IntegerAttr(value, index))).result


def dynamic_dims(builder: Builder, value: Value) -> list[Value]:
    """The `?` of a tensor's type as index values; none for other types."""
    shape: Sequence[int | None] = getattr(value.type, "shape", ())
    if not isinstance(value.type, TensorType):
        return []
    return [
        builder.insert(DimOp(value, index_constant(builder, i))).result
        for i, size in enumerate(shape)
        if size is None
    ]


def is_tensor(type: Type) -> bool:
    """Whether a type is a ranked tensor."""
    return isinstance(type, TensorType)
