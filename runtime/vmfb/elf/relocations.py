"""Relocations that LLVM makes for position-independent small-model code, on x86-64 and AArch64.

Enters: bytes to patch, the place P, the target S + A (or its GOT slot). Leaves: patched bytes.
`KINDS[machine]` says for each known relocation number how it is applied; any other is an error that names
the number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from pyiree.runtime.vmfb.elf.object_file import EM_AARCH64, EM_X86_64
from pyiree.runtime.vmfb.errors import LinkError


class Kind(NamedTuple):
    """How one relocation type works. `absolute`: a 64-bit address, left to the loader as a RELATIVE
    relocation. `via_got`: the target is the symbol's slot in the global offset table."""

    name: str
    apply: Callable[[bytearray, int, int, int], None] | None
    absolute: bool = False
    via_got: bool = False


class OutOfRange(Exception):
    """A distance does not fit in the instruction."""


def _fits(value: int, width: int) -> int:
    if not -(1 << (width - 1)) <= value < 1 << (width - 1):
        raise OutOfRange
    return value


def _pc32(data: bytearray, at: int, target: int, place: int) -> None:
    struct.pack_into("<i", data, at, _fits(target - place, 32))


def _pc64(data: bytearray, at: int, target: int, place: int) -> None:
    struct.pack_into("<q", data, at, target - place)


def _insert(data: bytearray, at: int, mask: int, value: int) -> None:
    """Replaces the bits of an AArch64 instruction that `mask` covers."""
    (word,) = struct.unpack_from("<I", data, at)
    struct.pack_into("<I", data, at, (word & ~mask & 0xFFFFFFFF) | (value & mask))


def _branch(bits: int, shift: int):
    mask = ((1 << bits) - 1) << shift

    def apply(data: bytearray, at: int, target: int, place: int) -> None:
        distance = _fits(target - place, bits + 2)
        if distance & 3:
            raise OutOfRange
        _insert(data, at, mask, (distance >> 2) << shift)

    return apply


def _adr(data: bytearray, at: int, distance: int) -> None:
    _insert(data, at, 0x60FFFFE0, ((distance & 3) << 29) | (((distance >> 2) & 0x7FFFF) << 5))


def _adr_page(data: bytearray, at: int, target: int, place: int) -> None:
    _adr(data, at, _fits((target >> 12) - (place >> 12), 21))


def _adr_byte(data: bytearray, at: int, target: int, place: int) -> None:
    _adr(data, at, _fits(target - place, 21))


def _low12(scale: int):
    """The low 12 bits of the address as a load's scaled offset (scale 0: an add)."""

    def apply(data: bytearray, at: int, target: int, place: int) -> None:
        low = target & 0xFFF
        if low & ((1 << scale) - 1):
            raise OutOfRange
        _insert(data, at, 0xFFF << 10, (low >> scale) << 10)

    return apply


KINDS: dict[int, dict[int, Kind]] = {
    EM_X86_64: {
        1: Kind("R_X86_64_64", None, absolute=True),
        2: Kind("R_X86_64_PC32", _pc32),
        4: Kind("R_X86_64_PLT32", _pc32),
        9: Kind("R_X86_64_GOTPCREL", _pc32, via_got=True),
        24: Kind("R_X86_64_PC64", _pc64),
        41: Kind("R_X86_64_GOTPCRELX", _pc32, via_got=True),
        42: Kind("R_X86_64_REX_GOTPCRELX", _pc32, via_got=True),
    },
    EM_AARCH64: {
        257: Kind("R_AARCH64_ABS64", None, absolute=True),
        260: Kind("R_AARCH64_PREL64", _pc64),
        261: Kind("R_AARCH64_PREL32", _pc32),
        273: Kind("R_AARCH64_LD_PREL_LO19", _branch(19, 5)),
        274: Kind("R_AARCH64_ADR_PREL_LO21", _adr_byte),
        275: Kind("R_AARCH64_ADR_PREL_PG_HI21", _adr_page),
        276: Kind("R_AARCH64_ADR_PREL_PG_HI21_NC", _adr_page),
        277: Kind("R_AARCH64_ADD_ABS_LO12_NC", _low12(0)),
        278: Kind("R_AARCH64_LDST8_ABS_LO12_NC", _low12(0)),
        279: Kind("R_AARCH64_TSTBR14", _branch(14, 5)),
        280: Kind("R_AARCH64_CONDBR19", _branch(19, 5)),
        282: Kind("R_AARCH64_JUMP26", _branch(26, 0)),
        283: Kind("R_AARCH64_CALL26", _branch(26, 0)),
        284: Kind("R_AARCH64_LDST16_ABS_LO12_NC", _low12(1)),
        285: Kind("R_AARCH64_LDST32_ABS_LO12_NC", _low12(2)),
        286: Kind("R_AARCH64_LDST64_ABS_LO12_NC", _low12(3)),
        299: Kind("R_AARCH64_LDST128_ABS_LO12_NC", _low12(4)),
        311: Kind("R_AARCH64_ADR_GOT_PAGE", _adr_page, via_got=True),
        312: Kind("R_AARCH64_LD64_GOT_LO12_NC", _low12(3), via_got=True),
    },
}

RELATIVE = {EM_X86_64: 8, EM_AARCH64: 1027}
#: The type of a 64-bit address, by machine.
ABSOLUTE = {EM_X86_64: 1, EM_AARCH64: 257}


def kind_of(machine: int, number: int, where: str) -> Kind:
    kind = KINDS[machine].get(number)
    if kind is None:
        name = "R_X86_64" if machine == EM_X86_64 else "R_AARCH64"
        raise LinkError(f"{where}: relocation type {number} ({name}) is not supported by the linker")
    return kind
