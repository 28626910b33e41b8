"""iree-vm-materialize-ref-discards: every reference is given up exactly once on every path.

Before: references have uses, and nothing says where they end.
After:  each reference is, on each path from its definition, moved by its last use (a call, a return, a branch), or
        named by a `vm.discard.refs`; a block that fails needs none, since a failing call gives up all it holds.

    %length = vm.buffer.length %buffer : !vm.buffer -> i64
    vm.discard.refs %buffer : !vm.buffer                        ← added: `buffer.length` does not take it over
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.liveness import Liveness, branch_targets, edge_keeps
from pyiree.compiler.vm.moves import moved_operands
from pyiree.compiler.vm.ops import BranchOp, DiscardRefsOp, FailOp, FuncOp
from pyiree.compiler.vm.types import is_ref


@register_pass("iree-vm-materialize-ref-discards", on="vm.func")
def materialize_ref_discards(func: FuncOp, context: PassContext) -> None:
    """Adds the discards that a function lacks."""
    blocks = list(func.body.blocks)
    if not any(is_ref(v.type) for block in blocks for op in block.ops for v in (*op.results, *block.arguments)):
        return
    live = Liveness(blocks)
    # Edges first, over the blocks as they are; the discards inside of blocks do not change what crosses edges.
    edges = [edge for block in blocks for edge in _dying_on_edges(live, block)]
    for block in blocks:
        if not _fails(block):
            _discard_inside(live, block)
    for block, number, dying in edges:
        _discard_on_edge(block, number, dying)


def _fails(block: Block) -> bool:
    return isinstance(block.last_op, FailOp)


def _dying_on_edges(live: Liveness, block: Block) -> list[tuple[Block, int, list[Value]]]:
    """The references that reach the end of a block but go no further over one of its edges."""
    terminator: Any = block.terminator
    targets = branch_targets(terminator) if terminator.successors else []
    if not targets:
        return []
    passed = {v for _, values in targets for v in values}
    held = live.live_out[block] | live.mask(passed)
    references = [v for v in live.members(held) if is_ref(v.type)]
    found = []
    for number, (target, values) in enumerate(targets):
        dying = [v for v in references if not edge_keeps(live, target, values, v)]
        if dying and not _fails(target):
            found.append((block, number, dying))
    return found


def _discard_inside(live: Liveness, block: Block) -> None:
    """Discards after last uses inside a block, and of what is never used."""
    terminator = block.terminator
    for op, after in live.live_after(block):
        if op is terminator or isinstance(op, DiscardRefsOp):
            continue
        is_live = live.test(after)
        ended = [v for v in dict.fromkeys(op.operands) if is_ref(v.type) and not is_live(v)]
        moved = moved_operands(op, is_live).values() if ended else ()
        dying = [v for v in ended if v not in moved]
        dying += [r for r in op.results if is_ref(r.type) and not is_live(r)]
        if dying:
            block.insert_after(op, DiscardRefsOp(dying, location=op.location))
    unused = [a for a in block.arguments if is_ref(a.type) and not a.has_uses]
    if unused:
        block.prepend(DiscardRefsOp(unused, location=terminator.location))


def _discard_on_edge(block: Block, number: int, dying: list[Value]) -> None:
    terminator: Any = block.terminator
    target = terminator.successors[number]
    discard = DiscardRefsOp(dying, location=terminator.location)
    if len(terminator.successors) == 1:
        block.insert_before(terminator, discard)
    elif sum(target._users.values()) == 1:
        target.prepend(discard)
    else:
        # The discard gets a block of its own on this edge; the branch goes on with the same operands from there.
        values = terminator.branch_operands(number)
        region = block.region
        between = Block()
        region.insert(region.blocks.index(target), between)
        between.append(discard)
        between.append(BranchOp(values, target, location=terminator.location))
        terminator.redirect(number, between)
