"""What a callback raises reaches the caller as what it is, and as the error that `jax.jit` would have raised.

Enters: the Python functions that a program calls back. Leaves: the same functions; their exceptions are instances of
their own class and of `jax.errors.JaxRuntimeError`, so that programs and libraries that expect either one catch it.
Their text says where the user's code raised, or which function it was whose results do not fit.
"""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def raising_as_jax_does(function: Callable[..., Any]) -> Callable[..., Any]:
    """A callback whose exceptions also are `jax.errors.JaxRuntimeError`s."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise _also_of_jax(error, _message(error, function)) from error

    return call


def _also_of_jax(error: Exception, message: str) -> Exception:
    from jax.errors import JaxRuntimeError

    if isinstance(error, JaxRuntimeError):
        return error
    try:
        kind = _class_of_both(type(error), JaxRuntimeError)
        both = kind.__new__(kind, *error.args)
    except TypeError:  # a class that cannot be derived from, or not be made from its arguments
        return JaxRuntimeError(message)
    both.args = error.args
    both.__dict__.update(error.__dict__, callback_message=message)
    return both


@functools.cache
def _class_of_both(kind: type[Exception], jax_error: type[Exception]) -> type[Exception]:
    def text(self: Any) -> str:
        return self.callback_message

    return type(kind.__name__, (kind, jax_error), {"__module__": kind.__module__, "__str__": text})


def _message(error: Exception, function: Callable[..., Any]) -> str:
    what = "".join(traceback.format_exception_only(error)).strip()
    return f"INTERNAL: CpuCallback error calling callback: {what}{_place(error, function)}"


def _place(error: Exception, function: Callable[..., Any]) -> str:
    """The user's line that raised, or else the function that was called back."""
    import jax

    libraries = tuple(f"{Path(module).parent}{os.sep}" for module in (jax.__file__, __file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(libraries)]
    if frames:
        return f" (raised in {frames[-1].name}, {frames[-1].filename}:{frames[-1].lineno})"
    from pyiree.jax_internals import called_back

    code = getattr(called_back(function), "__code__", None)
    return "" if code is None else f" (the callback is {code.co_name}, {code.co_filename}:{code.co_firstlineno})"
