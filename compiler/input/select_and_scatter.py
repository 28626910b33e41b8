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
from pyiree.compiler.input.shapes import reshape
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
    count = math.prod(source.shaped.shape)
    flat = scatter_rows(
        c,
        reshape(c, c.tensor(source), (count,)),
        reshape(c, places, (count, 1)),
        reshape(c, original, (math.prod(result.shape),)),
        lambda old, update: c.scalar_block(op.regions[1].blocks[0], [old, update])[0],
    )
    return [Tensor(result, reshape(c, flat, result.shape))]


def _selected_places(
    c: Converter,
    operand: Lazy,
    out_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    select: Any,
) -> Value:
    """For each window the row-major number of its selected element, -1 where it lies in the padding as a whole."""
    emitter = c.emitter
    shape = operand.shaped.shape
    kind = operand.shaped.element
    number = element("i64" if math.prod(shape) >= 1 << 31 else "i32").type
    rank = len(shape)
    wide = [d for d in range(rank) if window[d] != 1]
    loops = rank + len(wide)
    source = c.tensor(operand)
    values = Shaped(tuple(out_shape), kind, TensorType(out_shape, kind.type))
    best = c.fill(emitter.zero(kind.type), values.type)
    none_yet = c.fill(emitter.integer(-1, number), TensorType(out_shape, number))
    extent = emitter.empty(TensorType([window[d] for d in wide], kind.type))

    def combine(arguments: list[Value]) -> list[Value]:
        _, so_far, where = arguments
        place, within = [], None
        total = emitter.integer(0, index)
        for d, at in enumerate(window_place(c, rank, wide, strides, [1] * rank)):
            if low[d]:
                at = emitter.binary("arith.subi", at, emitter.integer(low[d], index))
            # As unsigned numbers, places before the first are beyond the last.
            inside = emitter.cmpi("ult", at, emitter.integer(shape[d], index))
            within = inside if within is None else emitter.binary("arith.andi", within, inside)
            safe = emitter.select(inside, at, emitter.integer(0, index))
            place.append(safe)
            scaled = emitter.binary("arith.muli", total, emitter.integer(shape[d], index))
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
    return emitter.generic(inputs, outputs, iterators, combine).results[1]
