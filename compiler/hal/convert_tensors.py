"""stream.tensor.import and export to hal: buffers of buffer views, checked, and views of buffers.

    %r = stream.tensor.import %view : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%n}
    →
    %r = hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
    hal.buffer.assert<%r : !hal.buffer> message("tensor") … minimum_length(%n) type(DeviceVisible) usage(…)
"""

from __future__ import annotations

from pyiree.compiler.dialects.hal import BufferType, BufferViewType, ElementTypeOp, EncodingTypeOp
from pyiree.compiler.hal.bits import BUFFER_USAGE, MEMORY_TYPE
from pyiree.compiler.hal.device_values import Conversion, constant
from pyiree.compiler.hal.ops_buffer import BufferAssertOp, BufferViewBufferOp, BufferViewCreateOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import i32
from pyiree.compiler.stream import ops as stream

_USAGE = BUFFER_USAGE["Transfer"] | BUFFER_USAGE["DispatchStorage"]


def _import(op: stream.TensorImportOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    buffer = op.source
    if isinstance(op.source.type, BufferViewType):
        buffer = b.insert(BufferViewBufferOp(op.source, result=BufferType())).result
    elif not isinstance(op.source.type, BufferType):
        raise CompileError(f"cannot import a tensor from {op.source.type}", op.location)
    device = conversion.device(b, op)
    b.insert(
        BufferAssertOp(
            buffer, conversion.allocator(b, device), op.result_size, "tensor", MEMORY_TYPE["DeviceVisible"], _USAGE
        )
    )
    op.replace_all_uses_with([buffer])
    op.erase()


def _export(op: stream.TensorExportOp, conversion: Conversion) -> None:
    b = Builder.before(op)
    if isinstance(op.result.type, BufferType):
        op.replace_all_uses_with([op.source])
        op.erase()
        return
    tensor = op.source_encoding
    element = b.insert(ElementTypeOp(tensor.element_type, result=i32)).result
    encoding = b.insert(EncodingTypeOp(result=i32)).result
    dims = iter(op.source_encoding_dims)
    shape = [next(dims) if d is None else constant(b, d) for d in tensor.shape]
    made = BufferViewCreateOp(
        op.source, constant(b, 0), op.source_size, element, encoding, shape, result=BufferViewType()
    )
    op.replace_all_uses_with(b.insert(made).results)
    op.erase()


TENSOR_CONVERSIONS = {stream.TensorImportOp: _import, stream.TensorExportOp: _export}
