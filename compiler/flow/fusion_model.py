"""What may become one dispatch: kinds of ops, what they cost, and at which indices a group reads each value.

Enters: tensor ops, consumers before producers. Leaves: a `FusionGroup` that says whether one more producer may join it.

A group has one iteration domain. Its dims are numbered; a value that the group computes is needed at one tuple of
dims for each place that reads it. A reduction may join where its result is needed at the group's *row* dims alone:
then every workgroup has whole rows, and no workgroup waits for another. A contraction may join where its result is
needed at the whole domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.ir.affine import AffineConstant, AffineDim
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.types import TensorType

ELEMENTWISE, REDUCTION, CONTRACTION, VIEW, WHOLE = "elementwise", "reduction", "contraction", "view", "whole"

#: Ops that move elements and compute none: evaluated by an index computation.
VIEWS = frozenset({
    "tensor.extract_slice", "tensor.insert_slice", "tensor.pad", "tensor.concat", "tensor.expand_shape",
    "tensor.collapse_shape", "tensor.bitcast",
})  # fmt: skip
_DOTS = frozenset({
    "linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.batch_matvec",
    "linalg.batch_vecmat", "linalg.dot",
})  # fmt: skip
#: Arithmetic that takes about as long as loading the result again would.
CHEAP = 8.0
#: Beyond this many ops a kernel only grows.
MAX_OPS = 400
#: Reduced elements of a row that one workgroup may handle when there are only a few rows.
LONG_ROW = 1 << 15
FEW_ROWS = 8

_FREE = frozenset({
    "linalg.yield", "linalg.index", "arith.constant", "arith.extf", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.bitcast", "arith.index_cast",
})  # fmt: skip
_COSTS = {
    "arith.divf": 4.0, "math.sqrt": 5.0, "math.rsqrt": 9.0, "math.absf": 1.0, "math.ceil": 1.0, "math.floor": 1.0,
    "math.copysign": 2.0, "math.roundeven": 1.0, "math.trunc": 1.0, "math.fma": 1.0, "arith.divsi": 20.0,
    "arith.divui": 20.0, "arith.remsi": 20.0, "arith.remui": 20.0, "arith.remf": 100.0, "tensor.extract": 8.0,
}  # fmt: skip

#: An index that is 0 because the dim has one element, and one that is no single dim of the domain.
ZERO, OPAQUE = -1, None
Indices = tuple[int | None, ...]


def kind_of(op: Operation) -> str | None:
    """How an op computes its results, or None for what is no tensor computation."""
    if isinstance(op, LinalgOp):
        if all(kind == "parallel" for kind in op.iterators()):
            return ELEMENTWISE
        return CONTRACTION if is_contraction(op) else REDUCTION
    if op.name in VIEWS:
        return VIEW
    if op.name.startswith("iree_linalg_ext."):
        return WHOLE
    return None


def is_contraction(op: LinalgOp) -> bool:
    """Whether an op sums products of two inputs that each have a parallel dim of their own."""
    if len(op.inputs) != 2 or not (op.name in _DOTS or _sums_products(op)):
        return False
    iterators = op.iterators()
    left, right = (
        {d for d in map_.dim_positions() if d is not None and iterators[d] == "parallel"} for map_ in op.maps()[:2]
    )
    return bool(left - right) and bool(right - left)


def _sums_products(op: LinalgOp) -> bool:
    if not isinstance(op, GenericOp) or len(op.outputs) != 1:
        return False
    names = [o.name for o in op.body_block.ops if o.name not in _FREE]
    return names in (["arith.mulf", "arith.addf"], ["arith.muli", "arith.addi"])


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
    return cost_of(op) == 0.0 and (op.name in VIEWS or isinstance(op, LinalgOp))


def captured_tensors(op: Operation) -> set[Value]:
    """Tensors that the body of an op reads at computed indices (gathers)."""
    if not isinstance(op, GenericOp):
        return set()
    return {o.operands[0] for o in op.body_block.ops if o.name == "tensor.extract"}


def element_count(shape: Iterable[int | None]) -> int:
    """The elements of a shape; a dim that is not known counts as 256."""
    return math.prod([256 if d is None else d for d in shape])


class FusionGroup:
    """Ops that will be one dispatch, and the domain that they share."""

    def __init__(self, root: Operation) -> None:
        self.ops: set[Operation] = set()
        self.clones: set[Operation] = set()
        self.extents: list[int | None] = []
        #: The dims of each row, once a reduction or contraction is part of the group.
        self.rows: frozenset[int] | None = None
        self.has_contraction = False
        self.is_closed = False
        #: The places of the first and the last member in their block.
        self.first = self.last = 0
        self._needed: dict[Value, set[Indices]] = {}
        self._add_root(root)

    # The domain.

    def _new_dim(self, extent: int | None) -> int:
        if extent == 1:
            return ZERO
        self.extents.append(extent)
        return len(self.extents) - 1

    def _add_root(self, root: Operation) -> None:
        kind = kind_of(root)
        if kind == WHOLE:
            self.is_closed = True
            self.ops.add(root)
            return
        shape = root.results[0].type.shape  # type: ignore[attr-defined]
        indices = tuple([self._new_dim(d) for d in shape])
        self.domain = frozenset(i for i in indices if i is not None and i >= 0)
        for result in root.results:
            self._needed[result] = {indices}
        if isinstance(root, LinalgOp) and len(root.results) > 1 and kind == ELEMENTWISE:
            outputs = root.maps()[len(root.inputs) :]
            first = outputs[0].dim_positions()
            loops = dict(zip(first, indices))
            for result, output in zip(root.results, outputs):
                self._needed[result] = {tuple([loops.get(d, OPAQUE) for d in output.dim_positions()])}
        if kind in (REDUCTION, CONTRACTION):
            self.rows = self.domain
            self.has_contraction = kind == CONTRACTION
        self._include(root)

    def covers(self, indices: Indices, dims: frozenset[int]) -> bool:
        """Whether indices are these dims, each once."""
        plain = [i for i in indices if i != ZERO]
        return OPAQUE not in plain and len(set(plain)) == len(plain) and set(plain) == dims

    def can_store(self, value: Value) -> bool:
        """Whether a value of the group may be a result of the dispatch as well."""
        needed = self._needed.get(value, ())
        if len(needed) != 1:
            return False
        (indices,) = needed
        return self.covers(indices, self.domain) or (self.rows is not None and self.covers(indices, self.rows))

    # Joining.

    def accepts(self, op: Operation) -> bool:
        """Whether a producer of values that the group reads may join it."""
        if self.is_closed or len(self.ops) >= MAX_OPS:
            return False
        kind = kind_of(op)
        needed = {i for result in op.results for i in self._needed.get(result, ())}
        if not needed or kind in (None, WHOLE):
            return False
        if any(result in self._gathered for result in op.results):
            return False
        if kind in (ELEMENTWISE, VIEW):
            return self._accepts_elementwise(op, needed)
        if len(needed) != 1:
            return False
        (indices,) = needed
        return self._accepts_reduction(op, kind, indices)

    def _accepts_elementwise(self, op: Operation, needed: set[Indices]) -> bool:
        if self._reads_contraction_input(op):
            return moves_only(op) and op.name not in ("tensor.extract_slice", "tensor.bitcast")
        cost = cost_of(op)
        if cost <= CHEAP:
            return True
        return all(self._recomputed(indices) <= 1 for indices in needed)

    def _reads_contraction_input(self, op: Operation) -> bool:
        return self.has_contraction and any(result in self._contracted for result in op.results)

    def _recomputed(self, indices: Indices) -> int:
        """How often each element would be computed if it were computed where it is needed."""
        plain = {i for i in indices if i is not None and i >= 0}
        if OPAQUE in indices or (self.rows is not None and plain == self.rows):
            return 1
        loops = self.domain if plain <= self.domain else frozenset(range(len(self.extents)))
        return element_count([self.extents[d] for d in loops - plain])

    def _accepts_reduction(self, op: Operation, kind: str, indices: Indices) -> bool:
        plain = frozenset(i for i in indices if i is not None and i >= 0)
        if not self.covers(indices, plain) or not isinstance(op, LinalgOp):
            return False
        if not all(self._is_plain_output(op, n) for n in range(len(op.outputs))):
            return False
        if kind == CONTRACTION:
            return self.rows is None and plain == self.domain
        if self.has_contraction:
            return False
        if self.rows is not None:
            return plain == self.rows
        inner = element_count([self.extents[d] for d in self.domain - plain])
        rows = element_count([self.extents[d] for d in plain])
        return inner <= 1 or rows >= FEW_ROWS or inner <= LONG_ROW

    @staticmethod
    def _is_plain_output(op: LinalgOp, number: int) -> bool:
        positions = op.maps()[len(op.inputs) + number].dim_positions()
        return None not in positions and len(set(positions)) == len(positions)

    def add(self, op: Operation) -> None:
        """Makes a producer part of the group."""
        kind = kind_of(op)
        if kind in (REDUCTION, CONTRACTION):
            (indices,) = {i for result in op.results for i in self._needed.get(result, ())}
            self.rows = frozenset(i for i in indices if i is not None and i >= 0)
            self.has_contraction = kind == CONTRACTION
        self._include(op)

    @property
    def _gathered(self) -> set[Value]:
        return self.__dict__.setdefault("gathered_values", set())

    @property
    def _contracted(self) -> set[Value]:
        return self.__dict__.setdefault("contracted_values", set())

    def _include(self, op: Operation) -> None:
        self.ops.add(op)
        self._gathered.update(captured_tensors(op))
        for result in op.results:
            for indices in list(self._needed.get(result, ())):
                for operand, at in self._operand_indices(op, result, indices):
                    if isinstance(operand.type, TensorType):
                        self._needed.setdefault(operand, set()).add(at)
        if kind_of(op) == CONTRACTION or (op.results and op.results[0] in self._contracted):
            inputs = op.inputs if isinstance(op, LinalgOp) else op.operands
            self._contracted.update(v for v in inputs if isinstance(v.type, TensorType))

    # Indices of operands.

    def _operand_indices(
        self, op: Operation, result: Value, indices: Indices
    ) -> Iterable[tuple[Value, Indices]]:
        if isinstance(op, LinalgOp):
            return self._linalg_indices(op, result, indices)
        if op.name == "tensor.expand_shape":
            return [(op.operands[0], _collapsed(op.groups, indices))]  # type: ignore[attr-defined]
        if op.name == "tensor.collapse_shape":
            source = op.operands[0]
            return [(source, _expanded(op.groups, indices, source.type.shape))]  # type: ignore[attr-defined]
        return [
            (v, (OPAQUE,) * len(v.type.shape)) for v in op.operands if isinstance(v.type, TensorType)
        ]

    def _linalg_indices(
        self, op: LinalgOp, result: Value, indices: Indices
    ) -> Iterable[tuple[Value, Indices]]:
        maps = op.maps()
        output = maps[len(op.inputs) + list(op.results).index(result)]
        ranges = op.loop_ranges()
        loops: list[int | None] = [OPAQUE] * len(ranges)
        for position, index in zip(output.dim_positions(), indices):
            if position is not None:
                loops[position] = index
        spare = [d for d in sorted(self.domain) if d not in indices]
        for d, kind in enumerate(op.iterators()):
            if kind != "parallel":
                loops[d] = self._reduced_dim(ranges[d], spare)
        for operand, map_ in zip(op.operands, maps):
            at = []
            for expr in map_.results:
                if isinstance(expr, AffineDim):
                    at.append(loops[expr.position])
                else:
                    at.append(ZERO if isinstance(expr, AffineConstant) else OPAQUE)
            yield operand, tuple(at)

    def _reduced_dim(self, extent: int | None, spare: list[int]) -> int:
        """A dim of the domain beside the rows that a reduction runs along, or a new one."""
        if extent == 1:
            return ZERO
        for d in spare:
            if self.extents[d] == extent:
                spare.remove(d)
                return d
        known = [d for d in range(len(self.extents)) if d not in self.domain and self.extents[d] == extent]
        return known[0] if known else self._new_dim(extent)


def _collapsed(groups: Sequence[Sequence[int]], indices: Indices) -> Indices:
    """Indices of the source of an expansion: a group of dims is one index if all but one of them are 0."""
    at: list[int | None] = []
    for group in groups:
        plain = [indices[d] for d in group if indices[d] != ZERO]
        at.append(ZERO if not plain else plain[0] if len(plain) == 1 else OPAQUE)
    return tuple(at)


def _expanded(groups: Sequence[Sequence[int]], indices: Indices, shape: Sequence[int | None]) -> Indices:
    """Indices of the source of a collapse: the one dim of a group that is not 1 has the index of the group."""
    at: list[int | None] = [ZERO] * len(shape)
    for group, index in zip(groups, indices):
        plain = [d for d in group if shape[d] != 1]
        for d in plain:
            at[d] = index if len(plain) == 1 else OPAQUE
    return tuple(at)
