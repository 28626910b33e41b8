"""cse: of equal pure ops, the first serves for all.

Before: pure ops may repeat.
After:  no pure op is dominated by an equal one (same name, operands, attributes, types and regions).

    %0 = arith.addi %a, %b : i32        %0 = arith.addi %a, %b : i32
    %1 = arith.addi %a, %b : i32   →    use(%0, %0)
    use(%0, %1)
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block, Operation, Region
from pyiree.compiler.ir.dominance import Dominance, reverse_post_order
from pyiree.compiler.ir.effects import is_dead, is_pure
from pyiree.compiler.ir.equivalence import _Comparison
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.traits import Commutative, GraphRegion, IsolatedFromAbove


@register_pass("cse", on=None)
def cse(op: Operation, context: PassContext) -> None:
    """Merges equal pure ops inside `op`."""
    dominance = Dominance()
    for region in op.regions:
        _region(region, {}, dominance)


def _key(op: Operation) -> tuple:
    operands: Any = op._operands
    if Commutative in op.traits:
        operands = tuple(sorted(map(id, operands)))
    properties = frozenset(op.properties.items()) if op.properties else None
    attributes = frozenset(op.attributes.items()) if op.attributes else None
    return (op.name, operands, properties, attributes, op.result_types, op.operand_segments, op.result_segments)


def _same_regions(left: Operation, right: Operation) -> bool:
    comparison = _Comparison()
    # Values of the outside are the same ones on both sides.
    for nested in left.walk():
        for value in nested._operands:
            owner = value.defining_op
            inside = owner if owner is not None else value.block.parent_op  # type: ignore[attr-defined]
            if inside is None or not left.is_ancestor_of(inside):
                comparison.partner[value] = value
                comparison.partner[(value,)] = value
    return all(comparison.regions(a, b) for a, b in zip(left.regions, right.regions))


def _region(region: Region, known: dict[tuple, Operation], dominance: Dominance) -> None:
    parent = region.parent_op
    if parent is not None and (IsolatedFromAbove in parent.traits or GraphRegion in parent.traits):
        known = {}
    if len(region.blocks) == 1:
        _block(region.blocks[0], dict(known) if known else {}, dominance)
        return
    # Along the dominator tree: what a block knows holds in the blocks that it dominates.
    tables: dict[Block, dict[tuple, Operation]] = {}
    for block in reverse_post_order(region):
        above = dominance.immediate_dominator(block)
        table = dict(tables[above] if above is not None else known)
        tables[block] = table
        _block(block, table, dominance)


def _block(block: Block, known: dict[tuple, Operation], dominance: Dominance) -> None:
    for op in block.ops:
        if is_dead(op):
            op.erase()
            continue
        if op._results and is_pure(op):
            key = _key(op)
            twin = known.get(key)
            if twin is not None and (not op.regions or _same_regions(twin, op)):
                op.replace_all_uses_with(twin)
                op.erase()
                continue
            known[key] = op
        for region in op.regions:
            _region(region, known, dominance)
