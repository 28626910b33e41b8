"""Where a dispatch's results go.

Enters: a dispatch.tensor.store op. Leaves: a `Target`-free view of it: which value to evaluate at which index, and
the element of the binding that receives it. Elements of less than a byte are widened on their way to memory, so what
the program computes is the value before that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.core import Operation, Value
from ..ir.types import element_type_of
from . import indexing
from .complex_values import Complex, Element, is_complex
from .dispatch import DispatchGraph, KernelContext, kept_dims, mixed_sizes
from .elements import element_name
from .indexing import Dim, Index, LaneScope
from .loops import Value as LoopValue
from .loops import storage_bytes
from .memory import load_at, load_pair_at, store_at, store_pair_at
from .survey import Survey

_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


class ResultStore:
    """One store. `value` is what to evaluate: a reshape of a whole result is looked through, since the elements lie
    in the same order on both sides of it. One that others read too has its place among theirs."""

    def __init__(self, op: Operation, context: KernelContext):
        self.op = op
        self.context = context
        graph: DispatchGraph = context.graph
        self.value: Value = before_widening(graph.stored_value(op))
        binding = graph.stored_binding(op)
        self.buffer = context.buffer(binding.value)
        full = context.shape(binding.value)
        offsets, sizes = mixed_sizes(op, "offsets", context), mixed_sizes(op, "sizes", context)
        steps = mixed_sizes(op, "strides", context)
        contiguous = tuple(sizes) == full and all(step == 1 for step in steps)
        while contiguous and self._is_only_reshaped():
            self.value = self.value.defining_op.operands[0]
        self.shape: tuple[Dim, ...] = context.shape(self.value)
        builder = context.builder
        if contiguous:
            self._base = indexing.ZERO
            self._strides = context.row_major(self.shape)
        else:
            strides = context.row_major(full)
            self._base = indexing.linear([indexing.of(o) for o in offsets], strides, builder)
            self._strides = [builder.mul(strides[d], steps[d]) for d in kept_dims(op, self.value.type.shape)]

    def _is_only_reshaped(self) -> bool:
        op = self.value.defining_op
        return op is not None and op.name in _RESHAPES and self.value.has_one_use

    def address(self, indices: tuple[Index, ...]) -> Index:
        builder = self.context.builder
        return indexing.add(self._base, indexing.linear(indices, self._strides, builder), builder)

    def store(self, scope: LaneScope, indices: tuple[Index, ...], value: Element) -> None:
        address = self.address(indices)
        if value.__class__ is Complex:
            store_pair_at(scope, self.buffer, indexing.scale(address, 2, self.context.builder), value.re, value.im)
        else:
            if value.type.elem != self.buffer.elem:
                value = self.context.builder.op("arith.extui", (value,), value.type.with_elem(self.buffer.elem))
            store_at(scope, self.buffer, address, value)

    def store_run(self, scope: LaneScope, indices: tuple[Index, ...], vectors: Sequence[LoopValue]) -> None:
        """Stores whole vectors one after the other, from where the first lane of `indices` is."""
        where = scope.resolve(self.address(indices))
        for number, value in enumerate(vectors):
            if value.type.elem != self.buffer.elem:
                value = self.context.builder.op("arith.extui", (value,), value.type.with_elem(self.buffer.elem))
            place = where.offset + where.pattern[0] + number * value.lanes
            self.context.builder.store(value, self.buffer, where.base, place)

    def load(self, scope: LaneScope, indices: tuple[Index, ...]) -> Element:
        """What was stored at an index, or lay there before."""
        address = self.address(indices)
        if is_complex(self.value.type):
            return Complex(*load_pair_at(scope, self.buffer, indexing.scale(address, 2, self.context.builder), None))
        value = load_at(scope, self.buffer, address, None)
        elem = element_name(self.value.type)
        if elem == self.buffer.elem:
            return value
        return self.context.builder.op("arith.trunci", (value,), value.type.with_elem(elem))


def result_stores(context: KernelContext) -> list[ResultStore]:
    return [ResultStore(op, context) for op in context.graph.stores]


def stream_large_results(stores: Sequence[ResultStore], survey: Survey, least_bytes: int) -> None:
    """Has results of at least so many bytes, which the kernel does not read, stored past the caches."""
    read = {access.buffer.number for access in survey.accesses if not access.store}
    for store in stores:
        if store.buffer.number in read or any(size.__class__ is not int for size in store.shape):
            continue
        size = math.prod(store.shape) * storage_bytes(store.buffer.elem)
        store.buffer.streamed = size >= least_bytes


def before_widening(value: Value) -> Value:
    """The tensor whose elements are widened to bytes for memory."""
    return _source_of(value, "arith.extui")


def before_narrowing(value: Value) -> Value:
    """The tensor of bytes from memory whose elements are narrowed to what the program computes with."""
    return _source_of(value, "arith.trunci")


def _source_of(value: Value, cast: str) -> Value:
    op = value.defining_op
    if op is None or op.name != cast:
        return value
    bits = [getattr(element_type_of(v.type), "width", 8) for v in (op.operands[0], value)]
    return op.operands[0] if max(bits) == 8 and min(bits) < 8 else value
