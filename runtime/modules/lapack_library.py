"""SciPy's LAPACK and BLAS: the addresses of their routines, and how many threads they may use.

Enters: a routine's Fortran name. Leaves: its address, to be called without the GIL. The routines come from the
capsules that SciPy keeps for Cython, so that no library has to be found or shipped.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SET_THREADS = "openblas_set_num_threads_local"  # gives the number that was in force before
_lock = threading.Lock()
_limited = 0  # calls under way, which have their BLAS limited to one thread
_outside = 0  # the number of threads when nothing of ours runs


@functools.cache
def routine_address(name: str) -> int:
    """The address of a routine of LAPACK or BLAS."""
    for module in ("scipy.linalg.cython_lapack", "scipy.linalg.cython_blas"):
        capsule = importlib.import_module(module).__pyx_capi__.get(name)
        if capsule is not None:
            return _capsule_address(capsule)
    raise LookupError(f"SciPy has no LAPACK routine {name!r}")


def _capsule_address(capsule: Any) -> int:
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer_of(capsule, name_of(capsule))


@functools.cache
def _set_threads() -> Any:
    """OpenBLAS's setter in SciPy's own copy; None where SciPy uses another BLAS."""
    # A look-up in a loaded library finds the symbols of those that it depends on as well.
    library = ctypes.CDLL(importlib.import_module("scipy.linalg.cython_blas").__file__)
    setter = getattr(library, _SET_THREADS, None)
    if setter is not None:
        setter.argtypes, setter.restype = [ctypes.c_int], ctypes.c_int
    return setter


@contextmanager
def one_thread() -> Iterator[None]:
    """Keeps BLAS from threads of its own: the cores belong to our workers. The number is the process's, so the last
    call that ends restores it."""
    global _limited, _outside
    setter = _set_threads()
    if setter is None:
        yield
        return
    with _lock:
        if not _limited:
            _outside = setter(1)
        _limited += 1
    try:
        yield
    finally:
        with _lock:
            _limited -= 1
            if not _limited:
                setter(_outside)
