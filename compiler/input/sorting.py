"""`stablehlo.sort`, `chlo.top_k` and JAX's approximate top-k as `iree_linalg_ext.sort`, which is stable; the first few
elements of an order as `iree_linalg_ext.topk`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.input.calls import CUSTOM_CALLS, OF_ANY_SIZE, custom_call_results
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import FLOAT, SIGNED, element
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.scalars import total_order_key
from pyiree.compiler.input.shapes import extract_slice
from pyiree.compiler.input.sizes import Size
from pyiree.compiler.input.values import Iota, Lazy, Tensor
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import i64

#: Up to so many first elements are found without sorting all.
_FEW = 64


@converts("stablehlo.sort")
def _sort(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    dimension = op.attributes["dimension"].value if "dimension" in op.attributes else -1
    rank = len(operands[0].shaped.shape)
    dimension = dimension + rank if dimension < 0 else dimension
    comparator = op.regions[0].blocks[0]
    return sort(c, operands, dimension, lambda arguments: c.scalar_block(comparator, arguments)[0])


def sort(
    c: Converter, operands: Sequence[Lazy], dimension: int, before: Callable[[list[Value]], Value]
) -> list[Lazy]:
    """Sorts together; `before` compares from (lhs, rhs) of each operand in turn."""
    shape = operands[0].shaped.shape
    if not shape or shape[dimension] in (0, 1) or 0 in shape:
        return list(operands)
    emitter = c.emitter
    values = [c.tensor(operand) for operand in operands]
    block = Block([t for operand in operands for t in (operand.shaped.element.type,) * 2])
    with emitter.inside(block):
        emitter.emit("iree_linalg_ext.yield", (before(list(block.arguments)),), ())
    op = emitter.emit(
        "iree_linalg_ext.sort",
        values,
        [v.type for v in values],
        {"dimension": IntegerAttr(dimension, i64)},
        (Region(block),),
        (0, len(values)),
    )
    return [Tensor(operand.shaped, value) for operand, value in zip(operands, op.results)]


@converts("chlo.top_k")
def _top_k(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    largest = op.attributes["largest"].value if "largest" in op.attributes else True
    return _largest(c, operands[0], c.results_shaped(op), largest)


def _top_k_shape(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[int | Size]:
    return [*operands[0].shaped.shape[:-1], op.attributes["k"].value]


SHAPE_RULES["chlo.top_k"] = _top_k_shape


def _dynamic_top_k(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """What jax.export makes of `top_k`, where the number of elements depends on sizes."""
    operand, (k,) = operands[0], c.sizes_in(operands[1])
    shape = [*operand.shaped.shape[:-1], k]
    return _largest(c, operand, [Shaped.of(shape, c.shaped(value).element) for value in op.results], True)


CUSTOM_CALLS["stablehlo.dynamic_top_k"] = _dynamic_top_k


def _largest(c: Converter, operand: Lazy, results: Sequence[Shaped], is_largest: bool) -> list[Lazy]:
    """The largest elements along the last dimension, or the smallest, and their places."""
    shape = operand.shaped.shape
    last = len(shape) - 1
    numbers = Iota(Shaped.of(shape, element("i32")), last)
    kind = operand.shaped.element

    def before(arguments: list[Value]) -> Value:
        emitter = c.emitter
        x, y = arguments[0], arguments[1]
        direction = "gt" if is_largest else "lt"
        if kind.kind == FLOAT:
            return emitter.cmpi(f"s{direction}", total_order_key(emitter, x), total_order_key(emitter, y))
        return emitter.cmpi(("s" if kind.kind == SIGNED else "u") + direction, x, y)

    k = results[0].shape[last]
    if isinstance(k, int) and k <= _FEW and 0 not in results[0].shape:
        return _first_few(c, operand, results, last, before)
    return _first_of_sorted(c, results, [operand, numbers], last, before)


def _first_few(
    c: Converter, operand: Lazy, results: Sequence[Shaped], dimension: int, before: Callable[[list[Value]], Value]
) -> list[Lazy]:
    """The first elements of the order and their places; of equal ones, those with lower places."""
    emitter, kind = c.emitter, operand.shaped.element
    block = Block([kind.type] * 2)
    with emitter.inside(block):
        emitter.emit("iree_linalg_ext.yield", (before(list(block.arguments)),), ())
    # Nothing of what the outputs hold is left: there are at least as many elements as results.
    outputs = [c.fill(emitter.zero(result.element.type), result.type, result.sizes) for result in results]
    op = emitter.emit(
        "iree_linalg_ext.topk",
        [c.tensor(operand), *outputs],
        [v.type for v in outputs],
        {"dimension": IntegerAttr(dimension, i64)},
        (Region(block),),
        (1, len(outputs)),
    )
    return [Tensor(result, value) for result, value in zip(results, op.results)]


def _approximate_top_k(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """Exactly, which is close enough: the operands are values and numbers, then what pads them."""
    config = op.attributes["mhlo.backend_config"]
    comparator = c.functions[op.attributes["called_computations"][0].value].regions[0].blocks[0]
    return _first_of_sorted(
        c,
        [result for result in custom_call_results(c, op, operands) if result is not None],
        operands[: len(op.results)],
        config["reduction_dim"].value,
        lambda arguments: c.scalar_block(comparator, arguments)[0],
    )


CUSTOM_CALLS["ApproxTopK"] = _approximate_top_k
OF_ANY_SIZE.update(("ApproxTopK", "stablehlo.dynamic_top_k"))


def _first_of_sorted(
    c: Converter,
    results: Sequence[Shaped],
    operands: Sequence[Lazy],
    dimension: int,
    before: Callable[[list[Value]], Value],
) -> list[Lazy]:
    """Sorts together and keeps as many as the results are long."""
    rank = len(operands[0].shaped.shape)
    ordered = sort(c, operands, dimension, before)
    starts, strides = [0] * rank, [1] * rank
    return [
        Tensor(result, extract_slice(c, c.tensor(value), starts, result.shape, strides))
        for result, value in zip(results, ordered)
    ]
