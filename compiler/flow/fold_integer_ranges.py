"""pyiree-flow-fold-integer-ranges: comparisons and clamps that never do anything are gone.

Before: scf.for %i = %c0 to %c31 step %c1 … {        scf.for %i = %c0 to %c31 step %c1 … {
          %0 = arith.maxsi %i, %c0                →      … %i …
          %1 = arith.minsi %0, %c30                    }
          … %1 … }

So an index that counts along with a loop is seen as such by the passes that follow.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, IndexCastOp, MaxSIOp, MinSIOp
from pyiree.compiler.dialects.integer_ranges import Range, range_of
from pyiree.compiler.dialects.scf import ForOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import i1


@register_pass("pyiree-flow-fold-integer-ranges", on="util.func")
def fold_integer_ranges(func: Operation, context: PassContext) -> None:
    """Folds what the ranges of counters decide, in functions with loops."""
    if any(isinstance(op, ForOp) for op in func.walk()) and fold_ranges(func):
        canonicalize(func, context)


def fold_ranges(root: Operation) -> bool:
    """Folds inside of an op; whether there was anything."""
    changed = False
    for op in list(root.walk()):
        if isinstance(op, CmpIOp):
            decided = _decided(op)
            if decided is not None:
                constant = Builder.before(op).insert(ConstantOp(IntegerAttr(int(decided), i1)))
                op.replace_all_uses_with(constant.results)
                op.erase()
                changed = True
        elif (kept := _kept(op)) is not None:
            op.replace_all_uses_with([kept])
            op.erase()
            changed = True
    return changed


def _decided(op: CmpIOp) -> bool | None:
    left, right = (range_of(v) for v in op.operands)
    if left is None or right is None:
        return None
    answers = {
        "slt": _is_less(left, right), "sge": _negated(_is_less(left, right)),
        "sgt": _is_less(right, left), "sle": _negated(_is_less(right, left)),
    }  # fmt: skip
    return answers.get(op.predicate)


def _is_less(x: Range, y: Range) -> bool | None:
    if x[1] < y[0]:
        return True
    return False if x[0] >= y[1] else None


def _negated(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _kept(op: Operation) -> Value | None:
    """What the result of an op always is."""
    if isinstance(op, IndexCastOp):
        inner = op.in_.defining_op
        # An index that fits into an integer comes back from it.
        there_and_back = isinstance(inner, IndexCastOp) and inner.in_.type is op.out.type and op.out.type.is_index
        return inner.in_ if there_and_back and range_of(op.in_) is not None else None  # type: ignore[union-attr]
    if not isinstance(op, (MaxSIOp, MinSIOp)):
        return None
    ranges = [range_of(v) for v in op.operands]
    for mine, other, operand in zip(ranges, ranges[::-1], op.operands):
        if mine is None or other is None:
            continue
        if mine[0] >= other[1] if isinstance(op, MaxSIOp) else mine[1] <= other[0]:
            return operand
    return None
