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
from pyiree.compiler.ir.passes import PassContext, functions_of, register_pass
from pyiree.compiler.ir.traits import Commutative, GraphRegion, IsolatedFromAbove


@register_pass("cse", on=None)
class Cse:
    """Merges equal pure ops inside an op; with `dialect`, inside of its functions of that dialect only."""

    dialect: str = ""

    def run(self, op: Operation, context: PassContext) -> None:
        """Merges where the options say."""
        for root in functions_of(op, self.dialect):
            cse(root, context)


def cse(root: Operation, context: PassContext) -> None:
    """Merges equal pure ops inside `root`."""
    dominance = Dominance()
    for region in root.regions:
        _region(region, _Known(), dominance)


class _Known:
    """The ops that hold where the pass is, by key. A scope is left by taking back what it added, because to copy the
    table for each region would take quadratic time."""

    def __init__(self) -> None:
        self.ops: dict[tuple, Operation] = {}
        self.added: list[tuple[tuple, Operation | None]] = []

    def add(self, key: tuple, op: Operation) -> None:
        self.added.append((key, self.ops.get(key)))
        self.ops[key] = op

    def leave(self, start: int) -> None:
        for key, before in reversed(self.added[start:]):
            if before is None:
                del self.ops[key]
            else:
                self.ops[key] = before
        del self.added[start:]


def equivalence_key(op: Operation) -> tuple:
    """What equal ops have in common, but for their regions."""
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


def _region(region: Region, known: _Known, dominance: Dominance) -> None:
    parent = region.parent_op
    if parent is not None and (IsolatedFromAbove in parent.traits or GraphRegion in parent.traits):
        known = _Known()
    start = len(known.added)
    if len(region.blocks) == 1:
        _block(region.blocks[0], known, dominance)
    elif region.blocks:
        _dominator_tree(region, known, dominance)
    known.leave(start)


def _dominator_tree(region: Region, known: _Known, dominance: Dominance) -> None:
    """What a block knows holds in the blocks that it dominates."""
    below: dict[Block, list[Block]] = {}
    order = reverse_post_order(region)
    for block in order:
        above = dominance.immediate_dominator(block)
        if above is not None:
            below.setdefault(above, []).append(block)
    # A number on the stack is where the scope of a block began that is done with, all blocks below it included.
    stack: list[Block | int] = [order[0]]
    while stack:
        place = stack.pop()
        if isinstance(place, int):
            known.leave(place)
            continue
        stack.append(len(known.added))
        stack += reversed(below.get(place, ()))
        _block(place, known, dominance)


def _block(block: Block, known: _Known, dominance: Dominance) -> None:
    for op in block.ops:
        if is_dead(op):
            op.erase()
            continue
        if op._results and is_pure(op):
            key = equivalence_key(op)
            twin = known.ops.get(key)
            if twin is not None and (not op.regions or _same_regions(twin, op)):
                op.replace_all_uses_with(twin)
                op.erase()
                continue
            known.add(key, op)
        for region in op.regions:
            _region(region, known, dominance)
