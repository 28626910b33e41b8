"""`stablehlo.fft` as small dense transforms: matrix products on the real and imaginary parts.

Enters: a transform over the last one to three dimensions. Leaves: for each dimension, of length n = n₁·n₂, products
with the n₁×n₁ and n₂×n₂ transform matrices and a multiplication by the twiddle factors between (Cooley and Tukey's
step), repeated while factors are long. A long prime is one dense product. Real transforms take a zero imaginary part
and give the first half of the spectrum; inverse real ones restore the other half by symmetry first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyiree.compiler.input.complex_scalars import Parts
from pyiree.compiler.input.contractions import dot_general
from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import COMPLEX, Element, element
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import broadcast, concatenate, extract_slice, reshape, reverse
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.ir.attributes import FloatAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import TensorType

#: The longest transform that is one dense product, if it can be split at all.
_DENSE = 64


@dataclass
class Signal:
    """Real and imaginary parts; `im` is None where it is zero."""

    re: Lazy
    im: Lazy | None

    @property
    def shape(self) -> tuple:
        """The shape of each part."""
        return self.re.shaped.shape


def _shaped(shape: Sequence[int], kind: Element) -> Shaped:
    return Shaped(tuple(shape), kind, TensorType(shape, kind.type))


def _constant(c: Converter, values: np.ndarray, kind: Element) -> Lazy:
    dtype = np.float32 if kind.type.width == 32 else np.float64
    shaped = _shaped(values.shape, kind)
    return Tensor(shaped, c.emitter.constant(DenseElementsAttr(shaped.type, values.astype(dtype))))


@converts("stablehlo.fft")
def _fft(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (operand,) = operands
    result = c.result_shaped(op)
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type))]
    kind = dialect_attribute(op, "fft_type", "FftTypeAttr").value
    lengths = list(op.attributes["fft_length"])
    inverse = kind in ("IFFT", "IRFFT")
    source = operand.shaped
    part = element(str(getattr(source.element.type, "element_type", source.element.type)))
    signal = _parts(c, operand, part)
    rank = len(source.shape)
    axes = list(range(rank - len(lengths), rank))
    if kind == "RFFT":
        signal = _transform(c, signal, axes[-1], inverse, part)
        signal = _sliced(c, signal, axes[-1], lengths[-1] // 2 + 1)
        axes = axes[:-1]
    for axis in axes[:-1] if kind == "IRFFT" else axes:
        signal = _transform(c, signal, axis, inverse, part)
    if kind == "IRFFT":
        signal = _transform(c, _mirrored(c, signal, axes[-1], lengths[-1], part), axes[-1], inverse, part)
        return [signal.re]
    if signal.im is None:
        raise ValueError("a transform of a real signal is complex")
    return [c.map(result, [signal.re, signal.im], lambda scalars: [Parts(c, *scalars).value()])]


def _parts(c: Converter, operand: Lazy, part: Element) -> Signal:
    if operand.shaped.element.kind != COMPLEX:
        return Signal(operand, None)
    shaped = _shaped(operand.shaped.shape, part)
    re = c.map(shaped, [operand], lambda scalars: [c.emitter.cast("complex.re", scalars[0], part.type)])
    im = c.map(shaped, [operand], lambda scalars: [c.emitter.cast("complex.im", scalars[0], part.type)])
    return Signal(re, im)


def _each(c: Converter, signal: Signal, function: Any) -> Signal:
    return Signal(function(signal.re), None if signal.im is None else function(signal.im))


def _transposed(c: Converter, lazy: Lazy, order: Sequence[int]) -> Lazy:
    shape = [lazy.shaped.shape[d] for d in order]
    return broadcast(c, lazy, _shaped(shape, lazy.shaped.element), [list(order).index(d) for d in range(len(order))])


def _reshaped(c: Converter, lazy: Lazy, shape: Sequence[int]) -> Lazy:
    return Tensor(_shaped(shape, lazy.shaped.element), reshape(c, c.tensor(lazy), shape))


def _sliced(c: Converter, signal: Signal, axis: int, count: int) -> Signal:
    def cut(lazy: Lazy) -> Lazy:
        shape = list(lazy.shaped.shape)
        shape[axis] = count
        value = extract_slice(c, c.tensor(lazy), [0] * len(shape), shape, [1] * len(shape))
        return Tensor(_shaped(shape, lazy.shaped.element), value)

    return _each(c, signal, cut)


def _mirrored(c: Converter, signal: Signal, axis: int, length: int, part: Element) -> Signal:
    """The whole spectrum of a real signal from its first half: the rest is the conjugate, backwards."""
    half = signal.shape[axis]
    rest = length - half
    if signal.im is None:
        raise ValueError("a spectrum is complex")

    def complete(lazy: Lazy, negate: bool) -> Lazy:
        if rest <= 0:
            return lazy
        value = c.tensor(lazy)
        shape = list(lazy.shaped.shape)
        starts = [0] * len(shape)
        shape[axis] = rest
        # Place half + i is the conjugate of place length - half - i, so the last one mirrors place 1.
        starts[axis] = 1
        tail: Value = reverse(c, extract_slice(c, value, starts, shape, [1] * len(shape)), [axis])
        if negate:
            shaped = _shaped(shape, part)
            tail = c.tensor(
                c.map(shaped, [Tensor(shaped, tail)], lambda scalars: [c.emitter.unary("arith.negf", scalars[0])])
            )
        whole = list(lazy.shaped.shape)
        whole[axis] = length
        shaped = _shaped(whole, part)
        return Tensor(shaped, concatenate(c, [value, tail], axis, shaped.type))

    re = complete(signal.re, False)
    return Signal(re, complete(_without_ends(c, signal.im, axis, length, part), True))


def _without_ends(c: Converter, im: Lazy, axis: int, length: int, part: Element) -> Lazy:
    """The imaginary part with its places 0 and n/2 zero: a real signal has nothing there."""
    size = im.shaped.shape[axis]
    mask = np.ones(size)
    mask[0] = 0.0
    if length % 2 == 0 and size == length // 2 + 1:
        mask[-1] = 0.0
    factors = broadcast(c, _constant(c, mask, part), im.shaped, [axis])
    zero = Uniform(im.shaped, FloatAttr(0.0, part.type))

    def choose(scalars: list[Value]) -> list[Value]:
        value, factor, nothing = scalars
        return [c.emitter.select(c.emitter.cmpf("oeq", factor, nothing), nothing, value)]

    return c.map(im.shaped, [im, factors, zero], choose)


def _factor(length: int) -> int:
    """A factor at most `_DENSE` and as near to the square root as there is; 1 if there is none."""
    root = int(length**0.5)
    found = [f for f in range(2, min(length - 1, _DENSE) + 1) if length % f == 0]
    return min(found, key=lambda f: abs(f - root)) if found else 1


def _transform(c: Converter, signal: Signal, axis: int, inverse: bool, part: Element) -> Signal:
    """The transform along one dimension, the inverse one divided by its length."""
    rank = len(signal.shape)
    length = signal.shape[axis]
    if length == 1:
        return Signal(signal.re, signal.im or Uniform(signal.re.shaped, FloatAttr(0.0, part.type)))
    order = [d for d in range(rank) if d != axis] + [axis]
    last = _each(c, signal, lambda lazy: _transposed(c, lazy, order))
    scale = 1.0 / length if inverse else 1.0
    done = _along_last(c, last, 1.0 if inverse else -1.0, scale, part)
    back = [order.index(d) for d in range(rank)]
    return _each(c, done, lambda lazy: _transposed(c, lazy, back))


def _along_last(c: Converter, signal: Signal, sign: float, scale: float, part: Element) -> Signal:
    shape = signal.shape
    length = shape[-1]
    first = _factor(length) if length > _DENSE else 1
    if first == 1:
        return _dense(c, signal, sign, scale, part)
    second = length // first
    lead = list(shape[:-1])
    # x[second·a + b], a < first, b < second: transform over a, twiddle, transform over b;
    # frequency k₁ + first·k₂ comes out at (k₁, k₂) and is put in order by a transposition.
    rows = _each(c, signal, lambda lazy: _reshaped(c, lazy, [*lead, first, second]))
    n = len(lead)
    swap = [*range(n), n + 1, n]
    by_b = _each(c, rows, lambda lazy: _transposed(c, lazy, swap))
    inner = _along_last(c, by_b, sign, scale, part)
    angles = 2.0 * np.pi * np.outer(np.arange(second), np.arange(first)) / length
    twiddled = _times(c, inner, np.cos(angles), sign * np.sin(angles), part)
    by_k = _each(c, twiddled, lambda lazy: _transposed(c, lazy, swap))
    outer = _along_last(c, by_k, sign, 1.0, part)
    ordered = _each(c, outer, lambda lazy: _transposed(c, lazy, swap))
    return _each(c, ordered, lambda lazy: _reshaped(c, lazy, shape))


def _times(c: Converter, signal: Signal, cosine: np.ndarray, sine: np.ndarray, part: Element) -> Signal:
    """The product with a constant of the last two dimensions."""
    rank = len(signal.shape)
    factors = [
        broadcast(c, _constant(c, values, part), signal.re.shaped, [rank - 2, rank - 1]) for values in (cosine, sine)
    ]
    if signal.im is None:
        raise ValueError("a transformed signal is complex")

    def multiply(scalars: list[Value]) -> list[Value]:
        re, im, co, si = scalars
        product = Parts(c, re, im) * Parts(c, co, si)
        return [product.re, product.im]

    shaped = _shaped(signal.shape, part)
    re, im = c.map_many([shaped, shaped], [signal.re, signal.im, *factors], multiply)
    return Signal(re, im)


def _dense(c: Converter, signal: Signal, sign: float, scale: float, part: Element) -> Signal:
    """One product with the matrix of the transform."""
    length = signal.shape[-1]
    # The products of places and frequencies are reduced first, so that large angles lose nothing.
    turns = np.outer(np.arange(length), np.arange(length)) % length
    angles = 2.0 * np.pi * turns / length
    cosine = _constant(c, scale * np.cos(angles), part)
    sine = _constant(c, scale * sign * np.sin(angles), part)
    result = _shaped(signal.shape, part)
    last = len(signal.shape) - 1

    def product(x: Lazy, matrix: Lazy) -> Lazy:
        return dot_general(c, x, matrix, [], [], [last], [0], result)

    if signal.im is None:
        return Signal(product(signal.re, cosine), product(signal.re, sine))

    def combine(name: str, x: Lazy, y: Lazy) -> Lazy:
        return c.map(result, [x, y], lambda scalars: [c.emitter.binary(name, *scalars)])

    re = combine("arith.subf", product(signal.re, cosine), product(signal.im, sine))
    im = combine("arith.addf", product(signal.re, sine), product(signal.im, cosine))
    return Signal(re, im)
