"""iree-flow-verify: what holds at the end of the flow phase.

On the host there are dispatches and flow tensor ops, control flow and host scalars, and nothing that computes on
tensors; a dispatch function holds only what the code generator takes. An op that breaks this is named with the user's
line.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.util import FuncOp, InitializerOp
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.diagnostics import source_line
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType

_HOST_DIALECTS = frozenset({"flow", "util", "scf", "cf", "hal", "arith", "math"})


@register_pass("iree-flow-verify")
def verify_flow(module: ModuleOp, context: PassContext) -> None:
    """Raises UnsupportedError for tensor ops that no dispatch took."""
    left: list[tuple[str, str]] = []
    for func in module.body_block.ops:
        if isinstance(func, FuncOp | InitializerOp):
            left += [(op.name, source_line(op.location) or "an unknown line") for op in func.walk() if _is_left(op)]
    if left:
        raise UnsupportedError(left, "the flow phase could form no dispatch of it")


def _is_left(op: Operation) -> bool:
    dialect = op.name.partition(".")[0]
    if dialect not in _HOST_DIALECTS:
        return op.name != "tensor.dim"
    if dialect in ("arith", "math"):
        return any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results))
    return False
