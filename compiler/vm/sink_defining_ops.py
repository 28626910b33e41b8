"""iree-vm-sink-defining-ops: constants move to where they are used.

Before: constants stand at the start of the function.
After:  each stands just before its first use in the block that is common to all paths to its uses, as long as that is
        not in a loop that the constant would be made in again each time around.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.dominance import Dominance
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.traits import Pure
from pyiree.compiler.vm.ops import FuncOp


@register_pass("iree-vm-sink-defining-ops", on="vm.func")
def sink_defining_ops(func: FuncOp, context: PassContext) -> None:
    """Moves the operand-free pure ops of the entry block down to their uses."""
    entry = func.entry_block
    movable = [op for op in entry.ops if Pure in op.traits and not op.operands and op.results]
    dominance = Dominance()
    looping = _blocks_in_loops(func) if len(func.body.blocks) > 1 else set()
    # All places first, which no move changes: the order of a block is numbered anew after each.
    places = []
    for op in movable:
        users = [user for result in op.results for user in result.users]
        if users:
            places.append((op, _place(op, users, dominance, looping)))
    for op, place in places:
        op.move_before(place)


def _place(op: Operation, users: list[Any], dominance: Dominance, looping: set[Block]) -> Operation:
    """The op that a constant goes before."""
    block, *others = dict.fromkeys([user.block for user in users])
    for other in others:
        block = _common_dominator(block, other, dominance)
    while block in looping:
        above = dominance.immediate_dominator(block)
        if above is None:
            return op
        block = above
    here = [user for user in users if user.block is block]
    first = block.terminator
    for user in here:
        if user.is_before_in_block(first):
            first = user
    return first


def _common_dominator(one: Block, other: Block, dominance: Dominance) -> Block:
    while not dominance.block_dominates(one, other):
        above = dominance.immediate_dominator(one)
        assert above is not None  # the entry dominates all blocks
        one = above
    return one


def _blocks_in_loops(func: FuncOp) -> set[Block]:
    """The blocks that can be reached from themselves."""
    found = set()
    for start in func.body.blocks:
        pending, seen = list(start.successors), set()
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                pending.extend(block.successors)
        if start in seen:
            found.add(start)
    return found
