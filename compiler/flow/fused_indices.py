"""The index at which a fused op reads a value, told apart as a kernel tells indices apart.

Enters: the index of an op's result, one entry for each dim. Leaves: that of an operand. An entry is a dim of the
dispatch's domain, or `ZERO` for a dim of one element, or a `Moved` one: what is read elsewhere than at the place of a
dim. Equal entries are equal indices, for which a kernel computes a value once; so the entries of a value say how many
copies of its instructions a kernel has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.types import TensorType

#: An index that is 0 because the dim has one element.
ZERO = -1
#: Some element of a dim: `("moved", index, stride, offset)` where a slice reads, or what else tells it from others.
Moved = tuple[Hashable, ...]
Index = int | Moved
Indices = tuple[Index, ...]


def has_moved(indices: Iterable[Index]) -> bool:
    """Whether some index is no dim of the domain, nor 0."""
    return tuple in map(type, indices)


def plain_dims(indices: Iterable[Index]) -> frozenset[int]:
    """The dims of the domain among indices."""
    return frozenset([i for i in indices if type(i) is int and i >= 0])


def _shifted(index: Index, stride: int, offset: int) -> Moved:
    base, by, start = index[1:] if isinstance(index, tuple) and index[0] == "moved" else (index, 1, 0)
    if base == ZERO:
        return "moved", ZERO, 0, offset + stride * start  # type: ignore[operator]
    return "moved", base, by * stride, offset + stride * start  # type: ignore[operator]


def view_reads(op: Operation, indices: Indices) -> Iterator[tuple[Value, Indices]]:
    """The tensors that a slice, a piece or another view reads, and where."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, TensorType):
            rank = len(value.type.shape)
            moves = _moves(op, number) if rank == len(indices) else None
            if moves is None:
                yield value, tuple([("read", op, number, d, indices) for d in range(rank)])
            else:
                yield value, tuple([_shifted(i, *move) for i, move in zip(indices, moves)])


def _moves(op: Any, number: int) -> list[tuple[int, int]] | None:
    """Stride and offset along each dim of the operand, if they are known."""
    rank = len(op.operands[number].type.shape)
    same = [(1, 0)] * rank
    if op.name == "tensor.extract_slice" and not (op.offsets or op.strides):
        return list(zip(op.static_strides, op.static_offsets))
    if op.name == "tensor.pad" and not op.low:
        return [(1, -low) for low in op.static_low]
    if op.name == "tensor.insert_slice":
        if number == 1:
            return same
        if not (op.offsets or op.strides) and all(stride == 1 for stride in op.static_strides):
            return [(1, -offset) for offset in op.static_offsets]
    if op.name == "tensor.concat":
        dim = op.properties["dim"].value
        before = [v.type.shape[dim] for v in op.operands[:number]]
        if None not in before:
            return [*same[:dim], (1, -sum(before)), *same[dim + 1 :]]
    return None


def collapsed(groups: Sequence[Sequence[int]], indices: Indices, shape: Sequence[int | None]) -> Indices:
    """Indices of the source of an expansion to `shape`: a group of dims is one index if all but one of them are 0."""
    at: list[Index] = []
    for group in groups:
        inside = [indices[d] for d in group if indices[d] != ZERO]
        if len(inside) > 1:
            at.append(("collapsed", *[(indices[d], shape[d]) for d in group]))
        else:
            at.append(inside[0] if inside else ZERO)
    return tuple(at)


def expanded(groups: Sequence[Sequence[int]], indices: Indices, shape: Sequence[int | None]) -> Indices:
    """Indices of the source of a collapse: the one dim of a group that is not 1 has the index of the group."""
    at: list[Index] = [ZERO] * len(shape)
    for group, index in zip(groups, indices):
        wide = [d for d in group if shape[d] != 1]
        for d in wide:
            at[d] = index if len(wide) == 1 else ("expanded", index, d - group[0], *[shape[d] for d in group])
    return tuple(at)
