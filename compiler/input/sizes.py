"""Sizes that are known when the program runs.

Enters: index values of the host (`tensor.dim` of an argument, arithmetic on such). Leaves: `Size`, which stands in a
shape beside the integers and is calculated with as they are: `length - 2 * size` writes the ops, and is an integer
again where it folds to one. Equal arithmetic of equal sizes is one value, so that sizes which are the same by
construction compare equal; sizes that compare unequal may still be equal when the program runs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import index

if TYPE_CHECKING:
    from pyiree.compiler.input.emitter import Emitter

#: Integer ops through which a size is followed back to the host's indices.
_FOLLOWED = {"arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul}


class Size:
    """One size, an index on the host; never a constant."""

    __slots__ = ("_emitter", "value")

    def __init__(self, emitter: Emitter, value: Value) -> None:
        self._emitter = emitter
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and other.value is self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "?"

    def __add__(self, other: int | Size) -> int | Size:
        return self._combine("arith.addi", self, other)

    def __radd__(self, other: int) -> int | Size:
        return self._combine("arith.addi", self, other)

    def __sub__(self, other: int | Size) -> int | Size:
        if isinstance(other, int):
            return self + -other
        return 0 if self == other else self._combine("arith.subi", self, other)

    def __rsub__(self, other: int) -> int | Size:
        return self._combine("arith.subi", other, self)

    def __mul__(self, other: int | Size) -> int | Size:
        return 0 if other == 0 else self._combine("arith.muli", self, other)

    def __rmul__(self, other: int) -> int | Size:
        return self * other

    def _combine(self, name: str, lhs: int | Size, rhs: int | Size) -> int | Size:
        x, y = index_of(self._emitter, lhs), index_of(self._emitter, rhs)
        return size_of(self._emitter, self._emitter.host_arithmetic(name, x, y))


def index_of(emitter: Emitter, size: int | Size) -> Value:
    """A size as an index value."""
    return size.value if isinstance(size, Size) else emitter.integer(size, index)


def size_of(emitter: Emitter, scalar: Value) -> int | Size:
    """An integer or index of the host as a size."""
    known = constant_value(scalar)
    if isinstance(known, IntegerAttr):
        return known.value
    if scalar.type is index:
        return Size(emitter, scalar)
    op = scalar.defining_op
    if op is not None and op.name in ("arith.index_cast", "arith.index_castui") and op.operands[0].type is index:
        return size_of(emitter, op.operands[0])
    if op is not None and op.name in _FOLLOWED:
        lhs, rhs = (size_of(emitter, operand) for operand in op.operands)
        return _FOLLOWED[op.name](lhs, rhs)
    return Size(emitter, emitter.host_arithmetic("arith.index_cast", scalar))


def divided(emitter: Emitter, size: int | Size, divisor: int | Size) -> int | Size:
    """`size / divisor`, rounded down; neither is negative."""
    if isinstance(size, int) and isinstance(divisor, int):
        return size // divisor
    if divisor == 1:
        return size
    x, y = index_of(emitter, size), index_of(emitter, divisor)
    return size_of(emitter, emitter.host_arithmetic("arith.divsi", x, y))


def at_least(emitter: Emitter, size: int | Size, bound: int | Size) -> int | Size:
    """The larger of two sizes."""
    if isinstance(size, int) and isinstance(bound, int):
        return max(size, bound)
    x, y = index_of(emitter, size), index_of(emitter, bound)
    if bound == 0 and _is_natural(x):
        return size
    return size_of(emitter, emitter.host_arithmetic("arith.maxsi", x, y))


def _is_natural(value: Value) -> bool:
    """Whether an index is how long a dimension is, or made of such ones in a way that gives no negative numbers."""
    known, op = constant_value(value), value.defining_op
    if isinstance(known, IntegerAttr):
        return known.value >= 0
    if op is None or op.name == "tensor.dim":
        return op is not None
    return op.name in ("arith.addi", "arith.muli", "arith.divsi") and all(map(_is_natural, op.operands))


def at_most(emitter: Emitter, size: int | Size, bound: int | Size) -> int | Size:
    """The smaller of two sizes."""
    if isinstance(size, int) and isinstance(bound, int):
        return min(size, bound)
    x, y = index_of(emitter, size), index_of(emitter, bound)
    return size_of(emitter, emitter.host_arithmetic("arith.minsi", x, y))


def dilated(size: Any, hole: int) -> Any:
    """How long a dimension is whose elements are `hole` apart."""
    if hole == 1:
        return size
    if isinstance(size, Size):
        return at_least(size._emitter, (size - 1) * hole + 1, 0)
    return (size - 1) * hole + 1 if size else 0


def fitting(emitter: Emitter, size: int | Size, window: int | Size, stride: int) -> int | Size:
    """How often a window fits along a dimension, when it moves on by `stride`."""
    return divided(emitter, at_least(emitter, size - window + stride, 0), stride)


def common_shape(shapes: Sequence[Sequence[int | Size]]) -> list[int | Size]:
    """The shape that several are alike; a dimension's size is a number if any of them knows it."""
    return [next((n for n in sizes if isinstance(n, int)), sizes[0]) for sizes in zip(*shapes)]


def product(sizes: Iterable[int | Size]) -> int | Size:
    """How many elements a shape has."""
    total: int | Size = 1
    for size in sizes:
        total = size * total
    return total


def type_shape(shape: Iterable[int | Size]) -> tuple[int | None, ...]:
    """A shape as types have it: what is known later is `?`."""
    return tuple([None if isinstance(n, Size) else n for n in shape])


def is_static(shape: Iterable[Any]) -> bool:
    """Whether all of a shape is known now."""
    return not any(isinstance(n, Size) or n is None for n in shape)
