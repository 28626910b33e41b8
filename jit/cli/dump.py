"""`pyiree dump`: what a `.vmfb` holds.  Reads the format's tables only; nothing is loaded or run.

What enters: a file.  What leaves: its types, imports, exports and sections, and its bytecode, disassembled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyiree.cli.output import CommandError, existing, print_json
from pyiree.runtime.vmfb import isa
from pyiree.runtime.vmfb.abi import Span, parse_convention
from pyiree.runtime.vmfb.archive import open_module_file, read_module
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.schema import ModuleDef

_TYPES = {"i": "i32", "I": "i64", "f": "f32", "F": "f64", "r": "ref"}


def dump(path: Path, function: str | None, what: str, as_json: bool) -> None:
    """Prints the module's tables, its bytecode, or both."""
    if what not in ("all", "metadata", "disassembly"):
        raise CommandError(f"--output={what}: expected all, metadata or disassembly")
    try:
        module = read_module(open_module_file(existing(path)), debug_database=True)
    except ModuleError as error:
        raise CommandError(f"{path}: {error}") from None
    names = _function_names(module)
    chosen = list(range(len(module.function_descriptors)))
    if function is not None:
        chosen = [n for n in chosen if function in (names[n], str(n))]
        if not chosen:
            raise CommandError(f"{path} has no function {function!r}; it has {', '.join(names)}")
    if as_json:
        print_json(_as_json(module, names, chosen))
        return
    if what != "disassembly" and function is None:
        print("\n".join(_metadata(module, names)))
    if what != "metadata":
        for ordinal in chosen:
            print("\n".join(_function_text(module, names, ordinal)))


def _function_names(module: ModuleDef) -> list[str]:
    names = [f"fn{n}" for n in range(len(module.function_descriptors))]
    if module.debug_database is not None:
        exported = {export.local_name for export in module.exported_functions}
        for n, source in enumerate(module.debug_database.functions[: len(names)]):
            if source.local_name not in exported:  # IREE lists a helper under the name of its caller
                names[n] = source.local_name or names[n]
    for export in module.exported_functions:
        names[export.internal_ordinal] = export.local_name
    return names


def _signature(convention: str) -> str:
    parsed = parse_convention(convention)

    def spell(items: tuple[Any, ...]) -> str:
        return ", ".join(
            f"({', '.join(_TYPES[code] for code in item.codes)})..." if isinstance(item, Span) else _TYPES[item]
            for item in items
        )

    return f"({spell(parsed.arguments)}) -> ({spell(parsed.results)})"


def _metadata(module: ModuleDef, names: list[str]) -> Iterator[str]:
    yield f"module @{module.name}, version {module.version}, bytecode {module.bytecode_version >> 16}"
    yield from _section("types", [kind.full_name for kind in module.types])
    yield from _section(
        "dependencies", [f"{item.name}, version >= {item.minimum_version}" for item in module.dependencies]
    )
    yield from _section(
        "imports",
        [f"{item.full_name}{_signature(item.signature.calling_convention)}" for item in module.imported_functions],
    )
    yield "exports"
    for n, export in enumerate(module.exported_functions):
        signature = module.function_signatures[export.internal_ordinal]
        yield f"  [{n:3}] {export.local_name}{_signature(signature.calling_convention)}"
        for attribute in signature.attrs:
            yield f"        {attribute.key}: {attribute.value}"
    if module.module_state is not None:
        state = module.module_state
        yield f"state\n  {state.global_bytes_capacity} bytes, {state.global_ref_count} refs"
    segments = []
    for segment in module.rodata_segments:
        place = "embedded" if segment.embedded_data is not None else "external"
        segments.append(f"{place} {len(segment.data):10} bytes {_preview(segment.data)}".rstrip())
    yield from _section("rodata", segments)
    yield "functions\n        offset     length  blocks   i32   ref  name"
    for n, item in enumerate(module.function_descriptors):
        yield (
            f"  [{n:3}] {item.bytecode_offset:6} {item.bytecode_length:10} {item.block_count:7}"
            f" {item.i32_register_count:5} {item.ref_register_count:5}  {names[n]}"
        )


def _section(title: str, lines: list[str]) -> Iterator[str]:
    yield title
    for n, line in enumerate(lines):
        yield f"  [{n:3}] {line}"


def _preview(content: Any) -> str:
    start = bytes(content[:40])
    if start and all(32 <= byte < 127 for byte in start):
        return f"`{start.decode()}`" + ("..." if len(content) > 40 else "")
    return "ELF" if start.startswith(b"\x7fELF") else ""


def _instructions(module: ModuleDef, ordinal: int) -> Iterator[tuple[int, isa.Op | None, list[Any]]]:
    """The offset, op and operands of each instruction; a block marker has no op."""
    item = module.function_descriptors[ordinal]
    code = module.bytecode_data[item.bytecode_offset : item.bytecode_offset + item.bytecode_length]
    offset = 0
    while offset < len(code):
        if code[offset] == isa.BLOCK_MARKER:
            yield offset, None, []
            offset += 1
            continue
        op, operands, following = isa.decode(code, offset)
        yield offset, op, operands
        offset = following


def _function_text(module: ModuleDef, names: list[str], ordinal: int) -> Iterator[str]:
    yield f"\nfunc [{ordinal}] @{names[ordinal]}"
    for offset, op, operands in _instructions(module, ordinal):
        if op is None:
            yield f"  ^{offset:04x}:"
            continue
        results = [_operand(f, v, module, names) for f, v in zip(op.fields, operands) if f.is_result]
        inputs = [_operand(f, v, module, names) for f, v in zip(op.fields, operands) if not f.is_result]
        left = f"{', '.join(results)} = " if results else ""
        yield f"    {offset:04x}  {left}vm.{op.name} {', '.join(inputs)}".rstrip()


def _operand(field: isa.Field, value: Any, module: ModuleDef, names: list[str]) -> str:
    kind = field.kind
    if kind in ("i", "f", "I", "F", "r", "R"):
        return _register(value)
    if kind == "*":
        return f"({', '.join(map(_register, value))})"
    if kind == "*seg":
        return f"[{', '.join('-' if size == isa.NOT_VARIADIC else str(size) for size in value)}]"
    if kind == "remap":
        return f"({', '.join(f'{_register(a)} to {_register(b)}' for a, b in value)})"
    if kind == "cases":
        moves = isa.Field("remap", False)
        return f"[{', '.join(f'^{pc:04x}{_operand(moves, remap, module, names)}' for pc, remap in value)}]"
    if kind == "pc":
        return f"^{value:04x}"
    if kind == "str":
        return f'"{value.decode(errors="replace")}"'
    if kind == "func":
        if value & isa.IMPORT_BIT:
            return f"@{module.imported_functions[value & ~isa.IMPORT_BIT].full_name}"
        return f"@{names[value]}"
    if kind == "type":
        return module.types[value].full_name
    if kind == "rodata":
        return f"rodata[{value}]"
    return f"global[{value}]" if kind == "glob" else str(value)


def _register(value: int) -> str:
    if isa.is_ref(value):
        return f"%r{isa.ref_ordinal(value)}" + ("!" if value & isa.MOVE_BIT else "")
    return f"%i{value}"


def _as_json(module: ModuleDef, names: list[str], chosen: list[int]) -> dict[str, Any]:
    functions = []
    for ordinal in chosen:
        item = module.function_descriptors[ordinal]
        ops = Counter(op.name for _, op, _ in _instructions(module, ordinal) if op is not None)
        functions.append({
            "name": names[ordinal], "bytes": item.bytecode_length, "blocks": item.block_count,
            "i32_registers": item.i32_register_count, "ref_registers": item.ref_register_count,
            "instructions": dict(ops.most_common()),
        })  # fmt: skip
    return {
        "name": module.name,
        "bytecode_version": module.bytecode_version >> 16,
        "types": [kind.full_name for kind in module.types],
        "imports": {i.full_name: i.signature.calling_convention for i in module.imported_functions},
        "exports": {
            export.local_name: {
                "calling_convention": module.function_signatures[export.internal_ordinal].calling_convention,
                **{a.key: a.value for a in module.function_signatures[export.internal_ordinal].attrs},
            }
            for export in module.exported_functions
        },
        "rodata_bytes": [len(segment.data) for segment in module.rodata_segments],
        "functions": functions,
    }
