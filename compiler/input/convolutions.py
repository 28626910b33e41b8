"""`stablehlo.convolution` and `dynamic_conv` as patches times a matrix.

Enters: any convolution: strides, padding, dilations, groups, any layout. Leaves: the padded input laid out as one
row of all that a window sees for each output place, a (batched, for groups) `dot_general` with the kernel, and the
result in its layout. A window of one place without padding needs no patches. Padding that is known only when the
program runs is a place in an input that is padded as far as any window of the result may reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.contractions import dot_general
from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.emitter import PARALLEL, identity_map
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import broadcast, pad, reshape, reverse
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.input.windows import dilated, window_attribute, window_padding
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import TensorType, index

# Shorter runs of products in memory (few input features) are better laid out as one long one.
_LEAST_RUN = 16


def _transposed(c: Converter, lazy: Lazy, order: Sequence[int]) -> Lazy:
    """Dimension `i` of the result is dimension `order[i]` of the operand."""
    shape = tuple(lazy.shaped.shape[d] for d in order)
    kind = lazy.shaped.element
    shaped = Shaped(shape, kind, TensorType(shape, kind.type))
    return broadcast(c, lazy, shaped, [order.index(d) for d in range(len(order))])


def _reshaped(c: Converter, lazy: Lazy, shape: Sequence[int]) -> Lazy:
    kind = lazy.shaped.element
    shaped = Shaped(tuple(shape), kind, TensorType(shape, kind.type))
    if isinstance(lazy, Uniform):
        return Uniform(shaped, lazy.attribute, lazy.scalar)
    return Tensor(shaped, reshape(c, c.tensor(lazy), shape))


@converts("stablehlo.convolution")
@converts("stablehlo.dynamic_conv")
def _convolution(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    lhs, rhs, *amounts = operands
    result = c.result_shaped(op)
    if not all(isinstance(n, int) for operand in (lhs.shaped, rhs.shaped, result) for n in operand.shape):
        raise c.emitter.unsupported(op, "of a dynamic shape")
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type))]
    numbers = dialect_attribute(op, "dimension_numbers", "ConvDimensionNumbers")
    spatial = list(numbers.input_spatial_dimensions)
    count = len(spatial)
    groups = op.attributes["feature_group_count"].value
    batch_groups = op.attributes["batch_group_count"].value
    # Input as (batch, places…, features), kernel as (places…, input features, output features).
    image = _transposed(c, lhs, [numbers.input_batch_dimension, *spatial, numbers.input_feature_dimension])
    kernel_spatial = list(numbers.kernel_spatial_dimensions)
    if "window_reversal" in op.attributes:
        flags = list(op.attributes["window_reversal"])
        flipped = [d for d, flag in zip(kernel_spatial, flags) if flag]
        if flipped:
            rhs = Tensor(rhs.shaped, reverse(c, c.tensor(rhs), flipped))
    order = [*kernel_spatial, numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension]
    kernel = _transposed(c, rhs, order)
    window = kernel.shaped.shape[:count]
    out_spatial = [result.shape[d] for d in numbers.output_spatial_dimensions]
    batch, features = image.shaped.shape[0], image.shaped.shape[-1]
    out_features = kernel.shaped.shape[-1]
    if math.prod(window) * features * batch == 0:
        return [Uniform(result, _zero_of(c, result))]
    patches = _patches(
        c,
        image,
        window,
        out_spatial,
        window_attribute(op, "window_strides", count, 1),
        window_padding(op, count) if not amounts else amounts[0],
        window_attribute(op, "lhs_dilation", count, 1),
        window_attribute(op, "rhs_dilation", count, 1),
    )
    # patches: (batch, places of the output…, places of the window…, features)
    places = math.prod(out_spatial)
    size = math.prod(window)
    kind = result.element
    features_last = numbers.input_feature_dimension == count + 1
    run = features * math.prod(window[-1:]) if features_last else max([features, *window])
    if groups == batch_groups == 1 and run >= _LEAST_RUN:
        # The product sums over the window where it is: the patches need never be laid out.
        summed = list(range(count + 1))
        shape = (batch, *out_spatial, out_features)
        laid = dot_general(
            c, patches, kernel, [], [], [1 + count + d for d in summed], summed,
            Shaped(shape, kind, TensorType(shape, kind.type)),
        )  # fmt: skip
    elif features == groups > 1:
        laid = _by_features(c, patches, kernel, Shaped((batch, *out_spatial, out_features), kind, result.type))
    elif groups == 1 and batch_groups == 1:
        rows = _reshaped(c, patches, (batch * places, size * features))
        matrix = _reshaped(c, kernel, (size * features, out_features))
        shape = (batch * places, out_features)
        product = dot_general(c, rows, matrix, [], [], [1], [0], Shaped(shape, kind, TensorType(shape, kind.type)))
        laid = _reshaped(c, product, (batch, *out_spatial, out_features))
    else:
        laid = _grouped(
            c, patches, kernel, groups, batch_groups, batch, out_spatial, size, features, out_features, result
        )
    target = [numbers.output_batch_dimension, *numbers.output_spatial_dimensions, numbers.output_feature_dimension]
    return [_transposed(c, laid, [target.index(d) for d in range(len(target))])]


def _zero_of(c: Converter, result: Shaped) -> Any:
    return c.emitter.zero(result.element.type).defining_op.properties["value"]


def _by_features(c: Converter, patches: Lazy, kernel: Lazy, result: Shaped) -> Lazy:
    """Every feature of the input on its own: what a window sees of it is summed up in place."""
    count = len(kernel.shaped.shape) - 2
    features, each = patches.shaped.shape[-1], kernel.shaped.shape[-1] // patches.shaped.shape[-1]
    batch, *places, _ = result.shape
    split = (features,) if each == 1 else (features, each)
    weights = _reshaped(c, kernel, (*kernel.shaped.shape[:count], *split))
    shape = (features, batch, *places, *split[1:])
    summed = list(range(count))
    shaped = Shaped(shape, result.element, TensorType(shape, result.element.type))
    product = dot_general(
        c, patches, weights, [1 + 2 * count], [count], [1 + count + d for d in summed], summed, shaped
    )
    moved = _transposed(c, product, [*range(1, 2 + count), 0, *range(2 + count, len(shape))])
    return _reshaped(c, moved, result.shape)


def _grouped(
    c: Converter,
    patches: Lazy,
    kernel: Lazy,
    groups: int,
    batch_groups: int,
    batch: int,
    out_spatial: Sequence[int],
    size: int,
    features: int,
    out_features: int,
    result: Shaped,
) -> Lazy:
    """Groups of features, or of the batch, each with its own part of the kernel."""
    count = max(groups, batch_groups)
    places = math.prod(out_spatial)
    per_group = out_features // count
    kind = result.element
    kernel_features = kernel.shaped.shape[-2]
    if groups > 1:
        split = _reshaped(c, patches, (batch * places, size, count, features // count))
        rows, group_dim, contracted = split, 2, [1, 3]
        kept = batch
    else:
        split = _reshaped(c, patches, (count, batch // count * places, size, features))
        rows, group_dim, contracted = split, 0, [2, 3]
        kept = batch // count
    matrix = _reshaped(c, kernel, (size, kernel_features, count, per_group))
    shape = (count, kept * places, per_group)
    product = dot_general(
        c, rows, matrix, [group_dim], [2], contracted, [0, 1], Shaped(shape, kind, TensorType(shape, kind.type))
    )
    ordered = _transposed(c, product, [1, 0, 2])
    return _reshaped(c, ordered, (kept, *out_spatial, out_features))


def _patches(
    c: Converter,
    image: Lazy,
    window: Sequence[int],
    out_spatial: Sequence[int],
    strides: Sequence[int],
    padding: tuple[list[int], list[int]] | Lazy,
    holes: Sequence[int],
    dilations: Sequence[int],
) -> Lazy:
    """All that the window sees at each place of the output. Padding that is a tensor has a row of (low, high) for each
    dimension."""
    count = len(window)
    kind = image.shaped.element
    batch, features = image.shaped.shape[0], image.shaped.shape[-1]
    amounts: Lazy | None = None
    if isinstance(padding, tuple):
        low, high = padding
    else:
        amounts = padding
        reach = zip(out_spatial, strides, window, dilations)
        low = high = [(n - 1) * stride + (size - 1) * dilation + 1 for n, stride, size, dilation in reach]
    spatial = image.shaped.shape[1:-1]
    padded_spatial = [
        before + after + dilated(size, hole) for size, before, after, hole in zip(spatial, low, high, holes)
    ]
    if any(n != 0 for n in (*low, *high)) or any(hole != 1 for hole in holes):
        padded_shape = (batch, *padded_spatial, features)
        shaped = Shaped(padded_shape, kind, TensorType(padded_shape, kind.type))
        zero = Uniform(
            Shaped((), kind, TensorType((), kind.type)), c.emitter.zero(kind.type).defining_op.properties["value"]
        )
        edges = ([0, *low, 0], [0, *high, 0], [0, *[hole - 1 for hole in holes], 0])
        image = Tensor(shaped, pad(c, image, zero, *edges, shaped))
    shape = (batch, *out_spatial, *window, features)
    shaped = Shaped(shape, kind, TensorType(shape, kind.type))
    if amounts is None and all(n == 1 for n in (*window, *strides)):
        return _reshaped(c, image, shape)
    source = c.tensor(image)
    rank = len(shape)
    emitter = c.emitter

    def scaled(loop: int, factor: int) -> Value:
        at = emitter.linalg_index(loop)
        return at if factor == 1 else emitter.binary("arith.muli", at, emitter.integer(factor, index))

    asked = None if amounts is None else c.tensor(amounts)

    def first_place(d: int) -> Value:
        """Where the padding that the program asked for begins."""
        number = amounts.shaped.element
        place = (emitter.integer(d, index), emitter.integer(0, index))
        before = emitter.emit("tensor.extract", (asked, *place), (number.type,)).results[0]
        start = emitter.binary("arith.subi", emitter.integer(low[d], number.type), before)
        return c.clamped_index(start, number, padded_spatial[d] - low[d])

    def read(arguments: list[Value]) -> list[Value]:
        place = [emitter.linalg_index(0)]
        for d in range(count):
            at = scaled(1 + d, strides[d])
            if window[d] != 1:
                at = emitter.binary("arith.addi", at, scaled(1 + count + d, dilations[d]))
            place.append(at if asked is None else emitter.binary("arith.addi", first_place(d), at))
        place.append(emitter.linalg_index(rank - 1))
        return [emitter.emit("tensor.extract", (source, *place), (kind.type,)).results[0]]

    outputs = [(emitter.empty(shaped.type), identity_map(rank))]
    generic = emitter.generic([], outputs, (PARALLEL,) * rank, read)
    return Tensor(shaped, generic.results[0])
