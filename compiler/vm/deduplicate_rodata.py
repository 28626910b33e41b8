"""iree-vm-deduplicate-rodata: equal segments become one.

Before: several `vm.rodata` may hold the same value.
After:  values differ (or their MIME types do); the segment that stays has the largest alignment that was asked for.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import SymbolRefAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import ConstRefRodataOp, ModuleOp, RodataOp


@register_pass("iree-vm-deduplicate-rodata", on="vm.module")
def deduplicate_rodata(module: ModuleOp, context: PassContext) -> None:
    """Keeps the first of equal segments."""
    kept: dict[Any, RodataOp] = {}
    renamed: dict[str, str] = {}
    for op in module.entry_block.ops:
        if not isinstance(op, RodataOp):
            continue
        first = kept.setdefault((op.value, op.mime_type), op)
        if first is op:
            continue
        alignments = [a for a in (first.alignment, op.alignment) if a is not None]
        first.alignment = max(alignments) if alignments else None
        renamed[op.sym_name] = first.sym_name
        op.erase()
    for op in module.walk_type(ConstRefRodataOp) if renamed else ():
        name = renamed.get(op.rodata.leaf)
        if name is not None:
            op.rodata = SymbolRefAttr(name)
