"""`stablehlo.fft` as transforms that one kernel does at a time.

Enters: a transform over the last one to three dimensions. Leaves: for each dimension one generic that is marked as a
transform (`dialects/fourier`), or several: a length too long for a kernel is n1 * n2, with twiddle factors between
the transforms of either length (Cooley and Tukey's step); one with very long prime factors is a convolution with a
chirp (Bluestein's), by transforms of a smooth length. A real signal of even length is taken for a complex one of half
the length, whose spectrum is then taken apart; an inverse one goes the same way back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pyiree.compiler.dialects.fourier import (
    ATTRIBUTE,
    LONGEST_BYTES,
    LONGEST_DENSE,
    is_smooth,
    smooth_part,
    transform_attribute,
)
from pyiree.compiler.dialects.roots_of_unity import roots
from pyiree.compiler.input.complex_scalars import Parts
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import COMPLEX, Element, element
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import broadcast, collapse, concatenate, expand, extract_slice, reverse
from pyiree.compiler.input.sizes import Size
from pyiree.compiler.input.values import Lazy, Tensor, View
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import i32, index

#: Tables of more factors than this are written as products of two.
_LARGE_TABLE = 1 << 14
#: A smaller smooth part of a length is left in the convolution.
_WORTH_A_STEP = 16


def _transformed(shape: Sequence[int | Size], lengths: Sequence[int], is_half: bool) -> list[int | Size]:
    """A shape whose last dimensions are as long as a transform says; half a spectrum is shorter."""
    last = lengths[-1] // 2 + 1 if is_half and lengths[-1] else lengths[-1]
    return [*shape[: -len(lengths)], *lengths[:-1], last]


def _shape(c: Converter, op: Any, operands: list[Lazy]) -> list[int | Size]:
    kind = dialect_attribute(op, "fft_type", "FftTypeAttr").value
    return _transformed(operands[0].shaped.shape, list(op.attributes["fft_length"]), kind == "RFFT")


SHAPE_RULES["stablehlo.fft"] = _shape


@converts("stablehlo.fft")
def _fft(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (operand,) = operands
    result = c.result_shaped(op)
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    kind = dialect_attribute(op, "fft_type", "FftTypeAttr").value
    lengths = list(op.attributes["fft_length"])
    told = Shaped.of(_transformed(operand.shaped.shape, lengths, kind == "IRFFT"), operand.shaped.element)
    rank = len(told.shape)
    if told.shape != operand.shaped.shape:
        operand = Tensor(told, extract_slice(c, c.tensor(operand), [0] * rank, told.shape, [1] * rank))
    axes = list(range(rank - len(lengths), rank))
    source = operand.shaped.element
    transforms = _Transforms(c, source if source.kind == COMPLEX else element(f"complex<{source.spelling}>"))
    signal = operand
    if kind == "RFFT":
        signal = transforms.of_real(signal, axes.pop())
    sign, last = (1, axes[-1]) if kind in ("IFFT", "IRFFT") else (-1, None)
    for axis in axes[:-1] if kind == "IRFFT" else axes:
        length = signal.shaped.shape[axis]
        signal = transforms.along(signal, axis, sign, 1.0 / length if sign > 0 else 1.0)
    if kind == "IRFFT":
        signal = transforms.to_real(signal, last, lengths[-1])
    return [signal]


class _Transforms:
    """Writes transforms of one complex element."""

    def __init__(self, c: Converter, kind: Element) -> None:
        self.c, self.kind = c, kind
        self.part = element(str(kind.type.element_type))
        self.bytes = kind.type.element_type.width // 4

    # -- complex signals

    def along(self, signal: Lazy, axis: int, sign: int, scale: float, swapped: bool = False) -> Lazy:
        """The transform along one dimension; `swapped` with that dimension behind the one before it."""
        length = signal.shaped.shape[axis]
        if (laid := self._as_it_lies(signal)) is not None:
            source, dims = laid
            found = self.along(source, dims.index(axis), sign, scale)
            done = broadcast(self.c, found, Shaped.of(signal.shaped.shape, self.kind), dims)
        elif length == 1:
            done = self._map(signal.shaped.shape, [signal], lambda x: [x * scale if scale != 1.0 else x])
        elif self._is_short(length):
            return self._transform(signal, axis, sign, scale, swapped)
        elif (smooth := smooth_part(length)) < _WORTH_A_STEP and length // smooth > LONGEST_DENSE:
            done = self._by_convolution(signal, axis, sign, scale)
        else:
            first = smooth if smooth < length else _near_root(length)
            done = self._in_two_steps(signal, axis, sign, scale, first)
        return self._with_swapped_dims(done, axis) if swapped else done

    def _with_swapped_dims(self, signal: Lazy, axis: int) -> Lazy:
        shape = list(signal.shaped.shape)
        order = list(range(len(shape)))
        order[axis - 1], order[axis] = axis, axis - 1
        return broadcast(self.c, signal, Shaped.of([shape[d] for d in order], self.kind), order)

    def _transform(
        self,
        signal: Lazy,
        axis: int,
        sign: int,
        scale: float,
        swapped: bool = False,
        length: int | None = None,
        result: Shaped | None = None,
    ) -> Lazy:
        """A generic that sums elements times roots of unity, and is marked as what it is. `result` is another one than
        the whole spectrum: its first half, or the real signal of which the operand is that."""
        c, emitter = self.c, self.c.emitter
        rank = len(signal.shaped.shape)
        shape = list((result or signal.shaped).shape)
        length = length or shape[axis]
        # Loops: the rows, then frequencies, then places.
        others = [d for d in range(rank) if d != axis]
        loops = [rank if d == axis else others.index(d) for d in range(rank)]
        if not isinstance(signal, Tensor | View):
            signal = Tensor(signal.shaped, c.tensor(signal))
        inputs, _ = c.read_operands([signal], rank + 1, loops)
        along = [rank - 1 if d == axis else loops[d] for d in range(rank)]
        if swapped:
            along[axis - 1], along[axis] = along[axis], along[axis - 1]
            shape[axis - 1], shape[axis] = shape[axis], shape[axis - 1]
        shaped = result or Shaped.of(shape, self.kind)
        start = c.fill(emitter.zero(shaped.element.type), shaped.type, shaped.sizes)

        def body(arguments: list[Value]) -> list[Value]:
            x, total = arguments
            frequency, place = emitter.linalg_index(rank - 1), emitter.linalg_index(rank)
            number = emitter.binary("arith.muli", frequency, place)
            number = emitter.binary("arith.remui", number, emitter.integer(length, index))
            number = emitter.cast("arith.index_cast", number, i32)
            angle = emitter.cast("arith.sitofp", number, self.part.type)
            angle = emitter.binary("arith.mulf", angle, emitter.float(sign * 2 * math.pi / length, self.part.type))
            factor = Parts(c, emitter.unary("math.cos", angle), emitter.unary("math.sin", angle))
            term = self._parts(x) * factor
            if scale != 1.0:
                term = self._scaled(term, scale)
            if shaped.element is self.kind:
                return [(Parts.of(c, total) + term).value()]
            # The other half is the conjugate; the ends have none there.
            ends = [emitter.cmpi("eq", place, emitter.integer(end, index)) for end in (0, length // 2)]
            is_end = emitter.binary("arith.ori", *ends)
            twice = emitter.binary("arith.addf", term.re, term.re)
            return [emitter.binary("arith.addf", total, emitter.select(is_end, term.re, twice))]

        iterators = [PARALLEL] * rank + [REDUCTION]
        op = emitter.generic(inputs, [(start, projection(rank + 1, tuple(along)))], iterators, body)
        op.attributes[ATTRIBUTE] = transform_attribute(sign, scale)
        return Tensor(shaped, op.results[0])

    def _is_short(self, length: int) -> bool:
        """Whether one kernel does a transform."""
        return length <= LONGEST_DENSE or (is_smooth(length) and length * self.bytes <= LONGEST_BYTES)

    def _in_two_steps(self, signal: Lazy, axis: int, sign: int, scale: float, first: int) -> Lazy:
        """Places are n2 * a + b; transforms over a, twiddle factors, transforms over b: frequencies k1 + n1 * k2."""
        length = signal.shaped.shape[axis]
        second = length // first
        signal = self._split(signal, axis, first, second)
        signal = self.along(signal, axis, sign, 1.0)
        signal = self._twiddled(signal, axis, sign)
        return self._merged(self.along(signal, axis + 1, sign, scale, swapped=True), axis)

    def _twiddled(self, signal: Lazy, axis: int, sign: int) -> Lazy:
        """The product with roots of unity, by the numbers along a dimension and the next."""
        shape = signal.shaped.shape
        first, second = shape[axis], shape[axis + 1]
        if first * second <= _LARGE_TABLE:
            factors = roots(sign * np.outer(np.arange(first), np.arange(second)), first * second)
            return self._times(signal, [(factors, (axis, axis + 1))])
        inner = _near_root(first)
        split = self._split(signal, axis, first // inner, inner)
        numbers = np.arange(second)
        low = roots(sign * np.outer(np.arange(inner), numbers), first * second)
        high = roots(sign * np.outer(np.arange(first // inner) * inner, numbers), first * second)
        return self._merged(self._times(split, [(high, (axis, axis + 2)), (low, (axis + 1, axis + 2))]), axis)

    def _by_convolution(self, signal: Lazy, axis: int, sign: int, scale: float) -> Lazy:
        """2 * j * k is j² + k² - (k - j)²: chirps before and behind, and a convolution with one."""
        shape = list(signal.shaped.shape)
        length = shape[axis]
        longer = _smooth_length(2 * length - 1)
        squares = np.array([j * j % (2 * length) for j in range(length)])
        chirp = roots(sign * squares, 2 * length)
        signal = self._times(signal, [(chirp, (axis,))])
        rest = Shaped.of([*shape[:axis], longer - length, *shape[axis + 1 :]], self.kind)
        zeros = Tensor(rest, self.c.fill(self.c.emitter.zero(self.kind.type), rest.type, rest.sizes))
        signal = self.along(self._joined([signal, zeros], axis), axis, -1, 1.0)
        response = np.zeros(longer, np.clongdouble)
        backwards = roots(-sign * squares, 2 * length)
        response[:length] = backwards[:, 0] + 1j * backwards[:, 1].astype(np.longdouble)
        response[longer - length + 1 :] = response[1:length][::-1]
        spectrum = np.fft.fft(response) / longer
        signal = self._times(signal, [(np.stack([spectrum.real, spectrum.imag], -1), (axis,))])
        signal = self.along(signal, axis, 1, 1.0)
        return self._times(self._part(signal, axis, 0, length), [(chirp * scale, (axis,))])

    # -- real signals

    def of_real(self, signal: Lazy, axis: int) -> Lazy:
        """The first half of the spectrum of a real signal along a dimension."""
        if (laid := self._as_it_lies(signal)) is not None:
            source, dims = laid
            found = self.of_real(source, dims.index(axis))
            shape = [found.shaped.shape[dims.index(d)] for d in range(len(dims))]
            return broadcast(self.c, found, Shaped.of(shape, self.kind), dims)
        length = signal.shaped.shape[axis]
        if length % 2 or length == 2:
            return self._part(self.along(signal, axis, -1, 1.0), axis, 0, length // 2 + 1)
        c, half = self.c, length // 2
        if self._is_short_half(half):
            shape = list(signal.shaped.shape)
            shape[axis] = half + 1
            return self._transform(signal, axis, -1, 1.0, length=length, result=Shaped.of(shape, self.kind))
        packed = list(signal.shaped.shape)
        packed[axis] = half
        pairs = [self._part(signal, axis, k, half, 2) for k in (0, 1)]
        joined = c.map(Shaped.of(packed, self.kind), pairs, lambda scalars: [Parts(c, *scalars).value()])
        spectrum = self.along(joined, axis, -1, 1.0)
        # What even places give is even, what odd ones give odd, once the last place is followed by the first.
        around = self._joined([spectrum, self._part(spectrum, axis, 0, 1)], axis)
        backwards = reverse(c, around, [axis])
        factors = roots(-np.arange(half + 1), length)
        turn = self._constant(factors, (axis,), around.shaped.shape)

        def take_apart(x: Parts, y: Parts, factor: Parts) -> list[Parts]:
            y = self._conjugate(y)
            odd = (x - y) * factor
            # Times -i.
            return [self._scaled((x + y) + Parts(c, odd.im, self._negated(odd.re)), 0.5)]

        return self._map(around.shaped.shape, [around, backwards, turn], take_apart)

    def to_real(self, spectrum: Lazy, axis: int, length: int) -> Lazy:
        """The real signal of which `spectrum` is the first half along a dimension."""
        c = self.c
        if (laid := self._as_it_lies(spectrum)) is not None:
            source, dims = laid
            found = self.to_real(source, dims.index(axis), length)
            shape = [found.shaped.shape[dims.index(d)] for d in range(len(dims))]
            return broadcast(c, found, Shaped.of(shape, self.part), dims)
        shape = list(spectrum.shaped.shape)
        if length % 2 or length == 2:
            whole = self._mirrored(spectrum, axis, length)
            signal = self.along(whole, axis, 1, 1.0 / length)
            result = Shaped.of(signal.shaped.shape, self.part)
            return c.map(result, [signal], lambda scalars: [self._parts(scalars[0]).re])
        half = length // 2
        if self._is_short_half(half) and axis == len(shape) - 1:
            shape[axis] = length
            result = Shaped.of(shape, self.part)
            return self._transform(spectrum, axis, 1, 1.0 / length, length=length, result=result)
        forwards = self._part(spectrum, axis, 0, half)
        backwards = reverse(c, self._part(spectrum, axis, 1, half), [axis])
        turn = self._constant(roots(np.arange(half), length), (axis,), forwards.shaped.shape)

        def join(x: Parts, y: Parts, factor: Parts) -> list[Parts]:
            is_end = c.emitter.is_zero(c.emitter.linalg_index(axis))
            x, y = self._without_imaginary(x, is_end), self._conjugate(self._without_imaginary(y, is_end))
            odd = (x - y) * factor
            # Times i.
            return [self._scaled((x + y) + Parts(c, self._negated(odd.im), odd.re), 0.5)]

        joined = self._map(forwards.shaped.shape, [forwards, backwards, turn], join)
        signal = self.along(joined, axis, 1, 1.0 / half)
        shape[axis : axis + 1] = [half, 2]
        dims = [d if d <= axis else d + 1 for d in range(len(shape) - 1)]
        twice = broadcast(c, signal, Shaped.of(shape, self.kind), dims)

        def part(scalars: list[Value]) -> list[Value]:
            x = self._parts(scalars[0])
            return [c.emitter.select(c.emitter.is_zero(c.emitter.linalg_index(axis + 1)), x.re, x.im)]

        return self._merged(c.map(Shaped.of(shape, self.part), [twice], part), axis)

    def _is_short_half(self, half: int) -> bool:
        """Whether a real signal of twice the length is done by one kernel, which keeps the spectrum beside it."""
        return self._is_short(half) and 2 * half * self.bytes <= LONGEST_BYTES

    def _mirrored(self, spectrum: Lazy, axis: int, length: int) -> Lazy:
        """The whole spectrum of a real signal from its first half: the rest is the conjugate, backwards."""
        c = self.c

        def without_ends(x: Parts) -> list[Parts]:
            place = c.emitter.linalg_index(axis)
            x = self._without_imaginary(x, c.emitter.is_zero(place))
            if length == 2:
                x = self._without_imaginary(x, c.emitter.cmpi("eq", place, c.emitter.integer(1, index)))
            return [x]

        first = self._map(spectrum.shaped.shape, [spectrum], without_ends)
        rest = length - spectrum.shaped.shape[axis]
        if rest == 0:
            return first
        tail = reverse(self.c, self._part(spectrum, axis, 1, rest), [axis])
        tail = self._map(tail.shaped.shape, [tail], lambda x: [self._conjugate(x)])
        return self._joined([first, tail], axis)

    # -- elements

    def _parts(self, x: Value) -> Parts:
        """The parts of a scalar, which may be real."""
        if x.type is self.part.type:
            return Parts(self.c, x, self.c.emitter.zero(x.type))
        return Parts.of(self.c, x)

    def _scaled(self, x: Parts, number: float) -> Parts:
        factor = self.c.emitter.float(number, self.part.type)
        return Parts(self.c, *[self.c.emitter.binary("arith.mulf", part, factor) for part in (x.re, x.im)])

    def _negated(self, x: Value) -> Value:
        return self.c.emitter.unary("arith.negf", x)

    def _conjugate(self, x: Parts) -> Parts:
        return Parts(self.c, x.re, self._negated(x.im))

    def _without_imaginary(self, x: Parts, condition: Value) -> Parts:
        return Parts(self.c, x.re, self.c.emitter.select(condition, self.c.emitter.zero(x.im.type), x.im))

    def _map(self, shape: Sequence[Any], operands: Sequence[Lazy], compute: Callable[..., list[Parts]]) -> Lazy:
        """A complex tensor, element by element."""
        return self.c.map(
            Shaped.of(shape, self.kind),
            operands,
            lambda scalars: [x.value() for x in compute(*map(self._parts, scalars))],
        )

    def _times(self, signal: Lazy, tables: Sequence[tuple[np.ndarray, tuple[int, ...]]]) -> Lazy:
        """The product with constants, each along some dimensions."""
        shape = signal.shaped.shape
        factors = [self._constant(values, dims, shape) for values, dims in tables]

        def multiply(x: Parts, *others: Parts) -> list[Parts]:
            factor = others[0]
            for other in others[1:]:
                factor = factor * other
            return [x * factor]

        return self._map(shape, [signal, *factors], multiply)

    def _constant(self, values: np.ndarray, dims: Sequence[int], shape: Sequence[Any]) -> Lazy:
        """Complex numbers, given as pairs, that run along some dimensions of a shape."""
        dtype = np.complex64 if self.part.type.width == 32 else np.complex128
        numbers = (values[..., 0] + 1j * values[..., 1]).astype(dtype)
        shaped = Shaped.of(numbers.shape, self.kind)
        table = Tensor(shaped, self.c.emitter.constant(DenseElementsAttr(shaped.type, numbers)))
        return broadcast(self.c, table, Shaped.of(shape, self.kind), list(dims))

    # -- shapes

    @staticmethod
    def _as_it_lies(signal: Lazy) -> tuple[Lazy, tuple[int, ...]] | None:
        """What a transposed tensor is a view of, and the dimension that each of that one's is; None for others."""
        if not isinstance(signal, View) or len(signal.dims) != len(signal.shaped.shape):
            return None
        shape = [signal.shaped.shape[d] for d in signal.dims]
        return Tensor(Shaped.of(shape, signal.shaped.element), signal.source), signal.dims

    def _split(self, signal: Lazy, axis: int, first: int, second: int) -> Lazy:
        shape = list(signal.shaped.shape)
        groups = [[d] if d < axis else [axis, axis + 1] if d == axis else [d + 1] for d in range(len(shape))]
        shape[axis : axis + 1] = [first, second]
        shaped = Shaped.of(shape, signal.shaped.element)
        return Tensor(shaped, expand(self.c, self.c.tensor(signal), shape, groups))

    def _merged(self, signal: Lazy, axis: int) -> Lazy:
        """A dimension and the next as one."""
        shape = list(signal.shaped.shape)
        groups = [[d] if d < axis else [axis, axis + 1] if d == axis else [d + 1] for d in range(len(shape) - 1)]
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        shaped = Shaped.of(shape, signal.shaped.element)
        return Tensor(shaped, collapse(self.c, self.c.tensor(signal), shape, groups))

    def _part(self, signal: Lazy, axis: int, first: int, count: int, step: int = 1) -> Lazy:
        """`count` places of a dimension from one on."""
        shape = list(signal.shaped.shape)
        if step == 1 and count == shape[axis]:
            return signal
        starts, strides = [0] * len(shape), [1] * len(shape)
        starts[axis], strides[axis], shape[axis] = first, step, count
        value = extract_slice(self.c, self.c.tensor(signal), starts, shape, strides)
        return Tensor(Shaped.of(shape, signal.shaped.element), value)

    def _joined(self, signals: Sequence[Lazy], axis: int) -> Lazy:
        shape = list(signals[0].shaped.shape)
        shape[axis] = sum(signal.shaped.shape[axis] for signal in signals)
        shaped = Shaped.of(shape, signals[0].shaped.element)
        return Tensor(shaped, concatenate(self.c, [self.c.tensor(s) for s in signals], axis, shaped.type))


def _near_root(number: int) -> int:
    """The factor of a number that is nearest to its square root."""
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(math.log(d * d / number)))


def _smooth_length(least: int) -> int:
    """The shortest length from `least` on that has no prime factors but 2, 3 and 5, few of the latter."""
    candidates = []
    for odd in (1, 3, 5, 9, 15, 25, 27):
        power = max(0, math.ceil(math.log2(least / odd)))
        candidates.append(odd << power)
    return min(n for n in candidates if n >= least)
