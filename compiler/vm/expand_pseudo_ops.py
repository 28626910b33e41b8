"""iree-vm-expand-pseudo-ops: what has no instruction is written with what has one.

Before: pseudo ops may be anywhere in functions.
After:  there are none; a failing op is a branch to a block that fails.

    vm.cond_fail %c, %status, "why"        vm.cond_br %c, ^fail, ^next
                                      →  ^next: …
                                         ^fail:
                                           vm.fail %status, "why"
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.dce import erase_unreachable_blocks
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import Type
from pyiree.compiler.vm.ops import (
    FAMILY_OPS,
    CheckEqOp,
    CheckNearlyEqOp,
    CheckNeOp,
    CheckNzOp,
    CondBranchOp,
    CondFailOp,
    FailOp,
    FuncOp,
)
from pyiree.compiler.vm.pseudo_ops import expand_value
from pyiree.compiler.vm.types import is_ref

#: The status of a check that fails.
_FAILED_PRECONDITION = 9


@register_pass("iree-vm-expand-pseudo-ops", on="vm.func")
def expand_pseudo_ops(func: FuncOp, context: PassContext) -> None:
    """Rewrites the pseudo ops of a function."""
    erase_unreachable_blocks(func.body)
    for op in list(func.body.ops):
        builder = Builder.before(op)

        def emit(mnemonic: str, *operands: Any, builder: Builder = builder) -> Value:
            return builder.insert(FAMILY_OPS[mnemonic](*operands)).result

        value = expand_value(op.name[3:], list(op.operands), emit) if len(op.results) == 1 else None
        if value is not None:
            op.replace_all_uses_with([value])
            op.erase()
        elif isinstance(op, CondFailOp):
            _fail_if(op, op.condition, op.status)
        elif isinstance(op, CheckEqOp | CheckNeOp | CheckNzOp):
            _fail_if(op, _failed(op, emit), emit("const.i32", _FAILED_PRECONDITION))
        elif isinstance(op, CheckNearlyEqOp):
            raise op.error("has no instruction; compare with a tolerance by other ops")


def _failed(op: Any, emit: Any) -> Value:
    """1 where a check does not hold."""
    if isinstance(op, CheckNzOp):
        nonzero = emit(f"cmp.nz.{_suffix(op.value.type)}", op.value)
        return emit("xor.i32", nonzero, emit("const.i32", 1))
    relation = "ne" if isinstance(op, CheckEqOp) else "eq"
    suffix = _suffix(op.lhs.type)
    return emit(f"cmp.{relation}.{suffix}{'.o' if suffix.startswith('f') else ''}", op.lhs, op.rhs)


def _suffix(type: Type) -> str:
    return "ref" if is_ref(type) else str(type)


def _fail_if(op: Any, condition: Value, status: Value) -> None:
    block, region = op.block, op.block.region
    following = block.split_before(op)
    failing = region.append(Block())
    failing.append(FailOp(status, op.message, location=op.location))
    block.append(CondBranchOp(condition, [], [], failing, following, location=op.location))
    op.erase()
