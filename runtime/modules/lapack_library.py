"""SciPy's LAPACK and BLAS: the addresses of their routines.

Enters: a routine's Fortran name. Leaves: its address, to be called without the GIL. The routines come from the
capsules that SciPy keeps for Cython, so that no library has to be found or shipped. Its BLAS keeps the number of
threads that the user gave it: ours are idle meanwhile, and another number for each call would start and end threads,
which made the calls of others in the process many times slower.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any


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
