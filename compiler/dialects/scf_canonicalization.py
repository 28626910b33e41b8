"""Simplifications of structured control flow: known conditions, loops that don't run.

Ops are told apart by name: the dialect's module imports this one.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.scf_carried_values import (
    DropDeadIterArgs,
    DropDeadWhileValues,
    ForwardInvariantIterArgs,
    ForwardInvariantWhileValues,
)
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern, constant_value


def constant_int(value: Value) -> int | None:
    """The integer a value is known to be, or None."""
    attribute = constant_value(value)
    return attribute.value if isinstance(attribute, IntegerAttr) else None


def _inline(rewriter: PatternRewriter, op: Any, block: Block, arguments: Any = ()) -> None:
    """Puts the ops of a region's only block in place of `op`; what its yield hands on are the results."""
    terminator = block.terminator
    results = list(terminator.operands)
    mapping = dict(zip(block.arguments, arguments))
    rewriter.erase_op(terminator)
    rewriter.inline_block_before(block, op, arguments)
    rewriter.replace_op(op, [mapping.get(value, value) for value in results])


class InlineKnownIf(RewritePattern):
    """`scf.if` of a constant is the region taken."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        condition = constant_int(op.condition)
        if condition is None:
            return False
        region = op.then_region if condition else op.else_region
        if region.is_empty:
            rewriter.erase_op(op)
        else:
            _inline(rewriter, op, region.entry)
        return True


class ForwardEqualYields(RewritePattern):
    """A result that both regions hand on from outside is that value."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        if not op.results or op.else_region.is_empty:
            return False
        changed = False
        for result, then, otherwise in zip(
            op.results, op.then_block.terminator.operands, op.else_block.terminator.operands
        ):
            if then is otherwise and result.has_uses:
                rewriter.replace_value(result, then)
                changed = True
        return changed


class InlineKnownSwitch(RewritePattern):
    """`scf.index_switch` of a constant is the region taken."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        value = constant_int(op.arg)
        if value is None:
            return False
        _inline(rewriter, op, op.region_of(value).entry)
        return True


class SimplifyShortFor(RewritePattern):
    """A loop that never runs is its initial values; one that runs once is its body."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        lower, upper, step = [constant_int(v) for v in (op.lower_bound, op.upper_bound, op.step)]
        if op.lower_bound is op.upper_bound:
            rewriter.replace_op(op, list(op.init_args))
            return True
        if lower is None or upper is None or op.unsignedCmp:
            return False
        if lower >= upper:
            rewriter.replace_op(op, list(op.init_args))
            return True
        if step is None or step <= 0 or lower + step < upper:
            return False
        _inline(rewriter, op, op.body_block, [op.lower_bound, *op.init_args])
        return True


class InlineFalseWhile(RewritePattern):
    """A loop whose condition is never true is one run of its first region."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        condition = op.condition
        if constant_int(condition.condition) != 0:
            return False
        block = op.before_block
        mapping = dict(zip(block.arguments, op.inits))
        results = [mapping.get(v, v) for v in condition.args]
        inits = list(op.inits)
        rewriter.erase_op(condition)
        rewriter.inline_block_before(block, op, inits)
        rewriter.replace_op(op, results)
        return True


IF_PATTERNS = (InlineKnownIf, ForwardEqualYields)
FOR_PATTERNS = (SimplifyShortFor, ForwardInvariantIterArgs, DropDeadIterArgs)
WHILE_PATTERNS = (InlineFalseWhile, ForwardInvariantWhileValues, DropDeadWhileValues)
INDEX_SWITCH_PATTERNS = (InlineKnownSwitch,)
