"""iree-stream-encode-device-tensors: dispatch functions load and store tensors as they lie in memory.

Before: bindings are tensors of any element type.
After:  bindings have elements of whole bytes; others are converted where they are loaded and stored.

    %1 = iree_tensor_ext.dispatch.tensor.load %0 … : !…<readonly:tensor<4xi1>> -> tensor<4xi1>
    →
    %1 = iree_tensor_ext.dispatch.tensor.load %0 … : !…<readonly:tensor<4xi8>> -> tensor<4xi8>
    %2 = arith.trunci %1 : tensor<4xi8> to tensor<4xi1>
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith_casts import ExtUIOp, TruncIOp
from pyiree.compiler.dialects.iree_tensor_ext import DispatchTensorLoadOp, DispatchTensorStoreOp, DispatchTensorType
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType
from pyiree.compiler.stream.encoding import storage_tensor
from pyiree.compiler.stream.ops import BindingSubspanOp


@register_pass("iree-stream-encode-device-tensors", on="stream.executable")
def encode_device_tensors(executable: Operation, context: PassContext) -> None:
    """Gives the bindings of an executable's functions the types that tensors have in memory."""
    for op in list(executable.walk()):
        if isinstance(op, BindingSubspanOp):
            op.result.type = _stored(op.result.type)
        elif isinstance(op, DispatchTensorLoadOp):
            _encode_load(op)
        elif isinstance(op, DispatchTensorStoreOp):
            _encode_store(op)


def _stored(type: Any) -> Any:
    if isinstance(type, DispatchTensorType) and isinstance(type.bound_type, TensorType):
        return DispatchTensorType(type.access, storage_tensor(type.bound_type))
    return type


def _encode_load(op: DispatchTensorLoadOp) -> None:
    wanted = op.result.type
    stored = storage_tensor(wanted)
    if stored is wanted:
        return
    op.result.type = stored
    narrow = Builder.after(op).insert(TruncIOp(op.result, out=wanted))
    op.result.replace_uses_if(narrow.out, lambda use: use.owner is not narrow)


def _encode_store(op: DispatchTensorStoreOp) -> None:
    stored = storage_tensor(op.value.type)
    if stored is not op.value.type:
        op.value = Builder.before(op).insert(ExtUIOp(op.value, out=stored)).out
