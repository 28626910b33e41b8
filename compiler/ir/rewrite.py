"""Pattern rewriting: small local changes, applied until none is left.

What enters: patterns, each for some op classes, and a root op. What leaves: the root with the patterns, folds and
dead-code removal applied to a fixpoint. The driver keeps a worklist: an op is looked at again only when its
operands, its users or itself changed, so the cost follows the number of changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, OpResult, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.effects import ALWAYS, has_removable_regions, removal_rule
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.traits import Commutative, ConstantLike
from pyiree.compiler.ir.types import Type


class RewritePattern:
    """One rewrite: `class FoldAddZero(RewritePattern, op=AddFOp, benefit=2)`.

    `op` is an op class, a tuple of them, or left out for any op. Of several patterns for an op, the higher benefit is
    tried first, then the earlier one.
    """

    op_classes: ClassVar[tuple[type, ...] | None] = None
    benefit: ClassVar[int] = 1

    def __init_subclass__(cls, op: Any = None, benefit: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if op is not None:
            cls.op_classes = op if isinstance(op, tuple) else (op,)
        if benefit is not None:
            cls.benefit = benefit

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        """Tries the rewrite; True if something changed. All changes go through `rewriter`."""
        raise NotImplementedError


class PatternRewriter(Builder):
    """A builder placed before the op at hand that also replaces and erases, and tells the driver."""

    def __init__(self, listener: Any = None) -> None:
        super().__init__()
        self._listener = listener

    def insert(self, op: Any) -> Any:
        super().insert(op)
        if self._listener is not None:
            self._listener.inserted(op)
        return op

    def replace_op(self, op: Operation, replacement: Sequence[Value] | Value | Operation) -> None:
        """Replaces the results of an op by values (or those of another op) and erases it."""
        if isinstance(replacement, Operation):
            values: Sequence[Value] = replacement._results
        else:
            values = (replacement,) if isinstance(replacement, Value) else replacement
        if len(values) != len(op._results):
            raise ValueError(f"{op.name} has {len(op._results)} results, given {len(values)} replacements")
        for old, new in zip(op._results, values):
            self.replace_value(old, new)
        self.erase_op(op)

    def replace_value(self, old: Value, new: Value) -> None:
        """Makes all users of a value read another."""
        users = old.users
        old.replace_all_uses_with(new)
        if self._listener is not None:
            self._listener.users_changed(users)

    def erase_op(self, op: Operation) -> None:
        """Erases an op without uses, and what is inside."""
        if self.anchor is op:
            self.anchor = op.next_op
        if self._listener is not None:
            self._listener.erasing(op)
        op.erase()

    def modified(self, op: Operation) -> None:
        """Says that an op was changed in place."""
        if self._listener is not None:
            self._listener.users_changed([op])

    def set_operand(self, op: Operation, index: int, value: Value) -> None:
        """Replaces one operand."""
        old = op._operands[index]
        op.set_operand(index, value)
        if self._listener is not None:
            self._listener.users_changed([op])
            self._listener.operand_dropped(old)

    def inline_block_before(self, block: Block, anchor: Operation, values: Sequence[Value] = ()) -> None:
        """Moves the ops of a block before `anchor`, its arguments replaced by `values`; the block is erased."""
        for argument, value in zip(block.arguments, values, strict=True):
            self.replace_value(argument, value)
        for op in block.ops:
            op.move_before(anchor)
        block.erase()


def _patterns_by_class(patterns: Iterable[RewritePattern]) -> Callable[[type], list[RewritePattern]]:
    ordered = sorted(patterns, key=lambda p: -p.benefit)
    found: dict[type, list[RewritePattern]] = {}

    def lookup(cls: type) -> list[RewritePattern]:
        matching = found.get(cls)
        if matching is None:
            matching = found[cls] = [p for p in ordered if p.op_classes is None or issubclass(cls, p.op_classes)]
        return matching

    return lookup


def constant_value(value: Value) -> Attribute | None:
    """The attribute of a constant that defines `value`, or None."""
    if value.__class__ is not OpResult:
        return None
    op = value.op  # type: ignore[attr-defined]
    return op.properties.get("value") if ConstantLike in op.traits else None


def materialize_constant(
    op: Operation, attribute: Attribute, type: Type, location: Location
) -> Operation | None:
    """A detached constant op for the result of folding `op`: by its own dialect, else by arith."""
    for dialect in dict.fromkeys((op.name.partition(".")[0], "arith")):
        make = registry.constant_materializer(dialect)
        made = None if make is None else make(attribute, type, location)
        if made is not None:
            return made
    return None


def fold(op: Any) -> list[Value | Attribute] | None:
    """What an op folds to: a value or attribute for each result, or None. A fold in place gives None."""
    if not hasattr(op, "fold") or ConstantLike in op.traits:
        return None
    folded = op.fold([constant_value(v) for v in op._operands])
    if folded is None:
        return None
    return list(folded) if isinstance(folded, list | tuple) else [folded]


class _Handling:
    """What the greedy driver does with the ops of a class, looked up once."""

    __slots__ = ("commutes", "folds", "patterns", "removal")

    def __init__(self, cls: Any, patterns: list[RewritePattern]) -> None:
        self.removal = removal_rule(cls.traits)
        self.folds = hasattr(cls, "fold") and ConstantLike not in cls.traits
        self.commutes = Commutative in cls.traits
        self.patterns = patterns


class PatternSet:
    """Patterns with what is known about them by op class; worth keeping where they are applied again and again."""

    def __init__(self, patterns: Iterable[RewritePattern]) -> None:
        self._patterns_for = _patterns_by_class(patterns)
        self._handling: dict[type, _Handling] = {}

    def handling(self, cls: type) -> _Handling:
        """What the driver does with ops of a class."""
        found = self._handling.get(cls)
        if found is None:
            found = self._handling[cls] = _Handling(cls, self._patterns_for(cls))
        return found


class _GreedyDriver:
    def __init__(self, root: Operation, patterns: PatternSet, folding: bool, max_rewrites: int | None) -> None:
        self.root = root
        self.handling = patterns.handling
        self.folding = folding
        self.worklist: list[Operation] = []
        self.queued: set[Operation] = set()
        self.rewriter = PatternRewriter(self)
        self.changed = False
        self.max_rewrites = max_rewrites
        #: Constants made by folding, by block, so that equal ones are made once and lie at its start.
        self.constants: dict[tuple, Operation] = {}

    # What the rewriter reports.

    def inserted(self, op: Operation) -> None:
        for nested in op.walk():
            self.enqueue(nested)

    def users_changed(self, users: Iterable[Operation]) -> None:
        for user in users:
            self.enqueue(user)

    def operand_dropped(self, value: Value) -> None:
        definer = value.defining_op
        if definer is not None:
            self.enqueue(definer)

    def erasing(self, op: Operation) -> None:
        erased = list(op.walk()) if op.regions else [op]
        for nested in erased:
            for operand in nested._operands:
                definer = operand.defining_op
                if definer is not None:
                    self.enqueue(definer)
        # Only now, since some of the definers are erased too.
        self.queued.difference_update(erased)

    def enqueue(self, op: Operation) -> None:
        if op not in self.queued:
            self.queued.add(op)
            self.worklist.append(op)

    # The loop.

    def run(self) -> bool:
        initial = self.root.nested_ops()
        # The list is popped from its end, so definitions come before their users.
        self.worklist = initial[::-1]
        self.queued = set(initial)
        worklist, queued, rewriter, handling = self.worklist, self.queued, self.rewriter, self.handling
        budget = self.max_rewrites if self.max_rewrites is not None else 1000 + 200 * len(initial)
        while worklist:
            op = worklist.pop()
            if op not in queued:
                continue
            queued.discard(op)
            if op.block is None:
                continue
            known = handling(op.__class__)
            if known.removal and _is_unused(op) and (known.removal == ALWAYS or has_removable_regions(op)):
                rewriter.erase_op(op)
                self.changed = True
                continue
            if self.folding and (known.folds or known.commutes) and self.try_fold(op, known.commutes):
                self.changed = True
                continue
            for pattern in known.patterns:
                rewriter.block, rewriter.anchor, rewriter.location = op.block, op, op.location
                if pattern.match_and_rewrite(op, rewriter):
                    self.changed = True
                    budget -= 1
                    if budget <= 0:
                        raise CompileError(
                            f"'{op.name}': rewriting does not come to an end; the last pattern was "
                            f"{type(pattern).__name__}", op.location,
                        )  # fmt: skip
                    if op.block is not None:
                        self.enqueue(op)
                    break
        return self.changed

    def try_fold(self, op: Operation, commutes: bool) -> bool:
        if commutes and self.commute(op):
            self.changed = True
        folded = fold(op)
        if folded is None:
            return False
        if len(folded) != len(op._results):
            raise CompileError(f"'{op.name}' folds to {len(folded)} values, not {len(op._results)}", op.location)
        values: list[Value] = []
        for result, value in zip(op._results, folded):
            if isinstance(value, Value):
                values.append(value)
                continue
            constant = self.constant(op, value, result.type)
            if constant is None:
                return False
            values.append(constant)
        if any(value is result for value, result in zip(values, op._results)):
            return False
        self.rewriter.replace_op(op, values)
        return True

    def commute(self, op: Operation) -> bool:
        """Constants of a commutative op go to its right end, so that patterns look there only."""
        if len(op._operands) != 2:
            return False
        lhs, rhs = op._operands
        if constant_value(lhs) is None or constant_value(rhs) is not None:
            return False
        op.set_operands((rhs, lhs))
        return True

    def constant(self, op: Operation, attribute: Attribute, type: Type) -> Value | None:
        block = op.block
        dialect = op.name.partition(".")[0]
        key = (block, dialect, attribute, type)
        known = self.constants.get(key)
        if known is not None and known.block is block:
            # It must come before `op`, which a pattern may have put at the start of the block since.
            known.move_before(block._first)  # type: ignore[union-attr, arg-type]
            return known._results[0]
        made = materialize_constant(op, attribute, type, op.location)
        if made is None:
            return None
        block.prepend(made)  # type: ignore[union-attr]
        self.enqueue(made)
        self.constants[key] = made
        return made._results[0]


def _is_unused(op: Operation) -> bool:
    for result in op._results:  # noqa: SIM110 (asked for each op at each visit)
        if result._uses:
            return False
    return True


def apply_patterns_greedily(
    root: Operation,
    patterns: PatternSet | Iterable[RewritePattern] = (),
    *,
    fold: bool = True,
    max_rewrites: int | None = None,
) -> bool:
    """Applies patterns, folds and removal of dead ops inside `root` until nothing changes; True if anything did."""
    if not isinstance(patterns, PatternSet):
        patterns = PatternSet(patterns)
    return _GreedyDriver(root, patterns, fold, max_rewrites).run()


class _ErasedOps:
    """Remembers what a rewriter erased, where no driver listens otherwise."""

    def __init__(self) -> None:
        self.ops: set[Operation] = set()

    def inserted(self, op: Operation) -> None:
        """New ops are not visited."""

    def users_changed(self, users: Iterable[Operation]) -> None:
        """Each op is visited once, whatever changes."""

    def operand_dropped(self, value: Value) -> None:
        """Dead ops stay."""

    def erasing(self, op: Operation) -> None:
        self.ops.update(op.walk())


def walk_and_apply(root: Operation, patterns: Iterable[RewritePattern]) -> bool:
    """Tries the patterns once on each op inside `root`, in order; for patterns that need no fixpoint."""
    patterns_for = _patterns_by_class(patterns)
    erased = _ErasedOps()
    rewriter = PatternRewriter(erased)
    changed = False
    for op in root.nested_ops():
        for pattern in patterns_for(op.__class__):
            if op in erased.ops:
                break
            rewriter.block, rewriter.anchor, rewriter.location = op.block, op, op.location
            if pattern.match_and_rewrite(op, rewriter):
                changed = True
                break
    return changed
