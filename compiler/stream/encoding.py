"""How tensors lie in memory: dense row-major, every element in whole bytes.

Enters: tensor types with index values for their `?`. Leaves: sizes and offsets in bytes, as constants where they are
known. An element of i1, i2, i4 or a float of 4 or 6 bits takes a byte of its own: that is how NumPy stores them, and
every element then has an address. `storage_element` is the home of that rule for host and device code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, MulIOp
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.types import ComplexType, IntegerType, TensorType, Type, bit_width, i8, index

IndexLike = int | Value


def storage_element(type: Type) -> Type:
    """The type that an element has in memory."""
    return i8 if isinstance(type, IntegerType) and bit_width(type) < 8 else type


def storage_tensor(type: TensorType) -> TensorType:
    """The type that a tensor has in memory."""
    return type.with_element_type(storage_element(type.element_type))


def element_bytes(type: TensorType, location: Location) -> int:
    """The bytes from one element to the next."""
    element = storage_element(type.element_type)
    if element.is_index:
        raise CompileError(f"{type} cannot be stored: an index has no size outside of the host", location)
    bits = 2 * bit_width(element.element_type) if isinstance(element, ComplexType) else bit_width(element)
    if bits > 8 and bits % 8:
        raise CompileError(f"{type} cannot be stored: its elements take {bits} bits", location)
    return max(bits, 8) // 8


def constant_value(value: IndexLike) -> int | None:
    """The number that an index is known to be."""
    if isinstance(value, int):
        return value
    op = value.defining_op
    if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value
    return None


class IndexMath:
    """Index arithmetic in front of an op; what is known is computed at once."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def value(self, number: IndexLike) -> Value:
        """A number as a value."""
        if isinstance(number, int):
            return self._builder.insert(ConstantOp(IntegerAttr(number, index))).result
        return number

    def add(self, a: IndexLike, b: IndexLike) -> IndexLike:
        """The sum."""
        x, y = constant_value(a), constant_value(b)
        if x is not None and y is not None:
            return x + y
        if x == 0 or y == 0:
            return b if x == 0 else a
        return self._builder.insert(AddIOp(self.value(a), self.value(b))).result

    def mul(self, a: IndexLike, b: IndexLike) -> IndexLike:
        """The product."""
        x, y = constant_value(a), constant_value(b)
        if x is not None and y is not None:
            return x * y
        if x == 0 or y == 0:
            return 0
        if x == 1 or y == 1:
            return b if x == 1 else a
        return self._builder.insert(MulIOp(self.value(a), self.value(b))).result


def full_shape(type: TensorType, dims: Sequence[Value]) -> list[IndexLike]:
    """The shape of a tensor with values for its `?`."""
    remaining = iter(dims)
    return [next(remaining) if n is None else n for n in type.shape]


def byte_size(math: IndexMath, type: TensorType, dims: Sequence[Value], location: Location) -> IndexLike:
    """The bytes of a tensor."""
    size: IndexLike = element_bytes(type, location)
    for n in (n for n in type.shape if n is not None):
        size = math.mul(size, n)
    for n in dims:
        size = math.mul(size, n)
    return size


def byte_offset(
    math: IndexMath, type: TensorType, dims: Sequence[Value], indices: Sequence[Value], location: Location
) -> IndexLike:
    """Where an element starts in a tensor."""
    offset: IndexLike = 0
    for n, i in zip(full_shape(type, dims), indices):
        offset = math.add(math.mul(offset, n), i)
    return math.mul(offset, element_bytes(type, location))


def is_contiguous(shape: Sequence[IndexLike], lengths: Sequence[IndexLike]) -> bool:
    """Whether a box is known to be one piece of memory: behind its first dimension longer than one it is whole."""
    known = [constant_value(n) for n in lengths]
    first = next((i for i, n in enumerate(known) if n != 1), len(known))
    for i in range(first + 1, len(known)):
        whole = constant_value(shape[i])
        if shape[i] is not lengths[i] and (whole is None or whole != known[i]):
            return False
    return True


def storage_constant(value: Attribute) -> Attribute:
    """Constant data as it lies in memory."""
    if not isinstance(value, DenseElementsAttr):
        return value
    stored = storage_tensor(value.type)
    if stored is value.type:
        return value
    return DenseElementsAttr(stored, np.asarray(value.array()).astype(np.int8))


def fill_pattern(value: int, bits: int) -> tuple[int, int]:
    """The shortest pattern, and its bits, that repeats to the same bytes as `value`: fills are cheaper the shorter."""
    value &= (1 << bits) - 1
    while bits > 8:
        half = bits // 2
        if value >> half != value & ((1 << half) - 1):
            break
        value, bits = value & ((1 << half) - 1), half
    return value, bits
