"""Ordinals: the numbers by which bytecode names functions, imports, globals, data and types.

Enters: a module. Leaves: `Ordinals`. Functions, imports, data and references count from 0 in the order of the module;
number globals get byte offsets, the widest first, so that each is aligned; types get numbers as they are met.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.types import Type
from pyiree.compiler.vm.ops import ExportOp, FuncOp, GlobalOp, ImportOp, ModuleOp, RodataOp
from pyiree.compiler.vm.types import is_ref, table_name
from pyiree.runtime.vmfb import isa


class Ordinals:
    """The symbols of a module by their numbers."""

    def __init__(self, module: ModuleOp) -> None:
        by_kind: dict[Any, list[Any]] = {FuncOp: [], ImportOp: [], ExportOp: [], RodataOp: [], GlobalOp: []}
        for op in module.entry_block.ops:
            for kind, ops in by_kind.items():
                if isinstance(op, kind):
                    ops.append(op)
        self.functions: list[FuncOp] = by_kind[FuncOp]
        self.imports: list[ImportOp] = by_kind[ImportOp]
        self.exports: list[ExportOp] = by_kind[ExportOp]
        self.segments: list[RodataOp] = by_kind[RodataOp]
        self.types: dict[str, int] = {}
        self.function_ordinals = {op.sym_name: i for i, op in enumerate(self.functions)}
        self.import_ordinals = {op.sym_name: i for i, op in enumerate(self.imports)}
        self.rodata = {op.sym_name: i for i, op in enumerate(self.segments)}
        globals_ = by_kind[GlobalOp]
        references = [op for op in globals_ if is_ref(op.type)]
        self.global_refs = {op.sym_name: i for i, op in enumerate(references)}
        self.global_offsets: dict[str, int] = {}
        self.global_bytes = 0
        for width in (64, 32):
            for op in globals_:
                if not is_ref(op.type) and op.type.width == width:
                    self.global_offsets[op.sym_name] = self.global_bytes
                    self.global_bytes += width // 8

    def of_global(self, name: str) -> int:
        """The offset of a number global, or the ordinal of a reference."""
        return self.global_offsets[name] if name in self.global_offsets else self.global_refs[name]

    def of_callee(self, name: str) -> int:
        """What a call names: a function of this module, or an import."""
        if name in self.function_ordinals:
            return self.function_ordinals[name]
        return isa.IMPORT_BIT | self.import_ordinals[name]

    def of_type(self, type: Type) -> int:
        """The place of a type in the type table."""
        return self.types.setdefault(table_name(type), len(self.types))
