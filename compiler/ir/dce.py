"""dce and symbol-dce: what nothing uses goes.

Before: pure ops may have no uses, blocks no predecessors, private symbols no references.
After:  none of those are left. `dce` works on ops and blocks, `symbol-dce` on symbols.
"""

from __future__ import annotations

from pyiree.compiler.ir.attributes import StringAttr
from pyiree.compiler.ir.core import Operation, Region
from pyiree.compiler.ir.dominance import reverse_post_order
from pyiree.compiler.ir.effects import is_dead
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import symbol_name, symbol_uses
from pyiree.compiler.ir.traits import SymbolTable


@register_pass("dce", on=None)
def dce(op: Operation, context: PassContext) -> None:
    """Removes dead ops and unreachable blocks inside `op`."""
    for region in op.regions:
        erase_unreachable_blocks(region)
        for block in reversed(region.blocks):
            for nested in block.reversed_ops:
                if is_dead(nested):
                    nested.erase()
                elif nested.regions:
                    dce(nested, context)


def erase_unreachable_blocks(region: Region) -> bool:
    """Removes blocks that no path reaches; True if there were any."""
    if len(region.blocks) < 2:
        return False
    reachable = set(reverse_post_order(region))
    dead = [block for block in region.blocks if block not in reachable]
    # They may use each other's values: let go of all before erasing any.
    for block in dead:
        for op in block.ops:
            op.drop_all_references()
    for block in dead:
        block.erase()
    return bool(dead)


@register_pass("symbol-dce", on="builtin.module")
def symbol_dce(module: Operation, context: PassContext) -> None:
    """Removes private symbols that no reference names, however long the chain to a public one."""
    tables = [op for op in module.walk() if SymbolTable in op.traits]
    for table in tables:
        symbols = {name: op for region in table.regions for op in region.ops if (name := symbol_name(op))}
        live: set[str] = set()
        pending = [name for name, op in symbols.items() if not _is_private(op)]
        owners = set(symbols.values())
        for region in table.regions:
            for op in region.ops:
                if op not in owners:
                    pending.extend(ref.root for _, ref in symbol_uses(op))
        if table is not module:
            # What is outside of a nested table reaches its symbols by nested references.
            pending.extend(part for op, ref in symbol_uses(module) if not table.is_ancestor_of(op) for part in ref.path)
        while pending:
            name = pending.pop()
            if name in live or name not in symbols:
                continue
            live.add(name)
            pending.extend(part for _, ref in symbol_uses(symbols[name]) for part in ref.path)
        for name, op in symbols.items():
            if name not in live:
                op.erase()


def _is_private(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.value in ("private", "nested")
