"""The module `pyiree_callback`: Python functions that a program calls back.

Enters: the functions, in the order of their numbers. Leaves: a provider of `callback0`, `callback1`, …, which take
buffer views, and of `ordered_callback0`, …, for functions that take and give a token as well. A function gets arrays
that are its own and gives array-likes. It runs on the thread that invoked the program, between native steps, with no
lock held: it may call the program again. What it raises ends the program, and its caller sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from pyiree.runtime.hal.device_array import copy_of_view, view_of_copy
from pyiree.runtime.native.layout import FAILED_PRECONDITION, INVALID_ARGUMENT, OBJECT_TYPE, TYPE_HAL_BUFFER_VIEW
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.context import ImportModule
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vmfb.host_calls import CALLBACK, ORDERED_CALLBACK


def callback_module(functions: Iterable[Callable[..., Sequence[Any]]]) -> ImportModule:
    """The provider for one program. Each function gives a sequence of results."""
    imports: dict[str, Any] = {}
    for number, function in enumerate(functions):
        imports[f"{CALLBACK}{number}"] = _Callback(function, False)
        imports[f"{ORDERED_CALLBACK}{number}"] = _Callback(function, True)
    return ImportModule(imports)


class _Callback:
    """An import: views in, views out."""

    def __init__(self, function: Callable[..., Sequence[Any]], is_ordered: bool):
        self._function = function
        self._is_ordered = is_ordered

    def __call__(self, *views: int) -> Any:
        arguments = [_array_of(view) for view in views]
        if self._is_ordered:
            _, *results = self._function(None, *arguments)
        else:
            results = list(self._function(*arguments))
        made = [view_of_copy(result).detach() for result in results]
        return made[0] if len(made) == 1 else tuple(made) if made else None


def _array_of(view: int) -> np.ndarray:
    """A copy of what a view shows: the memory is the program's, and the function may keep its arguments."""
    if not view:
        raise VmError(FAILED_PRECONDITION, "a callback needs an array, not a null reference")
    if read_word(view + OBJECT_TYPE) != TYPE_HAL_BUFFER_VIEW:
        raise VmError(INVALID_ARGUMENT, "a callback needs buffer views")
    return copy_of_view(view)
