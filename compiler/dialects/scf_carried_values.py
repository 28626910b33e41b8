"""Simplifications of what loops carry: values that never change, and values that nobody needs.

Before: a loop carries values that are the same in every iteration, or that only serve to compute what it carries.
After:  those are read from outside the loop, and these are gone, with the ops that computed them.

A carried value is needed if its result is read, or if an effect of an iteration, the condition, or another needed value
depends on it. Ops are told apart by name: the dialect's module imports this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.ir.core import BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.effects import is_dead, is_removable
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern

# Values that never change.


class ForwardInvariantIterArgs(RewritePattern):
    """A carried value of `scf.for` that an iteration hands on unchanged is the initial value."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        changed = False
        for init, inside, handed_on, result in zip(op.init_args, op.iter_args, op.yielded, op.results):
            if handed_on is inside or handed_on is init:
                only_handed_on = handed_on is inside and inside.has_one_use
                changed |= not only_handed_on and _replace(rewriter, inside, init)
                changed |= _replace(rewriter, result, init)
        return changed


class ForwardInvariantWhileValues(RewritePattern):
    """A carried value of `scf.while` that an iteration hands on unchanged is the initial value; what its condition
    passes on from outside is that value."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        changed = False
        passed_as = dict(zip(op.after_block.arguments, op.condition.args))
        handed_on = op.after_block.terminator.operands
        for init, inside, following in zip(op.inits, op.before_block.arguments, handed_on):
            if following is init or passed_as.get(following) is inside:
                changed |= _replace(rewriter, inside, init)
        for value, after, result in zip(op.condition.args, op.after_block.arguments, op.results):
            if not _is_within(value, op):
                changed |= _replace(rewriter, after, value)
                changed |= _replace(rewriter, result, value)
        return changed


def _replace(rewriter: PatternRewriter, value: Value, by: Value) -> bool:
    used = value.has_uses
    if used:
        rewriter.replace_value(value, by)
    return used


def _is_within(value: Value, loop: Operation) -> bool:
    return _op_around(value, loop.regions) is not None or (
        isinstance(value, BlockArgument) and value.block.region in loop.regions
    )


def _op_around(value: Value, regions: Sequence[Region]) -> Operation | None:
    """The op of these regions, itself in none of their ops, that defines a value or holds the op that does."""
    at = value.block.parent_op if isinstance(value, BlockArgument) else value.defining_op
    while at is not None and at.parent_region not in regions:
        at = at.parent_op
    return at


# Values that nobody needs.


class DropDeadIterArgs(RewritePattern):
    """Carried values of `scf.for` that are not needed are gone."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        needed = _Needed([op.body])
        handed_on = dict(zip(op.iter_args, op.yielded))
        needed.grow([v for v, result in zip(op.yielded, op.results) if result.has_uses], handed_on)
        kept = [i for i, (v, r) in enumerate(zip(op.iter_args, op.results)) if v in needed or r.has_uses]
        if len(kept) == len(op.results):
            return False
        block = op.body_block
        block.terminator.set_operands([op.yielded[i] for i in kept])
        _erase_unused(op.body, rewriter)
        for i in reversed(range(len(op.results))):
            if i not in kept:
                block.erase_argument(i + 1)
        bounds = (op.lower_bound, op.upper_bound, op.step)
        _replace_loop(op, rewriter, kept, *bounds, [op.init_args[i] for i in kept], op.properties.get("unsignedCmp"))
        return True


class DropDeadWhileValues(RewritePattern):
    """Carried values of `scf.while`, and what its condition passes on, are gone where they are not needed."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        before, after, condition = op.before_block, op.after_block, op.condition
        needed = _Needed([op.before, op.after])
        handed_on = dict(zip(before.arguments, after.terminator.operands))
        handed_on.update(zip(after.arguments, condition.args))
        read = [v for v, result in zip(condition.args, op.results) if result.has_uses]
        needed.grow([condition.condition, *read], handed_on)
        carried = [i for i, v in enumerate(before.arguments) if v in needed]
        passed = [i for i, (v, r) in enumerate(zip(after.arguments, op.results)) if v in needed or r.has_uses]
        if len(carried) == len(before.arguments) and len(passed) == len(after.arguments):
            return False
        condition.args = [condition.args[i] for i in passed]
        after.terminator.set_operands([after.terminator.operands[i] for i in carried])
        for region, kept in ((op.before, carried), (op.after, passed)):
            _erase_unused(region, rewriter)
            for i in reversed(range(len(region.entry.arguments))):
                if i not in kept:
                    region.entry.erase_argument(i)
        _replace_loop(op, rewriter, passed, [op.inits[i] for i in carried])
        return True


class _Needed:
    """The values in some regions that effects or results depend on."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self._regions = regions
        self._values: set[Value] = set()
        self._ops: set[Operation] = set()

    def __contains__(self, value: Value) -> bool:
        return value in self._values

    def grow(self, roots: Sequence[Value], handed_on: dict[Any, Value]) -> None:
        """Finds them; an argument that is needed needs what is handed on to it."""
        pending = list(roots)
        for region in self._regions:
            for op in region.entry.ops:
                if op is not region.entry.terminator and not is_removable(op):
                    self._add(op, pending)
        while pending:
            value = pending.pop()
            if value in self._values:
                continue
            self._values.add(value)
            if value in handed_on:
                pending.append(handed_on[value])
            elif (op := _op_around(value, self._regions)) is not None:
                self._add(op, pending)

    def _add(self, op: Operation, pending: list[Value]) -> None:
        if op not in self._ops:
            self._ops.add(op)
            pending += [v for nested in op.walk() for v in nested.operands]


def _erase_unused(region: Region, rewriter: PatternRewriter) -> None:
    for op in list(region.entry.reversed_ops):
        if is_dead(op):
            rewriter.erase_op(op)


def _replace_loop(op: Any, rewriter: PatternRewriter, kept: Sequence[int], *operands: Any) -> None:
    """Puts a loop with the same regions and only some results in place of `op`."""
    results = [op.results[i] for i in kept]
    regions, op.regions = op.regions, []
    new = type(op)(
        *operands,
        *regions,
        results=[r.type for r in results],
        attributes=dict(op.attributes),
        location=op.location,
    )
    rewriter.insert(new)
    for old, fresh in zip(results, new.results):
        rewriter.replace_value(old, fresh)
    rewriter.erase_op(op)
