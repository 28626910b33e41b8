"""Ops whose result has a shape that is computed, and the shapes of results that types leave open.

Enters: ops with operands that are shapes, start indices or amounts of padding. Leaves: the same as their static twins
give, with sizes of the host where the program doesn't say them. A shape that depends on numbers of the device is
read from there first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.calls import CUSTOM_CALLS
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.indexing import gather
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.shapes import broadcast, extract_slice, pad, reshaped
from pyiree.compiler.input.sizes import Size, at_least, common_shape, divided
from pyiree.compiler.input.values import Iota, Lazy, Tensor, Uniform
from pyiree.compiler.ir.attributes import StringAttr

Shape = Sequence[int | Size]


# Shapes of results.


def _shape_of_first(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    return operands[0].shaped.shape


def _shape_of_second(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    return operands[1].shaped.shape


def _named_by(position: int) -> Any:
    """The rule of ops that have their result's shape as an operand."""
    return lambda c, op, operands: c.sizes_in(operands[position])


def _transposed(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    return [operands[0].shaped.shape[d] for d in op.attributes["permutation"]]


def _concatenated(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    dimension = op.attributes["dimension"].value
    total: int | Size = 0
    for operand in operands:
        total = operand.shaped.shape[dimension] + total
    # Along the other dimensions all are alike; the one that knows its size says it.
    shape = common_shape([operand.shaped.shape for operand in operands])
    shape[dimension] = total
    return shape


def _reduced(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    gone = list(op.attributes["dimensions"])
    return [n for d, n in enumerate(operands[0].shaped.shape) if d not in gone]


def _matrix_product(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    return [*operands[0].shaped.shape[:-1], *operands[1].shaped.shape[1:]]


def _contracted(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    numbers = dialect_attribute(op, "dot_dimension_numbers", "DotDimensionNumbers")
    lhs, rhs = (operand.shaped.shape for operand in operands)
    batch, other = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
    left = [*batch, *numbers.lhs_contracting_dimensions]
    right = [*other, *numbers.rhs_contracting_dimensions]
    return [
        *(lhs[d] for d in batch),
        *(n for d, n in enumerate(lhs) if d not in left),
        *(n for d, n in enumerate(rhs) if d not in right),
    ]


def _gathered(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    numbers = dialect_attribute(op, "dimension_numbers", "GatherDimensionNumbers")
    sizes = c.sizes_in(operands[2]) if len(operands) == 3 else list(op.attributes["slice_sizes"])
    dropped = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    window = [n for d, n in enumerate(sizes) if d not in dropped]
    batch = [n for d, n in enumerate(operands[1].shaped.shape) if d != numbers.index_vector_dim]
    offset_dims = list(numbers.offset_dims)
    return [(window if d in offset_dims else batch).pop(0) for d in range(len(window) + len(batch))]


def _sliced(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    starts, limits, strides = (c.sizes_in(operand) for operand in operands[1:])
    emitter = c.emitter
    return [
        divided(emitter, at_least(emitter, limit - start + (stride - 1), 0), stride)
        for start, limit, stride in zip(starts, limits, strides)
    ]


def _padded(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    if len(operands) > 2:
        amounts: Sequence[Sequence[Any]] = [c.sizes_in(operand) for operand in operands[2:]]
    else:
        amounts = [list(op.attributes[f"edge_padding_{side}"]) for side in ("low", "high")]
        amounts = [*amounts, list(op.attributes["interior_padding"])]
    return [
        size + before + after + between * (0 if between == 0 else at_least(c.emitter, size - 1, 0))
        for size, before, after, between in zip(operands[0].shaped.shape, *amounts)
    ]


def _resized(c: Converter, op: Any, operands: list[Lazy]) -> Shape:
    shape = list(operands[0].shaped.shape)
    (shape[op.attributes["dimension"].value],) = c.sizes_in(operands[1])
    return shape


SHAPE_RULES.update(
    {
        "func.call": None,
        "sdy.sharding_constraint": None,
        "stablehlo.composite": None,
        "stablehlo.custom_call": None,
        "stablehlo.broadcast_in_dim": None,
        "stablehlo.cholesky": _shape_of_first,
        "stablehlo.concatenate": _concatenated,
        "stablehlo.dot": _matrix_product,
        "stablehlo.dot_general": _contracted,
        "stablehlo.dynamic_broadcast_in_dim": _named_by(1),
        "stablehlo.dynamic_gather": _gathered,
        "stablehlo.dynamic_iota": _named_by(0),
        "stablehlo.dynamic_pad": _padded,
        "stablehlo.dynamic_reshape": _named_by(1),
        "stablehlo.dynamic_slice": None,
        "stablehlo.dynamic_update_slice": _shape_of_first,
        "stablehlo.gather": _gathered,
        "stablehlo.get_dimension_size": None,
        "stablehlo.map": _shape_of_first,
        "stablehlo.optimization_barrier": _shape_of_first,
        "stablehlo.pad": _padded,
        "stablehlo.real_dynamic_slice": _sliced,
        "stablehlo.reduce": _reduced,
        "stablehlo.reshape": None,
        "stablehlo.reverse": _shape_of_first,
        "stablehlo.scatter": _shape_of_first,
        "stablehlo.select_and_scatter": _shape_of_first,
        "stablehlo.set_dimension_size": _resized,
        "stablehlo.slice": None,
        "stablehlo.sort": _shape_of_first,
        "stablehlo.transpose": _transposed,
        "stablehlo.triangular_solve": _shape_of_second,
        "stablehlo.tuple": None,
        "stablehlo.while": None,
    }
)

# Ops.


@converts("stablehlo.dynamic_broadcast_in_dim")
def _dynamic_broadcast_in_dim(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    dims = list(op.attributes["broadcast_dimensions"])
    name = "known_nonexpanding_dimensions"
    same = list(op.attributes[name]) if name in op.attributes else []
    return [broadcast(c, operands[0], c.result_shaped(op), dims, same)]


@converts("stablehlo.dynamic_reshape")
def _dynamic_reshape(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    if isinstance(operands[0], Uniform):
        return [Uniform(result, operands[0].attribute, operands[0].scalar)]
    return [reshaped(c, operands[0], result)]


@converts("stablehlo.dynamic_iota")
def _dynamic_iota(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return [Iota(c.result_shaped(op), op.attributes["iota_dimension"].value)]


@converts("stablehlo.dynamic_pad")
def _dynamic_pad(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, padding = operands[:2]
    low, high, interior = (c.sizes_in(amounts) for amounts in operands[2:])
    result = c.result_shaped(op)
    return [Tensor(result, pad(c, operand, padding, low, high, interior, result))]


@converts("stablehlo.dynamic_gather")
def _dynamic_gather(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, indices = operands[:2]
    result = c.result_shaped(op)
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    return [gather(c, op, operand, indices, c.sizes_in(operands[2]), result)]


@converts("stablehlo.real_dynamic_slice")
def _real_dynamic_slice(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, result = operands[0], c.result_shaped(op)
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    starts, strides = c.sizes_in(operands[1]), c.sizes_in(operands[3])
    return [Tensor(result, extract_slice(c, c.tensor(operand), starts, result.shape, strides))]


@converts("stablehlo.set_dimension_size")
def _set_dimension_size(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, result = operands[0], c.result_shaped(op)
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    rank = len(result.shape)
    return [Tensor(result, extract_slice(c, c.tensor(operand), [0] * rank, result.shape, [1] * rank))]


def _shape_assertion(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """What jax.export says about the sizes of arguments; the numbers that its message has room for are left out."""
    message = op.attributes["error_message"].value if "error_message" in op.attributes else "a shape is wrong"
    sentences = [sentence for sentence in message.split(". ") if "{" not in sentence]
    condition = c.host_scalar(operands[0])
    c.emitter.emit("cf.assert", (condition,), (), {"msg": StringAttr(". ".join(sentences))})
    return []


CUSTOM_CALLS["shape_assertion"] = _shape_assertion
