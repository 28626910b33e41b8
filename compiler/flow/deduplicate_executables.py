"""iree-flow-deduplicate-executables: equal dispatch functions are compiled once.

Before: @main_dispatch_0 and @main_dispatch_3 differ in nothing but names.
After:  dispatches of @main_dispatch_3 name @main_dispatch_0, and @main_dispatch_3 is gone.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.func import FuncOp
from pyiree.compiler.flow.ops import DispatchOp, ExecutableExportOp, ExecutableOp
from pyiree.compiler.ir.attributes import ArrayAttr, SymbolRefAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.printer import print_operation


@register_pass("iree-flow-deduplicate-executables")
def deduplicate_executables(module: ModuleOp, context: PassContext) -> None:
    """Keeps the first of each set of equal executables."""
    first: dict[str, SymbolRefAttr] = {}
    replaced: dict[SymbolRefAttr, SymbolRefAttr] = {}
    for executable in list(module.body_block.ops):
        if not isinstance(executable, ExecutableOp):
            continue
        exports = [op for op in executable.body.entry.ops if isinstance(op, ExecutableExportOp)]
        if len(exports) != 1:
            continue
        (export,) = exports
        entry = SymbolRefAttr(executable.sym_name, export.sym_name)
        text = _text_without_names(executable, export)
        kept = first.setdefault(text, entry)
        if kept is not entry:
            replaced[entry] = kept
            executable.erase()
    if replaced:
        for dispatch in module.walk_type(DispatchOp):
            dispatch.entry_points = ArrayAttr([replaced.get(e, e) for e in dispatch.entry_points])


def _text_without_names(executable: ExecutableOp, export: ExecutableExportOp) -> str:
    parts = [print_operation(export.workgroup_count.parent_op).partition("workgroups")[2]]
    for op in executable.body.entry.ops:
        if isinstance(op, ModuleOp):
            for function in op.body_block.ops:
                text = print_operation(function)
                parts.append(text.replace(f"@{function.sym_name}(", "@(", 1) if isinstance(function, FuncOp) else text)
    return "\n".join(parts)
