"""`stablehlo.convolution` and `dynamic_conv` as patches times a matrix.

Enters: any convolution: strides, padding, dilations, groups, any layout. Leaves: the padded input laid out as one
row of all that a window sees for each output place, a (batched, for groups) `dot_general` with the kernel, and the
result in its layout. A window of one place without padding needs no patches. Padding that is known only when the
program runs is a place in an input that is padded as far as any window of the result may reach. Holes in the image
are filled with zeros, or left out by phases of the output where there is much to do.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.input.contractions import dot_general
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.convolution_phases import Axis, phases
from pyiree.compiler.input.convolutions_when_run import convolve, convolved
from pyiree.compiler.input.emitter import PARALLEL, identity_map
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import broadcast, concatenate, extract_slice, pad, reshape, reverse
from pyiree.compiler.input.sizes import dilated, is_static
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.input.windows import window_attribute, window_padding
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import TensorType, index
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

# Shorter runs of products in memory (few input features) are better laid out as one long one.
_LEAST_RUN = 16
# A convolution with fewer operations is done before the phases of one with holes are laid between each other.
_LEAST_WORK_OF_PHASES = 1 << 22


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


SHAPE_RULES.update(dict.fromkeys(("stablehlo.convolution", "stablehlo.dynamic_conv"), convolved))


@converts("stablehlo.convolution")
@converts("stablehlo.dynamic_conv")
def _convolution(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    lhs, rhs, *amounts = operands
    result = c.result_shaped(op)
    if not is_static((*lhs.shaped.shape, *rhs.shaped.shape, *result.shape)):
        return [convolve(c, op, operands, result)]
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    numbers = dialect_attribute(op, "dimension_numbers", "ConvDimensionNumbers")
    spatial = list(numbers.input_spatial_dimensions)
    count = len(spatial)
    groups = op.attributes["feature_group_count"].value
    batch_groups = op.attributes["batch_group_count"].value
    image = _Image(c, lhs, [numbers.input_batch_dimension, *spatial, numbers.input_feature_dimension])
    kernel_spatial = list(numbers.kernel_spatial_dimensions)
    if "window_reversal" in op.attributes:
        flags = list(op.attributes["window_reversal"])
        flipped = [d for d, flag in zip(kernel_spatial, flags) if flag]
        if flipped:
            rhs = reverse(c, rhs, flipped)
    # Kernel as (places…, input features, output features).
    order = [*kernel_spatial, numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension]
    # An op of its own: what does not read it in runs may have it laid out before.
    kernel = _transposed(c, rhs, order)
    if not isinstance(kernel, Uniform):
        kernel = Tensor(kernel.shaped, c.tensor(kernel))
    window = kernel.shaped.shape[:count]
    out_spatial = [result.shape[d] for d in numbers.output_spatial_dimensions]
    # No places are not nothing: padding is multiplied as any other number.
    seen = [lhs.shaped.shape[d] for d in (numbers.input_batch_dimension, numbers.input_feature_dimension)]
    if 0 in (*seen, *window):
        return [Uniform(result, _zero_of(c, result))]
    low, _ = window_padding(op, count)
    strides, holes, dilations = (
        window_attribute(op, name, count, 1) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    sizes = zip([lhs.shaped.shape[d] for d in spatial], out_spatial, window, strides, low, holes, dilations)
    axes = [Axis(size, n, w, stride, -before, hole, far) for size, n, w, stride, before, hole, far in sizes]
    features_last = numbers.input_feature_dimension == count + 1
    product = _Product(c, groups, batch_groups, features_last, result)
    work = 2 * math.prod((*result.shape, *kernel.shaped.shape[:-1]))
    if amounts:
        laid = product.of(_patches_when_run(c, image, axes, amounts[0]), kernel)
    elif max(holes, default=1) > 1 and work >= _LEAST_WORK_OF_PHASES:
        laid = _by_phases(c, image, kernel, axes, product)
    else:
        laid = product.of(_patches(c, image, axes), kernel)
    target = [numbers.output_batch_dimension, *numbers.output_spatial_dimensions, numbers.output_feature_dimension]
    return [_transposed(c, laid, [target.index(d) for d in range(len(target))])]


def _zero_of(c: Converter, result: Shaped) -> Any:
    return c.emitter.zero(result.element.type).defining_op.properties["value"]


@dataclass(slots=True)
class _Image:
    """An input as it lies; `order` says where its batch, places and features are."""

    c: Converter
    lazy: Lazy
    order: list[int]

    def padded(self, low: Sequence[int], high: Sequence[int], holes: Sequence[int]) -> _Image:
        """With zeros around it and in its holes: padded as it lies, so that all that is made of an input has its
        padding in common."""
        if not any((*low, *high)) and all(hole == 1 for hole in holes):
            return self
        kind, shape = self.lazy.shaped.element, list(self.lazy.shaped.shape)
        edges = [[0] * len(shape) for _ in range(3)]
        for d, before, after, hole in zip(self.order[1:-1], low, high, holes):
            shape[d] = before + after + dilated(shape[d], hole)
            for amounts, amount in zip(edges, (before, after, hole - 1)):
                amounts[d] = amount
        shaped, scalar = Shaped.of(shape, kind), Shaped.of((), kind)
        zero = Uniform(scalar, _zero_of(self.c, scalar))
        return _Image(self.c, Tensor(shaped, pad(self.c, self.lazy, zero, *edges, shaped)), self.order)

    def turned(self) -> Lazy:
        """As (batch, places…, features)."""
        return _transposed(self.c, self.lazy, self.order)

    def in_runs(self) -> _Image:
        """As it lies, where rows or products are then read in runs; else turned, by an op that may be done before."""
        shape = self.lazy.shaped.shape
        innermost = next((d for d in reversed(range(len(shape))) if shape[d] != 1), self.order[-1])
        if innermost not in self.order[1:-1]:
            return self
        return _Image(self.c, self.turned(), list(range(len(shape))))


@dataclass(slots=True)
class _Product:
    """What becomes of patches (batch, places of the output…, places of the window…, features) and a kernel (places of
    the window…, input features, output features): (batch, places of the output…, output features)."""

    c: Converter
    groups: int
    batch_groups: int
    features_last: bool
    result: Shaped

    def of(self, patches: Lazy, kernel: Lazy) -> Lazy:
        """The products summed over the window and the input features."""
        count = len(kernel.shaped.shape) - 2
        batch, *out_spatial = patches.shaped.shape[: count + 1]
        window, out_features = kernel.shaped.shape[:count], kernel.shaped.shape[-1]
        features = patches.shaped.shape[-1]
        shape = (batch // self.batch_groups, *out_spatial, out_features)
        laid = Shaped(shape, self.result.element, TensorType(shape, self.result.element.type))
        run = features * math.prod(window[-1:]) if self.features_last else max([features, *window])
        if self.groups == self.batch_groups == 1 and run >= _LEAST_RUN:
            # The product sums over the window where it is: the patches need never be laid out.
            summed = list(range(count + 1))
            return dot_general(self.c, patches, kernel, [], [], [1 + count + d for d in summed], summed, laid)
        if features == self.groups > 1:
            return self._by_features(patches, kernel, laid)
        if self.groups == self.batch_groups == 1:
            return self._of_rows(patches, kernel, laid)
        return self._grouped(patches, kernel, laid)

    def _of_rows(self, patches: Lazy, kernel: Lazy, laid: Shaped) -> Lazy:
        """All that a window sees as one row."""
        matrix_shape = (math.prod(kernel.shaped.shape[:-1]), kernel.shaped.shape[-1])
        shape = (math.prod(laid.shape[:-1]), laid.shape[-1])
        rows = _reshaped(self.c, patches, (shape[0], matrix_shape[0]))
        matrix = _reshaped(self.c, kernel, matrix_shape)
        shaped = Shaped(shape, laid.element, TensorType(shape, laid.element.type))
        return _reshaped(self.c, dot_general(self.c, rows, matrix, [], [], [1], [0], shaped), laid.shape)

    def _by_features(self, patches: Lazy, kernel: Lazy, laid: Shaped) -> Lazy:
        """Every feature of the input on its own: what a window sees of it is summed up in place."""
        c, count = self.c, len(kernel.shaped.shape) - 2
        features, each = patches.shaped.shape[-1], kernel.shaped.shape[-1] // patches.shaped.shape[-1]
        split = (features,) if each == 1 else (features, each)
        weights = _reshaped(c, kernel, (*kernel.shaped.shape[:count], *split))
        shape = (features, *laid.shape[:-1], *split[1:])
        summed = list(range(count))
        shaped = Shaped(shape, laid.element, TensorType(shape, laid.element.type))
        product = dot_general(
            c, patches, weights, [1 + 2 * count], [count], [1 + count + d for d in summed], summed, shaped
        )
        moved = _transposed(c, product, [*range(1, 2 + count), 0, *range(2 + count, len(shape))])
        return _reshaped(c, moved, laid.shape)

    def _grouped(self, patches: Lazy, kernel: Lazy, laid: Shaped) -> Lazy:
        """Groups of features, or of the batch, each with its own part of the kernel."""
        c, count = self.c, max(self.groups, self.batch_groups)
        *window, kernel_features, out_features = kernel.shaped.shape
        size, features = math.prod(window), patches.shaped.shape[-1]
        kept = math.prod(laid.shape[:-1])
        per_group = out_features // count
        if self.groups > 1:
            split = _reshaped(c, patches, (kept, size, count, features // count))
            rows, group_dim, contracted = split, 2, [1, 3]
        else:
            split = _reshaped(c, patches, (count, kept, size, features))
            rows, group_dim, contracted = split, 0, [2, 3]
        matrix = _reshaped(c, kernel, (size, kernel_features, count, per_group))
        shape = (count, kept, per_group)
        shaped = Shaped(shape, laid.element, TensorType(shape, laid.element.type))
        product = dot_general(c, rows, matrix, [group_dim], [2], contracted, [0, 1], shaped)
        return _reshaped(c, _transposed(c, product, [1, 0, 2]), laid.shape)


def _by_phases(c: Converter, image: _Image, kernel: Lazy, axes: Sequence[Axis], product: _Product) -> Lazy:
    """The phases of an image with holes, each with its taps of the kernel, and then laid between each other."""
    choices = [phases(axis) for axis in axes]
    edges = [[phase.axis.padding for phase in choice if phase.axis.window] or [(0, 0)] for choice in choices]
    low, high = ([max(pair[side] for pair in found) for found in edges] for side in (0, 1))
    padded = image.padded(low, high, [1] * len(axes)).in_runs()
    taken, parts = c.tensor(kernel), []
    for chosen in itertools.product(*choices):
        shape = (*(phase.axis.window for phase in chosen), *kernel.shaped.shape[-2:])
        places = [phase.axis.places for phase in chosen]
        if 0 in shape:
            batch = padded.lazy.shaped.shape[padded.order[0]] // product.batch_groups
            part = Shaped.of((batch, *places, kernel.shaped.shape[-1]), product.result.element)
            parts.append(c.tensor(Uniform(part, _zero_of(c, part))))
            continue
        starts, steps = [*(phase.tap for phase in chosen), 0, 0], [*(phase.step for phase in chosen), 1, 1]
        some = Tensor(Shaped.of(shape, kernel.shaped.element), extract_slice(c, taken, starts, shape, steps))
        moved = [phase.axis.padded(*edge) for phase, edge in zip(chosen, zip(low, high))]
        parts.append(c.tensor(product.of(_seen(c, padded, moved, [axis.first for axis in moved]), some)))
    kind = product.result.element
    for d in reversed(range(len(axes))):
        period = choices[d][0].period
        if period > 1:
            parts = [_between(c, parts[i : i + period], 1 + d) for i in range(0, len(parts), period)]
    (whole,) = parts
    shape = (whole.type.shape[0], *(axis.places for axis in axes), whole.type.shape[-1])
    if shape != tuple(whole.type.shape):
        whole = extract_slice(c, whole, [0] * len(shape), shape, [1] * len(shape))
    return Tensor(Shaped.of(shape, kind), whole)


def _between(c: Converter, parts: Sequence[Value], dimension: int) -> Value:
    """The elements of the parts in turns along a dimension."""
    shape = list(parts[0].type.shape)  # type: ignore[attr-defined]
    apart = [*shape[: dimension + 1], 1, *shape[dimension + 1 :]]
    beside = [reshape(c, part, apart) for part in parts]
    apart[dimension + 1] = len(parts)
    laid = concatenate(c, beside, dimension + 1, TensorType(tuple(apart), parts[0].type.element_type))  # type: ignore[attr-defined]
    shape[dimension] *= len(parts)
    return reshape(c, laid, shape)


def _patches(c: Converter, image: _Image, axes: Sequence[Axis]) -> Lazy:
    """All that the window sees at each place of the output."""
    low, high = zip(*(axis.padding for axis in axes)) if axes else ((), ())
    padded = image.padded(low, high, [axis.holes for axis in axes])
    axes = [axis.padded(*edge) for axis, edge in zip(axes, zip(low, high))]
    if all((axis.window, axis.stride, axis.first, axis.places) == (1, 1, 0, axis.size) for axis in axes):
        ones, turned = (1,) * len(axes), padded.turned()
        return _reshaped(c, turned, (*turned.shaped.shape[:-1], *ones, turned.shaped.shape[-1]))
    return _seen(c, padded.in_runs(), axes, [axis.first for axis in axes])


def _patches_when_run(c: Converter, image: _Image, axes: Sequence[Axis], amounts: Lazy) -> Lazy:
    """As `_patches`; the padding is a tensor with a row of (low, high) for each dimension: how far in front of an
    image that is padded as far as any window may reach the program asks to begin."""
    emitter, number, asked = c.emitter, amounts.shaped.element, c.tensor(amounts)
    reach = [axis.behind - axis.first for axis in axes]
    holes = [axis.holes for axis in axes]
    padded = image.padded(reach, reach, holes).in_runs()

    def first(d: int) -> Value:
        place = (emitter.integer(d, index), emitter.integer(0, index))
        before = emitter.emit("tensor.extract", (asked, *place), (number.type,)).results[0]
        start = emitter.binary("arith.subi", emitter.integer(reach[d], number.type), before)
        return c.clamped_index(start, number, reach[d] + dilated(axes[d].size, holes[d]))

    return _seen(c, padded, axes, [functools.partial(first, d) for d in range(len(axes))])


def _seen(c: Converter, image: _Image, axes: Sequence[Axis], firsts: Sequence[int | Callable[[], Value]]) -> Lazy:
    """What windows see of an image that has all the places that they reach; `firsts` is where the first one begins."""
    kind, emitter, count = image.lazy.shaped.element, c.emitter, len(axes)
    batch, *_, features = (image.lazy.shaped.shape[d] for d in image.order)
    shaped = Shaped.of((batch, *(axis.places for axis in axes), *(axis.window for axis in axes), features), kind)
    source = c.tensor(image.lazy)
    rank = len(shaped.shape)

    def scaled(loop: int, factor: int) -> Value:
        at = emitter.linalg_index(loop)
        return at if factor == 1 else emitter.binary("arith.muli", at, emitter.integer(factor, index))

    def read(arguments: list[Value]) -> list[Value]:
        place = [emitter.linalg_index(0)]
        for d, (axis, first) in enumerate(zip(axes, firsts)):
            at = scaled(1 + d, axis.stride)
            if axis.window != 1:
                at = emitter.binary("arith.addi", at, scaled(1 + count + d, axis.dilation))
            if first != 0:
                begin = emitter.integer(first, index) if isinstance(first, int) else first()
                at = emitter.binary("arith.addi", begin, at)
            place.append(at)
        place.append(emitter.linalg_index(rank - 1))
        lying = [place[image.order.index(d)] for d in range(len(place))]
        return [emitter.emit("tensor.extract", (source, *lying), (kind.type,)).results[0]]

    outputs = [(emitter.empty(shaped.type), identity_map(rank))]
    generic = emitter.generic([], outputs, (PARALLEL,) * rank, read)
    return Tensor(shaped, generic.results[0])
