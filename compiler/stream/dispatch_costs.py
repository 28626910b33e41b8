"""About how long a dispatch takes on one core.

Enters: a dispatch function at the cmd level. Leaves: nanoseconds, or None where sizes are known only when it runs. The
numbers are rough: they tell work that is done before another core would have heard of it from work that is not.
"""

from __future__ import annotations

import math

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.dialects.iree_linalg_ext import SortOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.scf import ForOp
from pyiree.compiler.dialects.sort_orders import sorts_in_vectors
from pyiree.compiler.flow.op_kinds import ELEMENTWISE, VIEWS, cost_of, kind_of
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.types import TensorType

#: To start a kernel, for an instruction of vectorised code, and for an element that is scattered, or sorted one by one
#: or in vectors.
START = 15.0
_PER_OP = 0.1
_PER_MOVED_ELEMENT = 5.0
_PER_SORTED_ELEMENT = 0.3


def nanoseconds(function: FunctionOp) -> float | None:
    """The time of all workgroups of a dispatch, one after the other."""
    total = _block(function.entry_block)
    return None if total is None else START + total


def _block(block: Block) -> float | None:
    total = 0.0
    for op in block.ops:
        cost = _cost(op)
        if cost is None:
            return None
        total += cost
    return total


def _cost(op: Operation) -> float | None:
    if isinstance(op, ForOp):
        bounds = [_integer(v) for v in (op.lower_bound, op.upper_bound, op.step)]
        body = _block(op.body_block)
        if body is None or None in bounds:
            return None
        lower, upper, step = bounds
        return max(0, -(-(upper - lower) // step)) * body  # type: ignore[operator]
    if isinstance(op, LinalgOp):
        ranges = op.loop_ranges()
        if None in ranges:
            return None
        return math.prod(ranges) * max(1.0 if kind_of(op) == ELEMENTWISE else 2.0, cost_of(op)) * _PER_OP
    if op.name in VIEWS or op.name == "iree_tensor_ext.dispatch.tensor.store":
        # What a loop leaves in its place, and what a slice is put into, stays where it is.
        is_moved = not isinstance(op.operands[0].defining_op, ForOp)
        changed = op.results if op.name != "tensor.insert_slice" and op.results else op.operands[:1]
        elements = _elements(tuple(changed))
        return None if elements is None else elements * _PER_OP * is_moved
    if op.name.startswith("iree_linalg_ext."):
        moved = op.operands[:1] if op.name == "iree_linalg_ext.scatter" else op.operands
        elements = _elements(moved)
        each = _PER_SORTED_ELEMENT if isinstance(op, SortOp) and sorts_in_vectors(op) else _PER_MOVED_ELEMENT
        return None if elements is None else elements * max(1.0, math.log2(max(1, elements))) * each
    return 0.0


def _elements(values: tuple[Value, ...]) -> int | None:
    """The elements of the largest of some tensors."""
    shapes = [v.type.shape for v in values if isinstance(v.type, TensorType)]
    if any(None in shape for shape in shapes):
        return None
    return max([math.prod(shape) for shape in shapes], default=1)


def _integer(value: Value) -> int | None:
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None
