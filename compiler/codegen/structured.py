"""linalg ops as one thing: iteration domain, operands with maps, and a body.

Enters: linalg.generic and the named ops that flow leaves in a dispatch. Leaves: a `StructuredOp`, so that the rest of
code generation reads no op names.
"""

from __future__ import annotations

from ..dialects.linalg import GenericOp, LinalgOp
from ..ir.affine import AffineDim, AffineExpr
from ..ir.core import Block, Operation, Value
from .elements import unsupported


class StructuredOp:
    """A view of one linalg op.

    `maps` are the indexing maps, inputs before outputs, as tuples of affine expressions. `body` is None for a fill
    (the output is the input) and for a named contraction (`is_dot`: multiply and add).
    """

    __slots__ = ("body", "inputs", "is_dot", "iterators", "maps", "op", "outputs", "rank")

    def __init__(self, op: Operation, maps, iterators, inputs, outputs, body: Block | None, is_dot: bool):
        self.op = op
        self.maps = maps
        self.iterators: tuple[str, ...] = iterators
        self.inputs: tuple[Value, ...] = inputs
        self.outputs: tuple[Value, ...] = outputs
        self.body = body
        self.is_dot = is_dot
        self.rank = len(iterators)

    @property
    def parallel(self) -> list[int]:
        return [d for d, kind in enumerate(self.iterators) if kind == "parallel"]

    @property
    def reductions(self) -> list[int]:
        return [d for d, kind in enumerate(self.iterators) if kind != "parallel"]

    def input_maps(self):
        return zip(self.inputs, self.maps, strict=False)

    def output_map(self, number: int) -> tuple[AffineExpr, ...]:
        return self.maps[len(self.inputs) + number]


_DOTS = frozenset({
    "linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.batch_matvec",
    "linalg.batch_vecmat", "linalg.dot",
})  # fmt: skip


def is_structured(op: Operation) -> bool:
    return isinstance(op, LinalgOp)


def structured(op: LinalgOp) -> StructuredOp:
    """The view of a linalg op."""
    maps = tuple([map_.results for map_ in op.maps()])
    iterators = tuple(op.iterators())
    if isinstance(op, GenericOp):
        return StructuredOp(op, maps, iterators, op.inputs, op.outputs, op.body_block, False)
    if op.name != "linalg.fill" and op.name not in _DOTS:
        raise unsupported(op, "generalize it to linalg.generic first")
    return StructuredOp(op, maps, iterators, op.inputs, op.outputs, None, op.name in _DOTS)


def dim_of(expression: AffineExpr) -> int | None:
    """The loop that an expression is, or None where it is a constant or a sum."""
    return expression.position if isinstance(expression, AffineDim) else None
