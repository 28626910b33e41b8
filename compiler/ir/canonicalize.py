"""canonicalize: folds and each op's own patterns, until nothing changes.

Before: any IR.
After:  no op folds, no canonicalization pattern of an op in it applies, no pure op is unused, and no block is
        unreachable.

    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %0 = arith.addi %c1, %c2 : i32      →      %c3 = arith.constant 3 : i32
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.dce import erase_unreachable_blocks
from pyiree.compiler.ir.passes import PassContext, functions_of, register_pass
from pyiree.compiler.ir.rewrite import PatternSet, RewritePattern, apply_patterns_greedily


@register_pass("canonicalize", on=None)
class Canonicalize:
    """Folds and rewrites inside an op; with `dialect`, inside of its functions of that dialect only."""

    dialect: str = ""

    def run(self, op: Operation, context: PassContext) -> None:
        """Canonicalizes what the options say."""
        for root in functions_of(op, self.dialect):
            canonicalize(root, context)


def canonicalize(root: Operation, context: PassContext) -> None:
    """Folds and rewrites inside `root`."""
    _drop_unreachable(root)
    apply_patterns_greedily(root, _pattern_set(root))
    # A block that is gone may leave another with a single way in.
    while _drop_unreachable(root):
        apply_patterns_greedily(root, _pattern_set(root))


def _drop_unreachable(op: Operation) -> bool:
    found = False
    for region in op.regions:
        if len(region.blocks) > 1:
            found = erase_unreachable_blocks(region) or found
        for nested in region.ops:
            if nested.regions:
                found = _drop_unreachable(nested) or found
    return found


#: The patterns by the dialects that are there, until a class of ops is added.
_pattern_sets: dict[tuple[int, frozenset[str]], PatternSet] = {}


def _pattern_set(root: Operation) -> PatternSet:
    """The patterns of all op classes of the dialects that occur in `root`, and of arith, whose ops others make."""
    names = {op.name for op in root.nested_ops()}
    dialects = frozenset(["arith", *[name.partition(".")[0] for name in (root.name, *names)]])
    key = (registry.operation_count(), dialects)
    found = _pattern_sets.get(key)
    if found is None:
        found = _pattern_sets[key] = PatternSet(_patterns_of(dialects))
    return found


def _patterns_of(dialects: Iterable[str]) -> list[RewritePattern]:
    """The patterns of all op classes of some dialects.

    A pattern that doesn't say which ops it is for is for ops of the class that lists it.
    """
    patterns: dict[tuple, RewritePattern] = {}
    for cls in registry.operations_of(dialects):
        for pattern in getattr(cls, "canonicalize_patterns", ()):
            made = pattern() if isinstance(pattern, type) else pattern
            if made.op_classes is None:
                made.op_classes = (cls,)  # type: ignore[misc]
            patterns.setdefault((pattern, made.op_classes), made)
    return list(patterns.values())
