"""Simplifications of structured control flow: known conditions, loops that don't run, values that don't change.

Ops are told apart by name: the dialect's module imports this one.
"""

from __future__ import annotations

from typing import Any

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


class ForwardInvariantIterArgs(RewritePattern):
    """A carried value that an iteration hands on unchanged is the initial value."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        changed = False
        for init, inside, handed_on, result in zip(op.init_args, op.iter_args, op.yielded, op.results):
            if handed_on is not inside and handed_on is not init:
                continue
            for value in (inside, result):
                if value.has_uses and not (value is inside and handed_on is inside and _only_yielded(inside)):
                    rewriter.replace_value(value, init)
                    changed = True
        return changed


def _only_yielded(value: Value) -> bool:
    return value.has_one_use and value.users[0].name == "scf.yield"


class DropUnusedIterArgs(RewritePattern):
    """A carried value whose result nobody reads and which only carries itself is dropped."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        dropped = [
            i
            for i, (init, inside, handed_on, result) in enumerate(
                zip(op.init_args, op.iter_args, op.yielded, op.results)
            )
            if not result.has_uses
            and (
                (handed_on is inside and _only_yielded(inside))
                or (handed_on is init and not inside.has_uses)
            )
        ]
        if not dropped:
            return False
        kept = [i for i in range(len(op.results)) if i not in dropped]
        terminator = op.body_block.terminator
        yielded = [terminator.operands[i] for i in kept]
        terminator.set_operands(yielded)
        for i in reversed(dropped):
            op.body_block.erase_argument(i + 1)
        inits = [op.init_args[i] for i in kept]
        results = [op.results[i] for i in kept]
        body = op.body
        op.regions = []
        new = type(op)(
            op.lower_bound,
            op.upper_bound,
            op.step,
            inits,
            op.properties.get("unsignedCmp"),
            body,
            results=[r.type for r in results],
            attributes=dict(op.attributes),
            location=op.location,
        )
        rewriter.insert(new)
        for old, fresh in zip(results, new.results):
            rewriter.replace_value(old, fresh)
        rewriter.erase_op(op)
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
FOR_PATTERNS = (SimplifyShortFor, ForwardInvariantIterArgs, DropUnusedIterArgs)
WHILE_PATTERNS = (InlineFalseWhile,)
INDEX_SWITCH_PATTERNS = (InlineKnownSwitch,)
