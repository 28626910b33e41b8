"""iree-flow-deduplicate-executables: equal dispatch functions are compiled once.

Before: @main_dispatch_0 and @main_dispatch_3 differ in nothing but names.
After:  dispatches of @main_dispatch_3 name @main_dispatch_0, and @main_dispatch_3 is gone.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.flow.ops import DispatchOp, ExecutableExportOp, ExecutableOp
from pyiree.compiler.ir.attributes import ArrayAttr, SymbolRefAttr
from pyiree.compiler.ir.equivalence import structural_key
from pyiree.compiler.ir.passes import PassContext, register_pass


@register_pass("iree-flow-deduplicate-executables")
def deduplicate_executables(module: ModuleOp, context: PassContext) -> None:
    """Keeps the first of each set of equal executables."""
    first: dict[tuple, SymbolRefAttr] = {}
    replaced: dict[SymbolRefAttr, SymbolRefAttr] = {}
    for executable in list(module.body_block.ops):
        if not isinstance(executable, ExecutableOp):
            continue
        exports = [op for op in executable.body.entry.ops if isinstance(op, ExecutableExportOp)]
        if len(exports) != 1:
            continue
        (export,) = exports
        entry = SymbolRefAttr(executable.sym_name, export.sym_name)
        kept = first.setdefault(_key_without_names(executable, export), entry)
        if kept is not entry:
            replaced[entry] = kept
            executable.erase()
    if replaced:
        for dispatch in module.walk_type(DispatchOp):
            dispatch.entry_points = ArrayAttr([replaced.get(e, e) for e in dispatch.entry_points])


def _key_without_names(executable: ExecutableOp, export: ExecutableExportOp) -> tuple:
    parts = [structural_key(export, without=("sym_name", "function_ref"))]
    for op in executable.body.entry.ops:
        if isinstance(op, ModuleOp):
            parts += [structural_key(function, without=("sym_name",)) for function in op.body_block.ops]
    return tuple(parts)
