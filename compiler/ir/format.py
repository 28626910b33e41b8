"""Assembly formats: a declared op's `format` string compiled to a printer and a parser.

What enters: an op class with a format. What leaves: two functions, made at the first use and kept with the class.
`format_parser.py` reads the string, `format_printer.py` and `format_reader.py` make the two halves.

Dialects register directives of their own with `@directive("Name")`; they are used as `custom<Name>(…)` or
`Name(…)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pyiree.compiler.ir.directives import directive
from pyiree.compiler.ir.format_parser import FormatError, parse_format
from pyiree.compiler.ir.format_printer import FormatPrinter
from pyiree.compiler.ir.format_reader import compile_reader

__all__ = ["FormatCode", "FormatError", "compile_format", "directive"]


class FormatCode(NamedTuple):
    """What a format compiles to."""

    print: Callable[[Any, Any], None]
    parse: Callable[[Any], Any]


def compile_format(cls: Any) -> FormatCode:
    """The printer and parser of an op class; kept on it."""
    try:
        elements = parse_format(cls.format)
        writer = FormatPrinter(cls, elements)
        code = FormatCode(writer.printer(elements), compile_reader(writer, elements))
    except FormatError as error:
        raise FormatError(f"{cls.__name__}.format: {error}") from None
    cls._format_code = code
    return code
