"""The arguments of a function that nobody has called: what its annotations and defaults say.

What enters: a function.  What leaves: arguments to lower it for, or an error that names the parameters whose
type isn't known.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from pyiree.errors import SignatureError
from pyiree.signature import ArgumentSplitter, function_name

_KINDS_OF_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def example_arguments(
    function: Callable[..., Any], splitter: ArgumentSplitter
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for `lower()` without arguments.

    A parameter is an array where its annotation holds a `jax.ShapeDtypeStruct` (itself, in a tree, or inside
    `Annotated`) or its default is one or is an array; other defaults stay constants, as in a call.
    """
    name = function_name(function)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise SignatureError(f"lower() needs arguments: {name} has no signature to take them from") from None
    hints = _annotations(function)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    missing = []
    skipped = False  # a positional parameter after one that was left to its default goes by name
    for number, parameter in enumerate(parameters.values()):
        if parameter.kind in _KINDS_OF_MANY:
            continue
        static = number in splitter.numbers or parameter.name in splitter.names
        value = _MISSING if static else _example(hints.get(parameter.name), parameter.default)
        if value is _MISSING:
            skipped = True
            if parameter.default is parameter.empty:
                missing.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY or skipped:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    if missing:
        raise SignatureError(
            f"lower() without arguments doesn't know the type of {', '.join(missing)} of {name}: call the"
            f" function first, pass arrays or jax.ShapeDtypeStruct to lower(), or annotate the parameter,"
            f" such as {missing[0]}: jax.ShapeDtypeStruct((2, 3), 'float32')"
        )
    return tuple(args), kwargs


_MISSING = object()


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    target = inspect.unwrap(function)
    while not hasattr(target, "__annotations__") and hasattr(target, "func"):  # functools.partial
        target = target.func
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (
        NameError,
        TypeError,
    ):  # names that don't resolve, or annotations that aren't types, such as structs
        return dict(getattr(target, "__annotations__", {}))


def _example(annotation: Any, default: Any) -> Any:
    for candidate in (annotation, *getattr(annotation, "__metadata__", ()), default):
        if _is_described(candidate):
            return candidate
    return _MISSING


def _is_described(candidate: Any) -> bool:
    leaves = jax.tree_util.tree_leaves(candidate)
    return bool(leaves) and all(isinstance(leaf, (jax.ShapeDtypeStruct, jax.Array, np.ndarray)) for leaf in leaves)
