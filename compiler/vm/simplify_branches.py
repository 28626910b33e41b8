"""pyiree-vm-simplify-branches: no branch that goes where the one before it could have gone.

Before: branches may have constant conditions, go to blocks that only branch on, or be the only way into a block.
After:  none does; blocks that nothing reaches are gone.

    vm.cond_br %c18, ^fail, ^next        vm.fail %c18, "…"
    ^next: …                        →
    ^fail:
      vm.fail %c18, "…"
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Block
from pyiree.compiler.ir.dce import erase_unreachable_blocks
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.vm.ops import BranchOp, CondBranchOp, FuncOp


@register_pass("pyiree-vm-simplify-branches", on="vm.func")
def simplify_branches(func: FuncOp, context: PassContext) -> None:
    """Simplifies the control flow of a function."""
    if len(func.body.blocks) == 1:
        return
    for block in func.body.blocks:
        _decide(block)
    erase_unreachable_blocks(func.body)
    for block in list(func.body.blocks):
        if block.region is not None and not block.is_entry:
            _skip(block)
    erase_unreachable_blocks(func.body)
    for block in list(func.body.blocks):
        while block.region is not None and _merge_following(block):
            pass


def _is_plain(op: Any) -> bool:
    # Yields and breaks are branches too, but not only that.
    return type(op) is BranchOp


def _decide(block: Block) -> None:
    """A conditional branch on a constant goes where the constant says."""
    branch = block.last_op
    if not isinstance(branch, CondBranchOp):
        return
    condition = constant_value(branch.condition)
    if isinstance(condition, IntegerAttr):
        number = 0 if condition.value else 1
        target, operands = branch.successors[number], branch.branch_operands(number)
        block.append(BranchOp(operands, target, location=branch.location))
        branch.erase()


def _skip(block: Block) -> None:
    """Branches to a block without arguments that only branches on go there themselves, if they pass nothing."""
    only: Any = block.first_op
    if not _is_plain(only) or block.arguments or only.dest is block:
        return
    for branch in list(block._users):
        if _is_plain(branch):
            branch.dest_operands, branch.dest = only.dest_operands, only.dest
        elif isinstance(branch, CondBranchOp) and not only.dest_operands:
            branch.successors = [only.dest if target is block else target for target in branch.successors]


def _merge_following(block: Block) -> bool:
    """A block that is reached from one branch only becomes part of the block before."""
    branch: Any = block.last_op
    if not _is_plain(branch):
        return False
    following = branch.dest
    if following is block or following.is_entry or sum(following._users.values()) != 1:
        return False
    for argument, value in zip(following.arguments, branch.dest_operands):
        argument.replace_all_uses_with(value)
    branch.erase()
    for op in following.ops:
        op.move_to_end(block)
    following.erase()
    return True
