"""JAX's solver of tridiagonal systems that may be singular, written out in StableHLO.

Enters: `stablehlo.custom_call @tridiagonal_solve_perturbed_ffi` of the three diagonals, each as long as the middle one,
and right sides. Leaves: Gaussian elimination with row exchanges, then back substitution, in which a pivot that is tiny
beside the largest element of U is moved away from zero, as far as it takes for quotients not to overflow. That is what
LAPACK's xLAGTF and xLAGTS do for one right side (their documentation is the source).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
from pyiree.compiler.input.calls import CUSTOM_CALLS
from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.values import Lazy, Uniform
from pyiree.compiler.input.written import Program, Written


def _solve_perturbed(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[Lazy]:
    result = c.result_shaped(op)
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    return c.write_out(_text(result.shape, result.element.spelling), operands)


def _text(shape: Sequence[int], element: str) -> str:
    *outer, n, columns = shape
    batch = math.prod(outer)
    program = Program()
    diagonals = [program.parameter([*outer, n], element) for _ in range(3)]
    right = program.parameter(shape, element)
    below, middle, above = (diagonal.reshape(batch, n, 1) for diagonal in diagonals)
    last = program.constant(n - 1, (), "i32")
    # What lies behind the last row is no part of the matrix.
    above = above.with_at(last, program.constant(0, (batch, 1), element))
    upper, rows, largest = _eliminate(program, below, middle, above, right.reshape(batch, n, columns))
    solution = _substitute(program, upper, rows, largest)
    return program.text([*diagonals, right], solution.reshape(*shape))


def _eliminate(
    program: Program, below: Written, middle: Written, above: Written, right: Written
) -> tuple[Written, Written, Written]:
    """The three diagonals of U side by side, the right sides after elimination, and the largest element of U."""
    batch, n, _ = right.shape
    first = program.constant(0, (), "i32")
    one = program.constant(1, (), "i32")
    last = program.constant(n - 1, (), "i32")
    d, u = middle.at(first), above.at(first)
    none, unit = d.like(0), d.like(1)
    upper = program.constant(0, (batch, n, 3), right.element)
    state = [first, d, u, right.at(first), abs(d) + abs(u), abs(d).maximum(abs(u)), upper, right]

    def step(k: Written, d: Written, u: Written, z: Written, scale: Written, top: Written, upper: Written,
             rows: Written) -> list[Written]:  # fmt: skip
        following = k + one
        low, diagonal, high = (x.at(following) for x in (below, middle, above))
        given = right.at(following)
        next_scale = abs(low) + abs(diagonal) + abs(high)
        is_done = low.compare("EQ", none)
        pivot = d.compare("EQ", none).select(scale.like(0), abs(d) / scale)
        swaps = ~is_done & ~(abs(low) / next_scale).compare("LE", pivot)
        factor = swaps.select(d, low) / swaps.select(low, is_done.select(unit, d))
        kept = [swaps.select(low, d), swaps.select(diagonal, u), swaps.select(high, none)]
        next_d = swaps.select(u, diagonal) - factor * swaps.select(diagonal, u)
        next_d = is_done.select(diagonal, next_d)
        next_u = swaps.select(-(factor * high), high)
        next_z = swaps.select(z, given) - factor * swaps.select(given, z)
        next_z = is_done.select(given, next_z)
        counts = following.compare("LT", last).reshape(1, 1).spread((batch, 1))
        seen = top
        for value in kept:
            seen = seen.maximum(abs(value))
        return [
            following, next_d, next_u, next_z, swaps.select(abs(next_d) + abs(next_u), next_scale),
            counts.select(seen, top), upper.with_at(k, kept[0].beside(*kept[1:])),
            rows.with_at(k, swaps.select(given, z)),
        ]  # fmt: skip

    _, d, _, z, _, top, upper, rows = program.loop(state, lambda k, *_: k.compare("LT", last), step)
    upper = upper.with_at(last, d.beside(none, none))
    return upper, rows.with_at(last, z), top.maximum(abs(d))


def _substitute(program: Program, upper: Written, rows: Written, largest: Written) -> Written:
    """The solution, from the last row to the first."""
    batch, n, columns = rows.shape
    shift = largest * float(_finfo(largest.element).eps)
    start = program.constant(0, (batch, columns), rows.element)
    last = program.constant(n - 1, (), "i32")

    def step(k: Written, x1: Written, x2: Written, rows: Written) -> list[Written]:
        u = upper.at(k)
        row = rows.at(k) - u.column(1) * x1 - u.column(2) * x2
        pivot, row = _perturbed(program, shift, u.column(0), row)
        x = row * (pivot.like(1) / pivot)
        return [k - 1, x, x1, rows.with_at(k, x)]

    return program.loop([last, start, start, rows], lambda k, *_: k.compare("GE", 0), step)[-1]


def _perturbed(program: Program, shift: Written, pivot: Written, row: Written) -> tuple[Written, Written]:
    """A pivot by which a row can be divided without overflow, and the row, which may have been scaled with it."""
    real = shift.element
    tiny = float(_finfo(real).tiny)
    big = 1.0 / tiny
    largest = abs(row).reduce("maximum", 0.0, [1]).reshape(row.shape[0], 1)
    step = shift.maximum(tiny)
    step = pivot.real.is_negative().select(-step, step)

    def again(active: Written, pivot: Written, row: Written, step: Written) -> list[Written]:
        size = abs(pivot)
        is_tiny = size.compare("LT", tiny)
        overflows = is_tiny.select(
            size.compare("EQ", 0.0) | (largest * tiny).compare("GT", size), largest.compare("GT", size * big)
        )
        moves, scales = active & overflows, active & is_tiny & ~overflows
        pivot = moves.select(pivot + step.as_element(pivot.element), scales.select(pivot * big, pivot))
        row = scales.select(row * big, row)
        return [moves & abs(pivot).compare("LT", 1.0), pivot, row, moves.select(step * 2.0, step)]

    state = [abs(pivot).compare("LT", 1.0), pivot, row, step]
    _, pivot, row, _ = program.loop(state, lambda active, *_: _any(active), again)
    return pivot, row


def _any(flags: Written) -> Written:
    first = flags.program.op("stablehlo.constant dense<false> : tensor<i1>", (), "i1")
    text = f"stablehlo.reduce({flags.name} init: {first.name}) applies stablehlo.or across dimensions = [0, 1]"
    return flags.program.op(f"{text} : ({flags.type}, tensor<i1>) -> tensor<i1>", (), "i1")


def _finfo(element: str) -> Any:
    return ml_dtypes.finfo({"f32": "float32", "f64": "float64"}[element])


CUSTOM_CALLS["tridiagonal_solve_perturbed_ffi"] = _solve_perturbed
