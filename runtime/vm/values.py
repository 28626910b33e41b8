"""Values between Python and the slots of native calls.

Enters: Python ints, floats, references; value codes of a calling convention. Leaves: int64 slots, and back.
"""

import struct
from typing import Any

from pyiree.runtime.native.image import image
from pyiree.runtime.vm import layout

KINDS = {"i": layout.KIND_32, "f": layout.KIND_32, "I": layout.KIND_64, "F": layout.KIND_64, "r": layout.KIND_REF}


class Ref:
    """An owner of one count of a native reference; releases it when it goes."""

    __slots__ = ("address",)

    def __init__(self, address: int):
        self.address = address

    @classmethod
    def retained(cls, address: int) -> "Ref":
        """An owner beside the one that the reference was borrowed from."""
        image().retain(address)
        return cls(address)

    def detach(self) -> int:
        """Gives the count away: the address, which this object no longer owns."""
        address, self.address = self.address, 0
        return address

    def __del__(self):
        if self.address and image is not None:  # None at the very end of the interpreter
            image().release(self.address)

    def __bool__(self) -> bool:
        return self.address != 0

    def __repr__(self) -> str:
        return f"Ref({self.address:#x})"


def to_slot(code: str, value: Any) -> int:
    """A value as a slot; a reference is lent, its owner keeps it."""
    if code == "r":
        if value is None:
            return 0
        return value.address if isinstance(value, Ref) else int(value)
    if code == "f":
        return struct.unpack("<i", struct.pack("<f", value))[0]
    if code == "F":
        return struct.unpack("<q", struct.pack("<d", value))[0]
    bits = 32 if code == "i" else 64
    number = int(value)
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise OverflowError(f"{number} does not fit an i{bits} argument")
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def from_slot(code: str, slot: int) -> Any:
    """The value in a slot; a reference comes as its bare address."""
    if code == "f":
        return struct.unpack("<f", struct.pack("<q", slot)[:4])[0]
    if code == "F":
        return struct.unpack("<d", struct.pack("<q", slot))[0]
    if code == "i":
        return (slot & 0xFFFFFFFF) - ((slot & 0x80000000) << 1)
    return slot
