"""Puts modules together: instructions with labels into functions, functions and tables into a `ModuleDef`.

Enters: mnemonics, registers, labels; type names, imports, constants. Leaves: a `ModuleDef` for
`archive.write_module`. Ordinals are given out in the order of definition; register counts, block counts and
requirement bits are found from the instructions.

    function = FunctionAssembler("0ii_i")
    function.block("entry")
    function.op("add.i32", 0, 1, 2)
    function.op("return", [2])
    module = ModuleAssembler("example")
    module.add_function(function, export="add")
    archive.write_module(module.build())
"""

import struct
from collections.abc import Hashable

from pyiree.runtime.vmfb import abi, isa, schema

_U32 = struct.Struct("<I")


class FunctionAssembler:
    """The bytecode of one function. Targets of branches are labels, in place of offsets."""

    def __init__(self, convention: str):
        self.convention = convention
        self.requirements = 0
        self.block_count = 0
        codes = abi.parse_convention(convention).arguments
        _, self.value_registers, self.ref_registers = abi.assign_registers(codes)
        self._code = bytearray()
        self._labels: dict[Hashable, int] = {}
        self._fixups: list[tuple[int, Hashable]] = []

    def block(self, label: Hashable) -> None:
        """Starts a basic block."""
        if label in self._labels:
            raise ValueError(f"block {label!r} is defined twice")
        self._labels[label] = len(self._code)
        self._code.append(isa.BLOCK_MARKER)
        self.block_count += 1

    def op(self, name: str, *operands) -> int:
        """Appends an instruction; gives its offset. Operands are those of `isa.encode`, `pc` fields labels."""
        op = isa.OPS[name]
        offset = len(self._code)
        position = offset + (2 if op.prefix else 1)
        resolved = []
        for field, value in zip(op.fields, operands, strict=True):
            if field.kind == "pc":
                self._fixups.append((position, value))
                value = 0
            elif field.kind == "cases":
                value = self._note_cases(position, value)
            resolved.append(value)
            position = isa.end_of_field(field.kind, value, position)
            self._note_registers(field.kind, value)
        self._code += isa.encode(op, resolved, offset)
        self._note_requirements(op)
        return offset

    def _note_cases(self, position: int, cases) -> list:
        """Marks the targets of a branch table that starts at `position`; gives it with offsets of zero."""
        blank = []
        position += 2
        for label, remap in cases:
            self._fixups.append((position, label))
            position = isa.end_of_field("remap", remap, position + 4)
            blank.append((0, remap))
            self._note_registers("remap", remap)
        return blank

    def _note_registers(self, kind: str, value) -> None:
        if kind in ("r", "R"):
            self._note_register(value, 1)
        elif kind in ("i", "f", "I", "F"):
            self._note_register(value, 2 if kind in "IF" else 1)
        elif kind == "*":
            for register in value:
                # A list does not say how wide its values are: an even register may be a pair.
                self._note_register(register, 1 if register & 1 else 2)
        elif kind == "remap":
            for pair in value:
                for register in pair:
                    self._note_register(register, 1)

    def _note_register(self, register: int, width: int) -> None:
        if isa.is_ref(register):
            self.ref_registers = max(self.ref_registers, isa.ref_ordinal(register) + 1)
        else:
            self.value_registers = max(self.value_registers, register + width)

    def _note_requirements(self, op: isa.Op) -> None:
        if op.prefix == isa.PREFIX_F32:
            self.requirements |= isa.REQUIRES_F32
        elif op.prefix == isa.PREFIX_F64:
            self.requirements |= isa.REQUIRES_F64
        if op.name in ("yield", "call.yieldable", "call.variadic.yieldable"):
            self.requirements |= isa.REQUIRES_YIELD

    def finish(self) -> bytes:
        """The function's bytes, with every label in its place."""
        for position, label in self._fixups:
            if label not in self._labels:
                raise ValueError(f"block {label!r} is not defined")
            _U32.pack_into(self._code, position, self._labels[label])
        return bytes(self._code)


class ModuleAssembler:
    """A module's tables, filled one entry at a time."""

    def __init__(self, name: str):
        self._module = schema.ModuleDef(name=name, bytecode_version=schema.BYTECODE_VERSION)
        self._types: dict[str, int] = {}
        self._imports: dict[str, int] = {}
        self._rodata: dict[bytes, int] = {}
        self._code = bytearray()
        self._global_bytes = 0
        self._global_refs = 0

    def type(self, full_name: str) -> int:
        """The ordinal of a type in the type table."""
        if full_name not in self._types:
            self._types[full_name] = len(self._module.types)
            self._module.types.append(schema.TypeDef(full_name))
        return self._types[full_name]

    def dependency(self, name: str, minimum_version: int = 0, *, optional: bool = False) -> None:
        flags = schema.DEPENDENCY_OPTIONAL if optional else schema.DEPENDENCY_REQUIRED
        self._module.dependencies.append(schema.ModuleDependencyDef(name, minimum_version, flags))

    def import_function(self, full_name: str, convention: str, *, optional: bool = False) -> int:
        """The operand that names an imported function in a call."""
        if full_name not in self._imports:
            self._imports[full_name] = len(self._module.imported_functions)
            self._module.imported_functions.append(
                schema.ImportFunctionDef(
                    full_name,
                    schema.FunctionSignatureDef(convention),
                    schema.IMPORT_OPTIONAL if optional else schema.IMPORT_REQUIRED,
                )
            )
        return isa.IMPORT_BIT | self._imports[full_name]

    def rodata(self, content, *, external: bool = False, name: str = "") -> int:
        """The ordinal of a segment of constant bytes; equal embedded ones are shared."""
        key = bytes(content) if not external else None
        if key in self._rodata:
            return self._rodata[key]
        ordinal = len(self._module.rodata_segments)
        if external:
            segment = schema.RodataSegmentDef(external_data=content, external_name=name)
        else:
            segment = schema.RodataSegmentDef(embedded_data=content)
            self._rodata[key] = ordinal
        self._module.rodata_segments.append(segment)
        return ordinal

    def global_value(self, size: int) -> int:
        """The byte offset of a new value global."""
        offset = (self._global_bytes + size - 1) // size * size
        self._global_bytes = offset + size
        return offset

    def global_ref(self) -> int:
        """The ordinal of a new reference global."""
        self._global_refs += 1
        return self._global_refs - 1

    def add_function(
        self,
        function: FunctionAssembler,
        *,
        export: str | None = None,
        attributes: dict[str, str] | None = None,
        extra_requirements: int = 0,
    ) -> int:
        """The ordinal of a finished function. A forward call needs it before: ordinals count from 0."""
        code = function.finish()
        requirements = function.requirements | extra_requirements
        if function.ref_registers:
            requirements |= isa.REQUIRES_UNWIND
        ordinal = len(self._module.function_descriptors)
        self._code += bytes(-len(self._code) % 8)
        self._module.function_descriptors.append(
            schema.FunctionDescriptor(
                bytecode_offset=len(self._code),
                bytecode_length=len(code),
                requirements=requirements,
                block_count=function.block_count,
                i32_register_count=function.value_registers + (function.value_registers & 1),
                ref_register_count=function.ref_registers,
            )
        )
        self._code += code
        attrs = [schema.AttrDef(key, value) for key, value in (attributes or {}).items()]
        self._module.function_signatures.append(schema.FunctionSignatureDef(function.convention, attrs))
        self._module.requirements |= requirements
        if export is not None:
            self._module.exported_functions.append(schema.ExportFunctionDef(export, ordinal))
        return ordinal

    def build(self) -> schema.ModuleDef:
        """The module as it stands."""
        self._code += bytes(-len(self._code) % 8)
        self._module.bytecode_data = bytes(self._code)
        if self._global_bytes or self._global_refs:
            self._module.module_state = schema.ModuleStateDef(self._global_bytes, self._global_refs)
        return self._module
