"""iree-global-opt-remove-zero-extent-tensors: what has no elements is not computed.

Before: %1 = linalg.generic … -> tensor<3x0x5xf32>
        %2 = tensor.insert_slice %1 into %x … : tensor<3x0x5xf32> into tensor<3x8x5xf32>
After:  %1 = tensor.empty() : tensor<3x0x5xf32>, and %x in place of %2

So no dispatch has such results, and no loop runs along a dim of no elements but the ones that reduce along it.
"""

from __future__ import annotations

from pyiree.compiler.dialects.tensor import EmptyOp
from pyiree.compiler.dialects.tensor_slices import InsertSliceOp
from pyiree.compiler.flow.resolve_dims import dynamic_dims
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, Type

_COMPUTING = ("arith.", "iree_linalg_ext.", "linalg.", "math.", "tensor.")


@register_pass("iree-global-opt-remove-zero-extent-tensors", on=("util.func", "util.initializer"))
def remove_zero_extent_tensors(func: Operation, context: PassContext) -> None:
    """Puts empty tensors in place of computed ones without elements."""
    for op in func.walk():
        if isinstance(op, EmptyOp) or not op.name.startswith(_COMPUTING):
            continue
        if isinstance(op, InsertSliceOp) and _has_no_elements(op.source.type):
            op.result.replace_all_uses_with(op.dest)
            op.erase()
        elif op.results and all(_has_no_elements(result.type) for result in op.results):
            builder = Builder.before(op)
            empty = [EmptyOp(dynamic_dims(builder, result), result=result.type) for result in op.results]
            op.replace_all_uses_with([builder.insert(made).result for made in empty])
            op.erase()


def _has_no_elements(type: Type) -> bool:
    return isinstance(type, TensorType) and 0 in type.shape
