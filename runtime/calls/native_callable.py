"""The base of Python classes whose calls are native: CPython's vectorcall protocol, by a pointer in each instance.

Enters: an instance. Leaves: the instance with the native entry in it, which CPython then calls in place of `__call__`,
without a tuple or a dict for the arguments. Until then, and where objects lie otherwise in memory than `entry_layout`
says, `__call__` is called as always.

    instance: header | vectorcall pointer, 0: none | `_native`, the array with a caller's table | ...
"""

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

from pyiree.runtime.calls import caller_layout as layout
from pyiree.runtime.calls.entry_layout import HEADER
from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import read_word

# Places in CPython's type object.
_TYPE_BASICSIZE, _TYPE_VECTORCALL_OFFSET, _TYPE_FLAGS = HEADER + 16, HEADER + 40, HEADER + 152
_BASE_TYPE, _HAVE_VECTORCALL = 1 << 10, 1 << 11  # type flags
_MEMBERS_SLOT = 72
_OBJECT, _SIZE = 16, 19  # kinds of members
_READ_ONLY = 1


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


_members = (_Member * 3)(  # kept for good: the type refers to the names
    _Member(b"_native", _OBJECT, layout.CALLABLE_TABLE, 0, None),
    _Member(b"__vectorcalloffset__", _SIZE, layout.CALLABLE_ENTRY, _READ_ONLY, None),
)


def _make_base() -> type:
    """The class; Python's own way to make one has no place for a pointer that is no object."""
    slots = (_Slot * 2)(_Slot(_MEMBERS_SLOT, ctypes.addressof(_members)))
    name = f"{__name__}.NativeCallable".encode()
    spec = _Spec(name, layout.CALLABLE_BYTES, 0, _BASE_TYPE, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    _kept.append(spec)
    return make(ctypes.byref(spec))


_kept: list[Any] = []

if TYPE_CHECKING:

    class NativeCallable:
        """Has its calls made by the native entry, once `make_native` was called."""

        _native: Any

else:
    NativeCallable = _make_base()


@cache
def may_be_native(kind: type) -> bool:
    """Whether instances of a class that derives from NativeCallable are as this module expects; makes it so."""
    address = id(kind)
    known = (
        read_word(address + _TYPE_FLAGS) == kind.__flags__
        and read_word(address + _TYPE_BASICSIZE) == kind.__basicsize__
        and read_word(address + _TYPE_VECTORCALL_OFFSET) == layout.CALLABLE_ENTRY
    )
    if known:
        # Python classes don't inherit this flag where they have a `__call__`.
        ctypes.c_uint64.from_address(address + _TYPE_FLAGS).value |= _HAVE_VECTORCALL
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    return known


def make_native(instance: NativeCallable) -> None:
    """Has the native entry make the instance's calls, by the table in its `_native`."""
    ctypes.c_int64.from_address(id(instance) + layout.CALLABLE_ENTRY).value = image().address("caller_entry")
