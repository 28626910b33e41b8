"""What makes kernels an IREE executable library: the query function and the tables it returns.

Enters: entry points (one a kernel). Leaves: the tables as an object for the linker, made here byte by byte since all
in them is known, and LLVM IR of the query function, which is the same for all libraries of a target. It answers null
when the runtime is older than the tables, or when the processor lacks a feature that the kernels were compiled for (a
runtime that tells nothing, all-zero data, is trusted), so that a copied artifact fails with a message instead of an
illegal instruction.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from pyiree.compiler.errors import CompileError
from pyiree.runtime.vmfb.abi import (
    DISPATCH_ATTRIBUTES,
    ENVIRONMENT,
    LIBRARY,
    LIBRARY_HEADER,
    LIBRARY_QUERY_SYMBOL,
    LIBRARY_VERSION,
    LOCAL_MEMORY_PAGE,
    StructLayout,
)
from pyiree.runtime.vmfb.elf.object_file import (
    EM_AARCH64,
    EM_X86_64,
    SHF_ALLOC,
    SHF_WRITE,
    SHN_UNDEF,
    STB_GLOBAL,
    STB_LOCAL,
    ObjectFile,
    Relocation,
    Section,
    Symbol,
)
from pyiree.runtime.vmfb.elf.relocations import ABSOLUTE
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..target import AARCH64, Target
from .emit import Module
from .kernel import MAX_BINDINGS, MAX_CONSTANTS
from .values import I32, I64, PTR, zero

NAME_PREFIX = "pyiree"
#: Where the tables begin; hidden in the executable.
LIBRARY_SYMBOL = "pyiree_executable_library"

_SOURCE_LOCATION = StructLayout(16, {"line": (0, "u32"), "path_length": (4, "u32"), "path": (8, "ptr")})


@dataclass(frozen=True)
class EntryPoint:
    """What the runtime is told of one kernel. `symbol` is that of its `objects.Unit`, `name` is shown."""

    symbol: str
    name: str
    constant_count: int
    binding_count: int
    local_memory_bytes: int = 0
    workgroup_size: tuple[int, int, int] = (1, 1, 1)
    source: tuple[str, int] | None = None
    """File and line of the user's code, for profilers."""


def library_tables(name: str, entry_points: Sequence[EntryPoint], target: Target) -> ObjectFile:
    """The tables of the library `pyiree.<name>` with the entry points in order of their ordinals."""
    for entry in entry_points:
        _check(entry, target)
    tables = _Tables()
    header = {"version": LIBRARY_VERSION, "name": tables.string(f"{NAME_PREFIX}.{name}")}
    fields: dict[str, int | _Address] = {
        "header": tables.place([(LIBRARY_HEADER, header)]),
        "export_count": len(entry_points),
        "export_functions": tables.pointers([tables.function(e.symbol) for e in entry_points]),
        "export_attributes": tables.place([(DISPATCH_ATTRIBUTES, _attributes(e)) for e in entry_points]),
        "export_names": tables.pointers([tables.string(e.name) for e in entry_points]),
    }
    if any(e.source is not None for e in entry_points):
        locations = [(_SOURCE_LOCATION, _source_location(tables, e.source)) for e in entry_points]
        fields["export_source_locations"] = tables.place(locations)
    return tables.finish(f"the tables of {name}", tables.place([(LIBRARY, fields)]), target)


def _check(entry: EntryPoint, target: Target) -> None:
    if not entry.name:
        raise CompileError(f"entry point {entry.symbol} needs a name")
    for what, value, limit in (
        ("bindings", entry.binding_count, MAX_BINDINGS),
        ("push constants", entry.constant_count, MAX_CONSTANTS),
        ("bytes of workgroup local memory", entry.local_memory_bytes, target.local_bytes),
    ):
        if value > limit:
            raise CompileError(f"entry point {entry.name} has {value} {what}; at most {limit} are allowed")


def _attributes(entry: EntryPoint) -> dict[str, int]:
    x, y, z = entry.workgroup_size
    return {
        "local_memory_pages": -(-entry.local_memory_bytes // LOCAL_MEMORY_PAGE),
        "constant_count": entry.constant_count,
        "binding_count": entry.binding_count,
        "workgroup_size_x": x,
        "workgroup_size_y": y,
        "workgroup_size_z": z,
    }


def _source_location(tables: _Tables, source: tuple[str, int] | None) -> dict[str, int | _Address]:
    path, line = source or ("", 0)
    return {"line": line, "path_length": len(path.encode()), "path": tables.string(path)}


def query_module(target: Target) -> str:
    """LLVM IR of the function that a runtime asks for the tables."""
    m = Module(target)
    library = m.external(LIBRARY_SYMBOL)
    f = m.function(LIBRARY_QUERY_SYMBOL, [("max_version", I32), ("environment", PTR)], PTR, linkage="")
    suitable = f.icmp("uge", f.args["max_version"], LIBRARY_VERSION)
    if required := target.processor_bits:
        word = f.load(I64, f.gep(f.args["environment"], ENVIRONMENT.offset("processor_data"), "i8"))
        unknown = f.icmp("eq", word, 0)
        complete = f.icmp("eq", f.and_(word, required), required)
        suitable = f.and_(suitable, f.or_(unknown, complete))
    f.ret(f.select(suitable, library, zero(PTR)))
    return m.text()


# -- C structs as bytes

_DATA, _STRINGS = 1, 2  # sections, and the symbols that stand for their starts
_FORMATS = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q"}

#: What a pointer in the tables points at: a symbol and a distance from it.
_Address = tuple[int, int]


class _Tables:
    """Structs and strings with the places that hold addresses."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._strings = bytearray()
        self._string_at: dict[str, int] = {}
        self._relocated: list[tuple[int, _Address]] = []
        self._symbols = [
            Symbol("", STB_LOCAL, SHN_UNDEF, 0),
            Symbol("", STB_LOCAL, _DATA, 0),
            Symbol("", STB_LOCAL, _STRINGS, 0),
        ]
        self._functions: dict[str, _Address] = {}

    def string(self, text: str) -> _Address:
        """A zero-terminated string; equal strings are one."""
        at = self._string_at.get(text)
        if at is None:
            at = self._string_at[text] = len(self._strings)
            self._strings += text.encode() + b"\0"
        return _STRINGS, at

    def function(self, name: str) -> _Address:
        """A function of another object."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = len(self._symbols), 0
            self._symbols.append(Symbol(name, STB_GLOBAL, SHN_UNDEF, 0))
        return found

    def pointers(self, targets: Sequence[_Address]) -> _Address:
        """An array of addresses."""
        start = len(self._data)
        self._relocated += [(start + 8 * k, target) for k, target in enumerate(targets)]
        self._data += bytes(8 * len(targets))
        return _DATA, start

    def place(self, structs: Sequence[tuple[StructLayout, Mapping[str, int | _Address]]]) -> _Address:
        """An array of structs; fields that are not given are zero."""
        first = len(self._data)
        for layout, fields in structs:
            start = len(self._data)
            self._data += bytes(layout.size)
            for field, value in fields.items():
                offset, kind = layout.fields[field]
                if isinstance(value, tuple):
                    self._relocated.append((start + offset, value))
                else:
                    struct.pack_into(_FORMATS[kind], self._data, start + offset, value)
        self._data += bytes(-len(self._data) % 8)
        return _DATA, first

    def finish(self, label: str, library: _Address, target: Target) -> ObjectFile:
        """All of it as an object that defines `LIBRARY_SYMBOL`."""
        machine = EM_AARCH64 if target.arch == AARCH64 else EM_X86_64
        kind = ABSOLUTE[machine]
        relocations = [Relocation(at, kind, symbol, addend) for at, (symbol, addend) in self._relocated]
        data, strings = bytes(self._data), bytes(self._strings)
        sections = {
            _DATA: Section(".data.rel.ro", SHF_ALLOC | SHF_WRITE, False, 8, len(data), data, relocations),
            _STRINGS: Section(".rodata.str", SHF_ALLOC, False, 1, len(strings), strings, []),
        }
        symbols = [*self._symbols, Symbol(LIBRARY_SYMBOL, STB_GLOBAL, _DATA, library[1])]
        return ObjectFile(label, machine, sections, symbols)
