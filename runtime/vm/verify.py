"""Verifies a module before anything of it runs: its tables here, its bytecode by native code.

Enters: a `ModuleDef` as read from a file. Leaves: what `module` needs of it (conventions, type ordinals), or
a `ModuleError` that says what is wrong. Nothing that passes can make the interpreter leave its memory.
"""

import ctypes
from dataclasses import dataclass

from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import TYPE_LIST, TYPE_ORDINALS
from pyiree.runtime.vm import verify_table as table
from pyiree.runtime.vmfb import isa, schema
from pyiree.runtime.vmfb.abi import CallingConvention, Span, assign_registers, parse_convention
from pyiree.runtime.vmfb.errors import ModuleError

MAX_PARAMETERS = 0x7FFF
MAX_GLOBAL_BYTES = 1 << 30
MAX_GLOBAL_REFS = 1 << 24
_KNOWN_REQUIREMENTS = isa.REQUIRES_F32 | isa.REQUIRES_F64 | isa.REQUIRES_YIELD | isa.REQUIRES_UNWIND


@dataclass(slots=True)
class VerifiedTables:
    """What the tables of a module say, checked."""

    types: list[int]  # type ordinals
    functions: list[CallingConvention]
    imports: list[CallingConvention]
    exports: dict[str, int]


def verify_tables(module: schema.ModuleDef) -> VerifiedTables:
    """Everything but the bytecode."""
    if not module.name:
        raise ModuleError("the module has no name")
    _verify_version(module)
    functions = _verify_functions(module)
    imports = [_verify_import(k, item) for k, item in enumerate(module.imported_functions)]
    if module.module_state is not None:
        state = module.module_state
        if not 0 <= state.global_bytes_capacity <= MAX_GLOBAL_BYTES:
            raise ModuleError(f"the module asks for {state.global_bytes_capacity} bytes of globals")
        if not 0 <= state.global_ref_count <= MAX_GLOBAL_REFS:
            raise ModuleError(f"the module asks for {state.global_ref_count} reference globals")
    return VerifiedTables(
        [_type_ordinal(item.full_name) for item in module.types],
        functions,
        imports,
        _verify_exports(module, functions),
    )


def _verify_version(module: schema.ModuleDef) -> None:
    major, minor = module.bytecode_version >> 16, module.bytecode_version & 0xFFFF
    own_major, own_minor = schema.BYTECODE_VERSION >> 16, schema.BYTECODE_VERSION & 0xFFFF
    if major != own_major or minor > own_minor:
        raise ModuleError(f"bytecode version {major}.{minor} is not {own_major}.{own_minor}, the one known here")
    if module.requirements & ~_KNOWN_REQUIREMENTS:
        raise ModuleError(f"the module requires unknown features ({module.requirements:#x})")


def _type_ordinal(name: str) -> int:
    if name.startswith("!vm.list<"):
        return TYPE_LIST
    if name not in TYPE_ORDINALS:
        raise ModuleError(f"the module uses the unknown type {name!r}")
    return TYPE_ORDINALS[name]


def _convention(text: str, what: str) -> CallingConvention:
    try:
        convention = parse_convention(text)
    except ValueError as error:
        raise ModuleError(f"{what}: {error}") from None
    if len(convention.arguments) > MAX_PARAMETERS or len(convention.results) > MAX_PARAMETERS:
        raise ModuleError(f"{what} has too many parameters")
    return convention


def _verify_import(ordinal: int, item: schema.ImportFunctionDef) -> CallingConvention:
    module, dot, function = item.full_name.partition(".")
    if not (module and dot and function):
        raise ModuleError(f"import {ordinal} has the malformed name {item.full_name!r}")
    convention = _convention(item.signature.calling_convention, f"import {item.full_name}")
    if any(isinstance(code, Span) for code in convention.results):
        raise ModuleError(f"import {item.full_name} has a variadic result")
    if any(isinstance(code, Span) and len(code.codes) > 255 for code in convention.arguments):
        raise ModuleError(f"import {item.full_name} has a span of too many members")
    return convention


def _verify_functions(module: schema.ModuleDef) -> list[CallingConvention]:
    if len(module.function_signatures) != len(module.function_descriptors):
        raise ModuleError(
            f"{len(module.function_descriptors)} functions have {len(module.function_signatures)} signatures"
        )
    size = len(module.bytecode_data)
    conventions = []
    known: dict[str, CallingConvention] = {}
    for k, (descriptor, signature) in enumerate(
        zip(module.function_descriptors, module.function_signatures)
    ):
        text = signature.calling_convention
        if text not in known:
            known[text] = _convention(text, f"function {k}")
        convention = known[text]
        conventions.append(convention)
        start, length = descriptor.bytecode_offset, descriptor.bytecode_length
        if start < 0 or start % 8 or length <= 0 or start + length > size:
            raise ModuleError(f"function {k} lies outside the bytecode or is not aligned")
        if not 0 <= descriptor.i32_register_count <= isa.MAX_I32_REGISTERS:
            raise ModuleError(f"function {k} has {descriptor.i32_register_count} value registers")
        if not 0 <= descriptor.ref_register_count <= isa.MAX_REF_REGISTERS:
            raise ModuleError(f"function {k} has {descriptor.ref_register_count} reference registers")
        if descriptor.requirements & ~_KNOWN_REQUIREMENTS:
            raise ModuleError(f"function {k} requires unknown features ({descriptor.requirements:#x})")
        if any(isinstance(code, Span) for code in convention.arguments + convention.results):
            raise ModuleError(f"function {k} is variadic, which only imports may be")
        _, values, refs = assign_registers(convention.arguments)
        if values > descriptor.i32_register_count or refs > descriptor.ref_register_count:
            raise ModuleError(f"function {k} has fewer registers than arguments")
    return conventions


def _verify_exports(module: schema.ModuleDef, functions: list[CallingConvention]) -> dict[str, int]:
    exports = {}
    for item in module.exported_functions:
        if not 0 <= item.internal_ordinal < len(functions):
            raise ModuleError(f"export {item.local_name!r} names function {item.internal_ordinal}, which is none")
        exports[item.local_name] = item.internal_ordinal
    for name in ("__init", "__deinit"):
        if name in exports and str(functions[exports[name]]) != "0v_v":
            raise ModuleError(f"{name} takes or gives values")
    return exports


def verify_bytecode(
    module: schema.ModuleDef, code: int, types: ctypes.Array, functions: ctypes.Array, imports: ctypes.Array
) -> None:
    """The bytecode (a copy at the address `code`) of every function, against its tables' records."""
    from pyiree.runtime.vm import layout

    state = module.module_state or schema.ModuleStateDef()
    scratch = ctypes.create_string_buffer(
        max((d.bytecode_length for d in module.function_descriptors), default=0) + 1
    )
    facts = (ctypes.c_int64 * table.FACTS)()
    fixed = {
        table.OFFSETS_ADDRESS: ctypes.addressof(_OFFSETS),
        table.FIELDS_ADDRESS: ctypes.addressof(_FIELDS),
        table.TYPES: ctypes.addressof(types),
        table.TYPE_COUNT: len(module.types),
        table.RODATA_COUNT: len(module.rodata_segments),
        table.FUNCTIONS: ctypes.addressof(functions),
        table.FUNCTION_COUNT: len(module.function_descriptors),
        table.IMPORTS: ctypes.addressof(imports),
        table.IMPORT_COUNT: len(module.imported_functions),
        table.GLOBAL_BYTES: state.global_bytes_capacity,
        table.GLOBAL_REFS: state.global_ref_count,
        table.SCRATCH: ctypes.addressof(scratch),
    }
    for place, value in fixed.items():
        facts[place // 8] = value
    verify = image().vm_verify
    for k, descriptor in enumerate(module.function_descriptors):
        record = layout.FUNCTION_BYTES * k // 8
        start = code + descriptor.bytecode_offset
        ctypes.memset(scratch, 0, descriptor.bytecode_length)
        facts[table.CODE // 8] = start
        facts[table.LENGTH // 8] = descriptor.bytecode_length
        facts[table.BLOCK_COUNT // 8] = descriptor.block_count
        facts[table.VALUE_REGISTERS // 8] = descriptor.i32_register_count
        facts[table.REF_REGISTERS // 8] = descriptor.ref_register_count
        facts[table.REQUIREMENTS // 8] = descriptor.requirements
        facts[table.RESULT_KINDS // 8] = functions[record + layout.FUNCTION_RESULTS // 8]
        facts[table.RESULT_COUNT // 8] = functions[record + layout.FUNCTION_RESULT_COUNT // 8]
        error = verify(ctypes.addressof(facts))
        if error:
            at = facts[table.ERROR_AT // 8] - start
            raise ModuleError(f"function {k} of {module.name}, byte {at}: {table.ERRORS[error]}")


_OFFSETS = ctypes.create_string_buffer(table.OFFSETS, len(table.OFFSETS))
_FIELDS = ctypes.create_string_buffer(table.FIELDS, len(table.FIELDS))
