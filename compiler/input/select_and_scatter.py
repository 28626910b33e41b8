"""`stablehlo.select_and_scatter`: the gradient of a pooling.

Enters: the pooled operand, the gradients of the windows, an initial value. Leaves: a reduction over each window that
finds the place of the selected element (places in the padding are never selected), and a scatter of the gradients to
these places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import element
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.reductions import initial
from pyiree.compiler.input.scatter import scatter_rows
from pyiree.compiler.input.shapes import reshaped
from pyiree.compiler.input.sizes import Size, index_of, is_static, product
from pyiree.compiler.input.values import Lazy, Tensor
from pyiree.compiler.input.windows import window_attribute, window_padding, window_place
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import TensorType, index


@converts("stablehlo.select_and_scatter")
def _select_and_scatter(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, source, start = operands
    result = c.result_shaped(op)
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    original = initial(c, start, result)
    if 0 in source.shaped.shape:
        return [Tensor(result, original)]
    rank = len(result.shape)
    window = window_attribute(op, "window_dimensions", rank, 1)
    strides = window_attribute(op, "window_strides", rank, 1)
    low, _ = window_padding(op, rank)
    places = _selected_places(c, operand, source.shaped.shape, window, strides, low, op.regions[0].blocks[0])
    count, vector = product(source.shaped.shape), Shaped.of((product(result.shape),), result.element)
    flat = scatter_rows(
        c,
        c.tensor(reshaped(c, source, Shaped.of((count,), source.shaped.element))),
        c.tensor(reshaped(c, places, Shaped.of((count, 1), places.shaped.element))),
        c.tensor(reshaped(c, Tensor(result, original), vector)),
        lambda old, update: c.scalar_block(op.regions[1].blocks[0], [old, update])[0],
    )
    return [reshaped(c, Tensor(vector, flat), result)]


def _selected_places(
    c: Converter,
    operand: Lazy,
    out_shape: Sequence[int | Size],
    window: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    select: Any,
) -> Tensor:
    """For each window the row-major number of its selected element, -1 where it lies in the padding as a whole."""
    emitter = c.emitter
    shape = operand.shaped.shape
    kind = operand.shaped.element
    numbers = Shaped.of(out_shape, element("i32" if is_static(shape) and math.prod(shape) < 1 << 31 else "i64"))
    number = numbers.element.type
    rank = len(shape)
    wide = [d for d in range(rank) if window[d] != 1]
    loops = rank + len(wide)
    source = c.tensor(operand)
    values = Shaped.of(out_shape, kind)
    best = c.fill(emitter.zero(kind.type), values.type, values.sizes)
    none_yet = c.fill(emitter.integer(-1, number), numbers.type, numbers.sizes)
    extent = emitter.empty(TensorType([window[d] for d in wide], kind.type))

    def combine(arguments: list[Value]) -> list[Value]:
        _, so_far, where = arguments
        place, within = [], None
        total = emitter.integer(0, index)
        for d, at in enumerate(window_place(c, rank, wide, strides, [1] * rank)):
            if low[d]:
                at = emitter.binary("arith.subi", at, emitter.integer(low[d], index))
            # As unsigned numbers, places before the first are beyond the last.
            inside = emitter.cmpi("ult", at, index_of(emitter, shape[d]))
            within = inside if within is None else emitter.binary("arith.andi", within, inside)
            safe = emitter.select(inside, at, emitter.integer(0, index))
            place.append(safe)
            scaled = emitter.binary("arith.muli", total, index_of(emitter, shape[d]))
            total = emitter.binary("arith.addi", scaled, safe)
        assert within is not None
        candidate = emitter.emit("tensor.extract", (source, *place), (kind.type,)).results[0]
        (keeps,) = c.scalar_block(select, [so_far, candidate])
        first = emitter.cmpi("slt", where, emitter.integer(0, number))
        beaten = emitter.binary("arith.xori", keeps, emitter.integer(1, keeps.type))
        taken = emitter.binary("arith.andi", within, emitter.binary("arith.ori", first, beaten))
        here = emitter.cast("arith.index_cast", total, number)
        return [emitter.select(taken, candidate, so_far), emitter.select(taken, here, where)]

    inputs = [(extent, projection(loops, tuple(range(rank, loops))))]
    outputs = [(start, projection(loops, tuple(range(rank)))) for start in (best, none_yet)]
    iterators = [PARALLEL] * rank + [REDUCTION] * len(wide)
    return Tensor(numbers, emitter.generic(inputs, outputs, iterators, combine).results[1])
