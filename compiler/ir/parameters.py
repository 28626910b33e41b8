"""Parameters of dialect types and attributes as text, by the kind that their annotation says.

What enters: the annotation with a value, or with the parser. What leaves: the text, or the value.
"""

from __future__ import annotations

import types as python_types
import typing
from typing import Any

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.quoting import quote
from pyiree.compiler.ir.types import Type


class Keyword(str):
    """Annotation of a parameter that is written as a bare word."""


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "parse_word")


def _members(kind: Any) -> tuple[Any, bool]:
    """A kind without None, and whether None was allowed."""
    if isinstance(kind, python_types.UnionType):
        rest = [k for k in kind.__args__ if k is not type(None)]
        return (rest[0] if len(rest) == 1 else kind), len(rest) != len(kind.__args__)
    return kind, False


def parameter_text(kind: Any, value: Any, printer: Any) -> str | None:
    """The text of a parameter; None for an absent one."""
    kind, _ = _members(kind)
    if value is None:
        return None
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        return "[" + ", ".join([parameter_text(element, v, printer) or "" for v in value]) + "]"
    if isinstance(value, Type):
        return printer.type_text(value)
    if _is_enum(kind):
        return value.value
    if isinstance(value, Attribute):
        return printer.attr_text_elided(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is str:
        return quote(value)
    return str(value)


def parse_parameter(kind: Any, parser: Any) -> Any:
    """A parameter of a kind."""
    kind, _ = _members(kind)
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        return tuple(parser.parse_list(lambda: parse_parameter(element, parser), "[", "]"))
    if kind is bool:
        return parser.parse_one_of(("true", "false"), "a truth value") == "true"
    if kind is int:
        return parser.parse_integer()
    if kind is str:
        return parser.parse_string()
    if kind is Keyword:
        return Keyword(parser.parse_identifier())
    if isinstance(kind, type) and issubclass(kind, Type):
        return _checked(kind, parser.parse_type(), parser)
    if _is_enum(kind) and parser.kind == "ID":
        return kind(kind.parse_word(parser))
    return _checked(kind, parser.parse_attribute(), parser)


def _checked(kind: Any, value: Any, parser: Any) -> Any:
    if not isinstance(value, kind):
        raise parser.error(f"expected a parameter of kind {getattr(kind, '__name__', kind)}, found {value}")
    return value


