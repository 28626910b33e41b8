"""Formats of dialect types and attributes: `format = "`<` $lifetime (`,` $size^)? `>`"`.

What enters: a parametrized class with a format. What leaves: the text of its parameters, and parameters from text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pyiree.compiler.ir.format_parser import (
    Directive,
    FormatError,
    Literal,
    OptionalGroup,
    Spacing,
    Variable,
    parse_format,
)
from pyiree.compiler.ir.parameters import parameter_text, parse_parameter


@cache
def _elements(cls: Any) -> list[Any]:
    return parse_format(cls.format)


def print_parameters(value: Any, printer: Any) -> str:
    """What follows the mnemonic."""
    out: list[str] = []
    _print(type(value), _elements(type(value)), value, printer, out, Spacing(False, True))
    return "".join(out)


def _print(cls: Any, elements: list[Any], value: Any, printer: Any, out: list[str], spacing: Spacing) -> None:
    for element in elements:
        if isinstance(element, Literal):
            out.append(spacing.literal(element.text))
        elif isinstance(element, Variable):
            text = parameter_text(cls.kinds()[element.name], getattr(value, element.name), printer) or ""
            out.append(spacing.element() + text)
        elif isinstance(element, OptionalGroup):
            present = getattr(value, element.anchor.name) not in (None, (), False)
            _print(cls, element.elements if present else element.otherwise, value, printer, out, spacing)
        elif isinstance(element, Directive) and element.name == "params":
            texts = [parameter_text(cls.kinds()[n], getattr(value, n), printer) or "" for n in cls.parameters]
            out.append(spacing.element() + ", ".join(texts))
        else:
            raise FormatError(f"{cls.__name__}.format: '{element}' is not supported in types and attributes")


def parse_parameters(cls: Any, parser: Any) -> list[Any]:
    """The parameters in order."""
    found: dict[str, Any] = {}
    _parse(cls, _elements(cls), parser, found)
    defaults = cls._defaults
    return [found[n] if n in found else defaults.get(n) for n in cls.parameters]


def _parse(cls: Any, elements: list[Any], parser: Any, found: dict[str, Any]) -> None:
    for element in elements:
        if isinstance(element, Literal):
            if element.text.strip():
                parser.parse_literal(element.text.strip())
        elif isinstance(element, Variable):
            found[element.name] = parse_parameter(cls.kinds()[element.name], parser)
        elif isinstance(element, OptionalGroup):
            first = element.elements[0]
            if not isinstance(first, Literal):
                raise FormatError(f"{cls.__name__}.format: an optional group must begin with a literal")
            _parse(cls, element.elements if parser.at(first.text.strip()) else element.otherwise, parser, found)
        elif isinstance(element, Directive) and element.name == "params":
            for i, name in enumerate(cls.parameters):
                if i:
                    parser.parse_punctuation(",")
                found[name] = parse_parameter(cls.kinds()[name], parser)
        else:
            raise FormatError(f"{cls.__name__}.format: '{element}' is not supported in types and attributes")
