"""What a dispatch function reads, computes and writes.

Enters: the dispatch's func.func, with bindings either as arguments of type dispatch.tensor (flow) or as
hal.interface.binding.subspan ops (hal); the ops are found by name, so that nothing of those phases is imported.
Leaves: a `DispatchGraph` (bindings, scalar arguments, stores), and a `KernelContext` that ties it to one kernel under
construction: buffers, scalars and shapes as loop IR.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..dialects.tensor_slices import dropped_dims
from ..ir.core import BlockArgument, Operation, Value
from ..ir.diagnostics import CompileError
from ..ir.types import DYNAMIC_INT64, TensorType
from . import indexing
from .complex_values import Element, constant, emit_complex_op, part_element
from .elements import constant_number, element_name, emit_element_op, unsupported
from .indexing import Dim
from .loops import Buffer, KernelBuilder, storage_bytes, vector
from .loops import Value as LoopValue

LOAD = "iree_tensor_ext.dispatch.tensor.load"
STORE = "iree_tensor_ext.dispatch.tensor.store"
ORDINAL = "iree_tensor_ext.dispatch.workload.ordinal"
SUBSPAN = "hal.interface.binding.subspan"
CONSTANT_LOAD = "hal.interface.constant.load"
CONSTANTS = frozenset({"arith.constant", "complex.constant"})


@dataclass
class Binding:
    """One buffer of the dispatch: where it comes from in the IR and what lies there."""

    ordinal: int
    value: Value
    type: TensorType
    dynamic_dims: tuple[Value, ...]
    offset: Value | None
    writable: bool


class DispatchGraph:
    """The parts of a dispatch function, in program order."""

    def __init__(self, func: Operation):
        self.func = func
        self.name: str = func.get_attr("sym_name").value
        self.block = func.regions[0].blocks[0]
        self.bindings: dict[Value, Binding] = {}
        self.words: dict[Value, int] = {}
        self.stores: list[Operation] = []
        self.ops: list[Operation] = list(self.block.ops)
        self.layout = None
        """The pipeline layout in hal form: the kernel must take as many bindings and constants as it says."""
        self._word_count = 0
        self._collect_arguments()
        for op in self.ops:
            if op.name == SUBSPAN:
                self._add_subspan(op)
            elif op.name == STORE:
                self.stores.append(op)
        if not self.stores:
            raise CompileError(f"dispatch {self.name} stores nothing", func.location)

    def _collect_arguments(self) -> None:
        """Flow form: tensors are bindings in order, scalars are push constants of one or two words in order."""
        for argument in self.block.arguments:
            if is_dispatch_tensor(argument.type):
                self._add_binding(len(self.bindings), argument, (), None)
            else:
                self.words[argument] = self._word_count
                self._word_count += 1 if vector(element_name(argument.type)).bits <= 32 else 2

    def _add_subspan(self, op: Operation) -> None:
        if not is_dispatch_tensor(op.result.type):
            raise unsupported(op, f"a binding must be a dispatch tensor, not {op.result.type}")
        self.layout = op.layout
        self._add_binding(op.binding, op.result, op.dynamic_dims, op.byte_offset[0] if op.byte_offset else None)

    def _add_binding(self, ordinal: int, value: Value, dims: tuple[Value, ...], offset: Value | None) -> None:
        access, tensor = dispatch_tensor_parts(value.type)
        self.bindings[value] = Binding(ordinal, value, tensor, tuple(dims), offset, access != "readonly")

    @property
    def binding_count(self) -> int:
        if self.layout is not None:
            return len(self.layout.bindings)
        return 1 + max((b.ordinal for b in self.bindings.values()), default=-1)

    @property
    def constant_count(self) -> int:
        return self._word_count if self.layout is None else self.layout.constants or 0

    def stored_value(self, store: Operation) -> Value:
        return store.operands[0]

    def stored_binding(self, store: Operation) -> Binding:
        return self.bindings[store.operands[1]]


def is_dispatch_tensor(type) -> bool:
    return getattr(type, "mnemonic", None) == "iree_tensor_ext.dispatch.tensor"


def dispatch_tensor_parts(type) -> tuple[str, TensorType]:
    """("readonly", "writeonly" or "readwrite"; the tensor type)."""
    access = type.access
    return str(getattr(access, "value", access)), type.bound_type


def mixed_sizes(op: Operation, field: str, context: KernelContext) -> list[Dim]:
    """offsets, sizes or strides of a slicing op: static entries from the attribute, dynamic ones from operands."""
    dynamic = iter(getattr(op, field))
    static = getattr(op, f"static_{field}")
    return [context.dim(next(dynamic)) if s == DYNAMIC_INT64 else s for s in static]


class KernelContext:
    """A dispatch graph tied to one kernel under construction."""

    def __init__(self, graph: DispatchGraph, builder: KernelBuilder):
        self.graph = graph
        self.builder = builder
        self._scalars: dict[Value, Element] = {}
        self._shapes: dict[Value, tuple[Dim, ...]] = {}
        self._buffers: dict[Value, Buffer] = {}
        self.ordinals: dict[LoopValue, int] = {}
        """Scalars that are values of the dispatch's workload, by their number."""
        for binding in graph.bindings.values():
            offset = 0 if binding.offset is None else self.dim(binding.offset)
            name = f"{'out' if binding.writable else 'in'}{binding.ordinal}"
            self._buffers[binding.value] = builder.binding(
                name, part_element(binding.type), binding.ordinal, offset, binding.writable
            )

    def buffer(self, value: Value) -> Buffer:
        return self._buffers[value]

    # -- scalars

    def bytes_of(self, buffer: Buffer) -> float:
        """The size of a binding; what is known only at run time is taken for large."""
        for value, binding in self.graph.bindings.items():
            if binding.ordinal == buffer.number:
                shape = self.shape(value)
                known = all(size.__class__ is int for size in shape)
                return math.prod(shape) * storage_bytes(buffer.elem) if known else math.inf
        return 0.0

    def dim(self, value: Value) -> Dim:
        """An index value: an int where it is known."""
        scalar = self.scalar(value)
        return scalar.const if scalar.const is not None else scalar

    def scalar(self, value: Value) -> Element:
        """A scalar of the function's top level."""
        found = self._scalars.get(value)
        if found is None:
            found = self._scalars[value] = self._compute_scalar(value)
        return found

    @contextmanager
    def scalars_within(self, known: Mapping[Value, LoopValue]) -> Iterator[None]:
        """Inside a loop: scalars that it defines. What is computed from them is forgotten behind it."""
        outside = self._scalars
        self._scalars = {**outside, **known}
        yield
        self._scalars = outside

    def _compute_scalar(self, value: Value) -> Element:
        builder = self.builder
        if isinstance(value, BlockArgument):
            return self._scalar_argument(value)
        op = value.defining_op
        if op.name in CONSTANTS:
            return constant(builder, constant_number(op), value.type)
        if op.name.startswith("complex."):
            return emit_complex_op(op, [self.scalar(v) for v in op.operands])
        if op.name == CONSTANT_LOAD:
            return self._word(int(op.get_attr("ordinal")), element_name(value.type))
        if op.name == "util.assume.int":
            return self.scalar(op.operands[value.index])
        if op.name == ORDINAL:
            scalar = self.scalar(op.operands[0])
            self.ordinals[scalar] = int(op.get_attr("ordinal"))
            return scalar
        if op.name == "tensor.dim":
            position = self.dim(op.operands[1])
            return builder.index(self.shape(op.operands[0])[position])
        if op.name.startswith(("arith.", "math.")):
            return emit_element_op(builder, op, [self.scalar(v) for v in op.operands])
        raise unsupported(op, "it is not a scalar that a kernel can compute")

    def _word(self, number: int, elem: str) -> LoopValue:
        """Push constant `number`; IREE passes narrow types in the low bits of a word and index as 32 bits."""
        builder = self.builder
        word = builder.constant_word(number)
        bits = vector(elem).bits
        if elem == "i64":
            return builder.op("arith.extui", (word,), vector("i64"))
        if bits < 32:
            word = builder.op("arith.trunci", (word,), vector(f"i{bits}"))
        return word if elem == f"i{bits}" else builder.op("arith.bitcast", (word,), vector(elem))

    def _scalar_argument(self, value: Value) -> LoopValue:
        builder = self.builder
        number = self.graph.words[value]
        elem = element_name(value.type)
        if vector(elem).bits <= 32:
            return self._word(number, elem)
        wide = vector("i64")
        low, high = (builder.op("arith.extui", (builder.constant_word(number + k),), wide) for k in (0, 1))
        high = builder.op("arith.shli", (high, builder.const(32, wide)), wide)
        both = builder.op("arith.ori", (low, high), wide)
        return both if elem == "i64" else builder.op("arith.bitcast", (both,), vector(elem))

    # -- shapes

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """The dims of a tensor value, or of a binding."""
        found = self._shapes.get(value)
        if found is None:
            if value in self.graph.bindings:
                found = self._binding_shape(self.graph.bindings[value])
            elif None not in value.type.shape:
                found = tuple(value.type.shape)
            else:
                found = self._dynamic_shape(value)
            self._shapes[value] = found
        return found

    def _binding_shape(self, binding: Binding) -> tuple[Dim, ...]:
        dims = binding.dynamic_dims
        if binding.type.num_dynamic_dims and not dims:
            dims = self._dims_of_uses(binding)
        dynamic = iter(dims)
        return tuple([self.dim(next(dynamic)) if s is None else s for s in binding.type.shape])

    def _dims_of_uses(self, binding: Binding) -> tuple[Value, ...]:
        """Flow form: the loads and stores of a dispatch tensor name its dynamic dims."""
        for op in self.graph.ops:
            if op.name == LOAD and op.operands[0] is binding.value:
                return op.operands[1 : 1 + op.operand_segments[1]]
            if op.name == STORE and op.operands[1] is binding.value:
                return op.operands[2 : 2 + op.operand_segments[2]]
        raise CompileError(f"dispatch {self.graph.name} never gives the dynamic dims of binding {binding.ordinal}")

    def _dynamic_shape(self, value: Value) -> tuple[Dim, ...]:
        op = value.defining_op
        name = op.name
        if name == LOAD:
            return self._kept_sizes(op)
        if name == "tensor.extract_slice":
            return self._kept_sizes(op)
        if name == "tensor.empty":
            dynamic = iter(op.operands)
            return tuple([self.dim(next(dynamic)) if s is None else s for s in value.type.shape])
        if name == "tensor.insert_slice":
            return self.shape(op.operands[1])
        if name == "tensor.cast":
            return self.shape(op.operands[0])
        if name == "tensor.expand_shape":
            return tuple(mixed_sizes(op, "output_shape", self))
        if name == "tensor.collapse_shape":
            return self._collapsed(op)
        if name == "tensor.pad":
            return self._padded(op)
        if name == "tensor.concat":
            return self._concatenated(op)
        if name.startswith(("linalg.", "iree_linalg_ext.")):
            return self.shape(op.operands[len(op.operands) - len(op.results) + value.index])
        if name.startswith(("arith.", "math.")):
            return self.shape(next(v for v in op.operands if isinstance(v.type, TensorType)))
        raise unsupported(op, f"the dynamic dims of its result {value.type} are not known here")

    def _kept_sizes(self, op: Operation) -> tuple[Dim, ...]:
        sizes = mixed_sizes(op, "sizes", self)
        return tuple([sizes[d] for d in kept_dims(op, op.result.type.shape)])

    def _collapsed(self, op: Operation) -> tuple[Dim, ...]:
        source = self.shape(op.operands[0])
        dims = []
        for group in reassociation(op):
            size: Dim = 1
            for d in group:
                size = self.builder.mul(size, source[d])
            dims.append(size)
        return tuple(dims)

    def _padded(self, op: Operation) -> tuple[Dim, ...]:
        low, high = mixed_sizes(op, "low", self), mixed_sizes(op, "high", self)
        add = self.builder.add
        return tuple([add(add(s, a), b) for s, a, b in zip(self.shape(op.operands[0]), low, high, strict=True)])

    def _concatenated(self, op: Operation) -> tuple[Dim, ...]:
        dim = int(op.get_attr("dim"))
        dims = list(self.shape(op.operands[0]))
        for part in op.operands[1:]:
            dims[dim] = self.builder.add(dims[dim], self.shape(part)[dim])
        return tuple(dims)

    def row_major(self, shape: tuple[Dim, ...]) -> list[Dim]:
        return indexing.row_major_strides(shape, self.builder)


def kept_dims(op: Operation, shape: tuple[int | None, ...]) -> list[int]:
    """Which dims of a slice the tensor that is in it (of a shape) has; as the op says them, for sizes that it leaves
    open may be known here."""
    dropped = dropped_dims(op.static_sizes, shape)
    return [d for d in range(len(op.static_sizes)) if d not in dropped]


def reassociation(op: Operation) -> list[list[int]]:
    """The dim groups of expand_shape and collapse_shape."""
    return [[int(d) for d in group] for group in op.get_attr("reassociation")]
