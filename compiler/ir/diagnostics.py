"""Errors of the compiler: what enters is a message and a location, what leaves is one clear line.

Every failure that a user can cause is a `CompileError`. Its text is `file:line:col: error: message`, so that
editors find the place; without a known location the prefix is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiree.compiler import errors

if TYPE_CHECKING:
    from pyiree.compiler.ir.location import Location


class CompileError(errors.CompileError):
    """A compilation failure with the source location it is about."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        self.message = message
        self.location = location
        super().__init__(message, location)

    def __str__(self) -> str:
        place = source_position(self.location)
        return f"{place}: error: {self.message}" if place else f"error: {self.message}"


class ParseError(CompileError):
    """The text is not the language; the location is that of the offending token."""


class VerifyError(CompileError):
    """The IR breaks a rule of its operations."""


class ConversionError(CompileError):
    """An operation could not be made legal for the target of a conversion."""


class PassError(CompileError):
    """A pass pipeline is malformed, or names a pass that does not exist."""


def source_position(location: Location | None) -> str | None:
    """`file:line:col` of the innermost known source position, or None."""
    frame = location.innermost_file() if location is not None else None
    return None if frame is None else f"{frame.filename}:{frame.line}:{frame.column}"


def source_line(location: Location | None) -> str | None:
    """`file:line` of the user's code that a location stands for, or None when it is unknown."""
    frame = location.innermost_file() if location is not None else None
    return None if frame is None else f"{frame.filename}:{frame.line}"
