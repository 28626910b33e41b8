"""Attributes: immutable compile-time values, interned so that identity is equality.

What enters: Python values. What leaves: one object for each distinct value, printable as MLIR text. Two exceptions
keep compile time independent of constant bytes: large dense elements (`dense.py`) are not interned and compare by
content, and what contains them compares as its parts do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyiree.compiler.ir.floats import bits_to_float, float_text, float_to_bits
from pyiree.compiler.ir.interned import Interned, intern
from pyiree.compiler.ir.quoting import quote, symbol_text
from pyiree.compiler.ir.types import Type, f64, i1, i64


class Attribute(Interned):
    """Base of all attributes."""

    __slots__ = ()
    is_unit = False

    def default_typed_text(self) -> str | None:
        """The text where a missing type means i64 or f64, as in arrays; None if that is the usual one."""
        return None


class TypedAttr(Attribute):
    """An attribute that has a type of its own, such as an integer or dense elements."""

    __slots__ = ()
    type: Type


class UnitAttr(Attribute):
    """`unit`: its presence is its meaning."""

    __slots__ = ()
    is_unit = True

    def __new__(cls) -> UnitAttr:
        return intern(cls, ())

    def text(self, printer: Any) -> str:
        return "unit"


class IntegerAttr(TypedAttr):
    """`3 : i64`; an i1 prints as `true` or `false`.

    The value is kept in the range of its type: signed for signless and signed types, unsigned for unsigned ones,
    0 or 1 for i1.
    """

    parameters = ("value", "type")
    __slots__ = parameters

    def __new__(cls, value: int, type: Type) -> IntegerAttr:
        return intern(cls, (type.wrap(int(value)), type))

    def __int__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def bare_text(self) -> str:
        """The value without its type."""
        if self.type.is_i1:
            return "true" if self.value else "false"
        return str(self.value)

    def default_typed_text(self) -> str | None:
        return str(self.value) if self.type is i64 else None

    def text(self, printer: Any) -> str:
        if self.type.is_i1:
            return "true" if self.value else "false"
        return f"{self.value} : {printer.type_text(self.type)}"


class FloatAttr(TypedAttr):
    """`1.500000e+00 : f32`, kept as the bits of its type so that every NaN and zero is itself."""

    parameters = ("bits", "type")
    __slots__ = parameters

    def __new__(cls, value: float, type: Type) -> FloatAttr:
        return intern(cls, (float_to_bits(float(value), type.name), type))

    @classmethod
    def from_bits(cls, bits: int, type: Type) -> FloatAttr:
        """The attribute whose encoding in `type` is `bits`."""
        return intern(cls, (bits & ((1 << type.width) - 1), type))

    @property
    def value(self) -> float:
        """The value as a Python float (exact: every supported format is within f64)."""
        return bits_to_float(self.bits, self.type.name)

    def __float__(self) -> float:
        return self.value

    def bare_text(self) -> str:
        """The value without its type."""
        return float_text(self.bits, self.type.name)

    def default_typed_text(self) -> str | None:
        text = self.bare_text() if self.type is f64 else None
        # Bits in hex would read as an integer.
        return None if text is None or text.startswith("0x") else text

    def text(self, printer: Any) -> str:
        return f"{self.bare_text()} : {printer.type_text(self.type)}"


class StringAttr(Attribute):
    """`"text"`; bytes that are not UTF-8 are kept by surrogate escapes."""

    parameters = ("value",)
    __slots__ = parameters

    def __new__(cls, value: str) -> StringAttr:
        return intern(cls, (value,))

    def __str__(self) -> str:
        return quote(self.value)

    def text(self, printer: Any) -> str:
        return quote(self.value)


class ArrayAttr(Attribute):
    """`[a, b]`."""

    parameters = ("value",)
    __slots__ = parameters

    def __new__(cls, value: Iterable[Attribute]) -> ArrayAttr:
        elements = tuple(value)
        for element in elements:
            if not isinstance(element, Attribute):
                raise TypeError(f"an array attribute holds attributes, not {type(element).__name__}")
        return intern(cls, (elements,))

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: int) -> Attribute:
        return self.value[index]

    def text(self, printer: Any) -> str:
        return "[" + ", ".join([printer.attr_text_elided(element) for element in self.value]) + "]"


class DenseArrayAttr(Attribute):
    """`array<i64: 1, 2>`: a flat list of Python numbers of one element type."""

    parameters = ("element_type", "value")
    __slots__ = parameters

    def __new__(cls, element_type: Type, value: Iterable[Any]) -> DenseArrayAttr:
        if getattr(element_type, "is_float", False):
            # Through the bits, so that -0.0 and 0.0 are two keys and values are exact in their type.
            values: tuple = tuple(FloatAttr(v, element_type) for v in value)
        else:
            values = tuple(element_type.wrap(int(v)) for v in value)
        return intern(cls, (element_type, values))

    def __iter__(self) -> Iterator[Any]:
        if getattr(self.element_type, "is_float", False):
            return (v.value for v in self.value)
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def bare_text(self) -> str:
        """The elements, comma separated."""
        if self.element_type.is_i1:
            return ", ".join(["true" if v else "false" for v in self.value])
        if getattr(self.element_type, "is_float", False):
            return ", ".join([v.bare_text() for v in self.value])
        return ", ".join(map(str, self.value))

    def text(self, printer: Any) -> str:
        element = printer.type_text(self.element_type)
        return f"array<{element}: {self.bare_text()}>" if self.value else f"array<{element}>"


class DictAttr(Attribute):
    """`{a = 1 : i32, b}`, ordered by key."""

    parameters = ("items_",)
    __slots__ = parameters

    def __new__(cls, value: Mapping[str, Attribute] | Iterable[tuple[str, Attribute]] = ()) -> DictAttr:
        items = tuple(sorted(value.items() if isinstance(value, Mapping) else value, key=lambda kv: kv[0]))
        return intern(cls, (items,))

    @property
    def value(self) -> dict[str, Attribute]:
        """A fresh dict of the entries."""
        return dict(self.items_)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry of `key`, or `default`."""
        for name, attribute in self.items_:
            if name == key:
                return attribute
        return default

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: str) -> Attribute:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __len__(self) -> int:
        return len(self.items_)

    def items(self) -> tuple[tuple[str, Attribute], ...]:
        """The entries, ordered by key."""
        return self.items_

    def text(self, printer: Any) -> str:
        return printer.dict_text(self.items_)


class TypeAttr(Attribute):
    """A type used as an attribute."""

    parameters = ("value",)
    __slots__ = parameters

    def __new__(cls, value: Type) -> TypeAttr:
        return intern(cls, (value,))

    def text(self, printer: Any) -> str:
        return printer.type_text(self.value)


class SymbolRefAttr(Attribute):
    """`@root::@nested`; a flat reference has no nested names."""

    parameters = ("path",)
    __slots__ = parameters

    def __new__(cls, root: str, *nested: str) -> SymbolRefAttr:
        return intern(cls, ((root, *nested),))

    @property
    def root(self) -> str:
        """The name looked up in the nearest symbol table."""
        return self.path[0]

    @property
    def leaf(self) -> str:
        """The last name, that of the symbol meant."""
        return self.path[-1]

    @property
    def is_flat(self) -> bool:
        """Whether there is only one name."""
        return len(self.path) == 1

    def text(self, printer: Any) -> str:
        return "::".join([symbol_text(name) for name in self.path])


class OpaqueAttr(Attribute):
    """`#dialect.whatever<…>` of a dialect or mnemonic that is not registered, kept as text."""

    parameters = ("dialect", "body")
    __slots__ = parameters

    def __new__(cls, dialect: str, body: str) -> OpaqueAttr:
        return intern(cls, (dialect, body))

    def text(self, printer: Any) -> str:
        return f"#{self.dialect}.{self.body}" if not self.body.startswith("<") else f"#{self.dialect}{self.body}"


class StridedLayoutAttr(Attribute):
    """`strided<[4, 1], offset: ?>`: the layout of a memref; None stands for `?`."""

    parameters = ("strides", "offset")
    __slots__ = parameters

    def __new__(cls, strides: Iterable[int | None], offset: int | None = 0) -> StridedLayoutAttr:
        return intern(cls, (tuple(strides), offset))

    def text(self, printer: Any) -> str:
        strides = ", ".join(["?" if s is None else str(s) for s in self.strides])
        offset = "" if self.offset == 0 else f", offset: {'?' if self.offset is None else self.offset}"
        return f"strided<[{strides}]{offset}>"


def bool_attr(value: bool) -> IntegerAttr:
    """`true` or `false`: an i1 integer attribute."""
    return IntegerAttr(int(value), i1)
