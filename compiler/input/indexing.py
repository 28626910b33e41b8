"""Reading at computed places: gather and dynamic slices, whose start indices are clamped.

A gather is a generic without inputs of its own that reads elements by `tensor.extract`. A slice is a
`tensor.extract_slice` where the host knows the indices (loop counters), and a gather where they lie on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.emitter import PARALLEL, identity_map
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import drop_unit_dims, extract_slice, insert_slice
from pyiree.compiler.input.sizes import Size
from pyiree.compiler.input.values import Iota, Lazy, Tensor, Uniform, View
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import index


def drop_dimension(c: Converter, lazy: Lazy, dimension: int) -> Lazy:
    """The value without a dimension of one element."""
    shape = tuple(n for i, n in enumerate(lazy.shaped.shape) if i != dimension)
    shaped = Shaped.of(shape, lazy.shaped.element)
    if isinstance(lazy, Uniform):
        return Uniform(shaped, lazy.attribute, lazy.scalar)
    if isinstance(lazy, Iota) and lazy.dimension != dimension:
        return Iota(shaped, lazy.dimension - (lazy.dimension > dimension))
    if isinstance(lazy, View) and dimension not in lazy.dims:
        dims = tuple(d - (d > dimension) for d in lazy.dims)
        if dims == tuple(range(len(shape))):
            return Tensor(shaped, lazy.source)
        return View(shaped, lazy.source, dims)
    return Tensor(shaped, drop_unit_dims(c, c.tensor(lazy), [dimension]))


@converts("stablehlo.gather")
def _gather(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    operand, indices = operands
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    return [gather(c, op, operand, indices, list(op.attributes["slice_sizes"]), result)]


def gather(c: Converter, op: Any, operand: Lazy, indices: Lazy, sizes: Sequence[int | Size], result: Shaped) -> Tensor:
    """The slices of some sizes, wherever the indices say."""
    numbers = dialect_attribute(op, "dimension_numbers", "GatherDimensionNumbers")
    offset_dims = list(numbers.offset_dims)
    rank = len(result.shape)
    batch_loops = [d for d in range(rank) if d not in offset_dims]
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims))
    dropped = [*numbers.collapsed_slice_dims, *batching]
    window = [d for d in range(len(operand.shaped.shape)) if d not in dropped]
    offset_loop = dict(zip(window, offset_dims))
    vector_dim = numbers.index_vector_dim
    starts = StartIndices(c, indices, vector_dim, batch_loops, rank)
    source = c.tensor(operand)
    start_map = list(numbers.start_index_map)

    def read(arguments: list[Value]) -> list[Value]:
        emitter = c.emitter
        place = []
        for d, (length, size) in enumerate(zip(operand.shaped.shape, sizes)):
            parts = []
            if d in start_map:
                start = starts.component(start_map.index(d), arguments)
                parts.append(c.clamped_index(start, indices.shaped.element, length - size))
            if d in batching:
                parts.append(emitter.linalg_index(starts.loop_of(batching[d])))
            if d in offset_loop and size != 1:
                parts.append(emitter.linalg_index(offset_loop[d]))
            place.append(_sum(c, parts))
        element = result.element.type
        return [emitter.emit("tensor.extract", (source, *place), (element,)).results[0]]

    outputs = [(c.emitter.empty(result.type, result.sizes), identity_map(rank))]
    generic = c.emitter.generic(starts.inputs, outputs, (PARALLEL,) * rank, read)
    return Tensor(result, generic.results[0])


def _sum(c: Converter, parts: list[Value]) -> Value:
    if not parts:
        return c.emitter.integer(0, index)
    total = parts[0]
    for part in parts[1:]:
        total = c.emitter.binary("arith.addi", total, part)
    return total


class StartIndices:
    """The start indices of a gather or scatter, inside a generic whose loops include those of the batch.

    Indices that have a tensor of their own, as where vectors of them have just been put together, are inputs of the
    generic; other vectors of indices are read element by element.
    """

    def __init__(self, c: Converter, indices: Lazy, vector_dim: int, batch_loops: Sequence[int], rank: int) -> None:
        self._c = c
        shape = indices.shaped.shape
        self._dims = [d for d in range(len(shape)) if d != vector_dim]
        self._loops = list(batch_loops)
        self._vector_dim = vector_dim
        implicit = vector_dim == len(shape)
        self.inputs: list = []
        self._read: Callable[[list[Value]], list[Value]] | None = None
        if implicit:
            self.inputs, self._read = c.read_operands([indices], rank, self._loops)
            return
        dimension, parts = c.parts.get(indices.value, (None, [])) if isinstance(indices, Tensor) else (None, [])
        if shape[vector_dim] == 1:
            dimension, parts = vector_dim, [indices]
        if dimension == vector_dim and all(part.shaped.shape[vector_dim] == 1 for part in parts):
            single = [drop_dimension(c, part, vector_dim) for part in parts]
            self.inputs, self._read = c.read_operands(single, rank, self._loops)
        else:
            self._tensor = c.tensor(indices)

    def loop_of(self, dimension: int) -> int:
        """The loop along which a dimension of the indices runs."""
        return self._loops[self._dims.index(dimension)]

    def component(self, number: int, arguments: list[Value]) -> Value:
        """Entry `number` of the index vector of the current batch."""
        if self._read is not None:
            return self._read(arguments)[number]
        emitter = self._c.emitter
        place = []
        for d in range(len(self._dims) + 1):
            if d == self._vector_dim:
                place.append(emitter.integer(number, index))
            else:
                place.append(emitter.linalg_index(self.loop_of(d)))
        element = self._tensor.type.element_type  # type: ignore[attr-defined]
        return emitter.emit("tensor.extract", (self._tensor, *place), (element,)).results[0]


@converts("stablehlo.dynamic_slice")
def _dynamic_slice(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, starts = operands[0], operands[1:]
    result = c.result_shaped(op)
    sizes = result.shape
    shape = operand.shaped.shape
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    if sizes == shape:
        return [operand]
    if 0 in sizes:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    known = all(size == length or isinstance(s, Uniform) for s, size, length in zip(starts, sizes, shape))
    if known:
        places = _places(c, starts, sizes, shape)
        return [Tensor(result, extract_slice(c, c.tensor(operand), places, sizes, [1] * len(sizes)))]
    source = c.tensor(operand)
    rank = len(sizes)
    inputs, read_starts = c.read_operands(starts, rank)

    def read(arguments: list[Value]) -> list[Value]:
        emitter = c.emitter
        place = []
        for loop, start in enumerate(read_starts(arguments)):
            along = emitter.linalg_index(loop)
            if sizes[loop] != shape[loop]:
                first = c.clamped_index(start, starts[loop].shaped.element, shape[loop] - sizes[loop])
                along = first if sizes[loop] == 1 else emitter.binary("arith.addi", first, along)
            place.append(along)
        return [emitter.emit("tensor.extract", (source, *place), (result.element.type,)).results[0]]

    outputs = [(c.emitter.empty(result.type, result.sizes), identity_map(rank))]
    return [Tensor(result, c.emitter.generic(inputs, outputs, (PARALLEL,) * rank, read).results[0])]


def _places(
    c: Converter, starts: Sequence[Lazy], sizes: Sequence[int | Size], shape: Sequence[int | Size]
) -> list[int | Value]:
    """Clamped offsets on the host; what fills a dimension starts at 0, and constants stay constants."""
    places: list[int | Value] = []
    for start, size, length in zip(starts, sizes, shape):
        if size == length:
            places.append(0)
        elif isinstance(start, Uniform) and start.attribute is not None and isinstance(length - size, int):
            places.append(min(max(start.attribute.value, 0), length - size))
        else:
            places.append(c.clamped_index(c.host_scalar(start), start.shaped.element, length - size))
    return places


@converts("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, update, starts = operands[0], operands[1], operands[2:]
    result = c.result_shaped(op)
    if update.shaped.shape == result.shape:
        return [update]
    if 0 in update.shaped.shape:
        return [operand]
    places = _places(c, starts, update.shaped.shape, result.shape)
    return [Tensor(result, insert_slice(c, c.tensor(update), c.tensor(operand), places, None, update.shaped.shape))]
