"""Objects of Python that native code may hold references to.

Enters: any Python object and its type ordinal. Leaves: the address of its native half, which VM code retains
and releases like any other reference. The Python side stays alive in a table for as long as the count is
above zero; native code that drops the last reference puts the half on a pending stack, and the table lets go
at the next `drain` (each `add` and every finished invocation drains).
"""

import ctypes
from typing import Any

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import OBJECT_DESTROY, OBJECT_ID

_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


def read_word(address: int) -> int:
    """The int64 at an address."""
    return ctypes.c_int64.from_address(address).value


class ObjectTable:
    """The Python sides of native references, by the key in their headers."""

    def __init__(self):
        self._objects: dict[int, Any] = {}
        self._next_key = 1
        self._lock = fork_safe_lock()

    def add(self, value: Any, type_ordinal: int, payload_bytes: int = 0) -> int:
        """A native half for `value` with a count of one, which the caller owns; payload bytes are zero."""
        self.drain()
        with self._lock:
            key = self._next_key
            self._next_key += 1
            self._objects[key] = value
        address = image().python_object_create(type_ordinal, key, payload_bytes)
        if not address:
            del self._objects[key]
            raise MemoryError("no memory for a reference object")
        return address

    def get(self, address: int) -> Any:
        """The Python side of a reference; an error if it has none."""
        value = self._objects.get(read_word(address + OBJECT_ID)) if address else None
        if value is None:
            raise TypeError(f"the reference {address:#x} is not an object of Python")
        return value

    def drain(self) -> None:
        """Lets go of the objects that native code has dropped."""
        pending = image().take_pending()
        while pending:
            following = read_word(pending + OBJECT_DESTROY)
            del self._objects[read_word(pending + OBJECT_ID)]
            _libc.free(pending)
            pending = following

    def __len__(self) -> int:
        return len(self._objects)


# One table for the process: a reference may pass between contexts.
objects = ObjectTable()
