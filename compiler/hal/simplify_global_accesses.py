"""iree-util-simplify-global-accesses: a function loads each global that never changes once.

Before: a load of the device, of an executable or of a command buffer wherever one is used.
After:  immutable loads stand at the start of their function, each global once.

    ^bb3:                                          ^bb0:
      %0 = util.global.load immutable @device   →    %0 = util.global.load immutable @device
      %1 = util.global.load immutable @device

In an initializer a load stays behind the store that it needs; so only those of other globals' values are joined there.
"""

from __future__ import annotations

from pyiree.compiler.dialects.util import FuncOp, GlobalLoadOp, GlobalStoreOp, InitializerOp
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.passes import PassContext, register_pass


@register_pass("iree-util-simplify-global-accesses", on=("util.func", "util.initializer"))
def simplify_global_accesses(func: FuncOp | InitializerOp, context: PassContext) -> None:
    """Moves immutable loads to the start of a function and joins those of one global."""
    if not func.body.blocks:
        return
    stored = {op.global_.root for op in func.walk_type(GlobalStoreOp)}
    entry = func.body.entry
    loaded: dict[str, Value] = {}
    for load in list(func.walk_type(GlobalLoadOp)):
        name = load.global_.root
        if not load.is_immutable or name in stored:
            continue
        known = loaded.get(name)
        if known is not None:
            load.replace_all_uses_with([known])
            load.erase()
            continue
        loaded[name] = load.result
        if load is not entry.first_op:
            load.move_before(entry.first_op)
