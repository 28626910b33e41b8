"""Reads one relocatable ELF64 object, as LLVM writes it, into sections, symbols and relocations.

Enters: object bytes. Leaves: an `ObjectFile` with the sections that are loaded (debug and unwind tables
left out). What the linker does not know how to treat (thread-local data, constructors, common symbols) is
an error here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from pyiree.runtime.vmfb.errors import LinkError

EM_X86_64 = 62
EM_AARCH64 = 183

SHT_PROGBITS, SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 1, 2, 4, 8, 9
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY = 14, 15, 16
SHT_X86_64_UNWIND = 0x70000001
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_TLS = 0x1, 0x2, 0x4, 0x10, 0x400
SHN_UNDEF, SHN_ABS, SHN_COMMON = 0, 0xFFF1, 0xFFF2
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_SECTION, STT_TLS, STT_GNU_IFUNC = 3, 6, 10
ET_REL = 1

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Symbol(NamedTuple):
    """A symbol: `section` is an index into the object's section table, 0 when it is defined elsewhere."""

    name: str
    binding: int
    section: int
    value: int


class Relocation(NamedTuple):
    """Patch `offset` of the section with the symbol's address plus `addend`, in the way that `kind` says."""

    offset: int
    kind: int
    symbol: int
    addend: int


class Section(NamedTuple):
    """A section that is loaded. `data` is empty for NOBITS, whose `size` is then zero-filled memory."""

    name: str
    flags: int
    is_nobits: bool
    align: int
    size: int
    data: bytes
    relocations: list[Relocation]


class ObjectFile(NamedTuple):
    label: str
    machine: int
    sections: dict[int, Section]
    symbols: list[Symbol]


def read_object(data: bytes, label: str, renamed: Mapping[str, str] = _NOTHING) -> ObjectFile:
    """`label` names the object in error messages; `renamed` gives global symbols other names."""
    if len(data) < HEADER.size or data[:6] != b"\x7fELF\x02\x01":
        raise LinkError(f"{label} is not a little-endian ELF64 object")
    (_, kind, machine, _, _, _, table, _, _, _, _, entry, count, names_at) = HEADER.unpack_from(data)
    if kind != ET_REL or machine not in (EM_X86_64, EM_AARCH64) or entry != SECTION.size:
        raise LinkError(f"{label} is not a relocatable object for x86-64 or AArch64")
    headers = [SECTION.unpack_from(data, table + k * SECTION.size) for k in range(count)]
    strings = _content(data, headers[names_at])

    sections: dict[int, Section] = {}
    symbols: list[Symbol] = []
    for index, header in enumerate(headers):
        name, kind, flags = _string(strings, header[0]), header[1], header[2]
        if kind == SHT_SYMTAB:
            symbols = _read_symbols(_content(data, header), _content(data, headers[header[6]]), label, renamed)
        if not flags & SHF_ALLOC or kind == SHT_X86_64_UNWIND or name == ".eh_frame":
            continue
        if flags & SHF_TLS:
            raise LinkError(f"{label} has thread-local data ({name}), which the executable loader does not take")
        constructors = kind in (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY)
        if constructors or name.startswith((".ctors", ".dtors")):
            raise LinkError(f"{label} has constructors ({name}); kernels may not have any")
        if kind not in (SHT_PROGBITS, SHT_NOBITS):
            continue  # notes and address-significance tables carry no code or data
        content = b"" if kind == SHT_NOBITS else _content(data, header)
        sections[index] = Section(name, flags, kind == SHT_NOBITS, max(header[8], 1), header[5], content, [])

    for header in headers:
        if header[1] == SHT_REL and header[7] in sections:
            raise LinkError(f"{label} has relocations without addends, which are not used on this machine")
        if header[1] == SHT_RELA and header[7] in sections:
            target = sections[header[7]].relocations
            for offset, info, addend in RELA.iter_unpack(_content(data, header)):
                target.append(Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend))
    return ObjectFile(label, machine, sections, symbols)


def _read_symbols(table: bytes, strings: bytes, label: str, renamed: Mapping[str, str]) -> list[Symbol]:
    symbols = []
    for name_at, info, _, section, value, _ in SYMBOL.iter_unpack(table):
        name, kind = _string(strings, name_at), info & 15
        if kind in (STT_TLS, STT_GNU_IFUNC) or section == SHN_COMMON:
            raise LinkError(f"{label}: symbol {name} is thread-local, indirect or common, which is not supported")
        binding = info >> 4
        symbols.append(Symbol(name if binding == STB_LOCAL else renamed.get(name, name), binding, section, value))
    return symbols


def _content(data: bytes, header) -> bytes:
    return data[header[4] : header[4] + header[5]]


def _string(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()
