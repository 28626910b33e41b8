"""Pseudo ops: those that the bytecode has no instruction for, written with ops that it has.

Enters: `vm.cmp.gte.i32.s`, `vm.ext.i8.i64.s`, `vm.cond_fail`, … Leaves: canonicalization patterns that replace them.

    %0 = vm.cmp.gte.i32.s %a, %b : i32        %1 = vm.cmp.lt.i32.s %a, %b : i32
                                         →    %0 = vm.xor.i32 %1, %c1 : i32
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.registry import lookup_operation
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern
from pyiree.compiler.ir.types import i32

Emit = Callable[..., Value]

#: (first step, second step or None) of conversions by way of 32 bits.
_CONVERSION_STEPS = {
    "trunc.i16.i8": ("trunc.i32.i8",),
    "trunc.i64.i8": ("trunc.i64.i32", "trunc.i32.i8"),
    "trunc.i64.i16": ("trunc.i64.i32", "trunc.i32.i16"),
    "ext.i8.i64.s": ("ext.i8.i32.s", "ext.i32.i64.s"),
    "ext.i8.i64.u": ("ext.i8.i32.u", "ext.i32.i64.u"),
    "ext.i16.i64.s": ("ext.i16.i32.s", "ext.i32.i64.s"),
    "ext.i16.i64.u": ("ext.i16.i32.u", "ext.i32.i64.u"),
}


def expand_value(mnemonic: str, operands: list[Value], emit: Emit) -> Value | None:
    """Builds what a pseudo op stands for by `emit(mnemonic, *operands)`; None if it is a real one."""
    steps = _CONVERSION_STEPS.get(mnemonic)
    if steps is not None:
        value = operands[0]
        for step in steps:
            value = emit(step, value)
        return value
    relation, _, rest = mnemonic.removeprefix("cmp.").partition(".")
    if not mnemonic.startswith("cmp.") or relation not in ("gt", "gte", "lte", "nz"):
        return None
    is_float = rest.startswith("f")
    if relation == "nz":
        return emit(f"cmp.ne.{rest}", operands[0], emit(f"const.{rest[:3]}.zero")) if is_float else None
    if relation == "gt":
        return emit(f"cmp.lt.{rest}", operands[1], operands[0])
    if is_float:
        return None if relation == "lte" else emit(f"cmp.lte.{rest}", operands[1], operands[0])
    lhs, rhs = operands if relation == "gte" else reversed(operands)
    return emit("xor.i32", emit(f"cmp.lt.{rest}", lhs, rhs), emit("const.i32", 1))


class ExpandPseudoOp(RewritePattern):
    """A pseudo op becomes the ops that it stands for."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        def emit(mnemonic: str, *operands: Any) -> Value:
            cls: Any = lookup_operation(f"vm.{mnemonic}")
            if mnemonic == "const.i32":
                operands = tuple([IntegerAttr(v, i32) for v in operands])
            return rewriter.insert(cls(*operands, location=op.location)).result

        value = expand_value(op.name[3:], list(op.operands), emit)
        if value is None:
            return False
        rewriter.replace_op(op, [value])
        return True


PSEUDO_OP_PATTERNS = (ExpandPseudoOp,)
