"""The module that makes kernels an IREE executable library: the query function and the tables it returns.

Enters: entry points (one a kernel). Leaves: LLVM IR text, to be compiled and linked with the kernels'
objects. The query function answers null when the runtime is older than the tables, or when the processor
lacks a feature that the kernels were compiled for (a runtime that tells nothing, all-zero data, is
trusted), so that a copied artifact fails with a message instead of an illegal instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

from .emit import Module
from .kernel import MAX_BINDINGS, MAX_CONSTANTS
from .values import I32, I64, PTR, Value, zero

MAX_LOCAL_MEMORY = 128 << 10
NAME_PREFIX = "pyiree"

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


def library_module(name: str, entry_points: Sequence[EntryPoint], target) -> str:
    """LLVM IR of the library `pyiree.<name>` with the entry points in order of their ordinals."""
    for entry in entry_points:
        _check(entry)
    m = Module(target)
    header = _constant(
        m, "header", LIBRARY_HEADER, {"version": LIBRARY_VERSION, "name": m.string(f"{NAME_PREFIX}.{name}")}
    )
    count = len(entry_points)
    kernels = [m.declare(e.symbol, I32, (PTR, PTR, PTR)) for e in entry_points]
    fields = {
        "header": header,
        "export_count": count,
        "export_functions": m.pointer_table("functions", kernels),
        "export_attributes": _array(m, "attributes", DISPATCH_ATTRIBUTES, [_attributes(e) for e in entry_points]),
        "export_names": m.pointer_table("names", [m.string(e.name) for e in entry_points]),
    }
    if any(e.source is not None for e in entry_points):
        locations = [_source_location(m, e.source) for e in entry_points]
        fields["export_source_locations"] = _array(m, "sources", _SOURCE_LOCATION, locations)
    library = _constant(m, "library", LIBRARY, fields)
    _query_function(m, library, target.processor_bits)
    return m.text()


def _check(entry: EntryPoint) -> None:
    if not entry.name:
        raise CompileError(f"entry point {entry.symbol} needs a name")
    for what, value, limit in (
        ("bindings", entry.binding_count, MAX_BINDINGS),
        ("push constants", entry.constant_count, MAX_CONSTANTS),
        ("bytes of workgroup local memory", entry.local_memory_bytes, MAX_LOCAL_MEMORY),
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


def _source_location(m: Module, source: tuple[str, int] | None) -> dict[str, int | Value]:
    path, line = source or ("", 0)
    return {"line": line, "path_length": len(path.encode()), "path": m.string(path)}


def _query_function(m: Module, library: Value, required: int) -> None:
    f = m.function(LIBRARY_QUERY_SYMBOL, [("max_version", I32), ("environment", PTR)], PTR, linkage="")
    suitable = f.icmp("uge", f.args["max_version"], LIBRARY_VERSION)
    if required:
        word = f.load(I64, f.gep(f.args["environment"], ENVIRONMENT.offset("processor_data"), "i8"))
        unknown = f.icmp("eq", word, 0)
        complete = f.icmp("eq", f.and_(word, required), required)
        suitable = f.and_(suitable, f.or_(unknown, complete))
    f.ret(f.select(suitable, library, zero(PTR)))


# -- C structs as constants


def _constant(m: Module, name: str, layout: StructLayout, fields: dict[str, int | Value]) -> Value:
    ty, init = _struct(layout, fields)
    return m.constant(name, ty, init)


def _array(m: Module, name: str, layout: StructLayout, items: Sequence[dict[str, int | Value]]) -> Value:
    structs = [_struct(layout, fields) for fields in items]
    ty = structs[0][0] if structs else "i8"
    return m.constant(name, f"[{len(structs)} x {ty}]", "[" + ", ".join(f"{t} {i}" for t, i in structs) + "]")


def _struct(layout: StructLayout, fields: dict[str, int | Value]) -> tuple[str, str]:
    """Type and initializer of a struct: packed, with the padding written out; fields not given are zero."""
    types, values, at = [], [], 0
    for field, (offset, kind) in sorted(layout.fields.items(), key=lambda item: item[1][0]):
        _pad(types, values, offset - at)
        value = fields.get(field, 0)
        if kind == "ptr":
            types.append("ptr")
            values.append(f"ptr {value.ref if isinstance(value, Value) else 'null'}")
            at = offset + 8
        else:
            ty = f"i{kind[1:]}"
            types.append(ty)
            values.append(f"{ty} {value}")
            at = offset + int(kind[1:]) // 8
    _pad(types, values, layout.size - at)
    return "<{ " + ", ".join(types) + " }>", "<{ " + ", ".join(values) + " }>"


def _pad(types: list[str], values: list[str], size: int) -> None:
    if size:
        types.append(f"[{size} x i8]")
        values.append(f"[{size} x i8] zeroinitializer")
