"""iree-vm-resolve-rodata-loads: constant globals that hold a segment are read from it directly.

Before: an initializer stores `vm.const.ref.rodata @data` in an immutable global, and functions load that.
After:  they name the segment; the global is gone.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import FAMILY_OPS, ConstRefRodataOp, GlobalOp, ModuleOp
from pyiree.compiler.vm.types import BufferType


@register_pass("iree-vm-resolve-rodata-loads", on="vm.module")
def resolve_rodata_loads(module: ModuleOp, context: PassContext) -> None:
    """Replaces loads of globals whose one value is a segment."""
    candidates = {
        op.sym_name: op
        for op in module.entry_block.ops
        if isinstance(op, GlobalOp) and isinstance(op.type, BufferType) and not op.is_mutable
    }
    if not candidates:
        return
    load, store = FAMILY_OPS["global.load.ref"], FAMILY_OPS["global.store.ref"]
    uses: dict[str, list[Any]] = {name: [] for name in candidates}
    for op in module.walk():
        reference = op.properties.get("global")
        if reference is not None and reference.leaf in uses:
            uses[reference.leaf].append(op)
    for name, ops in uses.items():
        stores = [op for op in ops if isinstance(op, store)]
        source = stores[0].value.defining_op if len(stores) == 1 else None
        if not isinstance(source, ConstRefRodataOp) or not all(isinstance(op, load) for op in ops if op not in stores):
            continue
        for op in ops:
            if op not in stores:
                segment = ConstRefRodataOp(source.rodata, location=op.location)
                op.block.insert_before(op, segment)
                op.replace_all_uses_with(segment)
            op.erase()
        candidates[name].erase()
