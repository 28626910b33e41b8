"""Reads types, attributes, locations and affine expressions.

What enters: tokens (`lexer.py`). What leaves: interned types and attributes. `parser.Parser` derives from this and
adds operations; dialects' own types and attributes parse themselves with the methods here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir import registry
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.affine_parser import parse_affine_map, parse_affine_set
from pyiree.compiler.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from pyiree.compiler.ir.lexer import Source
from pyiree.compiler.ir.location_parser import parse_location
from pyiree.compiler.ir.token_stream import TokenStream
from pyiree.compiler.ir.types import Type

_DIM = re.compile(r"\s*(?:(\d+)|(\?)|\[(\d+)\])\s*x")
_SIMPLE_SHAPED = re.compile(r"(?:tensor|vector|memref)<[\w?]+>")
_INTEGER_TYPE = re.compile(r"(si|ui|i)(\d+)\Z")

_simple_types: dict[str, Type] = {"index": T.index, "none": T.none}
_simple_types.update({name: T.FloatType(name) for name in T.FLOAT_WIDTHS})


class AttributeParser(TokenStream):
    """Types and attributes."""

    def __init__(self, source: Source) -> None:
        self.type_aliases: dict[str, Type] = {}
        self.attribute_aliases: dict[str, Attribute] = {}
        super().__init__(source)

    # Types.

    def parse_type(self) -> Type:
        """A type."""
        found = self.parse_optional_type()
        if found is None:
            self.fail_expected("a type")
        return found

    def parse_optional_type(self) -> Type | None:
        """A type if one is next."""
        kind = self.kind
        if kind == "ID":
            found = _simple_types.get(self.token)
            if found is not None:
                self.advance()
                return found
            return self._parse_named_type()
        if kind == "BANG":
            return self._parse_dialect_type()
        if kind == "PUNCT" and self.token == "(":
            return self.parse_function_type()
        return None

    def parse_type_list(self) -> list[Type]:
        """One or more comma separated types."""
        return self.parse_list(self.parse_type)

    def parse_function_type(self) -> T.FunctionType:
        """`(inputs) -> results`."""
        inputs = self.parse_list(self.parse_type, "(", ")")
        self.parse_punctuation("->")
        return T.FunctionType(inputs, self.parse_result_types())

    def parse_result_types(self) -> list[Type]:
        """A type, or any number of them in parentheses."""
        return self.parse_list(self.parse_type, "(", ")") if self.at("(") else [self.parse_type()]

    def parse_optional_arrow_types(self) -> list[Type]:
        """`-> types`, or nothing."""
        return self.parse_result_types() if self.parse_optional("->") else []

    def _parse_named_type(self) -> Type | None:
        token = self.token
        match = _INTEGER_TYPE.match(token)
        if match is not None:
            signedness = {"i": T.SIGNLESS, "si": T.SIGNED, "ui": T.UNSIGNED}[match.group(1)]
            found = _simple_types[token] = T.IntegerType(int(match.group(2)), signedness)
            self.advance()
            return found
        parse = _SHAPED_PARSERS.get(token)
        if parse is None:
            return None
        simple = _SIMPLE_SHAPED.match(self.text, self.start)
        if simple is not None:
            known = _simple_types.get(simple.group())
            if known is not None:
                self.seek(simple.end())
                return known
        self.advance()
        found = parse(self)
        if simple is not None:
            _simple_types[simple.group()] = found
        return found

    def _parse_dims(self, allow_scalable: bool = False) -> tuple[list[int | None], list[bool]]:
        """Dimensions up to the element type: `4x?x`. Shapes are read from the text, not from tokens."""
        dims: list[int | None] = []
        scalable = []
        position = self.start
        while (match := _DIM.match(self.text, position)) is not None:
            fixed, _, scaled = match.groups()
            if scaled is not None and not allow_scalable:
                break
            dims.append(int(fixed or scaled) if fixed or scaled else None)
            scalable.append(scaled is not None)
            position = match.end()
        if position != self.start:
            self.seek(position)
        return dims, scalable

    def _parse_tensor(self) -> Type:
        self.parse_punctuation("<")
        if self.at("*"):
            self.seek(self.text.index("x", self.start) + 1)
            unranked = T.UnrankedTensorType(self.parse_type())
            self.parse_punctuation(">")
            return unranked
        dims, _ = self._parse_dims()
        element = self.parse_type()
        encoding = self.parse_attribute() if self.parse_optional(",") else None
        self.parse_punctuation(">")
        return T.TensorType(dims, element, encoding)

    def _parse_vector(self) -> Type:
        self.parse_punctuation("<")
        dims, scalable = self._parse_dims(allow_scalable=True)
        element = self.parse_type()
        self.parse_punctuation(">")
        if None in dims:
            raise self.error("a vector has no dynamic dimensions")
        return T.VectorType(dims, element, scalable)  # type: ignore[arg-type]

    def _parse_memref(self) -> Type:
        self.parse_punctuation("<")
        if self.at("*"):
            self.seek(self.text.index("x", self.start) + 1)
            element = self.parse_type()
            space = self.parse_attribute() if self.parse_optional(",") else None
            self.parse_punctuation(">")
            return T.UnrankedMemRefType(element, space)
        dims, _ = self._parse_dims()
        element = self.parse_type()
        layout = space = None
        while self.parse_optional(","):
            attribute = self.parse_attribute()
            if _is_layout(attribute) and layout is None:
                layout = attribute
            else:
                space = attribute
        self.parse_punctuation(">")
        return T.MemRefType(dims, element, layout, space)

    def _parse_complex(self) -> Type:
        self.parse_punctuation("<")
        element = self.parse_type()
        self.parse_punctuation(">")
        return T.ComplexType(element)

    def _parse_tuple(self) -> Type:
        return T.TupleType(self.parse_list(self.parse_type, "<", ">"))

    def _parse_dialect_type(self) -> Type:
        name, position = self.token[1:], self.start
        self.advance()
        if "." not in name:
            found = self.type_aliases.get(name)
            if found is not None:
                return found
            if self.at("<"):
                return T.OpaqueType(name, self.balanced_text())
            raise self.error_at(position, f"type alias '!{name}' is not defined")
        cls: Any = registry.lookup_type(name)
        if cls is not None:
            return cls.parse(self)
        dialect, _, mnemonic = name.partition(".")
        return T.OpaqueType(dialect, mnemonic + (self.balanced_text() if self.at("<") else ""))

    # Attributes.

    def parse_attribute(self, type: Type | None = None) -> Attribute:
        """An attribute; `type` is that of a number or dense literal written without one."""
        found = self.parse_optional_attribute(type)
        if found is None:
            self.fail_expected("an attribute")
        return found

    def parse_optional_attribute(self, type: Type | None = None) -> Attribute | None:
        """An attribute if one is next."""
        kind, token = self.kind, self.token
        if kind == "STRING":
            return StringAttr(self.parse_string())
        if kind == "NUMBER" or (token == "-" and kind == "PUNCT"):
            return self.parse_number_attribute(type)
        if kind == "SYMBOL":
            return self.parse_symbol_ref()
        if kind == "HASH":
            return self._parse_hash_attribute(type)
        if kind == "PUNCT":
            if token == "[":
                return ArrayAttr(self.parse_list(self.parse_attribute, "[", "]"))
            if token == "{":
                return self.parse_dictionary()
        elif kind == "ID":
            parse = _KEYWORD_ATTRIBUTES.get(token)
            if parse is not None:
                return parse(self, type)
        found = self.parse_optional_type()
        return None if found is None else TypeAttr(found)

    def parse_number_attribute(self, type: Type | None = None) -> Attribute:
        """`3 : i32`, `1.0 : f32`; without a type i64 or f64."""
        position = self.start
        negative = self.parse_optional("-")
        token = self.token
        if self.kind != "NUMBER":
            self.fail_expected("a number")
        self.advance()
        if type is None:
            if self.parse_optional(":"):
                type = self.parse_type()
            else:
                type = T.f64 if "." in token and not token.startswith("0x") else T.i64
        return self.number_of(token, negative, type, position)

    def number_of(self, token: str, negative: bool, type: Type, position: int) -> Attribute:
        """The attribute of a number token in a type."""
        if type.is_float:
            if token.startswith("0x"):
                return FloatAttr.from_bits(int(token, 16), type)
            return FloatAttr(-float(token) if negative else float(token), type)
        if not (type.is_integer or type.is_index):
            raise self.error_at(position, f"a number cannot have type {type}")
        if "." in token:
            raise self.error_at(position, f"{token} is not a value of type {type}")
        value = int(token, 0 if token.startswith("0x") else 10)
        value = -value if negative else value
        width = type.width  # type: ignore[attr-defined]
        if not -(1 << max(width - 1, 0)) <= value < (1 << width):
            raise self.error_at(position, f"{value} is out of range for {type}")
        return IntegerAttr(value, type)

    def parse_dictionary(self) -> DictAttr:
        """`{a = 1, b}`."""
        return DictAttr(self.parse_attribute_entries())

    def parse_attribute_entries(self, opening: str = "{", closing: str = "}") -> dict[str, Attribute]:
        """`{a = 1, b}` as a dict."""
        entries: dict[str, Attribute] = {}

        def entry() -> None:
            position = self.start
            name = self.parse_string() if self.kind == "STRING" else self.parse_identifier("an attribute name")
            if name in entries:
                raise self.error_at(position, f"attribute '{name}' is given twice")
            entries[name] = self.parse_attribute() if self.parse_optional("=") else UnitAttr()

        self.parse_list(entry, opening, closing)
        return entries

    def parse_optional_properties(self) -> dict[str, Attribute]:
        """`<a = 1, b>` or `<{a = 1, b}>`, or an empty dict."""
        if not self.at("<"):
            return {}
        if self.text.startswith("<{", self.start):
            self.advance()
            entries = self.parse_attribute_entries()
            self.parse_punctuation(">")
            return entries
        return self.parse_attribute_entries("<", ">")

    def parse_optional_attr_dict(self) -> dict[str, Attribute]:
        """`{…}`, or an empty dict."""
        return self.parse_attribute_entries() if self.at("{") else {}

    def parse_optional_attr_dict_with_keyword(self) -> dict[str, Attribute]:
        """`attributes {…}`, or an empty dict."""
        return self.parse_attribute_entries() if self.parse_optional("attributes") else {}

    def parse_symbol_ref(self) -> SymbolRefAttr:
        """`@a::@b`."""
        names = [self.parse_symbol_name()]
        while self.token == "::" and self.text.startswith("::@", self.start):
            self.advance()
            names.append(self.parse_symbol_name())
        return SymbolRefAttr(*names)

    def _parse_hash_attribute(self, type: Type | None) -> Attribute:
        name, position = self.token[1:], self.start
        self.advance()
        if "." not in name:
            found = self.attribute_aliases.get(name)
            if found is not None:
                return found
            if self.at("<"):
                return OpaqueAttr(name, self.balanced_text())
            return self.unknown_alias(name, position)
        cls: Any = registry.lookup_attribute(name)
        if cls is not None:
            return cls.parse(self)
        dialect, _, mnemonic = name.partition(".")
        return OpaqueAttr(dialect, mnemonic + (self.balanced_text() if self.at("<") else ""))

    def unknown_alias(self, name: str, position: int) -> Attribute:
        """What an alias that is not defined (yet) stands for."""
        raise self.error_at(position, f"attribute alias '#{name}' is not defined")

    def _parse_bool(self, type: Type | None) -> Attribute:
        value = self.parse_identifier() == "true"
        return IntegerAttr(int(value), T.i1)

    def _parse_unit(self, type: Type | None) -> Attribute:
        self.advance()
        return UnitAttr()

    def _parse_dense(self, type: Type | None) -> Attribute:
        # Imported when met: it needs NumPy.
        from pyiree.compiler.ir.dense_parser import parse_dense

        return parse_dense(self, type)

    def _parse_dense_resource(self, type: Type | None) -> Attribute:
        from pyiree.compiler.ir.dense import DenseResourceAttr

        self.advance()
        self.parse_punctuation("<")
        key = self.parse_identifier()
        self.parse_punctuation(">")
        if type is None:
            self.parse_punctuation(":")
            type = self.parse_type()
        return DenseResourceAttr(key, type)

    def _parse_dense_array(self, type: Type | None) -> Attribute:
        self.advance()
        self.parse_punctuation("<")
        element = self.parse_type()
        if self.parse_optional(">"):
            return DenseArrayAttr(element, ())
        self.parse_punctuation(":")
        values = self.parse_list(lambda: self.parse_number_in(element))
        self.parse_punctuation(">")
        return DenseArrayAttr(element, values)

    def parse_number_in(self, type: Type) -> Any:
        """A number literal of an element type, as a Python number."""
        if self.kind == "ID" and self.token in ("true", "false"):
            return int(self.parse_identifier() == "true")
        return self.parse_number_attribute(type).value  # type: ignore[attr-defined]

    def _parse_strided(self, type: Type | None) -> Attribute:
        self.advance()
        self.parse_punctuation("<")
        strides = self.parse_list(self._parse_stride, "[", "]")
        offset: int | None = 0
        if self.parse_optional(","):
            self.parse_keyword("offset")
            self.parse_punctuation(":")
            offset = self._parse_stride()
        self.parse_punctuation(">")
        return StridedLayoutAttr(strides, offset)

    def _parse_stride(self) -> int | None:
        return None if self.parse_optional("?") else self.parse_integer()

    def _parse_affine_map(self, type: Type | None) -> Attribute:
        return parse_affine_map(self)

    def _parse_affine_set(self, type: Type | None) -> Attribute:
        return parse_affine_set(self)

    def _parse_location_attribute(self, type: Type | None) -> Attribute:
        return parse_location(self)


def _is_layout(attribute: Attribute) -> bool:
    return isinstance(attribute, StridedLayoutAttr | AffineMap)


_SHAPED_PARSERS: dict[str, Callable[[AttributeParser], Type]] = {
    "tensor": AttributeParser._parse_tensor,
    "vector": AttributeParser._parse_vector,
    "memref": AttributeParser._parse_memref,
    "complex": AttributeParser._parse_complex,
    "tuple": AttributeParser._parse_tuple,
}
_KEYWORD_ATTRIBUTES: dict[str, Callable[[AttributeParser, Type | None], Attribute]] = {
    "true": AttributeParser._parse_bool,
    "false": AttributeParser._parse_bool,
    "unit": AttributeParser._parse_unit,
    "dense": AttributeParser._parse_dense,
    "dense_resource": AttributeParser._parse_dense_resource,
    "array": AttributeParser._parse_dense_array,
    "strided": AttributeParser._parse_strided,
    "affine_map": AttributeParser._parse_affine_map,
    "affine_set": AttributeParser._parse_affine_set,
    "loc": AttributeParser._parse_location_attribute,
}
