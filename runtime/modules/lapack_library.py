"""SciPy's LAPACK and BLAS: the addresses of their routines, and how many threads they may use.

Enters: a routine's Fortran name. Leaves: its address, to be called without the GIL. The routines come from the
capsules that SciPy keeps for Cython, so that no library has to be found or shipped.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from pyiree.runtime.modules import lapack_layout as layout

_SET_THREADS = "openblas_set_num_threads_local"  # gives the number that was in force before


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
def _limit() -> Any:
    block = (ctypes.c_int64 * (layout.LIMIT_BYTES // 8))()
    # A look-up in a loaded library finds the symbols of those that it depends on as well.
    library = ctypes.CDLL(importlib.import_module("scipy.linalg.cython_blas").__file__)
    setter = getattr(library, _SET_THREADS, None)
    if setter is not None:  # SciPy may use another BLAS than its own OpenBLAS
        block[layout.LIMIT_SETTER // 8] = ctypes.cast(setter, ctypes.c_void_p).value or 0
    return block


def blas_limit() -> int:
    """The address of what keeps BLAS from threads of its own while we call it: the cores belong to our workers."""
    return ctypes.addressof(_limit())
