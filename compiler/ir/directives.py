"""Directives of assembly formats that dialects register.

What enters: classes marked by `@directive("Name")`. What leaves: the class of a name, for the format engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_directives: dict[str, Any] = {}


def directive(name: str) -> Callable[[Any], Any]:
    """Registers a class as a directive: `print(printer, op, *values)` and `parse(parser, *refs)`, both static.

    `$field` arguments give values (for operands: a Value, None or a tuple, by arity; raw attributes), `type($x)` types
    in the same shapes, strings themselves. `parse` returns a value for each argument that is neither a string nor
    `ref(…)` (a tuple if there are several), and gets the string and ref arguments.
    """

    def register(cls: Any) -> Any:
        _directives[name] = cls
        return cls

    return register


def lookup_directive(name: str) -> Any:
    """The class registered for a name, or None."""
    return _directives.get(name)
