"""resolve-ranked-shaped-type-result-dims: dims of computed tensors follow from the dims of what they are computed from.

Before: %2 = linalg.generic … outs(%1 : tensor<?xf32>)      (%1 = tensor.empty(%d))
        %3 = tensor.dim %2, %c0
After:  %3 is %d

So that asking for a dim keeps no tensor alive, and a dispatch can say how large its results are before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, MulIOp
from pyiree.compiler.dialects.hal import TensorImportOp
from pyiree.compiler.dialects.iree_linalg_ext import LinalgExtOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.scf import ForOp, IfOp, IndexSwitchOp, WhileOp
from pyiree.compiler.dialects.tensor import CastOp, CollapseShapeOp, DimOp, EmptyOp, ExpandShapeOp
from pyiree.compiler.dialects.tensor_slices import ConcatOp, ExtractSliceOp, InsertSliceOp, PadOp
from pyiree.compiler.flow.ops import (
    TensorBarrierOp,
    TensorCloneOp,
    TensorStoreOp,
    TensorTransferOp,
    TensorUpdateOp,
)
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, index


@register_pass("resolve-ranked-shaped-type-result-dims", on=("util.func", "util.initializer"))
def resolve_dims(func: Operation, context: PassContext) -> None:
    """Replaces `tensor.dim` of computed tensors."""
    carried: dict[tuple[Value, int], Value] = {}
    while True:
        # A dim that a branch or an iteration hands on is looked up where that ends, which may ask for another one.
        if not [op for op in list(func.walk_type(DimOp)) if _resolve(op, carried)]:
            return


def _resolve(op: DimOp, carried: dict[tuple[Value, int], Value]) -> bool:
    position = op.index_.defining_op
    if not isinstance(position, ConstantOp):
        return False
    value, dim, builder = op.source, position.value.value, Builder.before(op)
    made = value.defining_op
    size = None if made is None else _dim_of_result(builder, made, value, dim)
    if size is None and isinstance(made, IfOp | IndexSwitchOp):
        size = _dim_as_result(made, value.index, dim)
    if size is None:
        size = _carried_dim(value, dim, carried)
    if size is not None:
        op.replace_all_uses_with([size if isinstance(size, Value) else index_constant(builder, size)])
        op.erase()
    return size is not None


def index_constant(builder: Builder, value: int) -> Value:
    """An index constant at the builder's place."""
    return builder.insert(ConstantOp(IntegerAttr(value, index))).result


def dynamic_dims(builder: Builder, value: Value) -> list[Value]:
    """The `?` of a tensor's type as index values; none for other types."""
    if not isinstance(value.type, TensorType):
        return []
    sizes = [dim_of(builder, value, d) for d, size in enumerate(value.type.shape) if size is None]
    return [size if isinstance(size, Value) else index_constant(builder, size) for size in sizes]


def dim_of(builder: Builder, value: Value, dim: int) -> int | Value:
    """A dim of a tensor, from what it was made of; what has to be computed for it is, at the builder's place."""
    type = value.type
    size = type.shape[dim]  # type: ignore[attr-defined]
    if size is not None:
        return size
    op = value.defining_op
    known = None if op is None else _dim_of_result(builder, op, value, dim)
    return builder.insert(DimOp(value, index_constant(builder, dim))).result if known is None else known


def _dim_of_result(builder: Builder, op: Operation, value: Value, dim: int) -> int | Value | None:
    number = value.type.shape[:dim].count(None)  # type: ignore[attr-defined]
    if isinstance(op, EmptyOp):
        return op.operands[number]
    if isinstance(op, TensorImportOp):
        return op.target_dims[number]
    if isinstance(op, LinalgOp | LinalgExtOp):
        return dim_of(builder, op.outputs[value.index], dim)
    if isinstance(op, CastOp):
        return dim_of(builder, op.operands[0], dim)
    if isinstance(op, ExtractSliceOp):
        kept = [size for d, size in enumerate(op.mixed_sizes) if d not in op.dropped_dims()]
        return kept[dim]
    if isinstance(op, InsertSliceOp):
        return dim_of(builder, op.dest, dim)
    if isinstance(op, ExpandShapeOp):
        return op.mixed_output_shape[dim]
    if isinstance(op, CollapseShapeOp):
        return _joined(builder, MulIOp, [dim_of(builder, op.src, d) for d in op.groups[dim]])
    if isinstance(op, PadOp):
        return _joined(builder, AddIOp, [op.mixed_low[dim], dim_of(builder, op.source, dim), op.mixed_high[dim]])
    if isinstance(op, ConcatOp):
        if op.dim != dim:
            return dim_of(builder, op.operands[0], dim)
        return _joined(builder, AddIOp, [dim_of(builder, part, dim) for part in op.operands])
    if isinstance(op, IfOp | IndexSwitchOp):
        return _common_dim(builder, op, value.index, dim)
    if op.name.startswith(("arith.", "math.")):
        return dim_of(builder, next(v for v in op.operands if isinstance(v.type, TensorType)), dim)
    if isinstance(op, TensorStoreOp | TensorUpdateOp):
        return op.target_dims[number]
    if isinstance(op, TensorBarrierOp | TensorCloneOp | TensorTransferOp):
        return op.operand_dims[number]
    sizes = getattr(op, "result_dims", None)
    if sizes is None:
        return None
    before = [v.type.shape.count(None) for v in op.results[: value.index] if isinstance(v.type, TensorType)]  # type: ignore[attr-defined]
    return sizes[sum(before) + number]


def _common_dim(builder: Builder, op: Operation, number: int, dim: int) -> int | Value | None:
    """A dim of what all branches yield as one result, if it is the same for all and known outside of them."""
    ends = [region.entry.terminator for region in op.regions]
    sizes = [dim_of(Builder.before(end), end.operands[number], dim) for end in ends]
    first = sizes[0]
    if any(size != first if isinstance(first, int) else size is not first for size in sizes):
        return None
    owner = first.defining_op if isinstance(first, Value) else None
    return None if owner is not None and op.is_ancestor_of(owner) else first


def _dim_as_result(op: IfOp | IndexSwitchOp, number: int, dim: int) -> Value:
    """A dim of what branches yield as one result, as one more result."""
    for region in op.regions:
        end = region.entry.terminator
        builder = Builder.before(end)
        end.set_operands([*end.operands, _as_value(builder, end.operands[number], dim)])
    return op.add_result(index)


def _carried_dim(value: Value, dim: int, carried: dict[tuple[Value, int], Value]) -> Value | None:
    """A dim of what a loop carries, as one more index that it carries; `carried` has those that are there."""
    if (value, dim) not in carried:
        loop = value.block.parent_op if isinstance(value, BlockArgument) else value.defining_op
        if isinstance(loop, ForOp):
            number = value.index - isinstance(value, BlockArgument)  # type: ignore[attr-defined]
            same = (loop.iter_args[number], loop.results[number])
            pair: Sequence[Value] = _dim_as_iter_arg(loop, loop.body_block, number, dim)
        elif isinstance(loop, WhileOp) and isinstance(value, BlockArgument) and value.block is loop.before_block:
            same, pair = (value,), _dim_as_iter_arg(loop, loop.after_block, value.index, dim)
        elif isinstance(loop, WhileOp):
            number = value.index  # type: ignore[attr-defined]
            same = (loop.after_block.arguments[number], loop.results[number])
            pair = _dim_as_passed(loop, number, dim)
        else:
            return None
        carried.update({(one, dim): size for one, size in zip(same, pair)})
    return carried[value, dim]


def _dim_as_iter_arg(loop: ForOp | WhileOp, last: Block, number: int, dim: int) -> list[Value]:
    """A dim of a carried value as one more carried value: in the loop, and as a result of `scf.for`."""
    inits = loop.init_args if isinstance(loop, ForOp) else loop.inits
    loop.set_operands([*loop.operands, _as_value(Builder.before(loop), inits[number], dim)])
    end = last.terminator
    end.set_operands([*end.operands, _as_value(Builder.before(end), end.operands[number], dim)])
    inside = loop.regions[0].entry.add_argument(index, loop.location)
    return [inside, loop.add_result(index)] if isinstance(loop, ForOp) else [inside]


def _dim_as_passed(loop: WhileOp, number: int, dim: int) -> list[Value]:
    """A dim of what the condition of `scf.while` passes on, passed on as well: in the loop and behind it."""
    end = loop.condition
    end.set_operands([*end.operands, _as_value(Builder.before(end), end.args[number], dim)])
    return [loop.after_block.add_argument(index, loop.location), loop.add_result(index)]


def _as_value(builder: Builder, value: Value, dim: int) -> Value:
    size = dim_of(builder, value, dim)
    return size if isinstance(size, Value) else index_constant(builder, size)


def _joined(builder: Builder, operation: type, sizes: list[int | Value]) -> Value:
    """The sum or product of sizes."""
    values = [size if isinstance(size, Value) else index_constant(builder, size) for size in sizes]
    total = values[0]
    for size in values[1:]:
        total = builder.insert(operation(total, size)).result
    return total
