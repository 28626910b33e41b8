"""Convolutions of arrays whose sizes are known when the program runs.

Enters: a `stablehlo.convolution` or `stablehlo.dynamic_conv` with a dynamic dim. Leaves: one reduction over the window
and the input features, which reads the padded input element by element; sums of half types are made in f32.
Groups, of features or of the batch, are where an output feature reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.contractions import accumulator, with_product
from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.elements import Element
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.input.shapes import pad, reshaped
from pyiree.compiler.input.sizes import Size, dilated, divided, fitting, index_of
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.input.windows import window_attribute, window_padding
from pyiree.compiler.ir.core import Value

Shape = list[int | Size]


class _Numbers:
    """The dimension numbers and amounts of a convolution."""

    def __init__(self, c: Converter, op: Any, operands: Sequence[Lazy]) -> None:
        self.dims = dialect_attribute(op, "dimension_numbers", "ConvDimensionNumbers")
        self.spatial = list(self.dims.input_spatial_dimensions)
        count = len(self.spatial)
        names = ("window_strides", "lhs_dilation", "rhs_dilation")
        self.strides, self.holes, self.dilations = (window_attribute(op, name, count, 1) for name in names)
        self.low: Shape
        self.high: Shape
        if len(operands) > 2:
            amounts = operands[2]
            vector = Shaped.of((2 * count,), amounts.shaped.element)
            sizes = c.sizes_in(amounts if isinstance(amounts, Uniform) else reshaped(c, amounts, vector))
            self.low, self.high = sizes[::2], sizes[1::2]
        else:
            low, high = window_padding(op, count)
            self.low, self.high = list(low), list(high)
        self.window: Shape = [operands[1].shaped.shape[d] for d in self.dims.kernel_spatial_dimensions]
        flags = list(op.attributes["window_reversal"]) if "window_reversal" in op.attributes else []
        self.reversed = flags or [False] * count
        self.groups = op.attributes["feature_group_count"].value
        self.batch_groups = op.attributes["batch_group_count"].value


def convolved(c: Converter, op: Any, operands: Sequence[Lazy]) -> Shape:
    """The shape of the result."""
    numbers = _Numbers(c, op, operands)
    dims, lhs, rhs = numbers.dims, operands[0].shaped.shape, operands[1].shaped.shape
    shape: Shape = [0] * len(lhs)
    shape[dims.output_batch_dimension] = divided(c.emitter, lhs[dims.input_batch_dimension], numbers.batch_groups)
    shape[dims.output_feature_dimension] = rhs[dims.kernel_output_feature_dimension]
    for k, d in enumerate(dims.output_spatial_dimensions):
        reach = dilated(numbers.window[k], numbers.dilations[k])
        padded = dilated(lhs[numbers.spatial[k]], numbers.holes[k]) + numbers.low[k] + numbers.high[k]
        shape[d] = fitting(c.emitter, padded, reach, numbers.strides[k])
    return shape


def convolve(c: Converter, op: Any, operands: Sequence[Lazy], result: Shaped) -> Lazy:
    """The convolution, as a value of the shape that `result` has."""
    numbers, kind = _Numbers(c, op, operands), result.element
    wide = accumulator(*(operand.shaped.element for operand in operands[:2]), kind)
    image = _padded(c, numbers, operands[0])
    made = Shaped.of(result.shape, wide)
    value = _products(c, numbers, image, operands[1], made)
    if wide is kind:
        return Tensor(result, value)
    return c.map(result, [Tensor(made, value)], lambda scalars: [convert(c.emitter, scalars[0], wide, kind)])


def _padded(c: Converter, numbers: _Numbers, image: Lazy) -> Lazy:
    """The input with zeros around it and between its elements."""
    shape: Shape = list(image.shaped.shape)
    low: Shape = [0] * len(shape)
    high: Shape = [0] * len(shape)
    between = [0] * len(shape)
    for d, before, behind, hole in zip(numbers.spatial, numbers.low, numbers.high, numbers.holes):
        shape[d] = dilated(shape[d], hole) + before + behind
        low[d], high[d], between[d] = before, behind, hole - 1
    if low == high == between == [0] * len(shape):
        return image
    kind = image.shaped.element
    padded, scalar = Shaped.of(shape, kind), Shaped.of((), kind)
    zero = Uniform(scalar, scalar=c.emitter.zero(kind.type))
    return Tensor(padded, pad(c, image, zero, low, high, between, padded))


def _products(c: Converter, numbers: _Numbers, image: Lazy, kernel: Lazy, made: Shaped) -> Value:
    """The sums of products, over the window and the features that one result sees."""
    emitter, dims, rank, count = c.emitter, numbers.dims, len(made.shape), len(numbers.spatial)
    features, batch = kernel.shaped.shape[dims.kernel_input_feature_dimension], made.shape[dims.output_batch_dimension]
    groups = max(numbers.groups, numbers.batch_groups)
    per_group = divided(emitter, kernel.shaped.shape[dims.kernel_output_feature_dimension], groups)
    extent = Shaped.of((*numbers.window, features), made.element)
    source, weights = c.tensor(image), c.tensor(kernel)

    def scaled(value: Value, factor: int | Size) -> Value:
        return value if factor == 1 else emitter.binary("arith.muli", value, index_of(emitter, factor))

    def read(tensor: Value, place: Sequence[Value], kind: Element) -> tuple[Value, Element]:
        return emitter.emit("tensor.extract", (tensor, *place), (kind.type,)).results[0], kind

    def combine(arguments: list[Value]) -> list[Value]:
        at: list[Any] = [None] * rank
        here: list[Any] = [None] * rank
        for k, d in enumerate(numbers.spatial):
            within = emitter.linalg_index(rank + k)
            begin = scaled(emitter.linalg_index(dims.output_spatial_dimensions[k]), numbers.strides[k])
            at[d] = emitter.binary("arith.addi", begin, scaled(within, numbers.dilations[k]))
            if numbers.reversed[k]:
                within = emitter.binary("arith.subi", index_of(emitter, numbers.window[k] - 1), within)
            here[dims.kernel_spatial_dimensions[k]] = within
        output, feature = emitter.linalg_index(dims.output_feature_dimension), emitter.linalg_index(rank + count)
        in_batch = emitter.linalg_index(dims.output_batch_dimension)
        here[dims.kernel_output_feature_dimension] = output
        here[dims.kernel_input_feature_dimension] = feature
        if groups != 1:
            group = emitter.binary("arith.divsi", output, index_of(emitter, per_group))
            if numbers.groups != 1:
                feature = emitter.binary("arith.addi", scaled(group, features), feature)
            else:
                in_batch = emitter.binary("arith.addi", scaled(group, batch), in_batch)
        at[dims.input_feature_dimension] = feature
        at[dims.input_batch_dimension] = in_batch
        factors = read(source, at, image.shaped.element), read(weights, here, kernel.shaped.element)
        return [with_product(c, arguments[1], made.element, *factors)]

    loops = rank + count + 1
    start = c.fill(emitter.zero(made.element.type), made.type, made.sizes)
    inputs = [(emitter.empty(extent.type, extent.sizes), projection(loops, tuple(range(rank, loops))))]
    outputs = [(start, projection(loops, tuple(range(rank))))]
    iterators = [PARALLEL] * rank + [REDUCTION] * (count + 1)
    return emitter.generic(inputs, outputs, iterators, combine).results[0]
