"""Links relocatable objects into one ELF shared object that IREE's embedded ELF loader takes.

Enters: objects of one machine, the names to export, and a `resolve` function that supplies the object of a
symbol still undefined (as an archive does). Leaves: the bytes of a shared object with no imports and only
RELATIVE relocations. The same input gives the same bytes.

What the loader demands (and glibc's dlopen agrees with): segments by permission that share no page in
memory; exactly one PT_DYNAMIC; DT_HASH, SYMTAB, STRTAB and RELA tables; a section header table; no
undefined symbol.

    R      .dynsym .hash .dynstr .rela.dyn, constants
    RX     code
    RW     pointers to relocate, .got, .dynamic: read-only again after relocation (PT_GNU_RELRO)
    RW     variables, zero-filled memory last
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from pyiree.runtime.vmfb.elf.object_file import (
    EM_AARCH64,
    HEADER,
    RELA,
    SECTION,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_MERGE,
    SHF_WRITE,
    SHN_ABS,
    SHN_UNDEF,
    STB_LOCAL,
    STB_WEAK,
    SYMBOL,
    ObjectFile,
    Section,
    read_object,
)
from pyiree.runtime.vmfb.elf.relocations import RELATIVE, OutOfRange, kind_of
from pyiree.runtime.vmfb.errors import LinkError
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_ET_DYN = 3
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK, _PT_GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
_R, _W, _X = 4, 2, 1
_PROGRAM = struct.Struct("<IIQQQQQQ")
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_RELAENT = 4, 5, 6, 7, 8, 9
_DT_NULL, _DT_STRSZ, _DT_SYMENT = 0, 10, 11
_DYNAMIC_ENTRIES = 9
_SHT_PROGBITS, _SHT_STRTAB, _SHT_NOBITS = 1, 3, 8
_TABLE_TYPES = {".dynsym": 11, ".hash": 5, ".dynstr": 3, ".rela.dyn": 4, ".dynamic": 6}
_GLOBAL_OBJECT, _GLOBAL_FUNCTION = 0x11, 0x12
_READ, _CODE, _RELRO, _DATA = range(4)
_EXTRA_HEADERS = 3  # PT_DYNAMIC, PT_GNU_RELRO, PT_GNU_STACK

Resolve = Callable[[str], "bytes | None"]


@dataclass
class _Part:
    """A piece of the output: an input section, or a table made here (then `source` is None)."""

    data: bytearray
    align: int
    size: int
    source: tuple[ObjectFile, Section] | None = None
    address: int = 0


@dataclass
class _OutputSection:
    """Parts of one name, side by side in one segment."""

    name: str
    flags: int
    parts: list[_Part] = field(default_factory=list)
    is_nobits: bool = False
    address: int = 0
    offset: int = 0
    size: int = 0
    align: int = 1


class _Segment(NamedTuple):
    """Neighbouring sections of one permission."""

    kind: int
    sections: list[_OutputSection]


def link(
    objects: Sequence[bytes | ObjectFile],
    exports: Sequence[str],
    resolve: Resolve | None = None,
    labels: Sequence[str] | None = None,
    renamed: Sequence[Mapping[str, str]] | None = None,
) -> bytes:
    """One shared object. `labels` name the objects in error messages; `renamed` gives, object by object, other
    names to global symbols, so that objects made alike can be linked together. An `ObjectFile` is taken as it is."""
    labels = labels or [f"object {k}" for k in range(len(objects))]
    renamed = renamed or [{}] * len(objects)
    files = [
        item if isinstance(item, ObjectFile) else read_object(item, label, names)
        for item, label, names in zip(objects, labels, renamed, strict=True)
    ]
    return _Link(files).run(exports, resolve)


class _Link:
    """The state of one link: symbols, output sections, the global offset table."""

    def __init__(self, files: list[ObjectFile]):
        if not files:
            raise LinkError("nothing to link")
        self.files = files
        self.machine = files[0].machine
        self.page = 0x10000 if self.machine == EM_AARCH64 else 0x1000
        self.globals: dict[str, tuple[ObjectFile, int, int, bool]] = {}
        self.parts: dict[tuple[int, int], _Part] = {}  # (id of file, section index) → where it went
        self.got: dict[tuple[int, int], int] = {}  # (id of part, offset) → slot
        self.got_part = _Part(bytearray(), 8, 0)
        # (place, offset in it, target, offset in it): addresses that the loader writes
        self.relative: list[tuple[_Part, int, _Part, int]] = []

    def run(self, exports: Sequence[str], resolve: Resolve | None) -> bytes:
        self._collect_symbols(resolve)
        for name in exports:
            if name not in self.globals:
                raise LinkError(f"no object defines the exported symbol {name}")
        input_sections = self._place_input()
        self._scan_relocations()
        tables = self._make_tables(sorted(exports))
        sections = self._order(input_sections, tables)
        segments, end = self._assign_addresses(sections)
        self._relocate()
        self._fill_tables(tables, sorted(exports), sections)
        return self._write(sections, segments, end)

    # -- symbols

    def _collect_symbols(self, resolve: Resolve | None) -> None:
        for file in self.files:
            self._define(file)
        while True:
            missing = self._undefined()
            if not missing:
                return
            for name in sorted(missing):
                if name in self.globals:
                    continue  # an object that was added for another name defines it too
                data = resolve(name) if resolve is not None else None
                if data is None:
                    users = ", ".join(sorted(missing[name]))
                    raise LinkError(f"undefined symbol {name}, used by {users}; executables import nothing")
                file = read_object(data, f"library object of {name}")
                self.files.append(file)
                self._define(file)
                if name not in self.globals:
                    raise LinkError(f"the library object of {name} does not define it")

    def _define(self, file: ObjectFile) -> None:
        if file.machine != self.machine:
            raise LinkError(f"{file.label} is for another machine than {self.files[0].label}")
        for symbol in file.symbols:
            if symbol.binding == STB_LOCAL or symbol.section == SHN_UNDEF:
                continue
            weak = symbol.binding == STB_WEAK
            known = self.globals.get(symbol.name)
            if known is not None and not weak and not known[3]:
                raise LinkError(f"symbol {symbol.name} is defined by {known[0].label} and by {file.label}")
            if known is None or (known[3] and not weak):
                self.globals[symbol.name] = (file, symbol.section, symbol.value, weak)

    def _undefined(self) -> dict[str, set[str]]:
        """Names that loaded sections refer to and nothing defines, with the objects that use them."""
        missing: dict[str, set[str]] = {}
        for file in self.files:
            for section in file.sections.values():
                for relocation in section.relocations:
                    symbol = file.symbols[relocation.symbol]
                    if symbol.section == SHN_UNDEF and symbol.name and symbol.name not in self.globals:
                        missing.setdefault(symbol.name, set()).add(file.label)
        return missing

    def _target(self, file: ObjectFile, index: int, where: str) -> tuple[_Part, int]:
        """The part and the offset in it that a symbol stands for."""
        symbol = file.symbols[index]
        section, value = symbol.section, symbol.value
        if symbol.binding != STB_LOCAL and symbol.name in self.globals:
            file, section, value, _ = self.globals[symbol.name]
        if section == SHN_ABS or (id(file), section) not in self.parts:
            raise LinkError(f"{where} refers to {symbol.name or 'a symbol'}, which is not in a loaded section")
        return self.parts[id(file), section], value

    # -- layout

    def _place_input(self) -> list[_OutputSection]:
        """Sorts input sections into the output's. Equal constant sections without relocations become one."""
        rodata = _OutputSection(".rodata", SHF_ALLOC)
        text = _OutputSection(".text", SHF_ALLOC | SHF_EXECINSTR)
        relro = _OutputSection(".data.rel.ro", SHF_ALLOC | SHF_WRITE)
        data = _OutputSection(".data", SHF_ALLOC | SHF_WRITE)
        bss = _OutputSection(".bss", SHF_ALLOC | SHF_WRITE, is_nobits=True)
        constants: dict[tuple, _Part] = {}
        for file in self.files:
            for index, section in file.sections.items():
                key = None
                if section.flags & SHF_MERGE and not section.flags & SHF_WRITE and not section.relocations:
                    key = (section.name, section.data, section.align)
                    if key in constants:
                        self.parts[id(file), index] = constants[key]
                        continue
                if section.flags & SHF_EXECINSTR:
                    output = text
                elif not section.flags & SHF_WRITE:
                    output = rodata
                elif section.name.startswith(".data.rel.ro"):
                    output = relro
                else:
                    output = bss if section.is_nobits else data
                part = _Part(bytearray(section.data), section.align, section.size, (file, section))
                output.parts.append(part)
                self.parts[id(file), index] = part
                if key is not None:
                    constants[key] = part
        return [rodata, text, relro, data, bss]

    def _scan_relocations(self) -> None:
        """Finds which places need a RELATIVE relocation and which targets a GOT slot."""
        for where, part, relocation, kind, (target, value) in self._relocations():
            if kind.absolute:
                if not part.source[1].flags & SHF_WRITE:
                    raise LinkError(f"{where}: {kind.name} in a read-only section; compile with reloc=pic")
                self.relative.append((part, relocation.offset, target, value + relocation.addend))
            elif kind.via_got and (id(target), value) not in self.got:
                slot = 8 * len(self.got)
                self.got[id(target), value] = slot
                self.relative.append((self.got_part, slot, target, value))
        self.got_part.size = 8 * len(self.got)
        self.got_part.data = bytearray(self.got_part.size)

    def _make_tables(self, exports: list[str]) -> dict[str, _Part]:
        """The loader's tables with their final sizes; contents follow once addresses are known."""
        sizes = {
            ".dynsym": (len(exports) + 1) * SYMBOL.size,
            ".hash": 4 * (3 + len(exports) + 1),
            ".dynstr": len(_name_table(exports)),
            ".rela.dyn": len(self.relative) * RELA.size,
            ".dynamic": 16 * _DYNAMIC_ENTRIES,
        }
        return {name: _Part(bytearray(size), 8, size) for name, size in sizes.items()}

    def _order(self, input_sections: list[_OutputSection], tables: dict[str, _Part]) -> list[_OutputSection]:
        """All output sections in memory order; empty ones are left out."""
        rodata, text, relro, data, bss = input_sections
        read_only = [
            _OutputSection(name, SHF_ALLOC, [tables[name]])
            for name in (".dynsym", ".hash", ".dynstr", ".rela.dyn")
            if tables[name].size
        ]
        got = _OutputSection(".got", SHF_ALLOC | SHF_WRITE, [self.got_part] if self.got else [])
        dynamic = _OutputSection(".dynamic", SHF_ALLOC | SHF_WRITE, [tables[".dynamic"]])
        return [s for s in (*read_only, rodata, text, relro, got, dynamic, data, bss) if s.parts]

    def _relocations(self):
        """Each relocation of what is placed: where (text), part, relocation, kind, (target part, offset)."""
        for file in self.files:
            for index, section in file.sections.items():
                part = self.parts[id(file), index]
                if part.source is None or part.source[1] is not section:
                    continue  # an equal constant section stands for this one
                where = f"{file.label} {section.name}"
                for relocation in section.relocations:
                    kind = kind_of(self.machine, relocation.kind, where)
                    yield where, part, relocation, kind, self._target(file, relocation.symbol, where)

    def _assign_addresses(self, sections: list[_OutputSection]) -> tuple[list[_Segment], int]:
        """File offsets are dense; each segment's memory starts a page further, so that no page is shared."""
        segments: list[_Segment] = []
        for section in sections:
            kind = _segment_kind(section)
            if not segments or segments[-1].kind != kind:
                segments.append(_Segment(kind, []))
            segments[-1].sections.append(section)
        offset = HEADER.size + (len(segments) + _EXTRA_HEADERS) * _PROGRAM.size
        for number, segment in enumerate(segments):
            for section in segment.sections:
                section.align = max(part.align for part in section.parts)
                if section.align > self.page:
                    raise LinkError(f"{section.name} asks for an alignment of {section.align} bytes")
                section.offset = offset = _align(offset, section.align)
                section.address = offset + number * self.page
                for part in section.parts:
                    offset = _align(offset, part.align)
                    part.address = offset + number * self.page
                    offset += part.size
                section.size = offset - section.offset
                if section.is_nobits:  # last of its segment: memory without file contents
                    offset = section.offset
        return segments, offset

    # -- contents

    def _relocate(self) -> None:
        for where, part, relocation, kind, (target, value) in self._relocations():
            if kind.absolute:
                continue
            if kind.via_got:
                goal = self.got_part.address + self.got[id(target), value] + relocation.addend
            else:
                goal = target.address + value + relocation.addend
            try:
                kind.apply(part.data, relocation.offset, goal, part.address + relocation.offset)
            except OutOfRange:
                at = f"{where}+{relocation.offset:#x}"
                raise LinkError(f"{at}: {kind.name} does not reach its target") from None

    def _fill_tables(self, tables: dict[str, _Part], exports: list[str], sections: list[_OutputSection]) -> None:
        tables[".dynstr"].data[:] = _name_table(exports)
        numbers = {id(part): k for k, s in enumerate(sections, 1) for part in s.parts}
        symbols, name_at = bytearray(SYMBOL.size), 1
        for name in exports:
            file, section, value, _ = self.globals[name]
            part = self.parts[id(file), section]
            info = _GLOBAL_FUNCTION if part.source[1].flags & SHF_EXECINSTR else _GLOBAL_OBJECT
            symbols += SYMBOL.pack(name_at, info, 0, numbers[id(part)], part.address + value, 0)
            name_at += len(name.encode()) + 1
        tables[".dynsym"].data[:] = symbols
        # One bucket, whose chain goes through every symbol.
        chain = [0, *range(2, len(exports) + 1), 0][: len(exports) + 1]
        tables[".hash"].data[:] = struct.pack(f"<{3 + len(chain)}I", 1, len(chain), 1 if exports else 0, *chain)
        relative = RELATIVE[self.machine]
        tables[".rela.dyn"].data[:] = b"".join(
            RELA.pack(place.address + at, relative, target.address + value)
            for place, at, target, value in sorted(self.relative, key=lambda r: r[0].address + r[1])
        )
        entries = (
            (_DT_HASH, tables[".hash"].address),
            (_DT_STRTAB, tables[".dynstr"].address),
            (_DT_STRSZ, tables[".dynstr"].size),
            (_DT_SYMTAB, tables[".dynsym"].address),
            (_DT_SYMENT, SYMBOL.size),
            (_DT_RELA, tables[".rela.dyn"].address),
            (_DT_RELASZ, tables[".rela.dyn"].size),
            (_DT_RELAENT, RELA.size),
            (_DT_NULL, 0),
        )
        tables[".dynamic"].data[:] = b"".join(struct.pack("<QQ", *entry) for entry in entries)

    def _write(self, sections: list[_OutputSection], segments: list[_Segment], end: int) -> bytes:
        names = _name_table([s.name for s in sections] + [".shstrtab"])
        section_table = _align(end + len(names), 8)
        image = bytearray(section_table)
        for section in sections:
            if not section.is_nobits:
                for part in section.parts:
                    at = section.offset + part.address - section.address
                    image[at : at + part.size] = part.data
        image[end : end + len(names)] = names
        programs = self._program_headers(segments)
        ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        image[: HEADER.size] = HEADER.pack(
            ident, _ET_DYN, self.machine, 1, 0, HEADER.size, section_table, 0, HEADER.size, _PROGRAM.size,
            len(programs), SECTION.size, len(sections) + 2, len(sections) + 1,
        )  # fmt: skip
        image[HEADER.size : HEADER.size + len(programs) * _PROGRAM.size] = b"".join(programs)
        return bytes(image) + self._section_headers(sections, end, names)

    def _program_headers(self, segments: list[_Segment]) -> list[bytes]:
        headers, extra = [], []
        for number, segment in enumerate(segments):
            first, last = segment.sections[0], segment.sections[-1]
            # The first segment also maps the headers, as loaders expect.
            start = 0 if number == 0 else first.offset
            address = start + number * self.page
            memory = last.address + last.size - address
            in_file = memory - (last.size if last.is_nobits else 0)
            flags = {_READ: _R, _CODE: _R | _X}.get(segment.kind, _R | _W)
            headers.append(_PROGRAM.pack(_PT_LOAD, flags, start, address, address, in_file, memory, self.page))
            if segment.kind == _RELRO:
                d = last  # .dynamic always closes this segment
                extra.append(_PROGRAM.pack(_PT_DYNAMIC, _R | _W, d.offset, d.address, d.address, d.size, d.size, 8))
                # Whole pages are protected; nothing else lives in the rest of the last one.
                protected = _align(address + memory, self.page) - address
                extra.append(_PROGRAM.pack(_PT_GNU_RELRO, _R, start, address, address, in_file, protected, 1))
        extra.append(_PROGRAM.pack(_PT_GNU_STACK, _R | _W, 0, 0, 0, 0, 0, 16))
        return headers + extra

    @staticmethod
    def _section_headers(sections: list[_OutputSection], names_offset: int, names: bytes) -> bytes:
        numbers = {s.name: k for k, s in enumerate(sections, 1)}
        links = {".dynsym": ".dynstr", ".hash": ".dynsym", ".rela.dyn": ".dynsym", ".dynamic": ".dynstr"}
        entry_sizes = {".dynsym": SYMBOL.size, ".hash": 4, ".rela.dyn": RELA.size, ".dynamic": 16}
        table, name_at = bytearray(SECTION.size), 1
        for s in sections:
            kind = _SHT_NOBITS if s.is_nobits else _TABLE_TYPES.get(s.name, _SHT_PROGBITS)
            link_to = numbers.get(links.get(s.name, ""), 0)
            table += SECTION.pack(
                name_at, kind, s.flags, s.address, s.offset, s.size, link_to, 1 if s.name == ".dynsym" else 0,
                s.align, entry_sizes.get(s.name, 0),
            )  # fmt: skip
            name_at += len(s.name) + 1
        return bytes(table) + SECTION.pack(name_at, _SHT_STRTAB, 0, 0, names_offset, len(names), 0, 0, 1, 0)


def _segment_kind(section: _OutputSection) -> int:
    if section.flags & SHF_EXECINSTR:
        return _CODE
    if not section.flags & SHF_WRITE:
        return _READ
    return _RELRO if section.name in (".data.rel.ro", ".got", ".dynamic") else _DATA


def _name_table(names: Sequence[str]) -> bytes:
    return b"\0" + b"".join(name.encode() + b"\0" for name in names)


def _align(value: int, to: int) -> int:
    return -(-value // to) * to
