"""`jax_debug_nans` and `jax_debug_infs`: the results of compiled programs are looked through.

Enters: the results of a call. Leaves: the same, or `FloatingPointError`. While either option is on in some thread no
call is made by the native entry, which does not look at results; those who make such calls say so by `on_change`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from pyiree.jax_internals import watch_special_checks

_listeners: list[Callable[[], None]] = []
#: The threads that have an option on; one that every thread has counts for the one that set it.
_threads = {threading.get_ident()} if jax.config.jax_debug_nans or jax.config.jax_debug_infs else set()


def on_change(listener: Callable[[], None]) -> None:
    """Calls `listener` when an option is switched on or off."""
    _listeners.append(listener)


def _changed(value: bool | None) -> None:
    is_on = value or jax.config.jax_debug_nans or jax.config.jax_debug_infs
    (_threads.add if is_on else _threads.discard)(threading.get_ident())
    for listener in _listeners:
        listener()


watch_special_checks(_changed)


def checks_are_on_somewhere() -> bool:
    """Whether results must be looked at in some thread."""
    return bool(_threads)


def special_value_in(results: Any) -> str | None:
    """What is not a finite number among the results, if this thread asks for that: "nan" or "inf"."""
    if not _threads:
        return None
    wanted = [
        (name, test)
        for name, option, test in (
            ("nan", jax.config.jax_debug_nans, np.isnan),
            ("inf", jax.config.jax_debug_infs, np.isinf),
        )
        if option
    ]
    if not wanted:
        return None
    for leaf in jax.tree_util.tree_leaves(results):
        if jax.dtypes.issubdtype(leaf.dtype, np.inexact):
            values = np.asarray(leaf)
            for name, test in wanted:
                if test(values).any():
                    return name
    return None


def refuse_special_values(results: Any, name: str, again: Callable[[], Any] | None = None) -> None:
    """Raises `FloatingPointError` for results that are not finite. `again` makes the call without compiling: the op
    that it comes from is then named by jax, as after its own compiled calls."""
    found = special_value_in(results)
    if found is None:
        return
    if again is not None:
        again()
    raise FloatingPointError(
        f"invalid value ({found}) encountered in the results of {name}, and not when its ops run one by one"
        if again is not None
        else f"invalid value ({found}) encountered in the results of {name}"
    )
