"""Dense constants: `dense<…> : tensor<…>`, backed by NumPy without copies.

What enters: a shaped type and an array, raw bytes or one value for all elements. What leaves: an attribute whose
cost does not depend on its size until it is printed: large ones are neither hashed whole nor turned into lists, and
print as hex. Those of at most 1024 bytes are interned; larger ones compare by content.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, FloatAttr, IntegerAttr, TypedAttr
from pyiree.compiler.ir.floats import float_text, numpy_float_dtype
from pyiree.compiler.ir.interned import intern
from pyiree.compiler.ir.types import ComplexType, Type

_INTERN_BYTES = 1024
#: MLIR prints constants of more elements than this as hex.
HEX_LIMIT = 100


@cache
def storage_dtype(element: Type) -> numpy.dtype:
    """The NumPy dtype that holds an element type; narrow integers take the next whole number of bytes."""
    if element.is_float:
        return numpy_float_dtype(element.name)  # type: ignore[attr-defined]
    if isinstance(element, ComplexType):
        part = element.element_type
        if part.is_float and part.width in (32, 64):
            return numpy.dtype(numpy.complex64 if part.width == 32 else numpy.complex128)
        return numpy.dtype([("re", storage_dtype(part)), ("im", storage_dtype(part))])
    if element.is_i1:
        return numpy.dtype(numpy.bool_)
    if element.is_index:
        return numpy.dtype(numpy.int64)
    if element.is_integer and element.width <= 64:  # type: ignore[attr-defined]
        width = next(w for w in (8, 16, 32, 64) if element.width <= w)  # type: ignore[attr-defined]
        return numpy.dtype(f"{'uint' if element.signedness == 'u' else 'int'}{width}")  # type: ignore[attr-defined]
    raise ValueError(f"dense constants of {element} are not supported")


class DenseElementsAttr(TypedAttr):
    """`data` is a flat, read-only array in the storage dtype: all elements in row-major order, or one for a splat."""

    parameters = ("type", "data", "is_splat")
    __slots__ = parameters

    def __new__(cls, type: Any, data: numpy.ndarray, is_splat: bool | None = None) -> DenseElementsAttr:
        """`data` of the type's number of elements, or of one element to repeat it; it is not copied."""
        dtype = storage_dtype(type.element_type)
        array = numpy.ascontiguousarray(data).reshape(-1)
        if array.dtype != dtype:
            if array.dtype.itemsize != dtype.itemsize or array.dtype.kind not in "iub" or dtype.kind not in "iub":
                raise TypeError(f"an array of {array.dtype} cannot back {type}, which is stored as {dtype}")
            array = array.view(dtype)
        count = type.num_elements
        if is_splat is None:
            is_splat = array.size == 1 and count != 0
        if array.size != (1 if is_splat else count):
            raise ValueError(f"{type} has {count} elements, given {array.size}")
        if array.nbytes <= _INTERN_BYTES:
            raw = array.tobytes()
            if not is_splat and count and raw == raw[: dtype.itemsize] * count:
                raw, is_splat = raw[: dtype.itemsize], True
            found = cls._table.get((type, raw, is_splat))
            if found is None:
                found = cls._make(type, numpy.frombuffer(raw, dtype), is_splat)
                found = cls._table.setdefault((type, raw, is_splat), found)
            return found
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return cls._make(type, array, is_splat)

    @classmethod
    def _make(cls, type: Any, array: numpy.ndarray, is_splat: bool) -> DenseElementsAttr:
        made = object.__new__(cls)
        made._text, made.type, made.data, made.is_splat = None, type, array, is_splat
        return made

    @classmethod
    def splat(cls, type: Any, value: Any) -> DenseElementsAttr:
        """One value (a number, an integer or float attribute, two parts of a complex number) for all elements."""
        dtype = storage_dtype(type.element_type)
        if isinstance(value, ArrayAttr):
            number = numpy.zeros(1, dtype)
            number.real, number.imag = value[0].value, value[1].value
            return cls(type, number, type.num_elements != 0)
        if isinstance(value, FloatAttr):
            raw = value.bits.to_bytes(dtype.itemsize, "little")
            return cls(type, numpy.frombuffer(raw, dtype), type.num_elements != 0)
        if isinstance(value, IntegerAttr):
            value = value.value
        if type.element_type.is_integer or type.element_type.is_index:
            value = type.element_type.wrap(int(value))
        return cls(type, numpy.array([value] if type.num_elements else [], dtype))

    @classmethod
    def from_values(cls, type: Any, values: Iterable[Any]) -> DenseElementsAttr:
        """Python numbers in row-major order; meant for small constants."""
        return cls(type, numpy.array(list(values), storage_dtype(type.element_type)), None)

    @classmethod
    def from_bytes(cls, type: Any, raw: Any) -> DenseElementsAttr:
        """Little-endian bytes of all elements, or of one for a splat; not copied."""
        return cls(type, numpy.frombuffer(raw, storage_dtype(type.element_type)))

    def array(self) -> numpy.ndarray:
        """The elements in the type's shape (a broadcast view for a splat); read-only."""
        if self.is_splat:
            return numpy.broadcast_to(self.data[0], self.type.shape)
        return self.data.reshape(self.type.shape)

    def splat_value(self) -> Attribute:
        """The one value of a splat, as an integer or float attribute."""
        if not self.is_splat:
            raise ValueError("the constant is not a splat")
        element = self.type.element_type
        if element.is_float:
            return FloatAttr.from_bits(int.from_bytes(self.data.tobytes(), "little"), element)
        return IntegerAttr(int(self.data[0]), element)

    def reshaped(self, type: Any) -> DenseElementsAttr:
        """The same elements in a type of another shape."""
        return DenseElementsAttr(type, self.data, self.is_splat)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, DenseElementsAttr) or self.type is not other.type or self.is_splat != other.is_splat:
            return False
        mine, theirs = self.data.view(numpy.uint8), other.data.view(numpy.uint8)
        return mine.ctypes.data == theirs.ctypes.data or bool(numpy.array_equal(mine, theirs))

    def __hash__(self) -> int:
        # A sample: hashing must not cost as much as the constant is long.
        return hash((self.type, self.is_splat, self.data[:16].tobytes(), self.data[-16:].tobytes()))

    def __reduce__(self) -> Any:
        return (DenseElementsAttr, (self.type, self.data, self.is_splat))

    def body(self, elide_limit: int | None = None) -> str:
        """`dense<…>` without the type."""
        count = self.data.size
        if elide_limit is not None and count > elide_limit:
            return "dense_resource<__elided__>"
        if count == 0:
            return "dense<>"
        if self.is_splat:
            return f"dense<{_element_text(self.type.element_type)(self.data[0])}>"
        if count > HEX_LIMIT:
            return f'dense<"0x{memoryview(self.data.view(numpy.uint8)).hex().upper()}">'
        return f"dense<{_nested_text(self.data.reshape(self.type.shape), _element_text(self.type.element_type))}>"

    def text(self, printer: Any) -> str:
        if self.data.size > 16:
            # Whether it is left out depends on the printer, so the text must not be kept.
            printer.alias_uses += 1
        return f"{self.body(printer.elide_limit)} : {printer.type_text(self.type)}"


class DenseResourceAttr(TypedAttr):
    """`dense_resource<key>`: a constant that was left out of the text."""

    parameters = ("key", "type")
    __slots__ = parameters

    def __new__(cls, key: str, type: Type) -> DenseResourceAttr:
        return intern(cls, (key, type))

    def text(self, printer: Any) -> str:
        return f"dense_resource<{self.key}> : {printer.type_text(self.type)}"


def _nested_text(array: numpy.ndarray, element: Any) -> str:
    if array.ndim == 0:
        return element(array[()])
    if array.ndim == 1:
        return "[" + ", ".join([element(v) for v in array]) + "]"
    return "[" + ", ".join([_nested_text(row, element) for row in array]) + "]"


def _element_text(element: Type) -> Any:
    if element.is_i1:
        return lambda v: "true" if v else "false"
    if element.is_float:
        name = element.name  # type: ignore[attr-defined]
        return lambda v: float_text(int.from_bytes(v.tobytes(), "little"), name)
    if isinstance(element, ComplexType):
        part = _element_text(element.element_type)
        if element.element_type.is_float:
            return lambda v: f"({part(v.real)},{part(v.imag)})"
        return lambda v: f"({part(v['re'])},{part(v['im'])})"
    return lambda v: str(int(v))
