"""`stablehlo.reduce`, of one or several operands, as one `linalg.generic`."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.shapes import broadcast
from pyiree.compiler.input.values import Lazy, Tensor, Uniform
from pyiree.compiler.ir.core import Value


@converts("stablehlo.reduce")
def _reduce(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    half = len(operands) // 2
    results = c.results_shaped(op)
    dimensions = list(op.attributes["dimensions"])
    return reduce(c, operands[:half], operands[half:], dimensions, op.regions[0].blocks[0], results)


def initial(c: Converter, value: Lazy, result: Shaped) -> Value:
    """The tensor that a reduction starts from: its initial value everywhere."""
    if isinstance(value, Uniform):
        return c.fill(c.uniform_scalar(value), result.type, result.sizes)
    return c.tensor(broadcast(c, value, result, []))


def reduce(
    c: Converter,
    inputs: list[Lazy],
    initials: list[Lazy],
    dimensions: list[int],
    body: Any,
    results: list[Shaped],
) -> list[Lazy]:
    """Combines along `dimensions`; the body takes what is there first and the new elements second."""
    rank = len(inputs[0].shaped.shape)
    if 0 in results[0].shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes)) for result in results]
    starts = [initial(c, value, result) for value, result in zip(initials, results)]
    if any(inputs[0].shaped.shape[d] == 0 for d in dimensions):
        return [Tensor(result, start) for result, start in zip(results, starts)]
    kept = projection(rank, tuple(d for d in range(rank) if d not in dimensions))
    sources, read = c.read_operands(inputs, rank)
    sources = c.with_ranges(sources, rank, {d: inputs[0].shaped.shape[d] for d in dimensions})
    iterators = [REDUCTION if d in dimensions else PARALLEL for d in range(rank)]

    def combine(arguments: list[Value]) -> list[Value]:
        return c.scalar_block(body, [*arguments[len(sources) :], *read(arguments)])

    generic = c.emitter.generic(sources, [(start, kept) for start in starts], iterators, combine)
    return [Tensor(result, value) for result, value in zip(results, generic.results)]
