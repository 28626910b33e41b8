"""Attributes: immutable compile-time values, interned so that identity is equality.

What enters: Python values. What leaves: one object for each distinct value, printable as MLIR text. Two exceptions
keep compile time independent of constant bytes: large dense elements (`dense.py`) are not interned and compare by
content, and what contains them compares as its parts do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pyiree.compiler.ir.types import Type


def intern(cls: type, key: tuple) -> Any:
    """The one object of `cls` whose parameters are `key`."""
    table = cls._table  # type: ignore[attr-defined]
    found = table.get(key)
    if found is None:
        found = object.__new__(cls)
        found._text = None
        for name, value in zip(cls.parameters, key):  # type: ignore[attr-defined]
            setattr(found, name, value)
        # setdefault is atomic, so two threads that race here still agree on one object.
        found = table.setdefault(key, found)
    return found


class Interned:
    """Base of types and attributes. A class names its own `parameters`, in order, and makes them its slots.

    `_text` caches the printed form once it is known not to depend on aliases.
    """

    __slots__ = ("__weakref__", "_text")
    parameters: ClassVar[tuple[str, ...]] = ()
    #: The name under which the printer hoists it as `#name` (`!name` for types), or "" to write it in place.
    alias: ClassVar[str] = ""
    _table: ClassVar[dict[tuple, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.parameters = cls.__mro__[1].parameters + tuple(cls.__dict__.get("parameters", ()))
        cls._table = {}

    def text(self, printer: Any) -> str:
        """The MLIR text; `printer` resolves nested types, attributes and aliases."""
        raise NotImplementedError

    def __str__(self) -> str:
        if self._text is None:
            from pyiree.compiler.ir.attribute_printer import AttributePrinter

            return AttributePrinter().text_of(self)
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return (intern, (type(self), tuple(getattr(self, name) for name in self.parameters)))


class Attribute(Interned):
    """Base of all attributes."""

    __slots__ = ()


class TypedAttr(Attribute):
    """An attribute that has a type of its own, such as an integer or dense elements."""

    __slots__ = ()
    type: Type


class UnitAttr(Attribute):
    """`unit`: its presence is its meaning."""

    __slots__ = ()

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

    def text(self, printer: Any) -> str:
        if self.type.is_i1:
            return "true" if self.value else "false"
        return f"{self.value} : {printer.type_text(self.type)}"


class FloatAttr(TypedAttr):
    """`1.500000e+00 : f32`, kept as the bits of its type so that every NaN and zero is itself."""

    parameters = ("bits", "type")
    __slots__ = parameters

    def __new__(cls, value: float, type: Type) -> FloatAttr:
        from pyiree.compiler.ir.floats import float_to_bits

        return intern(cls, (float_to_bits(float(value), type.name), type))

    @classmethod
    def from_bits(cls, bits: int, type: Type) -> FloatAttr:
        """The attribute whose encoding in `type` is `bits`."""
        return intern(cls, (bits & ((1 << type.width) - 1), type))

    @property
    def value(self) -> float:
        """The value as a Python float (exact: every supported format is within f64)."""
        from pyiree.compiler.ir.floats import bits_to_float

        return bits_to_float(self.bits, self.type.name)

    def __float__(self) -> float:
        return self.value

    def bare_text(self) -> str:
        """The value without its type."""
        from pyiree.compiler.ir.floats import float_text

        return float_text(self.bits, self.type.name)

    def text(self, printer: Any) -> str:
        return f"{self.bare_text()} : {printer.type_text(self.type)}"


def quote(value: str) -> str:
    """A string in double quotes with MLIR's escapes (`\\22` for a quote, `\\0A` for a newline)."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    out = []
    for byte in value.encode("utf-8", "surrogateescape"):
        if byte == 0x5C:
            out.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


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


def _is_bare_identifier(name: str) -> bool:
    return name.isascii() and name.replace(".", "_").replace("$", "_").isidentifier() and name[0] not in ".$"


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


def symbol_text(name: str) -> str:
    """`@name`, quoted when it is not an identifier."""
    return f"@{name}" if name and _is_bare_identifier(name) else "@" + quote(name)


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
    from pyiree.compiler.ir.types import i1

    return IntegerAttr(int(value), i1)


def double_bits(value: float) -> int:
    """The 64 bits of a Python float."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]
