"""`dot_general` as linalg contractions, which accumulate in f32 or wider and round once.

The usual forms get their names (`linalg.matmul`, `batch_matmul`, `matvec`, `vecmat`, `dot`); any other order of
dimensions is a generic with the same body, and transposed or broadcast operands are read in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.complex_scalars import Parts, convert_complex
from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import BOOLEAN, COMPLEX, FLOAT, Element, element
from pyiree.compiler.input.emitter import PARALLEL, REDUCTION, projection
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.input.values import Lazy, Tensor, View
from pyiree.compiler.ir.core import Value


@converts("stablehlo.dot_general")
def _dot_general(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    numbers = dialect_attribute(op, "dot_dimension_numbers", "DotDimensionNumbers")
    return [
        dot_general(
            c,
            operands[0],
            operands[1],
            list(numbers.lhs_batching_dimensions),
            list(numbers.rhs_batching_dimensions),
            list(numbers.lhs_contracting_dimensions),
            list(numbers.rhs_contracting_dimensions),
            c.result_shaped(op),
        )
    ]


@converts("stablehlo.dot")
def _dot(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    contracted = [len(operands[0].shaped.shape) - 1]
    return [dot_general(c, operands[0], operands[1], [], [], contracted, [0], c.result_shaped(op))]


def accumulator(lhs: Element, rhs: Element, result: Element) -> Element:
    """The element type in which products are summed."""
    if result.kind == FLOAT:
        wide = max((lhs, rhs, result), key=lambda e: e.type.width)
        return wide if wide.type.width >= 32 else element("f32")
    if result.is_integer and result.type.width < 32:
        return element("ui32" if result.kind != "signed" else "i32")
    return result


def dot_general(
    c: Converter,
    lhs: Lazy,
    rhs: Lazy,
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
    lhs_contracting: Sequence[int],
    rhs_contracting: Sequence[int],
    result: Shaped,
) -> Lazy:
    """The result's loops come first: batch, free dimensions of the left, of the right; then the summed ones."""
    if 0 in result.shape:
        return Tensor(result, c.emitter.empty(result.type, result.sizes))
    left, right = lhs.shaped.element, rhs.shaped.element
    lhs_free = [d for d in range(len(lhs.shaped.shape)) if d not in (*lhs_batch, *lhs_contracting)]
    rhs_free = [d for d in range(len(rhs.shaped.shape)) if d not in (*rhs_batch, *rhs_contracting)]
    batch = len(lhs_batch)
    outer = batch + len(lhs_free) + len(rhs_free)
    loops = outer + len(lhs_contracting)
    lhs_loops = _loops(lhs_batch, 0, lhs_free, batch, lhs_contracting, outer)
    rhs_loops = _loops(rhs_batch, 0, rhs_free, batch + len(lhs_free), rhs_contracting, outer)

    summed = accumulator(left, right, result.element)
    shaped = Shaped.of(result.shape, summed)
    start = c.fill(c.emitter.zero(summed.type), shaped.type, shaped.sizes)
    if any(lhs.shaped.shape[d] == 0 for d in lhs_contracting):
        value = start
    else:
        name = _usual_name(lhs, rhs, lhs_loops, rhs_loops, batch, len(lhs_free), len(rhs_free), loops - outer)
        if name is not None and _widens_by_name(left, summed) and _widens_by_name(right, summed):
            inputs = (c.tensor(lhs), c.tensor(rhs))
            value = c.emitter.emit(name, (*inputs, start), (shaped.type,), None, (), (2, 1)).results[0]
        else:
            value = generic_contraction(c, lhs, rhs, lhs_loops, rhs_loops, outer, loops, start, summed)
    if summed is result.element:
        return Tensor(result, value)
    return c.map(
        result, [Tensor(shaped, value)], lambda scalars: [convert(c.emitter, scalars[0], summed, result.element)]
    )


def _loops(
    batch: Sequence[int],
    batch_start: int,
    free: Sequence[int],
    free_start: int,
    contracting: Sequence[int],
    contracting_start: int,
) -> list[int]:
    """The loop along which each dimension of an operand runs."""
    loops = [0] * (len(batch) + len(free) + len(contracting))
    for dims, start in ((batch, batch_start), (free, free_start), (contracting, contracting_start)):
        for i, d in enumerate(dims):
            loops[d] = start + i
    return loops


_USUAL = {
    (0, 1, 1, 1): ("linalg.matmul", [0, 2], [2, 1]),
    (1, 1, 1, 1): ("linalg.batch_matmul", [0, 1, 3], [0, 3, 2]),
    (0, 1, 0, 1): ("linalg.matvec", [0, 1], [1]),
    (0, 0, 1, 1): ("linalg.vecmat", [1], [1, 0]),
    (0, 0, 0, 1): ("linalg.dot", [0], [0]),
}


def _usual_name(lhs: Lazy, rhs: Lazy, lhs_loops: list[int], rhs_loops: list[int], *counts: int) -> str | None:
    """The named op of a contraction whose operands are tensors in the usual order of dimensions."""
    found = _USUAL.get(counts)  # type: ignore[call-overload]
    if found is None or isinstance(lhs, View) or isinstance(rhs, View):
        return None
    if COMPLEX in (lhs.shaped.element.kind, rhs.shaped.element.kind):
        return None
    return found[0] if (lhs_loops, rhs_loops) == found[1:] else None


def _widens_by_name(source: Element, target: Element) -> bool:
    """Whether a named op's own conversion (floats exactly, integers as signed) is the right one."""
    return (
        source is target or source.kind == target.kind == FLOAT or (source.kind == "signed" and target.kind == "signed")
    )


def generic_contraction(
    c: Converter,
    lhs: Lazy,
    rhs: Lazy,
    lhs_loops: list[int],
    rhs_loops: list[int],
    outer: int,
    loops: int,
    start: Value,
    summed: Element,
) -> Value:
    """Products summed over the loops behind the `outer` ones, which are the result's dimensions; dimension `i` of an
    operand runs along loop `lhs_loops[i]` (`rhs_loops[i]`)."""
    emitter = c.emitter
    lhs_inputs, read_lhs = c.read_operands([lhs], loops, lhs_loops)
    rhs_inputs, read_rhs = c.read_operands([rhs], loops, rhs_loops)
    pairs = [*zip(lhs_loops, lhs.shaped.shape), *zip(rhs_loops, rhs.shaped.shape)]
    summed_ranges = {loop: size for loop, size in pairs if loop >= outer}
    inputs = c.with_ranges([*lhs_inputs, *rhs_inputs], loops, summed_ranges)

    def combine(arguments: list[Value]) -> list[Value]:
        split = len(lhs_inputs)
        x, y = read_lhs(arguments[:split])[0], read_rhs(arguments[split:-1])[0]
        return [with_product(c, arguments[-1], summed, (x, lhs.shaped.element), (y, rhs.shaped.element))]

    iterators = [PARALLEL] * outer + [REDUCTION] * (loops - outer)
    outputs = [(start, projection(loops, tuple(range(outer))))]
    return emitter.generic(inputs, outputs, iterators, combine).results[0]


def with_product(c: Converter, total: Value, summed: Element, *factors: tuple[Value, Element]) -> Value:
    """A sum of `summed` elements, and the product of two factors, each of its own element type."""
    if summed.kind == COMPLEX:
        x, y = (Parts.of(c, convert_complex(c, value, kind, summed)) for value, kind in factors)
        return (Parts.of(c, total) + x * y).value()
    x, y = (convert(c.emitter, value, kind, summed) for value, kind in factors)
    multiply, add = _ARITHMETIC.get(summed.kind, ("arith.muli", "arith.addi"))
    return c.emitter.binary(add, total, c.emitter.binary(multiply, x, y))


_ARITHMETIC = {FLOAT: ("arith.mulf", "arith.addf"), BOOLEAN: ("arith.andi", "arith.ori")}
