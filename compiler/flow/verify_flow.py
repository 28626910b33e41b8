"""iree-flow-verify: what must hold after the flow phase.

The host program holds flow, util, scf and hal ops and scalar arithmetic, and no tensor op but the question for a dim;
dispatch functions hold only what the code generator takes. An op that breaks this is named with the user's line.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.util import FuncOp, InitializerOp
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.flow.op_kinds import is_for_dispatches
from pyiree.compiler.flow.ops import ExecutableOp
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.diagnostics import source_line
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType

_HOST_DIALECTS = frozenset({"flow", "util", "scf", "cf", "hal", "arith", "math"})
_KERNEL_DIALECTS = frozenset({"arith", "math", "complex", "scf", "iree_tensor_ext", "util", "func", "builtin"})


@register_pass("iree-flow-verify")
def verify_flow(module: ModuleOp, context: PassContext) -> None:
    """Raises UnsupportedError for tensor ops that no dispatch took, and for ops that no kernel can hold."""
    left: list[Operation] = []
    for op in module.body_block.ops:
        if isinstance(op, FuncOp | InitializerOp):
            left += _left_on_host(op)
        elif isinstance(op, ExecutableOp):
            left += [inner for inner in op.walk() if not _is_for_kernels(inner)]
    if left:
        found = [(op.name, source_line(op.location) or "an unknown line") for op in left]
        raise UnsupportedError(found, "the flow phase could form no dispatch of it")


def _left_on_host(op: Operation) -> Iterator[Operation]:
    """The ops in an op that are not the host's; what is inside of them is not named again."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if not _is_for_host(inner):
                    yield inner
                else:
                    yield from _left_on_host(inner)


def _is_for_host(op: Operation) -> bool:
    dialect = op.name.partition(".")[0]
    if dialect not in _HOST_DIALECTS:
        return op.name == "tensor.dim"
    if dialect in ("arith", "math"):
        return not any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results))
    return True


def _is_for_kernels(op: Operation) -> bool:
    dialect = op.name.partition(".")[0]
    return dialect in _KERNEL_DIALECTS or op.name.startswith("flow.executable") or is_for_dispatches(op)
