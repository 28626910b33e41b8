"""pyiree-flow-split-scans: long running combinations of few rows are done in blocks.

Before: %1 = iree_linalg_ext.scan … along tensor<1048576xf32>
After:  %1 = tensor.expand_shape %0 … to tensor<64x16384xf32>
        %2 = iree_linalg_ext.scan … along the second dim: each block for itself
        %3 = iree_linalg_ext.scan … along the last values of the blocks
        %4 = linalg.generic … each element of %2 combined with what %3 says of the blocks before

How many blocks there are follows from the shapes alone, so that any number of workers gives the same bits. Rows that
no number of blocks fits are filled up at the end, behind everything that counts.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, MaxSIOp, SelectOp, SubIOp
from pyiree.compiler.dialects.iree_linalg_ext import ScanOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp, YieldOp
from pyiree.compiler.dialects.linalg_interface import PARALLEL, IteratorTypeAttr
from pyiree.compiler.dialects.tensor import ExtractOp
from pyiree.compiler.flow.op_kinds import element_count, keeps_workgroups_busy
from pyiree.compiler.flow.split_reductions import block_count
from pyiree.compiler.flow.static_tensors import empty, in_blocks, out_of_blocks, padded_dim, part_of_dim, zero_of
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import index


@register_pass("pyiree-flow-split-scans", on=("util.func", "util.initializer"))
def split_scans(func: Operation, context: PassContext) -> None:
    """Splits the scans that few workgroups would have to do alone."""
    for op in list(func.walk_type(ScanOp)):
        if _is_split(op):
            _split(op)


def _is_split(op: ScanOp) -> bool:
    shape = op.inputs[0].type.shape  # type: ignore[attr-defined]
    if len(op.inputs) != 1 or not op.inclusive or None in shape or 0 in shape or op.results[1].has_uses:
        return False
    if not isinstance(op.region.entry.terminator.operands[0].defining_op, Operation):
        return False
    rows = [n for d, n in enumerate(shape) if d != op.dimension]
    side_by_side = bool(rows) and op.dimension != len(shape) - 1
    return not keeps_workgroups_busy(rows, shape[op.dimension], side_by_side=side_by_side)


def _split(op: ScanOp) -> None:
    b = Builder.before(op, op.location)
    (source,), dim = op.inputs, op.dimension
    shape = source.type.shape  # type: ignore[attr-defined]
    extent = shape[dim]
    blocks = block_count(extent, element_count(shape))
    size = -(-extent // blocks)
    element = source.type.element_type  # type: ignore[attr-defined]
    padded = padded_dim(b, source, dim, blocks * size, zero_of(b, element))
    local = _scan(op, b, in_blocks(b, padded, dim, blocks), dim + 1)
    ends = part_of_dim(b, local, dim + 1, size - 1, 1)
    before = _scan(op, b, out_of_blocks(b, ends, dim), dim)
    whole = _joined(op, b, local, before)
    result = part_of_dim(b, out_of_blocks(b, whole, dim), dim, 0, extent)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _scan(op: ScanOp, b: Builder, value: Value, dim: int) -> Value:
    """The running values of a tensor along a dim."""
    shape = list(value.type.shape)  # type: ignore[attr-defined]
    body = Region()
    op.region.clone_into(body, {})
    outputs = [empty(b, shape, value), empty(b, shape[:dim] + shape[dim + 1 :], value)]
    return b.insert(ScanOp([value], outputs, dim, True, body, result_types=[v.type for v in outputs])).results[0]


def _joined(op: ScanOp, b: Builder, local: Value, before: Value) -> Value:
    """Each element combined with the running value of the blocks in front of its own."""
    shape, dim = local.type.shape, op.dimension  # type: ignore[attr-defined]
    rank = len(shape)
    target = empty(b, shape, local)
    element = local.type.element_type  # type: ignore[attr-defined]
    block = Block([element, element])
    inner = Builder.at_end(block, op.location)
    places = [inner.insert(IndexOp(d)).result for d in range(rank) if d != dim + 1]
    number = places[dim]
    zero, one = (inner.insert(ConstantOp(IntegerAttr(n, index))).result for n in (0, 1))
    places[dim] = inner.insert(MaxSIOp(inner.insert(SubIOp(number, one)).result, zero)).result
    so_far = inner.insert(ExtractOp(before, places)).result
    mapping: dict[Value, Value] = dict(zip(op.region.entry.arguments, (so_far, block.arguments[0])))
    end = op.region.entry.terminator
    for made in op.region.entry.ops:
        if made is not end:
            inner.insert(made.clone(mapping))
    is_first = inner.insert(CmpIOp(number, zero, "eq")).result
    chosen = inner.insert(SelectOp(is_first, block.arguments[0], mapping[end.operands[0]])).result
    inner.insert(YieldOp([chosen]))
    identity = AffineMap.identity(rank)
    kinds = [IteratorTypeAttr(PARALLEL)] * rank
    made = GenericOp(
        [local], [target], ArrayAttr([identity, identity]), ArrayAttr(kinds), body=Region(block),
        result_types=[local.type], location=op.location,
    )  # fmt: skip
    return b.insert(made).results[0]
