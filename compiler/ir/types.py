"""Types: interned, so that identity is equality.

What enters: shapes as tuples (None is a dynamic dimension), element types, encodings. What leaves: one object for
each distinct type, printed as MLIR does. Dialects declare their own by `DialectType` (`parametrized.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyiree.compiler.ir.interned import Interned, intern

if TYPE_CHECKING:
    from pyiree.compiler.ir.attributes import Attribute

#: A dimension (or stride, or offset) that is not known at compile time.
DYNAMIC = None
#: How a dynamic entry is written in MLIR's static size arrays (`array<i64: -9223372036854775808>`).
DYNAMIC_INT64 = -(2**63)

SIGNLESS, SIGNED, UNSIGNED = "", "s", "u"
Shape = tuple  # of int | None


class Type(Interned):
    """Base of all types."""

    __slots__ = ()
    is_i1 = False
    is_float = False
    is_integer = False
    is_index = False


class IntegerType(Type):
    """`i32`, `si8`, `ui64`."""

    parameters = ("width", "signedness")
    __slots__ = parameters
    is_integer = True

    def __new__(cls, width: int, signedness: str = SIGNLESS) -> IntegerType:
        return intern(cls, (width, signedness))

    @property
    def is_i1(self) -> bool:  # type: ignore[override]
        """Whether this is the signless one-bit integer."""
        return self.width == 1 and not self.signedness

    @property
    def is_signless(self) -> bool:
        """Whether it is neither signed nor unsigned."""
        return not self.signedness

    def wrap(self, value: int) -> int:
        """`value` in the range of the type (two's complement; 0 or 1 for i1)."""
        width = self.width
        value &= (1 << width) - 1
        if self.signedness == UNSIGNED or (width == 1 and not self.signedness):
            return value
        return value - (1 << width) if width and value >> (width - 1) else value

    def text(self, printer: Any) -> str:
        return f"{self.signedness}i{self.width}"


class IndexType(Type):
    """`index`."""

    __slots__ = ()
    is_index = True
    #: Constants of index type are 64 bits wide.
    width = 64

    def __new__(cls) -> IndexType:
        return intern(cls, ())

    def wrap(self, value: int) -> int:
        """`value` as a signed 64-bit integer."""
        value &= (1 << 64) - 1
        return value - (1 << 64) if value >> 63 else value

    def text(self, printer: Any) -> str:
        return "index"


FLOAT_WIDTHS = {
    "f16": 16, "bf16": 16, "tf32": 19, "f32": 32, "f64": 64, "f80": 80, "f128": 128,
    "f8E5M2": 8, "f8E4M3": 8, "f8E4M3FN": 8, "f8E5M2FNUZ": 8, "f8E4M3FNUZ": 8, "f8E4M3B11FNUZ": 8,
    "f8E3M4": 8, "f8E8M0FNU": 8, "f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4,
}  # fmt: skip


class FloatType(Type):
    """`f32`, `bf16`, `f8E4M3FN`, … by name."""

    parameters = ("name",)
    __slots__ = parameters
    is_float = True

    def __new__(cls, name: str) -> FloatType:
        if name not in FLOAT_WIDTHS:
            raise ValueError(f"there is no floating point type '{name}'")
        return intern(cls, (name,))

    @property
    def width(self) -> int:
        """The number of bits."""
        return FLOAT_WIDTHS[self.name]

    def text(self, printer: Any) -> str:
        return self.name


class ComplexType(Type):
    """`complex<f32>`."""

    parameters = ("element_type",)
    __slots__ = parameters

    def __new__(cls, element_type: Type) -> ComplexType:
        return intern(cls, (element_type,))

    @property
    def width(self) -> int:
        """The number of bits of both parts."""
        return 2 * self.element_type.width

    def text(self, printer: Any) -> str:
        return f"complex<{printer.type_text(self.element_type)}>"


class NoneType(Type):
    """`none`."""

    __slots__ = ()

    def __new__(cls) -> NoneType:
        return intern(cls, ())

    def text(self, printer: Any) -> str:
        return "none"


class TupleType(Type):
    """`tuple<i32, f32>`."""

    parameters = ("types",)
    __slots__ = parameters

    def __new__(cls, types: Iterable[Type] = ()) -> TupleType:
        return intern(cls, (tuple(types),))

    def text(self, printer: Any) -> str:
        return f"tuple<{', '.join([printer.type_text(t) for t in self.types])}>"


class FunctionType(Type):
    """`(inputs) -> results`."""

    parameters = ("inputs", "results")
    __slots__ = parameters

    def __new__(cls, inputs: Iterable[Type] = (), results: Iterable[Type] = ()) -> FunctionType:
        return intern(cls, (tuple(inputs), tuple(results)))

    def text(self, printer: Any) -> str:
        inputs = ", ".join([printer.type_text(t) for t in self.inputs])
        if len(self.results) == 1 and not isinstance(self.results[0], FunctionType):
            return f"({inputs}) -> {printer.type_text(self.results[0])}"
        return f"({inputs}) -> ({', '.join([printer.type_text(t) for t in self.results])})"


class ShapedType(Type):
    """A type with an element type and a shape."""

    __slots__ = ()
    shape: tuple
    element_type: Type

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def has_static_shape(self) -> bool:
        """Whether no dimension is dynamic."""
        return None not in self.shape

    @property
    def num_dynamic_dims(self) -> int:
        """How many dimensions are dynamic."""
        return self.shape.count(None)

    @property
    def num_elements(self) -> int:
        """The product of the dimensions; an error if one is dynamic."""
        if None in self.shape:
            raise ValueError(f"{self} has dynamic dimensions: its number of elements is not known")
        return math.prod(self.shape)

    def is_dynamic_dim(self, index: int) -> bool:
        """Whether dimension `index` is dynamic."""
        return self.shape[index] is None


def _dims_text(shape: Iterable[int | None]) -> str:
    return "".join(["?x" if dim is None else f"{dim}x" for dim in shape])


class TensorType(ShapedType):
    """`tensor<4x?xf32, encoding>`."""

    parameters = ("shape", "element_type", "encoding")
    __slots__ = parameters

    def __new__(
        cls, shape: Iterable[int | None], element_type: Type, encoding: Attribute | None = None
    ) -> TensorType:
        return intern(cls, (tuple(shape), element_type, encoding))

    def with_shape(self, shape: Iterable[int | None]) -> TensorType:
        """The same element type and encoding in another shape."""
        return TensorType(shape, self.element_type, self.encoding)

    def with_element_type(self, element_type: Type) -> TensorType:
        """The same shape of another element type."""
        return TensorType(self.shape, element_type, self.encoding)

    def text(self, printer: Any) -> str:
        encoding = "" if self.encoding is None else f", {printer.attr_text(self.encoding)}"
        return f"tensor<{_dims_text(self.shape)}{printer.type_text(self.element_type)}{encoding}>"


class UnrankedTensorType(Type):
    """`tensor<*xf32>`."""

    parameters = ("element_type",)
    __slots__ = parameters

    def __new__(cls, element_type: Type) -> UnrankedTensorType:
        return intern(cls, (element_type,))

    def text(self, printer: Any) -> str:
        return f"tensor<*x{printer.type_text(self.element_type)}>"


class VectorType(ShapedType):
    """`vector<4x[8]xf32>`; `scalable` says for each dimension whether it is."""

    parameters = ("shape", "element_type", "scalable")
    __slots__ = parameters

    def __new__(
        cls, shape: Iterable[int], element_type: Type, scalable: Iterable[bool] | None = None
    ) -> VectorType:
        dims = tuple(shape)
        flags = (False,) * len(dims) if scalable is None else tuple(scalable)
        return intern(cls, (dims, element_type, flags))

    def text(self, printer: Any) -> str:
        dims = "".join([f"[{d}]x" if s else f"{d}x" for d, s in zip(self.shape, self.scalable)])
        return f"vector<{dims}{printer.type_text(self.element_type)}>"


class MemRefType(ShapedType):
    """`memref<4x?xf32, strided<[?, 1]>, space>`; an absent layout is the identity."""

    parameters = ("shape", "element_type", "layout", "memory_space")
    __slots__ = parameters

    def __new__(
        cls,
        shape: Iterable[int | None],
        element_type: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
    ) -> MemRefType:
        return intern(cls, (tuple(shape), element_type, layout, memory_space))

    def strides_and_offset(self) -> tuple[tuple[int | None, ...], int | None]:
        """Strides and offset in elements; None is dynamic. Affine map layouts are refused."""
        if self.layout is not None:
            if not hasattr(self.layout, "strides"):
                raise ValueError(f"{self} has no strided layout")
            return self.layout.strides, self.layout.offset
        strides: list[int | None] = []
        step: int | None = 1
        for dim in reversed(self.shape):
            strides.append(step)
            step = None if step is None or dim is None else step * dim
        return tuple(reversed(strides)), 0

    def text(self, printer: Any) -> str:
        layout = "" if self.layout is None else f", {printer.attr_text(self.layout)}"
        space = "" if self.memory_space is None else f", {printer.attr_text_elided(self.memory_space)}"
        return f"memref<{_dims_text(self.shape)}{printer.type_text(self.element_type)}{layout}{space}>"


class UnrankedMemRefType(Type):
    """`memref<*xf32, space>`."""

    parameters = ("element_type", "memory_space")
    __slots__ = parameters

    def __new__(cls, element_type: Type, memory_space: Attribute | None = None) -> UnrankedMemRefType:
        return intern(cls, (element_type, memory_space))

    def text(self, printer: Any) -> str:
        space = "" if self.memory_space is None else f", {printer.attr_text_elided(self.memory_space)}"
        return f"memref<*x{printer.type_text(self.element_type)}{space}>"


class OpaqueType(Type):
    """`!dialect.whatever<…>` of a dialect or mnemonic that is not registered, kept as text."""

    parameters = ("dialect", "body")
    __slots__ = parameters

    def __new__(cls, dialect: str, body: str) -> OpaqueType:
        return intern(cls, (dialect, body))

    def text(self, printer: Any) -> str:
        return f"!{self.dialect}.{self.body}" if not self.body.startswith("<") else f"!{self.dialect}{self.body}"


i1, i4, i8, i16, i32, i64 = (IntegerType(width) for width in (1, 4, 8, 16, 32, 64))
f16, bf16, f32, f64 = (FloatType(name) for name in ("f16", "bf16", "f32", "f64"))
index = IndexType()
none = NoneType()


def element_type_of(type: Type) -> Type:
    """The element type of a tensor, vector or memref; any other type is its own."""
    return getattr(type, "element_type", type) if not isinstance(type, ComplexType) else type


def bit_width(type: Type) -> int:
    """The number of bits of a scalar type (index counts as 64)."""
    width = getattr(type, "width", None)
    if width is None:
        raise ValueError(f"{type} has no bit width")
    return width
