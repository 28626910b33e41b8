"""What a callback raises reaches the caller as what it is, and as the error that `jax.jit` would have raised.

Enters: the Python functions that a program calls back. Leaves: the same functions; their exceptions are instances of
their own class and of `jax.errors.JaxRuntimeError`, so that programs and libraries that expect either one catch it.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any


def raising_as_jax_does(function: Callable[..., Any]) -> Callable[..., Any]:
    """A callback whose exceptions also are `jax.errors.JaxRuntimeError`s."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise _also_of_jax(error) from error

    return call


def _also_of_jax(error: Exception) -> Exception:
    from jax.errors import JaxRuntimeError

    if isinstance(error, JaxRuntimeError):
        return error
    try:
        kind = _class_of_both(type(error), JaxRuntimeError)
        both = kind.__new__(kind, *error.args)
    except TypeError:  # a class that cannot be derived from, or not be made from its arguments
        return JaxRuntimeError(_message(error))
    both.args = error.args
    both.__dict__.update(error.__dict__, callback_message=_message(error))
    return both


@functools.cache
def _class_of_both(kind: type[Exception], jax_error: type[Exception]) -> type[Exception]:
    def text(self: Any) -> str:
        return self.callback_message

    return type(kind.__name__, (kind, jax_error), {"__module__": kind.__module__, "__str__": text})


def _message(error: Exception) -> str:
    return f"INTERNAL: CpuCallback error calling callback: {''.join(traceback.format_exception_only(error)).strip()}"
