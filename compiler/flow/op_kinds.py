"""Kinds of tensor ops, as far as dispatches are concerned, and what they cost.

Enters: an op. Leaves: how it computes its results (`kind_of`), and rough instructions for one element (`cost_of`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.fourier import is_transform
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import TensorType

ELEMENTWISE, REDUCTION, CONTRACTION, VIEW, WHOLE = "elementwise", "reduction", "contraction", "view", "whole"

RESHAPES = frozenset({"tensor.expand_shape", "tensor.collapse_shape"})
#: Ops that move elements and compute none: evaluated by an index computation.
VIEWS = RESHAPES | {
    "tensor.extract_slice", "tensor.insert_slice", "tensor.pad", "tensor.concat", "tensor.bitcast",
}  # fmt: skip
_DOTS = frozenset({
    "linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.batch_matvec",
    "linalg.batch_vecmat", "linalg.dot",
})  # fmt: skip

#: Elements that one workgroup may handle when there are only a few of them.
LONG_ROW = 1 << 15
FEW_ROWS = 8
#: Rows along the innermost dim lie side by side in vectors of about this many lanes.
LANES = 16
#: Elements of a column, and in all, from which on columns side by side are gone through row by row of memory. In one
#: dispatch that does more with each column, a few columns at a time would have to stay in the cache.
LONG_COLUMN, MANY_ELEMENTS = 128, 1 << 18
#: Ops in the bodies of tensor ops, and tensor ops that are no computation.
_PARTS = frozenset({
    "linalg.yield", "linalg.index", "linalg.fill", "tensor.yield", "tensor.extract", "tensor.empty", "tensor.cast",
    "tensor.dim", "tensor.splat", "iree_linalg_ext.yield", "flow.return",
})  # fmt: skip
_WINDOW_OPS = frozenset({
    "linalg.index", "linalg.yield", "tensor.extract", "arith.constant", "arith.addi", "arith.muli",
})  # fmt: skip
#: A dim that is not known counts as this many elements.
USUAL_EXTENT = 256

_FREE = frozenset({
    "linalg.yield", "linalg.index", "arith.constant", "arith.extf", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.bitcast", "arith.index_cast", "complex.create", "complex.im", "complex.re",
})  # fmt: skip
_COSTS = {
    "arith.divf": 4.0, "math.sqrt": 5.0, "math.rsqrt": 9.0, "math.absf": 1.0, "math.ceil": 1.0, "math.floor": 1.0,
    "math.copysign": 2.0, "math.roundeven": 1.0, "math.trunc": 1.0, "math.fma": 1.0, "arith.divsi": 20.0,
    "arith.divui": 20.0, "arith.remsi": 20.0, "arith.remui": 20.0, "arith.remf": 100.0, "tensor.extract": 8.0,
}  # fmt: skip


def kind_of(op: Operation) -> str | None:
    """How an op computes its results, or None for what is no tensor computation."""
    if isinstance(op, LinalgOp):
        if is_transform(op):
            return WHOLE
        if all(kind == "parallel" for kind in op.iterators()):
            return ELEMENTWISE
        return CONTRACTION if is_contraction(op) else REDUCTION
    if op.name in VIEWS:
        return VIEW
    if op.name.startswith("iree_linalg_ext."):
        return None if op.name == "iree_linalg_ext.yield" else WHOLE
    return None


def is_for_dispatches(op: Operation) -> bool:
    """Whether an op may stand in a dispatch function, as one of its tensor ops or inside of one."""
    return kind_of(op) is not None or is_copied(op) or op.name in _PARTS


def is_contraction(op: LinalgOp) -> bool:
    """Whether an op sums products of two inputs that each have a parallel dim of their own."""
    if not is_sum_of_products(op):
        return False
    iterators = op.iterators()
    left, right = (
        {d for d in map_.dim_positions() if d is not None and iterators[d] == "parallel"} for map_ in op.maps()[:2]
    )
    return bool(left - right) and bool(right - left)


def is_sum_of_products(op: LinalgOp) -> bool:
    """Whether an op sums products of two inputs."""
    if len(op.inputs) != 2 or op.name in _DOTS:
        return len(op.inputs) == 2
    if not isinstance(op, GenericOp) or len(op.outputs) != 1:
        return False
    names = [o.name for o in op.body_block.ops if o.name not in _FREE]
    return names in (["arith.mulf", "arith.addf"], ["arith.muli", "arith.addi"])


def runs_down_long_columns(op: LinalgOp) -> bool:
    """Whether an op reduces much along columns whose neighbours are side by side in memory."""
    ranges, kinds = op.loop_ranges(), op.iterators()
    column = element_count([size for size, kind in zip(ranges, kinds) if kind != "parallel"])
    if column < LONG_COLUMN or element_count(ranges) < MANY_ELEMENTS:
        return False
    largest = max(op.maps()[: len(op.inputs)], key=lambda map_: len(map_.results))
    return bool(largest.results) and kinds[largest.dim_positions()[-1] or 0] == "parallel"


def cost_of(op: Operation) -> float:
    """Rough instructions for one element of the result."""
    if isinstance(op, GenericOp):
        return sum([_cost(o.name) for o in op.body_block.ops])
    return 2.0 if op.name in ("tensor.pad", "tensor.concat", "tensor.insert_slice") else 0.0


def _cost(name: str) -> float:
    if name in _FREE:
        return 0.0
    return _COSTS.get(name, 16.0 if name.startswith("math.") else 1.0)


def moves_only(op: Operation) -> bool:
    """Whether an op changes where elements are, or their width, but computes nothing."""
    if cost_of(op) == 0.0:
        return op.name in VIEWS or isinstance(op, LinalgOp)
    return shows_windows(op)


def keeps_runs(op: Operation, last: int) -> bool:
    """Whether what lies side by side in memory is in one of the last dims of a result: only a transposition moves it
    further out."""
    if not isinstance(op, LinalgOp) or len(op.inputs) != 1 or len(op.outputs) != 1:
        return True
    source, result = [
        [d for d, size in zip(map_.dim_positions(), value.type.shape) if size != 1]  # type: ignore[attr-defined]
        for map_, value in zip(op.maps(), op.operands)
    ]
    is_transposition = len(source) == len(result) and None not in source
    return not is_transposition or source[-1:] == [] or source[-1] in result[-last:]


def shows_windows(op: Operation) -> bool:
    """Whether an op lays out what windows see of a tensor: its element at sums of multiples of the loops."""
    if not isinstance(op, GenericOp) or op.inputs or len(op.outputs) != 1:
        return False
    body = list(op.body_block.ops)
    if [o.name for o in body].count("tensor.extract") != 1 or any(o.name not in _WINDOW_OPS for o in body):
        return False
    factors = [o.operands for o in body if o.name == "arith.muli"]
    return all(any(v.defining_op is not None and v.defining_op.name == "arith.constant" for v in f) for f in factors)


def captured_tensors(op: Operation) -> list[Value]:
    """Tensors that the body of an op reads at computed indices (gathers)."""
    if not isinstance(op, GenericOp):
        return []
    return [o.operands[0] for o in op.body_block.ops if o.name == "tensor.extract"]


def element_count(shape: Iterable[int | None]) -> int:
    """The elements of a shape, or the points of some loops."""
    return math.prod([USUAL_EXTENT if d is None else d for d in shape])


def keeps_workgroups_busy(rows: Sequence[int | None], inner: int, *, side_by_side: bool) -> bool:
    """Whether rows with `inner` elements each are enough workgroups, or so little work that one will do.

    Rows that lie side by side in memory are worked on in vectors.
    """
    points = element_count(rows) * inner
    units = element_count(rows[:-1]) * -(-element_count(rows[-1:]) // LANES) if side_by_side else element_count(rows)
    return units >= FEW_ROWS or points <= LONG_ROW * max(1, units)


def elements_of(value: Value) -> int:
    """The elements of a tensor; 1 for anything else."""
    return element_count(value.type.shape) if isinstance(value.type, TensorType) else 1


def is_copied(op: Operation) -> bool:
    """Whether an op is a value that every reader may have a copy of: constants, and tensors filled with one."""
    if isinstance(op, ConstantOp):
        value = op.value
        return not isinstance(value, DenseElementsAttr) or value.is_splat
    if op.name in ("tensor.empty", "complex.constant"):
        return True
    if op.name == "linalg.fill":
        target = op.operands[1].defining_op
        return target is not None and is_copied(target)
    return False
