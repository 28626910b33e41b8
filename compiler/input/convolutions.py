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
    kernel_spatial = list(numbers.kernel_spatial_dimensions)
    if "window_reversal" in op.attributes:
        flags = list(op.attributes["window_reversal"])
        flipped = [d for d, flag in zip(kernel_spatial, flags) if flag]
        if flipped:
            rhs = Tensor(rhs.shaped, reverse(c, c.tensor(rhs), flipped))
    # Kernel as (places…, input features, output features), input as (batch, places…, features).
    order = [*kernel_spatial, numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension]
    # An op of its own: what does not read it in runs may have it laid out before.
    kernel = _transposed(c, rhs, order)
    if not isinstance(kernel, Uniform):
        kernel = Tensor(kernel.shaped, c.tensor(kernel))
    window = kernel.shaped.shape[:count]
    out_spatial = [result.shape[d] for d in numbers.output_spatial_dimensions]
    batch, features = (lhs.shaped.shape[d] for d in (numbers.input_batch_dimension, numbers.input_feature_dimension))
    out_features = kernel.shaped.shape[-1]
    if math.prod(window) * features * batch == 0:
        return [Uniform(result, _zero_of(c, result))]
    strides, holes, dilations = (
        window_attribute(op, name, count, 1) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    asked: Lazy | None = None
    if amounts:
        (asked,) = amounts
        reach = zip(out_spatial, strides, window, dilations)
        low = high = [(n - 1) * stride + (size - 1) * dilation + 1 for n, stride, size, dilation in reach]
    else:
        low, high = window_padding(op, count)
    # Padded as it lies, so that all that is made of an input has its padding in common.
    padded = _padded(c, lhs, spatial, low, high, holes)
    image = _transposed(c, padded, [numbers.input_batch_dimension, *spatial, numbers.input_feature_dimension])
    patches = _patches(c, image, window, out_spatial, strides, dilations, asked, low)
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


def _padded(
    c: Converter, lazy: Lazy, dims: Sequence[int], low: Sequence[int], high: Sequence[int], holes: Sequence[int]
) -> Lazy:
    """The operand with zeros before, after and between its elements in some dims."""
    if all(n == 0 for n in (*low, *high)) and all(hole == 1 for hole in holes):
        return lazy
    kind, shape = lazy.shaped.element, list(lazy.shaped.shape)
    edges = [[0] * len(shape) for _ in range(3)]
    for d, before, after, hole in zip(dims, low, high, holes):
        shape[d] = before + after + dilated(shape[d], hole)
        for amounts, amount in zip(edges, (before, after, hole - 1)):
            amounts[d] = amount
    shaped = Shaped(tuple(shape), kind, TensorType(tuple(shape), kind.type))
    zero = Uniform(
        Shaped((), kind, TensorType((), kind.type)), c.emitter.zero(kind.type).defining_op.properties["value"]
    )
    return Tensor(shaped, pad(c, lazy, zero, *edges, shaped))


def _patches(
    c: Converter,
    image: Lazy,
    window: Sequence[int],
    out_spatial: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    amounts: Lazy | None,
    low: Sequence[int],
) -> Lazy:
    """All that the window sees at each place of the output. Where the padding is a tensor of `amounts`, a row of
    (low, high) for each dimension, the image begins `low` places before its first element."""
    count = len(window)
    kind = image.shaped.element
    batch, *padded_spatial, features = image.shaped.shape
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
