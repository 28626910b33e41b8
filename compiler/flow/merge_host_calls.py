"""pyiree-flow-merge-host-calls: what the host computes from the same arrays is computed once.

Before: %1 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
        %2:3 = util.call @pyiree_lapack.sgetrf(%1) : …
        %3 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
        %4:3 = util.call @pyiree_lapack.sgetrf(%3) : …
After:  %1 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
        %2:3 = util.call @pyiree_lapack.sgetrf(%1) : …

Of calls in one block, and only of functions without side effects. Views that leave the program stay apart, so that no
two results share memory.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import TensorExportOp, TensorImportOp
from pyiree.compiler.dialects.util import CallOp, FuncOp
from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.cse import equivalence_key
from pyiree.compiler.ir.passes import PassContext, register_pass


@register_pass("pyiree-flow-merge-host-calls", on="builtin.module")
def merge_host_calls(module: ModuleOp, context: PassContext) -> None:
    """Merges equal calls of imported functions that have no side effects."""
    functions = [op for op in module.body_block.ops if isinstance(op, FuncOp)]
    pure = {op.sym_name for op in functions if op.is_declaration and "nosideeffects" in op.attributes}
    if pure:
        for function in functions:
            _merge_inside(function, pure)


def _merge_inside(op: Operation, pure: set[str]) -> None:
    for region in op.regions:
        for block in region.blocks:
            _merge(block, pure)


def _merge(block: Block, pure: set[str]) -> None:
    known: dict[tuple, Operation] = {}
    for op in block.ops:
        _merge_inside(op, pure)
        if not _belongs_to_a_call(op, pure):
            continue
        first = known.setdefault(equivalence_key(op), op)
        if first is not op:
            op.replace_all_uses_with(first.results)
            op.erase()


def _belongs_to_a_call(op: Operation, pure: set[str]) -> bool:
    """Whether an op is a call of a pure function, or passes an array to one or from one."""
    if isinstance(op, TensorExportOp):
        return all(_is_call(user, pure) for user in op.result.users)
    return _is_call(op, pure) or (isinstance(op, TensorImportOp) and _is_call(op.source.defining_op, pure))


def _is_call(op: Operation | None, pure: set[str]) -> bool:
    return isinstance(op, CallOp) and op.callee.leaf in pure
