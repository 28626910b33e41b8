"""The errors and warnings of the front end, and the compiler's own, under one roof.

Every error is one line that says what is wrong and what to do; all of them are `PyireeError`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.errors import CompileError, UnsupportedError
from pyiree.runtime.vmfb.errors import ConfigError, PyireeError

__all__ = [
    "CacheWarning",
    "CompileError",
    "ConfigError",
    "MaskedArrayError",
    "MissingFileError",
    "NumberTooLargeError",
    "PyireeError",
    "SignatureError",
    "StaticArgumentError",
    "UnsupportedError",
]


class StaticArgumentError(PyireeError, ValueError):
    """A static argument cannot be hashed."""


class SignatureError(PyireeError, TypeError):
    """The arguments of a call or of `lower()` don't say which program is meant."""


class MaskedArrayError(SignatureError, ValueError):
    """An argument is a masked array, whose mask a program would lose; `jax.jit` raises `ValueError` for it too."""


class NumberTooLargeError(SignatureError, OverflowError):
    """An argument is a number of Python's that its type can't hold; `jax.jit` raises `OverflowError` for it too."""

    @classmethod
    def of(cls, function: str, number: Any, where: str, dtype: Any) -> NumberTooLargeError:
        """The error for a call of `function` with `number` as its argument `where`."""
        text = number if abs(number) < 10**40 else f"an integer of {number.bit_length()} bits"
        return cls(f"{function} can't be called with {text} as {where}: it is out of bounds for {dtype}")


class MissingFileError(PyireeError, FileNotFoundError):
    """There is no file of that name."""


class CacheWarning(UserWarning):
    """The compilation cache met something odd and went on without it."""


class MutableArrayError(SignatureError, ValueError):
    """One mutable array is reached in two ways by a call; `jax.jit` raises `ValueError` for it too."""
