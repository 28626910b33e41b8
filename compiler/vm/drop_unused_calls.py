"""iree-vm-drop-unused-calls: calls without effects that nobody needs go.

Before: `%0 = vm.call @f(…) {nosideeffects}` may have no uses.
After:  those are gone, and what only they used.
"""

from __future__ import annotations

from pyiree.compiler.ir.effects import is_dead
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import CallOp, CallVariadicOp, FuncOp


@register_pass("iree-vm-drop-unused-calls", on="vm.func")
def drop_unused_calls(func: FuncOp, context: PassContext) -> None:
    """Erases calls without effects, and other ops, that have no uses; last first, so that chains go at once."""
    for block in reversed(func.body.blocks):
        for op in block.reversed_ops:
            if isinstance(op, CallOp | CallVariadicOp):
                if "nosideeffects" in op.attributes and not any(r.has_uses for r in op.results):
                    op.erase()
            elif is_dead(op):
                op.erase()
