"""iree-stream-encode-host-tensors: host ops on tensors become ops on bytes.

Before: `stream.tensor.*` with a tensor type beside each resource.
After:  `stream.async.*` with byte ranges; sizes are arithmetic on the `?` dims. Imports and exports keep their shape.

    %s = stream.tensor.sizeof tensor<?x4xf32>{%d} : index
    %1 = stream.tensor.slice %0[%i, %c0 for %c1, %c4] : tensor<?x4xf32>{%d} in … -> tensor<1x4xf32> in …
    →
    %s = arith.muli %d, %c16 : index
    %1 = stream.async.slice %0[%begin to %end] : …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.arith_casts import BitcastOp, ExtUIOp, TruncIOp
from pyiree.compiler.ir.attributes import FloatAttr, IntegerAttr
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern, apply_patterns_greedily
from pyiree.compiler.ir.types import ComplexType, IntegerType, TensorType, bit_width
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.encoding import (
    IndexLike,
    IndexMath,
    byte_offset,
    byte_size,
    fill_pattern,
    full_shape,
    is_contiguous,
    storage_constant,
    storage_element,
)


class EncodeSizeOf(RewritePattern, op=ops.TensorSizeOfOp):
    """The bytes of a tensor as arithmetic."""

    def match_and_rewrite(self, op: ops.TensorSizeOfOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        size = math.value(byte_size(math, op.encoding, op.encoding_dims, op.location))
        rewriter.replace_op(op, [size])
        return True


class EncodeEmpty(RewritePattern, op=ops.TensorEmptyOp):
    """Storage."""

    def match_and_rewrite(self, op: ops.TensorEmptyOp, rewriter: PatternRewriter) -> bool:
        rewriter.replace_op(
            op, rewriter.insert(ops.AsyncAllocaOp(op.result_size, op.affinity, result=op.result.type))
        )
        return True


class EncodeConstant(RewritePattern, op=ops.TensorConstantOp):
    """Constant data as it lies in memory."""

    def match_and_rewrite(self, op: ops.TensorConstantOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        size = math.value(byte_size(math, op.result_encoding, op.result_encoding_dims, op.location))
        made = ops.AsyncConstantOp(None, size, storage_constant(op.value), op.affinity, result=op.result.type)
        rewriter.replace_op(op, rewriter.insert(made))
        return True


class EncodeSplat(RewritePattern, op=ops.TensorSplatOp):
    """A splat of a bit pattern."""

    def match_and_rewrite(self, op: ops.TensorSplatOp, rewriter: PatternRewriter) -> bool:
        made = ops.AsyncSplatOp(
            None, _pattern(rewriter, op.value, op), op.result_size, op.affinity, result=op.result.type
        )
        rewriter.replace_op(op, rewriter.insert(made))
        return True


def _pattern(rewriter: PatternRewriter, value: Value, op: Operation) -> Value:
    """A number as the shortest integer whose bytes repeat to it."""
    type = value.type
    if isinstance(type, ComplexType) or type.is_index:
        raise CompileError(f"a tensor cannot be filled with a value of type {type} here", op.location)
    maker = value.defining_op
    if isinstance(maker, ConstantOp):
        constant = maker.value
        bits = constant.bits if isinstance(constant, FloatAttr) else constant.value  # type: ignore[attr-defined]
        number, width = fill_pattern(bits & ((1 << bit_width(type)) - 1), max(bit_width(type), 8))
        return rewriter.insert(ConstantOp(IntegerAttr(number, IntegerType(width)))).result
    if type.is_float:
        value = rewriter.insert(BitcastOp(value, out=IntegerType(bit_width(type)))).out
    stored = storage_element(value.type)
    return value if stored is value.type else rewriter.insert(ExtUIOp(value, out=stored)).out


class EncodeClone(RewritePattern, op=ops.TensorCloneOp):
    """A copy of all bytes."""

    def match_and_rewrite(self, op: ops.TensorCloneOp, rewriter: PatternRewriter) -> bool:
        made = ops.AsyncCloneOp(op.source, op.source_size, op.result_size, op.affinity, result=op.result.type)
        rewriter.replace_op(op, rewriter.insert(made))
        return True


def _box(
    rewriter: PatternRewriter, op: Any, type: TensorType, dims: Sequence[Value], starts: Sequence[Value],
    lengths: Sequence[IndexLike],
) -> IndexLike:  # fmt: skip
    """Where a box starts in memory, which must be one piece."""
    if not is_contiguous(full_shape(type, dims), lengths):
        raise CompileError(
            f"'{op.name}' takes a box of {type} that is not one piece of memory; it must be a dispatch", op.location
        )
    return byte_offset(IndexMath(rewriter), type, dims, starts, op.location)


class EncodeSlice(RewritePattern, op=ops.TensorSliceOp):
    """A copy of a range."""

    def match_and_rewrite(self, op: ops.TensorSliceOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        lengths = full_shape(op.result_encoding, op.result_encoding_dims)
        if len(lengths) != len(op.lengths):
            lengths = list(op.lengths)
        start = _box(rewriter, op, op.source_encoding, op.source_encoding_dims, op.start_indices, lengths)
        end = math.value(math.add(start, op.result_size))
        made = ops.AsyncSliceOp(
            op.source, op.source_size, math.value(start), end, op.result_size, op.affinity, result=op.result.type
        )
        rewriter.replace_op(op, rewriter.insert(made))
        return True


class EncodeFill(RewritePattern, op=ops.TensorFillOp):
    """A range filled with a bit pattern."""

    def match_and_rewrite(self, op: ops.TensorFillOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        type, dims = op.target_encoding, op.target_encoding_dims
        start = _box(rewriter, op, type, dims, op.start_indices, op.lengths)
        length: IndexLike = byte_size(math, type.with_shape(()), (), op.location)
        for n in op.lengths:
            length = math.mul(length, n)
        end = math.value(math.add(start, length))
        made = ops.AsyncFillOp(
            op.target, op.target_size, math.value(start), end, math.value(length),
            _pattern(rewriter, op.value, op), op.affinity,
        )  # fmt: skip
        rewriter.replace_op(op, rewriter.insert(made))
        return True


class EncodeUpdate(RewritePattern, op=ops.TensorUpdateOp):
    """A range replaced."""

    def match_and_rewrite(self, op: ops.TensorUpdateOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        lengths = full_shape(op.update_encoding, op.update_encoding_dims)
        start = _box(rewriter, op, op.target_encoding, op.target_encoding_dims, op.start_indices, lengths)
        end = math.value(math.add(start, op.update_size))
        made = ops.AsyncUpdateOp(
            op.target, op.target_size, math.value(start), end, op.update, op.update_size, op.affinity
        )
        rewriter.replace_op(op, rewriter.insert(made))
        return True


class EncodeLoad(RewritePattern, op=ops.TensorLoadOp):
    """One number read by the host."""

    def match_and_rewrite(self, op: ops.TensorLoadOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        start = byte_offset(math, op.source_encoding, op.source_encoding_dims, op.indices, op.location)
        stored = storage_element(op.result.type)
        loaded = rewriter.insert(ops.AsyncLoadOp(op.source, op.source_size, math.value(start), result=stored)).result
        if stored is not op.result.type:
            loaded = rewriter.insert(TruncIOp(loaded, out=op.result.type)).out
        rewriter.replace_op(op, [loaded])
        return True


class EncodeStore(RewritePattern, op=ops.TensorStoreOp):
    """One number written by the host."""

    def match_and_rewrite(self, op: ops.TensorStoreOp, rewriter: PatternRewriter) -> bool:
        math = IndexMath(rewriter)
        start = byte_offset(math, op.target_encoding, op.target_encoding_dims, op.indices, op.location)
        value, stored = op.value, storage_element(op.value.type)
        if stored is not value.type:
            value = rewriter.insert(ExtUIOp(value, out=stored)).out
        made = rewriter.insert(ops.AsyncStoreOp(op.target, op.target_size, math.value(start), value))
        rewriter.replace_op(op, made)
        return True


class EncodeDispatch(RewritePattern, op=ops.TensorDispatchOp):
    """A dispatch on whole resources."""

    def match_and_rewrite(self, op: ops.TensorDispatchOp, rewriter: PatternRewriter) -> bool:
        sizes = op.operand_sizes
        zero = [IndexMath(rewriter).value(0)] * len(sizes) if sizes else []
        made = ops.AsyncDispatchOp(
            op.workload, op.mixed_operands, sizes, zero, sizes, sizes, op.result_sizes, op.entry_points,
            op.tied_operands, op.affinity, results_=op.result_types,
        )  # fmt: skip
        made.attributes.update(op.attributes)
        rewriter.replace_op(op, rewriter.insert(made))
        return True


PATTERNS = (
    EncodeSizeOf(), EncodeEmpty(), EncodeConstant(), EncodeSplat(), EncodeClone(), EncodeSlice(), EncodeFill(),
    EncodeUpdate(), EncodeLoad(), EncodeStore(), EncodeDispatch(),
)  # fmt: skip


@register_pass("iree-stream-encode-host-tensors", on=("util.func", "util.initializer"))
def encode_host_tensors(func: Operation, context: PassContext) -> None:
    """Turns the tensor ops of a host function into byte ranges."""
    apply_patterns_greedily(func, PATTERNS, fold=True)
