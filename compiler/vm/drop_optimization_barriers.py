"""iree-vm-drop-optimization-barriers: barriers have done their work.

Before: `%1 = vm.optimization_barrier %0 : i32`.
After:  uses of `%1` read `%0`.
"""

from __future__ import annotations

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import FuncOp, OptimizationBarrierOp


@register_pass("iree-vm-drop-optimization-barriers", on="vm.func")
def drop_optimization_barriers(func: FuncOp, context: PassContext) -> None:
    """Erases all barriers of a function."""
    for op in list(func.walk_type(OptimizationBarrierOp)):
        op.replace_all_uses_with(op.operands)
        op.erase()
