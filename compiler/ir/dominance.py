"""Dominance: which values exist at a point of the program.

What enters: regions with control flow. What leaves: whether one op or block comes before another on every path. The
tree of a region is computed at the first question about it (Cooper, Harvey and Kennedy's iteration).
"""

from __future__ import annotations

from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.traits import GraphRegion


def reverse_post_order(region: Region) -> list[Block]:
    """The blocks reachable from the entry, each after its predecessors where there are no cycles."""
    if not region.blocks:
        return []
    order: list[Block] = []
    seen = {region.blocks[0]}
    stack = [(region.blocks[0], iter(region.blocks[0].successors))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(following.successors)))
    return order[::-1]


class Dominance:
    """Answers for any number of regions; make a new one after changing control flow."""

    def __init__(self) -> None:
        self._trees: dict[Region, tuple[dict[Block, Block], dict[Block, int]]] = {}

    def _tree(self, region: Region) -> tuple[dict[Block, Block], dict[Block, int]]:
        found = self._trees.get(region)
        if found is None:
            found = self._trees[region] = _immediate_dominators(region)
        return found

    def immediate_dominator(self, block: Block) -> Block | None:
        """The nearest block that every path to `block` goes through, or None for entries and unreachable blocks."""
        assert block.region is not None
        idom, _ = self._tree(block.region)
        found = idom.get(block)
        return None if found is block else found

    def is_reachable(self, block: Block) -> bool:
        """Whether there is a path to the block from its region's entry."""
        assert block.region is not None
        return block in self._tree(block.region)[0]

    def block_dominates(self, above: Block, below: Block) -> bool:
        """Whether every path to `below` goes through `above`, both in one region; true for unreachable `below`."""
        if above is below:
            return True
        assert below.region is not None
        if len(below.region.blocks) == 1:
            return False
        idom, number = self._tree(below.region)
        if below not in idom:
            return True
        if above not in idom:
            return False
        depth = number[above]
        while number[below] > depth:
            below = idom[below]
        return below is above

    def value_dominates(self, value: Value, user: Operation) -> bool:
        """Whether `value` exists where `user` reads it."""
        if isinstance(value, BlockArgument):
            block, definer = value.block, None
        else:
            definer = value.defining_op
            assert definer is not None
            if definer.block is None:
                return False
            block = definer.block
        inside: Operation | None = user
        # Go out to the region that holds the definition.
        while inside is not None and (inside.block is None or inside.block.region is not block.region):
            inside = inside.parent_op
        if inside is None or inside.block is None:
            return False
        parent = block.parent_op
        if parent is not None and GraphRegion in parent.traits:
            return True
        if inside.block is not block:
            return self.block_dominates(block, inside.block)
        if definer is None:
            return True
        return definer is not inside and definer.is_before_in_block(inside)

    def op_dominates(self, above: Operation, below: Operation) -> bool:
        """Whether `above` runs before `below` on every path (false for an op and itself)."""
        inside: Operation | None = below
        while inside is not None and (inside.block is None or inside.parent_region is not above.parent_region):
            inside = inside.parent_op
        if inside is None or inside is above or above.block is None or inside.block is None:
            return False
        if inside.block is above.block:
            return above.is_before_in_block(inside)
        return self.block_dominates(above.block, inside.block)


def _immediate_dominators(region: Region) -> tuple[dict[Block, Block], dict[Block, int]]:
    order = reverse_post_order(region)
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in block.successors:
            predecessors[successor].append(block)
    if not order:
        return {}, {}
    entry = order[0]
    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            best: Block | None = None
            for candidate in predecessors[block]:
                if candidate not in idom:
                    continue
                if best is None:
                    best = candidate
                    continue
                other = candidate
                while best is not other:
                    while number[best] > number[other]:
                        best = idom[best]
                    while number[other] > number[best]:
                        other = idom[other]
            if best is not None and idom.get(block) is not best:
                idom[block] = best
                changed = True
    return idom, number
