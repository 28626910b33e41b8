"""Patterns from ops on tensors to `stream.tensor.*`: flow, hal.tensor, and tensor constants and selections.

Part of iree-stream-conversion. A converted tensor is a resource, followed by its size where the shape has a `?`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyiree.compiler.dialects import hal
from pyiree.compiler.dialects.arith import ConstantOp, SelectOp
from pyiree.compiler.flow import ops as flow
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr, TypeAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.conversion import Adaptor, ConversionPattern, ConversionRewriter
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import ComplexType, IntegerType, TensorType, Type, index
from pyiree.compiler.stream import ops as stream
from pyiree.compiler.stream.analysis.affinity import AffinityAnalysis
from pyiree.compiler.stream.encoding import fill_pattern
from pyiree.compiler.stream.types import CONSTANT, EXTERNAL, STAGING, UNKNOWN, resource


class TensorPattern(ConversionPattern):
    """Base of patterns that know where tensors are."""

    def __init__(self, affinities: AffinityAnalysis) -> None:
        super().__init__()
        self.affinities = affinities

    def operand(
        self, rewriter: Builder, tensor: Value, converted: Sequence[Value], dims: Sequence[Value], to: Attribute | None
    ) -> tuple[Value, Value]:
        """The resource and size of a tensor operand, brought to the device `to`."""
        at = self.affinities.of_value(tensor)
        size = converted[1] if len(converted) > 1 else size_of(rewriter, tensor.type, dims, at)
        if at is to:
            return converted[0], size
        moved = stream.AsyncTransferOp(
            converted[0], size, size, source_affinity=at, target_affinity=to, result=resource(UNKNOWN)
        )
        return rewriter.insert(moved).result, size


def size_of(rewriter: Builder, type: Type, dims: Sequence[Value], affinity: Attribute | None) -> Value:
    """The bytes of a tensor."""
    return rewriter.insert(stream.TensorSizeOfOp(dims, type, affinity)).storage_size


def as_converted(type: Type, made: Value, size: Value) -> list[Value]:
    """What stands for a tensor of a type."""
    return [made] if type.has_static_shape else [made, size]  # type: ignore[attr-defined]


def _dims_of_each(values: Sequence[Value], dims: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """The part of a flat list of dims that belongs to each of several values."""
    start = 0
    for value in values:
        count = value.type.shape.count(None) if isinstance(value.type, TensorType) else 0
        yield dims[start : start + count]
        start += count


class ConvertTensorImport(TensorPattern, op=hal.TensorImportOp):
    """An outside buffer view is checked, then becomes an external resource."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity = self.affinities.of_op(op)
        if op.byte_offset is not None:
            raise CompileError("a tensor import with an offset is not supported; import a view", op.location)
        if isinstance(op.source.type, hal.BufferViewType):
            self._check(op, rewriter)
        size = size_of(rewriter, op.target_encoding, op.target_dims, affinity)
        source = stream.TensorImportOp(
            op.source, op.target_dims, size, op.target_encoding, op.consume, affinity, result=resource(EXTERNAL)
        )
        made = rewriter.insert(source).result
        if op.wait_fence is not None:
            wait = rewriter.insert(stream.TimepointImportOp([op.wait_fence], affinity)).result_timepoint
            made = rewriter.insert(stream.TimepointAwaitOp([made], [size], wait)).results[0]
        cast = rewriter.insert(stream.AsyncCastOp(made, size, size, affinity, result=resource(UNKNOWN)))
        rewriter.replace_op(op, [as_converted(op.target.type, cast.result, size)])

    @staticmethod
    def _check(op: Any, rewriter: ConversionRewriter) -> None:
        encoding = op.target_encoding
        dims = iter(op.target_dims)
        shape = [next(dims) if n is None else index_constant(rewriter, n) for n in encoding.shape]
        element_type = rewriter.insert(hal.ElementTypeOp(encoding.element_type)).result
        layout = rewriter.insert(hal.EncodingTypeOp()).result
        rewriter.insert(hal.BufferViewAssertOp(op.source, element_type, layout, shape, op.name_ or "tensor"))


def index_constant(rewriter: Builder, value: int) -> Value:
    """An index constant."""
    return rewriter.insert(ConstantOp(IntegerAttr(value, index))).result


class ConvertTensorExport(TensorPattern, op=hal.TensorExportOp):
    """A resource goes outside as a buffer view."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity = self.affinities.of_op(op)
        source, size = self.operand(rewriter, op.source, adaptor.groups[0], op.source_dims, affinity)
        cast = rewriter.insert(stream.AsyncCastOp(source, size, size, affinity, result=resource(EXTERNAL)))
        view = stream.TensorExportOp(
            cast.result, op.source_dims, size, op.source_encoding, affinity, result=op.target.type
        )
        rewriter.replace_op(op, rewriter.insert(view))


class ConvertConstant(TensorPattern, op=(ConstantOp, flow.TensorConstantOp)):
    """A constant of one number is a splat; another one is constant data."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> bool | None:
        type, value = op.result.type, op.value
        if not isinstance(type, TensorType):
            return False
        affinity = self.affinities.of_value(op.result)
        size = size_of(rewriter, type, (), affinity)
        number = splat_number(value)
        if number is not None:
            scalar = rewriter.insert(ConstantOp(number)).result
            splat = stream.TensorSplatOp(scalar, (), size, type, affinity, result=resource(UNKNOWN))
            rewriter.replace_op(op, rewriter.insert(splat))
            return None
        made = rewriter.insert(stream.TensorConstantOp((), value, type, affinity, result=resource(CONSTANT))).result
        moved = stream.AsyncTransferOp(made, size, size, None, affinity, affinity, result=resource(UNKNOWN))
        rewriter.replace_op(op, rewriter.insert(moved))
        return None


def splat_number(value: Attribute) -> Attribute | None:
    """The number that a constant repeats; for a complex one its bytes as an integer, if a fill pattern has so many."""
    if not isinstance(value, DenseElementsAttr) or not value.is_splat:
        return None
    if not isinstance(value.type.element_type, ComplexType):
        return value.splat_value()
    raw = value.data.tobytes()
    pattern, bits = fill_pattern(int.from_bytes(raw, "little"), 8 * len(raw))
    return IntegerAttr(pattern, IntegerType(bits)) if bits <= 64 else None


class ConvertSelect(TensorPattern, op=SelectOp):
    """A choice between two tensors by a host condition is a choice between resources."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> bool | None:
        if not isinstance(op.result.type, TensorType):
            return False
        affinity = self.affinities.of_value(op.result)
        sides = [self.operand(rewriter, op.operands[i], adaptor.groups[i], (), affinity) for i in (1, 2)]
        made, size = [rewriter.insert(SelectOp(op.condition, a, b)).result if a is not b else a for a, b in zip(*sides)]
        rewriter.replace_op(op, [as_converted(op.result.type, made, size)])
        return None


class ConvertReshape(TensorPattern, op=(flow.TensorReshapeOp, flow.TensorBitCastOp)):
    """Another shape over the same bytes is the same resource."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity = self.affinities.of_value(op.result)
        made, size = self.operand(rewriter, op.source, adaptor.groups[0], op.source_dims, affinity)
        rewriter.replace_op(op, [as_converted(op.result.type, made, size)])


class ConvertEmpty(TensorPattern, op=(flow.TensorEmptyOp, flow.TensorAllocaOp)):
    """Storage whose contents don't matter."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        size = size_of(rewriter, type, op.result_dims, affinity)
        made = rewriter.insert(
            stream.TensorEmptyOp(op.result_dims, size, type, affinity, result=resource(UNKNOWN))
        ).result
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertSplat(TensorPattern, op=flow.TensorSplatOp):
    """A tensor of one number."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        size = size_of(rewriter, type, op.result_dims, affinity)
        made = rewriter.insert(
            stream.TensorSplatOp(op.value, op.result_dims, size, type, affinity, result=resource(UNKNOWN))
        ).result
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertClone(TensorPattern, op=flow.TensorCloneOp):
    """A copy."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        source, size = self.operand(rewriter, op.operand, adaptor.groups[0], op.operand_dims, affinity)
        made = rewriter.insert(
            stream.TensorCloneOp(
                source, op.operand_dims, size, op.operand_dims, size, type, type, affinity, result=resource(UNKNOWN)
            )
        ).result
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertTransfer(TensorPattern, op=flow.TensorTransferOp):
    """A tensor moved to another device."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        moved, size = self.operand(rewriter, op.operand, adaptor.groups[0], op.operand_dims, op.target)
        rewriter.replace_op(op, [as_converted(op.result.type, moved, size)])


class ConvertSlice(TensorPattern, op=flow.TensorSliceOp):
    """A box of a tensor."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        source, source_size = self.operand(rewriter, op.source, adaptor.groups[0], op.source_dims, affinity)
        size = size_of(rewriter, type, op.result_dims, affinity)
        made = rewriter.insert(
            stream.TensorSliceOp(
                source, op.source_dims, source_size, op.start_indices, op.lengths, op.result_dims, size,
                op.source.type, type, affinity, result=resource(UNKNOWN),
            )
        ).result  # fmt: skip
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertUpdate(TensorPattern, op=flow.TensorUpdateOp):
    """A tensor with a box of it replaced."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        update_at = len(op.target_dims) + len(op.start_indices) + 1
        target, size = self.operand(rewriter, op.target, adaptor.groups[0], op.target_dims, affinity)
        update, update_size = self.operand(
            rewriter, op.update, adaptor.groups[update_at], op.update_dims, affinity
        )
        made = rewriter.insert(
            stream.TensorUpdateOp(
                target, op.target_dims, size, op.start_indices, update, op.update_dims, update_size,
                type, op.update.type, affinity,
            )
        ).result  # fmt: skip
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertLoad(TensorPattern, op=flow.TensorLoadOp):
    """One element comes to the host: only that element is copied to staging memory."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.source), op.source.type
        source, size = self.operand(rewriter, op.source, adaptor.groups[0], op.source_dims, affinity)
        element = TensorType((1,) * len(type.shape), type.element_type)
        indices = op.indices
        if type != element:
            one = index_constant(rewriter, 1)
            element_size = size_of(rewriter, element, (), affinity)
            source = rewriter.insert(
                stream.TensorSliceOp(
                    source, op.source_dims, size, indices, [one] * len(type.shape), (), element_size,
                    type, element, affinity, result=resource(UNKNOWN),
                )
            ).result  # fmt: skip
            size, indices = element_size, [index_constant(rewriter, 0)] * len(type.shape)
        staged = rewriter.insert(
            stream.AsyncTransferOp(source, size, size, None, affinity, affinity, result=resource(STAGING))
        ).result
        load = stream.TensorLoadOp(staged, (), size, indices, element, result=op.result.type)
        rewriter.replace_op(op, rewriter.insert(load))


class ConvertStore(TensorPattern, op=flow.TensorStoreOp):
    """One element is set by the host: a splat of that element updates the tensor on the device."""

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> None:
        affinity, type = self.affinities.of_value(op.result), op.result.type
        target, size = self.operand(rewriter, op.target, adaptor.groups[1], op.target_dims, affinity)
        one = index_constant(rewriter, 1)
        made = rewriter.insert(
            stream.TensorFillOp(
                target, op.target_dims, size, op.indices, [one] * len(type.shape), op.value, type, affinity
            )
        ).result
        rewriter.replace_op(op, [as_converted(type, made, size)])


class ConvertDispatch(TensorPattern, op=flow.DispatchOp):
    """A dispatch runs on resources; each tensor's type stands beside it."""

    def convert(self, op: Any, adaptor: Adaptor, rewriter: ConversionRewriter) -> None:
        affinity = self.affinities.of_op(op)
        first = len(op.workload)
        operands: list[Value] = []
        operand_sizes: list[Value] = []
        for i, (value, dims) in enumerate(zip(op.arguments, _dims_of_each(op.arguments, op.argument_dims))):
            if not isinstance(value.type, TensorType):
                operands.append(value)
                continue
            made, size = self.operand(rewriter, value, adaptor.groups[first + i], dims, affinity)
            operands.append(made)
            operand_sizes.append(size)
        result_dims = _dims_of_each(op.results, op.result_dims)
        result_sizes = [size_of(rewriter, r.type, dims, affinity) for r, dims in zip(op.results, result_dims)]
        dispatch = rewriter.insert(
            stream.TensorDispatchOp(
                op.workload, operands, operand_sizes, op.argument_dims, result_sizes, op.result_dims,
                op.entry_points, _encodings(op.arguments), _encodings(op.results), op.tied_operands, affinity,
                results_=[resource(UNKNOWN)] * len(op.results),
            )
        )  # fmt: skip
        rewriter.replace_op(
            op, [as_converted(r.type, new, size) for r, new, size in zip(op.results, dispatch.results, result_sizes)]
        )


def _encodings(values: Sequence[Value]) -> ArrayAttr:
    return ArrayAttr([TypeAttr(v.type) for v in values])


class RefuseOp(ConversionPattern, op=(flow.TensorTraceOp, hal.TensorBarrierOp)):
    """Ops that no program of ours has."""

    def convert(self, op: Operation, adaptor: Any, rewriter: Any) -> None:
        raise CompileError(f"'{op.name}' is not supported; remove it from the program", op.location)


def flow_patterns(affinities: AffinityAnalysis) -> list[ConversionPattern]:
    """All patterns of this module."""
    kinds = (
        ConvertTensorImport, ConvertTensorExport, ConvertConstant, ConvertSelect, ConvertReshape, ConvertEmpty,
        ConvertSplat, ConvertClone, ConvertTransfer, ConvertSlice, ConvertUpdate, ConvertLoad, ConvertStore,
        ConvertDispatch,
    )  # fmt: skip
    return [*[kind(affinities) for kind in kinds], RefuseOp()]
