"""Python callables made of native functions, and the shapes of the objects that native code looks into.

Enters: names of exports of the native image. Leaves: built-in functions. `layout_is_known` says
whether objects of this Python and this NumPy lie in memory as `entry_layout` has it; without it nothing native may
touch them.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.native.image import image

METH_O = 0x0008


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@cache
def _definition(name: str, flags: int) -> _MethodDefinition:
    """Of an export of the image; kept for good, as it must outlive the callables made from it."""
    return _MethodDefinition(name.encode(), image().address(name), flags, None)


def builtin(name: str, owner: Any, flags: int) -> Callable[..., Any]:
    """A Python callable on a native export, which gets `owner` as its self."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_definition(name, flags)), owner, None)


def numpy_function(index: int) -> int:
    """The address of a function in NumPy's C API table."""
    from numpy._core import _multiarray_umath

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(_multiarray_umath._ARRAY_API, None)
    return ctypes.c_void_p.from_address(table + 8 * index).value


@cache
def layout_is_known() -> bool:
    """Whether objects of this Python and NumPy lie in memory as the native entry expects."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, 1:, :]

    def word(place: int, kind: Any = ctypes.c_int64) -> Any:
        return kind.from_address(place).value

    at = id(array)
    dims, strides = word(at + entry.ARRAY_DIMS), word(at + entry.ARRAY_STRIDES)
    several, pair = [array, array, array], (array, dims)
    return (
        word(at + entry.OBJECT_TYPE_FIELD) == id(np.ndarray)
        and word(at + entry.ARRAY_DATA) == array.__array_interface__["data"][0]
        and word(at + entry.ARRAY_RANK, ctypes.c_int32) == 3
        and word(at + entry.ARRAY_DTYPE) == id(array.dtype)
        and word(at + entry.ARRAY_BASE) == id(array.base)
        and tuple(word(dims + 8 * k) for k in range(3)) == array.shape
        and tuple(word(strides + 8 * k) for k in range(3)) == array.strides
        and word(at + entry.ARRAY_FLAGS, ctypes.c_int32) & entry.FLAGS_READABLE == 0x100
        and word(id(several) + entry.SEQUENCE_SIZE) == 3
        and word(word(id(several) + entry.LIST_ITEMS_FIELD) + 16) == at
        and word(id(pair) + entry.SEQUENCE_SIZE) == 2
        and word(id(pair) + entry.TUPLE_ITEMS) == at
    )
