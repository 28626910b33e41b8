"""iree-vm-drop-empty-module-initializers: an `__init` that does nothing goes, and so does a `__deinit`.

Before: `vm.func private @__init() { vm.return }` with its export.
After:  loading the module calls nothing.
"""

from __future__ import annotations

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import ExportOp, FuncOp, ModuleOp, ReturnOp


@register_pass("iree-vm-drop-empty-module-initializers", on="vm.module")
def drop_empty_module_initializers(module: ModuleOp, context: PassContext) -> None:
    """Erases empty initialization functions."""
    empty = {
        op.sym_name: op
        for op in module.entry_block.ops
        if isinstance(op, FuncOp)
        and op.sym_name in ("__init", "__deinit")
        and len(op.body.blocks) == 1
        and isinstance(op.entry_block.first_op, ReturnOp)
    }
    for op in module.entry_block.ops:
        if isinstance(op, ExportOp) and op.function_ref.leaf in empty:
            op.erase()
    for func in empty.values():
        func.erase()
