"""iree-vm-hoist-inlined-rodata: data that stands in code becomes segments of the module.

Before: `%0 = vm.rodata.inline "name" : !vm.buffer = "text"`.
After:  `vm.rodata private @name "text"` before the function, and `%0 = vm.const.ref.rodata @name : !vm.buffer`.
"""

from __future__ import annotations

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.vm.ops import ConstRefRodataOp, ModuleOp, RodataInlineOp, RodataOp
from pyiree.compiler.vm.rodata_names import segment_name


@register_pass("iree-vm-hoist-inlined-rodata", on="vm.module")
def hoist_inlined_rodata(module: ModuleOp, context: PassContext) -> None:
    """Makes a segment of each piece of inlined data."""
    inlined = list(module.walk_type(RodataInlineOp))
    if not inlined:
        return
    symbols = SymbolTable(module)
    for op in inlined:
        holder = op
        while holder.parent_op is not module:
            holder = holder.parent_op
        segment = RodataOp(
            sym_visibility="private",
            sym_name=segment_name(op.name_, op.value),
            value=op.value,
            alignment=op.alignment,
            mime_type=op.mime_type,
            location=op.location,
        )
        symbols.insert(segment, before=holder)
        reference = ConstRefRodataOp(segment.sym_name, location=op.location)
        op.block.insert_before(op, reference)
        op.replace_all_uses_with(reference)
        op.erase()
