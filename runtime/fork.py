"""Locks that a forked child finds free, whichever thread held them in the parent.

Leaves: `fork_safe_lock()` and `fork_safe_rlock()`. A fork copies the forking thread alone, so that a lock that
another thread held would stay locked in the child for ever; what these guard is whole between any two steps of
Python.
"""

import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_safe_lock() -> Any:
    """A `threading.Lock`."""
    return _remembered(threading.Lock())


def fork_safe_rlock() -> Any:
    """A `threading.RLock`; one that the forking thread itself holds stays held."""
    return _remembered(threading.RLock())


def _remembered(lock: Any) -> Any:
    _locks.add(lock)
    return lock


def _free_all() -> None:
    for lock in _locks:
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()  # as threading, logging and concurrent.futures do with their own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
