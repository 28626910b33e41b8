"""pyiree-flow-split-sorts: long rows are sorted in runs, which are then merged.

Before: %1 = iree_linalg_ext.sort dimension(0) outs(%0 : tensor<2097152xf32>)
After:  %1 = tensor.pad %0 … : tensor<2097152xf32> to tensor<4194304xf32>
        %2 = iree_linalg_ext.sort … outs(%1) {pyiree.sort_runs = [2097152, 2097152, 0, 524288, 0]}
        %3 = iree_linalg_ext.sort … outs(part of %2) {pyiree.sort_runs = [2097152, 2097152, 524288, 1048576, 0]}
        %4:2 = iree_linalg_ext.sort … outs(%0, part of %3) {pyiree.sort_runs = [2097152, 2097152, 1048576, 2097152, 0]}

Long rows whose elements do not lie side by side are transposed first, and the results back.

Each step sorts, so the program means the same to everybody; what is left of a step's work follows from the attribute
(`dialects/sort_runs`). The first step has twice the room, to move codes back and forth in. The last one is the sort as
it was, with what the others made beside the tensors.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.iree_linalg_ext import SortOp, YieldOp
from pyiree.compiler.dialects.linalg import TransposeOp
from pyiree.compiler.dialects.linalg_generalize import generalize
from pyiree.compiler.dialects.sort_orders import (
    LOCAL_ROW_BYTES,
    NUMBERS,
    PLAIN,
    SortOrder,
    code_bits,
    ops_of,
    place_bits,
    sort_order,
)
from pyiree.compiler.dialects.sort_runs import ATTRIBUTE, RUN_MULTIPLE, SortRuns, sort_runs
from pyiree.compiler.flow.static_tensors import empty, padded_dim, part_of_dim
from pyiree.compiler.ir.attributes import FloatAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import ComplexType

#: Rows of more elements are transposed where these do not lie side by side.
_LONG_COLUMN = 1024
#: The number of runs for rows of at least so many elements.
_RUNS = ((1 << 16, 4), (0, 2))


@register_pass("pyiree-flow-split-sorts", on=("util.func", "util.initializer"))
def split_sorts(func: Operation, context: PassContext) -> None:
    """Splits the sorts of rows whose codes do not fit a workgroup's memory."""
    for op in list(func.walk_type(SortOp)):
        shape = op.outputs[0].type.shape  # type: ignore[attr-defined]
        order = sort_order(op.region.entry)
        if order is None or order.kind is None or sort_runs(op) is not None or None in shape:
            continue
        if any(isinstance(value.type.element_type, ComplexType) for value in op.outputs):  # type: ignore[attr-defined]
            continue
        extent = shape[op.dimension]
        bits = place_bits(order, len(op.outputs), extent)
        if bits is None:
            continue
        if op.dimension != len(shape) - 1 and extent > _LONG_COLUMN:
            op = _transposed(op)
        if op.dimension == len(shape) - 1 and extent * code_bits(order, bits) > LOCAL_ROW_BYTES * 8:
            _split(op, sort_order(op.region.entry), bits)  # type: ignore[arg-type]


def _transposed(op: SortOp) -> SortOp:
    """The same sort along the last dim, of transposed tensors."""
    b, dim = Builder.before(op, op.location), op.dimension
    rank = len(op.outputs[0].type.shape)  # type: ignore[attr-defined]
    there = [*range(dim), *range(dim + 1, rank), dim]
    back = [there.index(d) for d in range(rank)]
    body = Region()
    op.region.clone_into(body, {})
    values = [_permuted(b, value, there) for value in op.outputs]
    made = SortOp([], values, rank - 1, body, result_types=[v.type for v in values], location=op.location)
    b.insert(made)
    for old, new in zip(op.results, made.results):
        old.replace_all_uses_with(_permuted(b, new, back))
    op.erase()
    return made


def _permuted(b: Builder, value: Value, permutation: list[int]) -> Value:
    shape = value.type.shape  # type: ignore[attr-defined]
    target = empty(b, [shape[d] for d in permutation], value)
    named = b.insert(TransposeOp([value], [target], permutation, result_types=[target.type]))
    made = b.insert(generalize(named))
    named.erase()
    return made.results[0]


def _split(op: SortOp, order: SortOrder, bits: int) -> None:
    b = Builder.before(op, op.location)
    source, dim = op.outputs[order.number], op.dimension
    extent = source.type.shape[dim]  # type: ignore[attr-defined]
    count = next(number for least, number in _RUNS if extent >= least)
    run = -(-extent // (count * RUN_MULTIPLE)) * RUN_MULTIPLE
    padded = count * run
    # In elements, which may be smaller than codes.
    room = padded * code_bits(order, bits) // order.bits
    last = b.insert(ConstantOp(_last_element(order))).result
    codes = _step(op, order, b, padded_dim(b, source, dim, 2 * room, last), SortRuns(extent, padded, 0, run, bits))
    while 2 * run < padded:
        part = part_of_dim(b, codes, dim, 0, room)
        codes = _step(op, order, b, part, SortRuns(extent, padded, run, 2 * run, bits))
        run *= 2
    _add_codes(op, part_of_dim(b, codes, dim, 0, extent), SortRuns(extent, padded, run, padded, bits))


def _step(op: SortOp, order: SortOrder, b: Builder, value: Value, runs: SortRuns) -> Value:
    """Sorts one tensor in the order of the sort."""
    block = Block([value.type.element_type] * 2)  # type: ignore[attr-defined]
    sides = op.region.entry.arguments[2 * order.number : 2 * order.number + 2]
    mapping: dict[Value, Value] = dict(zip(sides, block.arguments))
    inner = Builder.at_end(block, op.location)
    compared = op.region.entry.terminator.operands[0]  # type: ignore[union-attr]
    for made in ops_of(compared, op.region.entry):
        inner.insert(made.clone(mapping))
    inner.insert(YieldOp([mapping[compared]]))
    step = SortOp([], [value], op.dimension, Region(block), result_types=[value.type], location=op.location)
    step.attributes[ATTRIBUTE] = runs.attribute
    return b.insert(step).results[0]


def _add_codes(op: SortOp, codes: Value, runs: SortRuns) -> None:
    """Has codes that are merged already come with the tensors of a sort."""
    b = Builder.before(op, op.location)
    values = [*op.outputs, codes]
    block = Block([t for value in values for t in [value.type.element_type] * 2])  # type: ignore[attr-defined]
    mapping: dict[Value, Value] = dict(zip(op.region.entry.arguments, block.arguments))
    inner = Builder.at_end(block, op.location)
    for made in op.region.entry.ops:
        inner.insert(made.clone(mapping))
    last = SortOp([], values, op.dimension, Region(block), result_types=[v.type for v in values], location=op.location)
    last.attributes[ATTRIBUTE] = runs.attribute
    b.insert(last)
    for old, new in zip(op.results, last.results):
        old.replace_all_uses_with(new)
    op.erase()


def _last_element(order: SortOrder) -> IntegerAttr | FloatAttr:
    """The element that comes last in an order, after equal ones if it is put behind them."""
    type = order.argument.type
    ones, sign = (1 << order.bits) - 1, 1 << (order.bits - 1)
    if order.kind == PLAIN:
        greatest, least = (ones ^ sign, sign - (1 << order.bits)) if order.is_signed else (-1, 0)
        return IntegerAttr(least if order.falls else greatest, type)
    if not order.falls:
        return FloatAttr.from_bits(ones ^ sign, type)
    return FloatAttr(float("-inf"), type) if order.kind == NUMBERS else FloatAttr.from_bits(ones, type)
