"""Reads `dense<…> : type`.

What enters: the parser at the keyword. What leaves: a `DenseElementsAttr`; hex text becomes bytes in one step.
"""

from __future__ import annotations

from typing import Any

import numpy
from pyiree.compiler.ir.dense import DenseElementsAttr, storage_dtype
from pyiree.compiler.ir.types import ComplexType, Type


def parse_dense(parser: Any, type: Type | None) -> DenseElementsAttr:
    """`dense<literal> : type`; the type follows the literal, so the literal is read as tokens first."""
    position = parser.start
    parser.advance()
    parser.parse_punctuation("<")
    if parser.kind == "STRING":
        text = parser.token[1:-1]
        parser.advance()
        parser.parse_punctuation(">")
        type = _parse_type(parser, type)
        if not text.startswith("0x"):
            raise parser.error_at(position, "dense constants of strings are not supported")
        raw = bytes.fromhex(text[2:])
        size = storage_dtype(type.element_type).itemsize
        if len(raw) not in (size, size * type.num_elements):
            raise parser.error_at(position, f"{len(raw)} bytes of hex do not fit {type}")
        return DenseElementsAttr.from_bytes(type, raw)
    tokens: list[Any] = []
    shape: list[int] | None = [] if parser.at(">") else _parse_literal(parser, tokens)
    parser.parse_punctuation(">")
    type = _parse_type(parser, type)
    element = type.element_type
    count = type.num_elements
    if shape == [] and tokens:
        if count == 0:
            raise parser.error_at(position, f"a splat does not fit {type}, which has no elements")
    elif (shape or [0]) != list(type.shape) and not (count == 0 and not tokens):
        raise parser.error_at(position, f"the shape {shape} of the literal does not fit {type}")
    values = [_element(parser, token, element) for token in tokens]
    dtype = storage_dtype(element)
    if element.is_float or (isinstance(element, ComplexType) and element.element_type.is_float):
        # Through the bits: a signalling NaN would not survive as a Python number.
        parts = values if element.is_float else [part for pair in values for part in pair]
        size = dtype.itemsize * len(values) // max(len(parts), 1)
        data = numpy.frombuffer(b"".join([v.bits.to_bytes(size, "little") for v in parts]), dtype)
    else:
        data = numpy.array(values, dtype)
    return DenseElementsAttr(type, data)


def _parse_type(parser: Any, type: Type | None) -> Any:
    if type is None:
        parser.parse_punctuation(":")
        type = parser.parse_type()
    if not hasattr(type, "shape"):
        raise parser.error(f"a dense constant needs a tensor or vector type, not {type}")
    return type


def _parse_literal(parser: Any, tokens: list[Any]) -> list[int]:
    """Appends the element tokens; returns the shape of the nesting."""
    if not parser.at("["):
        tokens.append(_parse_element(parser))
        return []
    inner = parser.parse_list(lambda: _parse_literal(parser, tokens), "[", "]")
    if any(shape != inner[0] for shape in inner):
        raise parser.error("the rows of a dense literal differ in length")
    return [len(inner), *(inner[0] if inner else [])]


def _parse_element(parser: Any) -> Any:
    if parser.parse_optional("("):
        real = _parse_element(parser)
        parser.parse_punctuation(",")
        imaginary = _parse_element(parser)
        parser.parse_punctuation(")")
        return (real, imaginary)
    position = parser.start
    if parser.kind == "ID" and parser.token in ("true", "false"):
        return (parser.parse_identifier(), False, position)
    negative = parser.parse_optional("-")
    if parser.kind != "NUMBER":
        parser.fail_expected("a number")
    token = parser.token
    parser.advance()
    return (token, negative, position)


def _element(parser: Any, token: Any, element: Type) -> Any:
    if isinstance(element, ComplexType):
        if len(token) != 2:
            raise parser.error(f"an element of {element} is written (real, imaginary)")
        part = element.element_type
        return (_element(parser, token[0], part), _element(parser, token[1], part))
    text, negative, position = token
    if text in ("true", "false"):
        return int(text == "true")
    number = parser.number_of(text, negative, element, position)
    return number if element.is_float else number.value
