"""Where a dispatch's results go.

Enters: a dispatch.tensor.store op. Leaves: a `Target`-free view of it: which value to evaluate at which index, and
the element of the binding that receives it.
"""

from __future__ import annotations

from ..ir.core import Operation, Value
from . import indexing
from .complex_values import Complex, Element
from .dispatch import DispatchGraph, KernelContext, kept_dims, mixed_sizes
from .indexing import Dim, Index, LaneScope
from .memory import store_at, store_pair_at

_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


class ResultStore:
    """One store. `value` is what to evaluate: a reshape of a whole result is looked through, since the elements lie
    in the same order on both sides of it. One that others read too has its place among theirs."""

    def __init__(self, op: Operation, context: KernelContext):
        self.op = op
        self.context = context
        graph: DispatchGraph = context.graph
        self.value: Value = graph.stored_value(op)
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
            self._strides = [builder.mul(strides[d], steps[d]) for d in kept_dims(sizes, self.value.type.shape)]

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
            store_at(scope, self.buffer, address, value)


def result_stores(context: KernelContext) -> list[ResultStore]:
    return [ResultStore(op, context) for op in context.graph.stores]
