"""Where something that depends on few values can be made before the loop that uses it.

Enters: an op of a function in blocks and branches, and the values that it depends on. Leaves: the place right behind
the last of them, if the op stands in a loop that is entered after that place, or None.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.dominance import Dominance


def place_before_loop(op: Operation, values: Sequence[Value]) -> Builder | None:
    """The place for what needs only `values` and would be made again and again where `op` stands."""
    block = op.block
    assert block is not None and block.region is not None
    if len(block.region.blocks) == 1:
        return None
    dominance = Dominance()
    place = block.region.blocks[0]
    for value in values:
        home = _home(value)
        if home is not place and dominance.block_dominates(place, home):
            place = home
    if place is block or not _is_repeated_behind(block, place):
        return None
    return _behind_definitions(place, values, op)


def _home(value: Value) -> Block:
    owner = value.defining_op
    home = value.block if owner is None else owner.block  # type: ignore[attr-defined]
    assert home is not None
    return home


def _is_repeated_behind(block: Block, place: Block) -> bool:
    """Whether control can come from a block back to it without passing through `place`."""
    seen: set[Block] = set()
    pending = list(block.successors)
    while pending:
        current = pending.pop()
        if current is block:
            return True
        if current is not place and current not in seen:
            seen.add(current)
            pending += current.successors
    return False


def _behind_definitions(place: Block, values: Sequence[Value], op: Operation) -> Builder:
    owners = {v.defining_op for v in values}
    last = next((o for o in place.reversed_ops if o in owners), None)
    builder = Builder.at_start(place) if last is None else Builder.after(last)
    builder.location = op.location
    return builder
