"""iree-vm-convert-to-yieldable-calls: calls that may suspend end their block.

Before: functions and imports that may suspend have `vm.yield`; they are called by `vm.call` and `vm.call.variadic`.
After:  they are called by the yieldable forms, whose results are arguments of the block where it goes on.

    %0 = vm.call @wait(%a) : (i32) -> i32            vm.call.yieldable @wait(%a) : (i32) -> ^bb1 (i32)
    use(%0)                                     →  ^bb1(%0: i32):
                                                     use(%0)
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import (
    CallOp,
    CallVariadicOp,
    CallVariadicYieldableOp,
    CallYieldableOp,
    FuncOp,
    ImportOp,
    ModuleOp,
    segment_types_attr,
)


@register_pass("iree-vm-convert-to-yieldable-calls", on="vm.module")
def convert_to_yieldable_calls(module: ModuleOp, context: PassContext) -> None:
    """Rewrites the calls of what is marked."""
    yielding = {
        op.sym_name
        for op in module.entry_block.ops
        if isinstance(op, FuncOp | ImportOp) and "vm.yield" in op.attributes
    }
    if not yielding:
        return
    for op in list(module.walk_type((CallOp, CallVariadicOp))):
        if op.callee.leaf in yielding:
            _make_yieldable(op)


def _make_yieldable(op: Any) -> None:
    block, results = op.block, segment_types_attr(op.result_types)
    following = block.split_before(op.next_op)
    for result in op.results:
        result.replace_all_uses_with(following.add_argument(result.type, op.location))
    parts: dict[str, Any] = {"callee": op.callee, "operands": op.operands, "result_types_": results, "dest": following}
    if isinstance(op, CallVariadicOp):
        parts |= {"segment_sizes": op.segment_sizes, "segment_types": op.segment_types}
        block.append(CallVariadicYieldableOp(**parts, location=op.location))
    else:
        block.append(CallYieldableOp(**parts, location=op.location))
    op.erase()
