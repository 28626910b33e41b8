"""pyiree-flow-split-sorts: long rows are sorted in runs, which are then merged.

Before: %1 = iree_linalg_ext.sort dimension(0) outs(%0 : tensor<2097152xf32>)
After:  %1 = tensor.pad %0 … : tensor<2097152xf32> to tensor<4194304xf32>
        %2 = iree_linalg_ext.sort … outs(%1) {pyiree.sort_runs = [2097152, 2097152, 0, 524288]}
        %3 = iree_linalg_ext.sort … outs(part of %2) {pyiree.sort_runs = [2097152, 2097152, 524288, 1048576]}
        %4:2 = iree_linalg_ext.sort … outs(part of %3, %0) {pyiree.sort_runs = [2097152, 2097152, 1048576, 2097152]}

Each step sorts, so the program means the same to everybody; what is left of a step's work follows from the attribute
(`dialects/sort_runs`). The first step has twice the room, to move keys back and forth in. The last one takes the
elements along, so that equal ones that are not the same can be put into their order.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.iree_linalg_ext import SortOp
from pyiree.compiler.dialects.sort_orders import LOCAL_ROW_BYTES, NUMBERS, PLAIN, SortOrder, sort_order
from pyiree.compiler.dialects.sort_runs import ATTRIBUTE, RUN_MULTIPLE, SortRuns
from pyiree.compiler.flow.static_tensors import padded_dim, part_of_dim
from pyiree.compiler.ir.attributes import FloatAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass

#: The least elements of a row for each number of runs.
_RUNS = ((1 << 16, 4), (0, 2))


@register_pass("pyiree-flow-split-sorts", on=("util.func", "util.initializer"))
def split_sorts(func: Operation, context: PassContext) -> None:
    """Splits the sorts of rows that do not fit a workgroup's memory, where elements can be told from their keys."""
    for op in list(func.walk_type(SortOp)):
        order = sort_order(op.region.entry)
        if order is not None and _is_split(op, order):
            _split(op, order)


def _is_split(op: SortOp, order: SortOrder) -> bool:
    shape = op.outputs[0].type.shape  # type: ignore[attr-defined]
    if len(op.outputs) != 1 or ATTRIBUTE in op.attributes or None in shape or op.dimension != len(shape) - 1:
        return False
    return order.has_element_keys and shape[-1] * order.bits > LOCAL_ROW_BYTES * 8


def _split(op: SortOp, order: SortOrder) -> None:
    b = Builder.before(op, op.location)
    (source,), dim = op.outputs, op.dimension
    extent = source.type.shape[dim]  # type: ignore[attr-defined]
    count = next(number for least, number in _RUNS if extent >= least)
    run = -(-extent // (count * RUN_MULTIPLE)) * RUN_MULTIPLE
    padded = count * run
    last = b.insert(ConstantOp(_last_element(order))).result
    keys = _step(op, b, [padded_dim(b, source, dim, 2 * padded, last)], SortRuns(extent, padded, 0, run))
    while 2 * run < padded:
        keys = _step(op, b, [part_of_dim(b, keys, dim, 0, padded)], SortRuns(extent, padded, run, 2 * run))
        run *= 2
    result = _step(op, b, [part_of_dim(b, keys, dim, 0, extent), source], SortRuns(extent, padded, run, padded))
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _step(op: SortOp, b: Builder, values: list[Value], runs: SortRuns) -> Value:
    """Sorts the first of some tensors, and the others with it."""
    body = op.region.entry
    block = Block([t for value in values for t in [value.type.element_type] * 2])  # type: ignore[attr-defined]
    mapping: dict[Value, Value] = dict(zip(body.arguments, block.arguments))
    inner = Builder.at_end(block, op.location)
    for made in body.ops:
        inner.insert(made.clone(mapping))
    step = SortOp([], values, op.dimension, Region(block), result_types=[v.type for v in values], location=op.location)
    step.attributes[ATTRIBUTE] = runs.attribute
    return b.insert(step).results[0]


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
