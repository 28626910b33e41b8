"""`reduce_window`: running combinations as scans, other windows as reductions over the window's places.

A window as long as its dimension, padded in full on one side, is a running sum (or maximum, …): `iree_linalg_ext.scan`
is linear where the window is quadratic. Any other window becomes a generic that reduces over its places and reads the
padded operand by `tensor.extract`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from pyiree.compiler.input.calls import CUSTOM_CALLS, OF_ANY_SIZE
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import FLOAT, SIGNED, Element, element
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.reductions import initial
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.input.shapes import broadcast, pad, reshaped, reverse
from pyiree.compiler.input.sizes import Size, dilated, fitting, is_static
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.ir.attributes import ArrayAttr, FloatAttr, IntegerAttr, bool_attr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import i64, index


def window_attribute(op: Any, name: str, count: int, default: int) -> list[int]:
    """A list of one integer a dimension, or its default."""
    return list(op.attributes[name]) if name in op.attributes else [default] * count


def window_padding(op: Any, count: int) -> tuple[list[int], list[int]]:
    """What is added in front of and behind each dimension."""
    if "padding" not in op.attributes:
        return [0] * count, [0] * count
    pairs = np.asarray(op.attributes["padding"]).reshape(count, 2)
    return [int(v) for v in pairs[:, 0]], [int(v) for v in pairs[:, 1]]


class _Window(NamedTuple):
    """How a window moves over an operand: for each dimension its size, its stride, how far apart the operand's elements
    and the window's are, and what is added in front of and behind the operand."""

    sizes: Sequence[int | Size]
    strides: Sequence[int]
    base_dilations: Sequence[int]
    dilations: Sequence[int]
    low: Sequence[int | Size]
    high: Sequence[int | Size]

    def result_shape(self, c: Converter, shape: Sequence[int | Size]) -> list[int | Size]:
        """How often the window fits along each dimension."""
        return [
            fitting(c.emitter, dilated(n, base) + before + after, dilated(size, dilation), stride)
            for n, size, stride, base, dilation, before, after in zip(shape, *self)
        ]


def _window_of(op: Any, rank: int) -> _Window:
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    return _Window(*(window_attribute(op, name, rank, 1) for name in names), *window_padding(op, rank))


def _windowed(c: Converter, op: Any, operands: Sequence[Any]) -> list[int | Size]:
    shape = operands[0].shaped.shape
    return _window_of(op, len(shape)).result_shape(c, shape)


SHAPE_RULES["stablehlo.reduce_window"] = _windowed


@converts("stablehlo.reduce_window")
def _reduce_window(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    window = _window_of(op, len(operands[0].shaped.shape))
    return _windows(c, operands, window, op.regions[0].blocks[0], c.results_shaped(op))


def _dynamic_reduce_window(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """What jax.export makes of `reduce_window`, where the window depends on sizes: behind the inputs and their initial
    values its numbers, those of the padding in pairs."""
    *arrays, sizes, strides, base_dilations, dilations, padding = operands
    known = [c.sizes_in(numbers) for numbers in (strides, base_dilations, dilations)]
    if not all(map(is_static, known)):
        raise c.emitter.unsupported(op, "with strides or dilations that are known when the program runs")
    pairs = c.sizes_in(reshaped(c, padding, Shaped.of((2 * padding.shaped.shape[0],), padding.shaped.element)))
    window = _Window(c.sizes_in(sizes), *known, pairs[::2], pairs[1::2])  # type: ignore[arg-type]
    shape = window.result_shape(c, arrays[0].shaped.shape)
    body = c.functions[op.attributes["called_computations"][0].value].regions[0].blocks[0]
    return _windows(c, arrays, window, body, [Shaped.of(shape, c.shaped(value).element) for value in op.results])


CUSTOM_CALLS["stablehlo.dynamic_reduce_window"] = _dynamic_reduce_window
OF_ANY_SIZE.add("stablehlo.dynamic_reduce_window")


def _windows(
    c: Converter, operands: Sequence[Lazy], window: _Window, body: Any, results: Sequence[Shaped]
) -> list[Lazy]:
    """Combines what each window sees: of inputs, behind which their initial values stand."""
    half = len(operands) // 2
    inputs, initials = operands[:half], operands[half:]
    if 0 in results[0].shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes)) for result in results]
    running = _running_dimension(inputs[0].shaped.shape, window) if half == 1 else None
    if running is not None:
        dimension, backwards = running
        return [_scan(c, inputs[0], initials[0], dimension, backwards, body, results[0])]
    padded = [_padded(c, value, start, window) for value, start in zip(inputs, initials)]
    return _places(c, padded, initials, window, body, results)


def _running_dimension(shape: Sequence[int | Size], window: _Window) -> tuple[int, bool] | None:
    """The one dimension along which the window sees all that came before (or after) each place."""
    if 0 in shape or any(n != 1 for n in (*window.strides, *window.base_dilations, *window.dilations)):
        return None
    low, high = window.low, window.high
    long = [d for d, size in enumerate(window.sizes) if size != 1]
    if len(long) != 1 or any((low[d], high[d]) != (0, 0) for d in range(len(shape)) if d not in long):
        return None
    (d,) = long
    if window.sizes[d] != shape[d]:
        return None
    if (low[d], high[d]) == (shape[d] - 1, 0):
        return d, False
    if (low[d], high[d]) == (0, shape[d] - 1):
        return d, True
    return None


def _scan(c: Converter, operand: Lazy, start: Lazy, dimension: int, backwards: bool, body: Any, result: Shaped) -> Lazy:
    """A scan, of sums and products of half types in f32, rounded once as in reductions."""
    operation = _only_op(body)
    neutral = operation is not None and _is_neutral(operation, start)
    if neutral and operation == "stablehlo.add" and result.element.kind == FLOAT:
        # Not quite: 0.0 + -0.0 is 0.0.
        operand = c.map(result, [operand, start], lambda scalars: c.scalar_block(body, scalars))
    wide = element("f32")
    if operation not in _WIDENED or result.element.kind != FLOAT or result.element.type.width >= 32:  # type: ignore[attr-defined]
        running = _Running(dimension, backwards, lambda scalars: c.scalar_block(body, scalars), operation)
        return running.scan(c, operand, None if neutral else start, result)
    name = _WIDENED[operation]

    def converted(value: Lazy, target: Element) -> Lazy:
        source, shaped = value.shaped.element, Shaped.of(value.shaped.shape, target)
        return c.map(shaped, [value], lambda scalars: [convert(c.emitter, scalars[0], source, target)])

    running = _Running(dimension, backwards, lambda scalars: [c.emitter.binary(name, *scalars)], operation)
    first = None if neutral else converted(start, wide)
    scanned = running.scan(c, converted(operand, wide), first, Shaped.of(result.shape, wide))
    return converted(scanned, result.element)


#: What is combined in f32 where the elements are narrower.
_WIDENED = {"stablehlo.add": "arith.addf", "stablehlo.multiply": "arith.mulf"}


class _Running(NamedTuple):
    """A running combination: along which dimension, from its end or its start, by which scalar ops; `operation` is the
    one op of StableHLO that these are, None for others."""

    dimension: int
    backwards: bool
    combine: Callable[[list[Value]], Sequence[Value]]
    operation: str | None

    def scan(self, c: Converter, operand: Lazy, start: Lazy | None, result: Shaped) -> Lazy:
        """The scan itself begins with the first element; how often the window meets the initial value, if that changes
        anything, is added to it."""
        if self.backwards:
            operand = reverse(c, operand, [self.dimension])
        running: Lazy = Tensor(result, self._scanned(c, c.tensor(operand), self.dimension, result))
        if self.backwards:
            running = reverse(c, running, [self.dimension])
        if start is None:
            return running
        if self.operation in _IDEMPOTENT:
            starts = broadcast(c, start, result, [])
        else:
            # In front of the first element the window meets n initial values, in front of the last one it meets one.
            row = Shaped.of((result.shape[self.dimension],), result.element)
            powers: Lazy = Tensor(row, self._scanned(c, initial(c, start, row), 0, row))
            ordered = powers if self.backwards else reverse(c, powers, [0])
            starts = broadcast(c, ordered, result, [self.dimension])
        order = [running, starts] if self.backwards else [starts, running]
        return c.map(result, order, self.combine)

    def _scanned(self, c: Converter, value: Value, dimension: int, result: Shaped) -> Value:
        emitter = c.emitter
        row = Shaped.of([n for i, n in enumerate(result.shape) if i != dimension], result.element)
        block = Block([result.element.type] * 2)
        with emitter.inside(block):
            emitter.emit("iree_linalg_ext.yield", self.combine(list(block.arguments)), ())
        scan = emitter.emit(
            "iree_linalg_ext.scan",
            (value, emitter.empty(result.type, result.sizes), emitter.empty(row.type, row.sizes)),
            (result.type, row.type),
            {"dimension": IntegerAttr(dimension, i64), "inclusive": bool_attr(True)},
            (Region(block),),
            (1, 2),
        )
        return scan.results[0]


_IDEMPOTENT = ("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or")


def _only_op(body: Any) -> str | None:
    """The op that a body consists of, if it combines the body's two arguments by one."""
    ops = [view.operation for view in body.operations]
    if len(ops) != 2 or set(ops[0].operands) != set(body.arguments) or ops[1].operands[0] != ops[0].results[0]:
        return None
    return ops[0].name


def _is_neutral(operation: str, start: Lazy) -> bool:
    """Whether an initial value changes nothing that it is combined with."""
    if not isinstance(start, Uniform) or start.attribute is None:
        return False
    kind, number = start.shaped.element, start.attribute
    if isinstance(number, FloatAttr):
        infinite = {"stablehlo.maximum": -np.inf, "stablehlo.minimum": np.inf}
        return number.value == {"stablehlo.add": 0.0, "stablehlo.multiply": 1.0, **infinite}.get(operation)
    if isinstance(number, ArrayAttr):
        parts = [part.value for part in number]  # type: ignore[attr-defined]
        return parts == {"stablehlo.add": [0.0, 0.0], "stablehlo.multiply": [1.0, 0.0]}.get(operation)
    mask = (1 << kind.type.width) - 1  # type: ignore[attr-defined]
    sign = mask // 2 + 1 if kind.kind == SIGNED else 0
    neutral = {
        "stablehlo.add": 0, "stablehlo.or": 0, "stablehlo.xor": 0, "stablehlo.multiply": 1, "stablehlo.and": mask,
        "stablehlo.maximum": sign, "stablehlo.minimum": mask ^ sign,
    }  # fmt: skip
    return number.value & mask == neutral.get(operation)  # type: ignore[attr-defined]


def _padded(c: Converter, value: Lazy, start: Lazy, window: _Window) -> Value:
    """The operand with its padding and its holes, which hold the initial value."""
    shape = tuple(
        before + after + dilated(size, hole)
        for size, before, after, hole in zip(value.shaped.shape, window.low, window.high, window.base_dilations)
    )
    if shape == value.shaped.shape:
        return c.tensor(value)
    padded = Shaped.of(shape, value.shaped.element)
    return pad(c, value, start, window.low, window.high, [hole - 1 for hole in window.base_dilations], padded)


def _places(
    c: Converter,
    padded: Sequence[Value],
    initials: Sequence[Lazy],
    window: _Window,
    body: Any,
    results: Sequence[Shaped],
) -> list[Lazy]:
    emitter = c.emitter
    rank = len(window.sizes)
    wide = [d for d in range(rank) if window.sizes[d] != 1]
    loops = rank + len(wide)
    # Nothing but the shape of the window is read of this input: it tells how often its loops run.
    extents = Shaped.of([window.sizes[d] for d in wide], initials[0].shaped.element)
    extent = emitter.empty(extents.type, extents.sizes)
    starts = [initial(c, start, result) for start, result in zip(initials, results)]

    def combine(arguments: list[Value]) -> list[Value]:
        place = window_place(c, rank, wide, window.strides, window.dilations)
        elements = [
            emitter.emit("tensor.extract", (value, *place), (value.type.element_type,)).results[0]  # type: ignore
            for value in padded
        ]
        return c.scalar_block(body, [*arguments[1:], *elements])

    inputs = [(extent, projection(loops, tuple(range(rank, loops))))]
    outputs = [(start, projection(loops, tuple(range(rank)))) for start in starts]
    iterators = [PARALLEL] * rank + [REDUCTION] * len(wide)
    generic = emitter.generic(inputs, outputs, iterators, combine)
    return [Tensor(result, value) for result, value in zip(results, generic.results)]


def window_place(
    c: Converter, rank: int, wide: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[Value]:
    """Where a window's loops (those after the first `rank`) are in the padded operand."""
    emitter = c.emitter
    place = []
    for d in range(rank):
        at = _scaled(c, emitter.linalg_index(d), strides[d])
        if d in wide:
            within = _scaled(c, emitter.linalg_index(rank + wide.index(d)), dilations[d])
            at = emitter.binary("arith.addi", at, within)
        place.append(at)
    return place


def _scaled(c: Converter, value: Value, factor: int) -> Value:
    if factor == 1:
        return value
    return c.emitter.binary("arith.muli", value, c.emitter.integer(factor, index))
