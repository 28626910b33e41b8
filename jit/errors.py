"""The errors and warnings of the front end, and the compiler's own, under one roof.

Every error is one line that says what is wrong and what to do; all of them are `PyireeError`.
"""

from __future__ import annotations

from pyiree.compiler.errors import CompileError, UnsupportedError
from pyiree.runtime.vmfb.errors import ConfigError, PyireeError

__all__ = [
    "CacheWarning",
    "CompileError",
    "ConfigError",
    "MaskedArrayError",
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


class CacheWarning(UserWarning):
    """The compilation cache met something odd and went on without it."""


class MutableArrayError(SignatureError, ValueError):
    """One mutable array is reached in two ways by a call; `jax.jit` raises `ValueError` for it too."""
