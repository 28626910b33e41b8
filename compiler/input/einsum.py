"""`einsum` and `torch_index_select`, which older programs hold: sums of products by the letters of their dimensions,
and slices at the places of one dimension.

Enters: the ops. Leaves: a contraction whose loops are the letters, the result's first; a gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.contractions import accumulator, generic_contraction
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.input.sizes import Size
from pyiree.compiler.input.values import Lazy, Tensor


@converts("stablehlo.einsum")
def _einsum(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    lhs, rhs = operands
    result = c.result_shaped(op)
    letters = _letters_of(c, op, operands)
    if any(len(set(one)) < len(one) for one in letters):
        raise c.emitter.unsupported(op, "with a letter twice in one operand")
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    loops = list(dict.fromkeys([*letters[2], *letters[0], *letters[1]]))
    lengths = dict([*zip(letters[0], lhs.shaped.shape), *zip(letters[1], rhs.shaped.shape)])
    summed = accumulator(lhs.shaped.element, rhs.shaped.element, result.element)
    shaped = Shaped.of(result.shape, summed)
    value = c.fill(c.emitter.zero(summed.type), shaped.type, shaped.sizes)
    outer = len(letters[2])
    if all(lengths[letter] for letter in loops[outer:]):
        lhs_loops, rhs_loops = ([loops.index(letter) for letter in one] for one in letters[:2])
        value = generic_contraction(c, lhs, rhs, lhs_loops, rhs_loops, outer, len(loops), value, summed)
    if summed is result.element:
        return [Tensor(result, value)]
    narrowed = c.map(
        result, [Tensor(shaped, value)], lambda scalars: [convert(c.emitter, scalars[0], summed, result.element)]
    )
    return [narrowed]


def _letters_of(c: Converter, op: Any, operands: list[Lazy]) -> list[list[str]]:
    """The letters of the operands and of the result."""
    given, _, made = op.attributes["einsum_config"].value.replace(" ", "").partition("->")
    left, _, right = given.partition(",")
    ranks = [len(shaped.shape) for shaped in (operands[0].shaped, operands[1].shaped, c.shaped(op.results[0]))]
    return [_letters(text, rank) for text, rank in zip((left, right, made), ranks)]


def _by_letters(c: Converter, op: Any, operands: list[Lazy]) -> list[int | Size]:
    left, right, made = _letters_of(c, op, operands)
    lengths = dict([*zip(left, operands[0].shaped.shape), *zip(right, operands[1].shaped.shape)])
    return [lengths[letter] for letter in made]


SHAPE_RULES.update({"stablehlo.einsum": _by_letters, "stablehlo.torch_index_select": None})


def _letters(text: str, rank: int) -> list[str]:
    """A name for each dimension; those that dots stand for are numbered from the last one on."""
    before, dots, after = text.partition("...")
    count = rank - len(before) - len(after) if dots else 0
    return [*before, *[f"...{count - i}" for i in range(count)], *after]


@converts("stablehlo.torch_index_select")
def _torch_index_select(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[Lazy]:
    shape, places = operands[0].shaped.shape, operands[1].shaped.shape
    dim, batch = op.attributes["dim"].value, op.attributes["batch_dims"].value
    behind = dim + len(places) - batch  # where the result's dims come from the operand again
    windows = [*range(batch, dim), *range(behind, behind + len(shape) - dim - 1)]
    sizes = c.integers([1 if d < batch or d == dim else n for d, n in enumerate(shape)])
    batching = list(range(batch))
    made = str(op.results[0].type)
    given = [*(str(value.type) for value in op.operands), f"tensor<{len(shape)}xi64>"]
    return c.write_out(
        f"func.func @gather(%operand: {given[0]}, %places: {given[1]}, %sizes: {given[2]}) -> {made} {{\n"
        '  %r = "stablehlo.dynamic_gather"(%operand, %places, %sizes) {dimension_numbers = '
        f"#stablehlo.gather<offset_dims = {windows}, collapsed_slice_dims = [{dim}], "
        f"operand_batching_dims = {batching}, start_indices_batching_dims = {batching}, start_index_map = [{dim}], "
        f"index_vector_dim = {len(places)}>}} : ({', '.join(given)}) -> {made}\n"
        f"  return %r : {made}\n}}",
        [*operands, sizes],
    )
