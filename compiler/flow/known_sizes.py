"""What is known of the sizes of tensors and loops: numbers, or sizes that are equal to one another.

Enters: a tensor, or a loop of an op. Leaves: hashable sizes; equal ones are equal when the program runs.
"""

from __future__ import annotations

from collections.abc import Hashable

from pyiree.compiler.dialects.hal import TensorImportOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.tensor import EmptyOp
from pyiree.compiler.ir.core import Value


def sizes_of(value: Value) -> list[Hashable]:
    """The dims of a tensor: numbers, or what is known to be equal only to itself."""
    return [size_of(value, d) for d in range(len(value.type.shape))]  # type: ignore[attr-defined]


def size_of(value: Value, dim: int) -> Hashable:
    shape = value.type.shape  # type: ignore[attr-defined]
    if shape[dim] is not None:
        return shape[dim]
    op = value.defining_op
    if isinstance(op, LinalgOp):
        return size_of(op.outputs[list(op.results).index(value)], dim)
    if isinstance(op, EmptyOp):
        return op.dynamic_sizes[shape[:dim].count(None)]
    if isinstance(op, TensorImportOp):
        return op.target_dims[shape[:dim].count(None)]
    return (value, dim)


def loop_size(op: LinalgOp, loop: int) -> Hashable:
    """How often a loop of an op runs."""
    places = [
        (operand, at)
        for operand, map_ in zip(op.operands, op.maps())
        for at, position in enumerate(map_.dim_positions())
        if position == loop
    ]
    sizes = [size_of(operand, at) for operand, at in places]
    return next((size for size in sizes if isinstance(size, int)), sizes[0] if sizes else (op, loop))
