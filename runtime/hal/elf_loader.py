"""Maps an embedded ELF shared object: checked, copied, relocated, then write-protected.

Enters: the bytes of an executable. Leaves: `LoadedElf`: where it is mapped and its exported symbols.
Everything that the file says is checked against the file's and the mapping's bounds before it is used; the
code itself can't be. What a file must have is in `reference/vmfb.md` §8.2: no imports, DT_HASH, no page
both writable and executable.
"""

import ctypes
import mmap
import struct

from pyiree.runtime.hal.processor import host_architecture
from pyiree.runtime.vmfb.errors import PyireeError
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_MACHINES = {"x86_64": 62, "aarch64": 183}
_ET_DYN = 3
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_RELRO = 1, 2, 0x6474E552
_PF_X, _PF_W, _PF_R = 1, 2, 4
_DT_NEEDED, _DT_PLTRELSZ, _DT_HASH, _DT_STRTAB, _DT_SYMTAB = 1, 2, 4, 5, 6
_DT_RELA, _DT_RELASZ, _DT_RELAENT, _DT_STRSZ, _DT_SYMENT = 7, 8, 9, 10, 11
_DT_INIT, _DT_REL, _DT_RELSZ, _DT_PLTREL, _DT_JMPREL = 12, 17, 18, 20, 23
_DT_INIT_ARRAY, _DT_INIT_ARRAYSZ = 25, 27
_LARGEST_IMAGE = 1 << 30
_RELA = struct.Struct("<QQq")
_SYMBOL = struct.Struct("<IBBHQQ")

# Relocation types: how the value is made ("base": base + addend, "symbol": symbol + addend, "relative": that
# minus the place) and how many bytes it takes.
_RELOCATIONS = {
    62: {
        0: None,
        1: ("symbol", 8),  # R_X86_64_64
        2: ("relative", 4),  # PC32
        6: ("symbol", 8),  # GLOB_DAT
        7: ("symbol", 8),  # JUMP_SLOT
        8: ("base", 8),  # RELATIVE
        10: ("symbol", 4),  # 32
        11: ("symbol", 4),  # 32S
        24: ("relative", 8),  # PC64
    },
    183: {
        0: None,
        257: ("symbol", 8),  # R_AARCH64_ABS64
        1025: ("symbol", 8),  # GLOB_DAT
        1026: ("symbol", 8),  # JUMP_SLOT
        1027: ("base", 8),  # RELATIVE
    },
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class ElfError(PyireeError, ValueError):
    """The file is not an ELF that can be loaded here."""


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    size: int


class LoadedElf:
    """A mapped shared object. `release_mapping` hands the mapping over to whoever will unmap it."""

    def __init__(self, base: int, size: int, symbols: dict[str, int], readable: list, code: list):
        self.base, self.size = base, size
        self.symbols = symbols  # exported name → address
        self._readable, self._code = readable, code  # (start, end) of each segment; between them nothing may be read

    def contains(self, address: int, length: int = 1) -> bool:
        """Whether the bytes lie in one readable segment."""
        return any(start <= address and address + length <= end for start, end in self._readable)

    def is_code(self, address: int) -> bool:
        return any(start <= address < end for start, end in self._code)

    def string(self, address: int) -> bytes:
        """The C string at an address; an error if it doesn't end inside its segment."""
        limit = next((end for start, end in self._readable if start <= address < end), None)
        if limit is None:
            raise ElfError("a string lies outside of the executable")
        text = ctypes.string_at(address, min(limit - address, 4096))
        end = text.find(b"\0")
        if end < 0:
            raise ElfError("a string of the executable has no end")
        return text[:end]

    def unmap(self) -> None:
        _libc.munmap(self.base, self.size)


def load_elf(data: bytes | memoryview) -> LoadedElf:
    """Maps the shared object; the caller unmaps it (or gives it to an object that does)."""
    image = _Image(memoryview(data).cast("B"))
    return image.load()


class _Image:
    """One file while it is loaded: its bytes, its segments and its dynamic section."""

    def __init__(self, data: memoryview):
        self.data = data
        self.machine = self._check_header()
        self.segments = self._read_segments()
        self.loads = [s for s in self.segments if s.kind == _PT_LOAD]
        self.span = self._check_loads()

    def _require(self, condition: bool, what: str) -> None:
        if not condition:
            raise ElfError(f"the embedded executable is damaged or unsuitable: {what}")

    def _check_header(self) -> int:
        data = self.data
        self._require(len(data) >= 64, "it is shorter than an ELF header")
        self._require(bytes(data[:4]) == b"\x7fELF", "it is no ELF file")
        self._require(bytes(data[4:7]) == b"\x02\x01\x01", "it is not a 64-bit little-endian ELF of version 1")
        kind, machine, version = struct.unpack_from("<HHI", data, 16)
        expected = _MACHINES.get(host_architecture())
        self._require(kind == _ET_DYN and version == 1, "it is no shared object")
        self._require(machine == expected, f"it is for machine {machine}, this one is {expected}")
        (self.program_offset, self.section_offset) = struct.unpack_from("<QQ", data, 32)
        sizes = struct.unpack_from("<HHHHH", data, 52)
        header_size, program_size, self.program_count, section_size, section_count = sizes
        self._require((header_size, program_size, section_size) == (64, 56, 64), "its header sizes are wrong")
        self._require(self.program_count > 0, "it has no program headers")
        self._in_file(self.program_offset, 56 * self.program_count, "the program headers")
        self._require(self.section_offset > 0 and section_count > 0, "it has no section headers")
        self._in_file(self.section_offset, 64 * section_count, "the section headers")
        return machine

    def _in_file(self, offset: int, size: int, what: str) -> None:
        self._require(offset + size <= len(self.data), f"{what} lie outside of the file")

    def _read_segments(self) -> list[_Segment]:
        segments = []
        for k in range(self.program_count):
            kind, flags, offset, address, _, file_size, size, _ = struct.unpack_from(
                "<IIQQQQQQ", self.data, self.program_offset + 56 * k
            )
            segments.append(_Segment(kind, flags, offset, address, file_size, size))
        return segments

    def _check_loads(self) -> int:
        """Checks the loadable segments; gives the bytes of address space that they take."""
        self._require(bool(self.loads), "it has no loadable segment")
        owner: dict[int, int] = {}
        end = 0
        for segment in self.loads:
            self._require(segment.file_size <= segment.size, "a segment is larger in the file than in memory")
            self._in_file(segment.offset, segment.file_size, "a segment's bytes")
            self._require(segment.address + segment.size <= _LARGEST_IMAGE, "a segment's address is too large")
            both = _PF_W | _PF_X
            self._require(segment.flags & both != both, "a segment is both writable and executable")
            end = max(end, segment.address + segment.size)
        for segment in self.loads:
            first, last = segment.address // mmap.PAGESIZE, (segment.address + segment.size) // mmap.PAGESIZE
            for page in range(first, last + 1 if segment.size else first):
                if page * mmap.PAGESIZE == segment.address + segment.size:
                    continue
                flags = owner.setdefault(page, segment.flags)
                self._require(flags == segment.flags, "segments of different permissions share a page")
        return -(-end // mmap.PAGESIZE) * mmap.PAGESIZE

    def _in_memory(self, address: int, size: int, what: str) -> None:
        """The range must lie in one loadable segment."""
        inside = any(s.address <= address and address + size <= s.address + s.size for s in self.loads)
        self._require(inside, f"{what} lies outside of the segments")

    def _in_pages(self, address: int, size: int, what: str) -> None:
        """The range must lie in the pages of one loadable segment; linkers round it up to whole pages."""
        page = mmap.PAGESIZE
        inside = any(
            s.address <= address and address + size <= -(-(s.address + s.size) // page) * page for s in self.loads
        )
        self._require(inside, f"{what} lies outside of the segments")

    def load(self) -> LoadedElf:
        base = _libc.mmap(None, self.span, mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)
        if base in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no address space for an executable of {self.span} bytes")
        try:
            return self._fill(base)
        except BaseException:
            _libc.munmap(base, self.span)
            raise

    def _fill(self, base: int) -> LoadedElf:
        self.memory = (ctypes.c_ubyte * self.span).from_address(base)
        view = memoryview(self.memory).cast("B")
        for s in self.loads:
            view[s.address : s.address + s.file_size] = self.data[s.offset : s.offset + s.file_size]
        dynamic = self._read_dynamic(view)
        symbols = self._read_symbols(view, dynamic)
        for table, size in ((_DT_RELA, _DT_RELASZ), (_DT_JMPREL, _DT_PLTRELSZ)):
            if table in dynamic:
                self._relocate(view, base, dynamic[table], dynamic.get(size, 0), symbols)
        exported = {name: base + value for name, binding, value in symbols[1:] if name and binding in (1, 2)}
        del view
        readable, code = self._protect(base)
        return LoadedElf(base, self.span, exported, readable, code)

    def _read_dynamic(self, view: memoryview) -> dict[int, int]:
        sections = [s for s in self.segments if s.kind == _PT_DYNAMIC]
        self._require(len(sections) == 1, "it has no dynamic section, or several")
        self._in_memory(sections[0].address, sections[0].size, "the dynamic section")
        dynamic: dict[int, int] = {}
        for offset in range(0, sections[0].size - 15, 16):
            tag, value = struct.unpack_from("<QQ", view, sections[0].address + offset)
            if tag == 0:
                break
            dynamic[tag] = value
        for tag, what in (
            (_DT_REL, "REL relocations"),
            (_DT_RELSZ, "REL relocations"),
            (_DT_NEEDED, "libraries"),
        ):
            self._require(tag not in dynamic, f"it uses {what}")
        for tag in (_DT_INIT, _DT_INIT_ARRAY, _DT_INIT_ARRAYSZ):
            self._require(tag not in dynamic, "it has initializers, which kernels do not need")
        for tag, what in ((_DT_STRTAB, "strings"), (_DT_SYMTAB, "symbols"), (_DT_HASH, "DT_HASH table")):
            self._require(tag in dynamic, f"it has no {what}")
        self._require(dynamic.get(_DT_SYMENT, 24) == 24 and dynamic.get(_DT_RELAENT, 24) == 24, "odd entry sizes")
        self._require(dynamic.get(_DT_PLTREL, _DT_RELA) == _DT_RELA, "its PLT uses REL relocations")
        return dynamic

    def _read_symbols(self, view: memoryview, dynamic: dict[int, int]) -> list[tuple[str, int, int]]:
        """Name, binding and value of each dynamic symbol."""
        self._in_memory(dynamic[_DT_HASH], 8, "the hash table")
        count = struct.unpack_from("<II", view, dynamic[_DT_HASH])[1]
        table, strings, strings_size = dynamic[_DT_SYMTAB], dynamic[_DT_STRTAB], dynamic.get(_DT_STRSZ, 0)
        self._require(count < 1 << 20, "it has too many symbols")
        self._in_memory(table, 24 * count, "the symbol table")
        self._in_memory(strings, strings_size, "the string table")
        text = bytes(view[strings : strings + strings_size])
        symbols = []
        for k in range(count):
            name, info, _, section, value, _ = _SYMBOL.unpack_from(view, table + 24 * k)
            self._require(name < max(strings_size, 1), "a symbol's name lies outside of the strings")
            end = text.find(b"\0", name)
            self._require(end >= 0, "a symbol's name has no end")
            label = text[name:end].decode("utf-8", "replace")
            self._require(k == 0 or section != 0, f"it needs the symbol {label!r}, and imports are not allowed")
            self._require(k == 0 or value <= self.span, f"the symbol {label!r} lies outside of the segments")
            symbols.append((label, info >> 4, value))
        return symbols

    def _relocate(self, view: memoryview, base: int, table: int, size: int, symbols: list) -> None:
        self._require(size % 24 == 0, "a relocation table's size is odd")
        self._in_memory(table, size, "a relocation table")
        kinds = _RELOCATIONS[self.machine]
        for place, info, addend in _RELA.iter_unpack(bytes(view[table : table + size])):
            kind, index = info & 0xFFFFFFFF, info >> 32
            self._require(kind in kinds, f"relocation type {kind} is not supported")
            if kinds[kind] is None:
                continue
            formula, width = kinds[kind]
            self._in_memory(place, width, "a relocated word")
            in_code = any(t.flags & _PF_X and t.address <= place < t.address + t.size for t in self.loads)
            self._require(not in_code, "a relocation would change code")
            self._require(index < max(len(symbols), 1), "a relocation names no symbol")
            value = addend + base
            if formula != "base" and index:
                value += symbols[index][2]
            if formula == "relative":
                value -= base + place
            if width == 4:
                self._require(-(1 << 31) <= value < 1 << 32, "a relocation does not fit 32 bits")
            view[place : place + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")

    def _protect(self, base: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Gives the pages their permissions; the readable and the executable ranges."""
        page = mmap.PAGESIZE
        self._set_protection(base, self.span, 0)
        readable, code = [], []
        for segment in self.loads:
            start, end = segment.address // page * page, -(-(segment.address + segment.size) // page) * page
            flags = mmap.PROT_READ if segment.flags & _PF_R else 0
            flags |= mmap.PROT_WRITE if segment.flags & _PF_W else 0
            flags |= mmap.PROT_EXEC if segment.flags & _PF_X else 0
            if end > start:
                self._set_protection(base + start, end - start, flags)
            extent = base + segment.address, base + segment.address + segment.size
            if segment.flags & _PF_R:
                readable.append(extent)
            if segment.flags & _PF_X:
                code.append(extent)
        for segment in self.segments:
            if segment.kind == _PT_GNU_RELRO and segment.size:
                self._in_pages(segment.address, segment.size, "the RELRO range")
                start, end = segment.address // page * page, (segment.address + segment.size) // page * page
                if end > start:
                    self._set_protection(base + start, end - start, mmap.PROT_READ)
        return readable, code

    def _set_protection(self, address: int, size: int, flags: int) -> None:
        if _libc.mprotect(address, size, flags) != 0:
            raise OSError(ctypes.get_errno(), "the pages of an executable cannot be protected")
