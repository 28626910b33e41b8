"""From a module at the vm phase to the bytes of a `.vmfb`.

Enters: the module, as the vm phase leaves it or as it was written by hand. Leaves: the file. Equal modules give equal
bytes. Executables stand behind the FlatBuffer so that they can be mapped; so does other data of 4 KiB and more.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import DictAttr, StringAttr
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, PassManager
from pyiree.compiler.ir.types import TupleType
from pyiree.compiler.vm.debug_database import debug_database
from pyiree.compiler.vm.encode_bytecode import FunctionCode, encode_function
from pyiree.compiler.vm.ops import FuncOp, ImportOp, ModuleOp, RodataOp
from pyiree.compiler.vm.ordinal_allocation import Ordinals
from pyiree.compiler.vm.pipeline import SERIALIZATION_PIPELINE
from pyiree.compiler.vm.rodata_bytes import rodata_bytes
from pyiree.compiler.vm.types import value_code
from pyiree.runtime.vmfb import archive, isa, schema
from pyiree.runtime.vmfb.digest import DIGEST_ATTRIBUTE, executable_digest

#: Data from this size on is no part of the FlatBuffer.
EXTERNAL_SIZE = 4096
#: The MIME types of data that is mapped, and the ends of its names.
_EXTENSIONS = {"application/x-elf": "so"}


def serialize(
    module: Operation,
    context: PassContext,
    *,
    prepared: bool = False,
    debug_info: bool = False,
    polyglot_zip: bool = False,
) -> bytes:
    """The `.vmfb` of a module at the vm phase; with `debug_info` it holds function names and source locations.

    `prepared` says that the module is what the passes of the phase have left, so that nothing is to be made up for.
    """
    if not prepared:
        PassManager(SERIALIZATION_PIPELINE).run(module, context)
    return archive.write_module(module_def(module, debug_info=debug_info), polyglot_zip=polyglot_zip)


def module_def(module: Operation, *, debug_info: bool = False) -> schema.ModuleDef:
    """The tables of a module's file."""
    found = list(module.walk_type(ModuleOp))
    if len(found) != 1:
        raise CompileError(f"a file holds one vm.module, and here are {len(found)}", module.location)
    root = found[0]
    ordinals = Ordinals(root)
    functions = [encode_function(func, ordinals) for func in ordinals.functions]
    segments = [_segment(op) for op in ordinals.segments]
    descriptors, bytecode = _lay_out(ordinals.functions, functions)
    requirements = 0
    for descriptor in descriptors:
        requirements |= descriptor.requirements
    definition = schema.ModuleDef(
        name=root.sym_name,
        version=root.version or 0,
        requirements=requirements,
        types=[schema.TypeDef(name) for name in ordinals.types],
        dependencies=_dependencies(ordinals.imports),
        imported_functions=[_import(op) for op in ordinals.imports],
        exported_functions=[
            schema.ExportFunctionDef(op.export_name, ordinals.function_ordinals[op.function_ref.leaf])
            for op in ordinals.exports
        ],
        function_signatures=[_signature(func) for func in ordinals.functions],
        rodata_segments=segments,
        function_descriptors=descriptors,
        bytecode_version=schema.BYTECODE_VERSION,
        bytecode_data=bytecode,
    )
    if ordinals.global_bytes or ordinals.global_refs:
        definition.module_state = schema.ModuleStateDef(ordinals.global_bytes, len(ordinals.global_refs))
    if any(op.mime_type in _EXTENSIONS for op in ordinals.segments):
        digest = executable_digest([segment.data for segment in segments])
        definition.attrs = [schema.AttrDef(DIGEST_ATTRIBUTE, digest)]
    if debug_info:
        definition.debug_database = debug_database(ordinals.functions, functions)
    return definition


def _lay_out(
    ops: list[FuncOp], functions: list[FunctionCode]
) -> tuple[list[schema.FunctionDescriptor], bytes]:
    """All bytecode back to back, each function at a multiple of 8, with the descriptors."""
    code = bytearray()
    descriptors = []
    for op, function in zip(ops, functions):
        requirements = function.requirements
        requirements |= isa.REQUIRES_YIELD if "vm.yield" in op.attributes else 0
        requirements |= isa.REQUIRES_UNWIND if "vm.unwind" in op.attributes else 0
        descriptors.append(
            schema.FunctionDescriptor(
                bytecode_offset=len(code),
                bytecode_length=len(function.code),
                requirements=requirements,
                block_count=function.block_count,
                i32_register_count=function.i32_register_count,
                ref_register_count=function.ref_register_count,
            )
        )
        code += function.code
        code += bytes(-len(code) % 8)
    return descriptors, bytes(code)


def calling_convention(op: Any) -> str:
    """The convention of a function or import: `0rICrD_i`."""

    def codes(types: Any, is_span: Any) -> str:
        parts = []
        for i, type in enumerate(types):
            members = type.types if isinstance(type, TupleType) else (type,)
            text = "".join([value_code(t) for t in members])
            parts.append(f"C{text}D" if is_span(i) else text)
        return "".join(parts) or "v"

    spans = op.is_span if isinstance(op, ImportOp) else lambda i: False
    return f"0{codes(op.function_type.inputs, spans)}_{codes(op.function_type.results, lambda i: False)}"


def _signature(func: FuncOp) -> schema.FunctionSignatureDef:
    reflection = func.attributes.get("iree.reflection")
    attributes = []
    if isinstance(reflection, DictAttr):
        attributes = [schema.AttrDef(k, v.value) for k, v in reflection.items() if isinstance(v, StringAttr)]
    return schema.FunctionSignatureDef(calling_convention(func), attributes)


def _import(op: ImportOp) -> schema.ImportFunctionDef:
    flags = schema.IMPORT_OPTIONAL if op.is_optional else schema.IMPORT_REQUIRED
    return schema.ImportFunctionDef(op.sym_name, schema.FunctionSignatureDef(calling_convention(op)), flags)


def _dependencies(imports: list[ImportOp]) -> list[schema.ModuleDependencyDef]:
    """The modules that are imported from; one that only has optional imports is optional itself."""
    found: dict[str, schema.ModuleDependencyDef] = {}
    for op in imports:
        name = op.sym_name.partition(".")[0]
        entry = found.setdefault(name, schema.ModuleDependencyDef(name, 0, schema.DEPENDENCY_OPTIONAL))
        entry.minimum_version = max(entry.minimum_version, op.minimum_version or 0)
        if not op.is_optional:
            entry.flags = schema.DEPENDENCY_REQUIRED
    return [found[name] for name in sorted(found)]


def _segment(op: RodataOp) -> schema.RodataSegmentDef:
    data = rodata_bytes(op)
    if op.mime_type is None and len(data) < EXTERNAL_SIZE:
        return schema.RodataSegmentDef(embedded_data=data)
    extension = _EXTENSIONS.get(op.mime_type or "", "bin")
    return schema.RodataSegmentDef(external_data=data, external_name=f"{op.sym_name}.{extension}")
