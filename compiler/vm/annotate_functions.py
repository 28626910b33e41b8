"""iree-vm-annotate-functions: which functions may suspend an invocation, and which hold references.

Before: imports that may suspend have `vm.yield`.
After:  so has every function that calls one, directly or not, or yields itself; functions that hold references, or
        call others that do, have `vm.unwind`: when they fail, something must be given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyiree.compiler.ir.attributes import UnitAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import FuncOp, ImportOp, ModuleOp, YieldOp
from pyiree.compiler.vm.types import is_ref


@register_pass("iree-vm-annotate-functions", on="vm.module")
def annotate_functions(module: ModuleOp, context: PassContext) -> None:
    """Marks functions from their bodies and from what they call."""
    functions = {op.sym_name: op for op in module.entry_block.ops if isinstance(op, FuncOp | ImportOp)}
    callers: dict[str, list[FuncOp]] = {name: [] for name in functions}
    for func in functions.values():
        if not isinstance(func, FuncOp):
            continue
        holds_references = any(is_ref(t) for t in (*func.function_type.inputs, *func.function_type.results))
        for op in func.body.ops:
            callee = op.properties.get("callee")
            if callee is not None and callee.leaf in callers:
                callers[callee.leaf].append(func)
            if isinstance(op, YieldOp):
                func.attributes["vm.yield"] = UnitAttr()
            holds_references = holds_references or any(is_ref(r.type) for r in op.results)
        if holds_references:
            func.attributes["vm.unwind"] = UnitAttr()
    for mark in ("vm.yield", "vm.unwind"):
        _spread(mark, functions.values(), callers)


def _spread(mark: str, functions: Iterable[Any], callers: dict[str, list[FuncOp]]) -> None:
    """Marks all callers of what is marked."""
    pending = [op for op in functions if mark in op.attributes]
    while pending:
        for caller in callers[pending.pop().sym_name]:
            if mark not in caller.attributes:
                caller.attributes[mark] = UnitAttr()
                pending.append(caller)
