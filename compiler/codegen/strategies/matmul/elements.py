"""In what form packed factors are held and multiplied: one product after another, or two at a time.

Enters: a `MatmulShape`. Leaves: `Singles`, or, where both factors are so narrow that the target multiplies them in
pairs (8 and 16-bit integers summed in 32 bits, bfloat16 in f32), `Pairs`. A *unit* is what one step of the innermost
loop takes: one product, or two neighbours along the summed dim, held together in 32 bits.
"""

from __future__ import annotations

from ...evaluate import Evaluator
from ...indexing import Dim, Lanes, LaneScope
from ...loops import BOOL, KernelBuilder, Value, vector
from ...row_kernel import RowKernel
from .shape import Factor, MatmulShape

# Vectors of fewer lanes have no instruction that multiplies pairs.
_LEAST_LANES = 4


class Singles:
    """A product at a time, in the type of the sum."""

    unit = 1

    def __init__(self, kernel: RowKernel, shape: MatmulShape):
        self._builder, self._context, self._shape = kernel.builder, kernel.context, shape
        self.elem = shape.reducer.state_elem

    def units(self, products: Dim) -> Dim:
        return products

    def across(self, factor: Factor, scope: LaneScope, first: Dim, unit: Dim, step: int = 0) -> Value:
        """The factor in every lane of a scope at product first + unit + step."""
        bind_product(self._builder, self._shape, scope, first, unit, step)
        return factor.at(Evaluator(self._context, scope), scope.lanes)

    def along(self, factor: Factor, scope: LaneScope, first: Dim, unit: Dim, count: Dim, lanes: int) -> Value:
        """The factor at `lanes` units of a block of `count` products, from first + unit on; those beyond are zero."""
        here = lanes_along_products(self._builder, self._shape, scope, first, unit, count, lanes)
        return factor.at(Evaluator(self._context, here), lanes)

    def accumulate(self, total: Value, x: Value, y: Value) -> Value:
        (total,) = self._shape.reducer.take([total], [x, y], None)
        return total


class Pairs:
    """Two products at a time: 16-bit neighbours in one 32-bit element, the earlier one in its low half."""

    unit = 2
    elem = "i32"

    def __init__(self, kernel: RowKernel, shape: MatmulShape, kind: str):
        self._builder, self._context, self._shape = kernel.builder, kernel.context, shape
        self._kind = kind

    def units(self, products: Dim) -> Dim:
        return self._builder.ceildiv(products, 2)

    def across(self, factor: Factor, scope: LaneScope, first: Dim, unit: Dim, step: int = 0) -> Value:
        builder = self._builder
        at = builder.add(first, builder.mul(unit, 2))
        wide = vector("i32", scope.lanes)
        halves = []
        for number in (0, 1):
            here = scope.copy(mask=scope.mask)
            here.bind(self._shape.products.syms, Lanes(at, number + 2 * step))
            inside = None
            if number and self._shape.products.extent % 2:
                last = builder.index(self._shape.products.extent - 1 - 2 * step)
                inside = builder.op("arith.cmpi", (builder.index(at), last), BOOL, "slt")
            half = factor.narrow_at(Evaluator(self._context, here), scope.lanes, inside)
            if half.type.elem != "i16":
                half = builder.op("arith.bitcast", (half,), half.type.with_elem("i16"))
            halves.append(builder.op("arith.extui", (half,), wide))
        high = builder.op("arith.shli", (halves[1], builder.const(16, wide)), wide)
        return builder.op("arith.ori", (halves[0], high), wide)

    def along(self, factor: Factor, scope: LaneScope, first: Dim, unit: Dim, count: Dim, lanes: int) -> Value:
        builder = self._builder
        at = builder.mul(unit, 2)
        here = lanes_along_products(builder, self._shape, scope, first, at, count, 2 * lanes)
        pairs = factor.narrow_at(Evaluator(self._context, here), 2 * lanes, None)
        return builder.op("arith.bitcast", (pairs,), vector("i32", lanes))

    def accumulate(self, total: Value, x: Value, y: Value) -> Value:
        return self._builder.op("dot2", (total, x, y), total.type, self._kind)


Elements = Singles | Pairs


def elements_of(kernel: RowKernel, shape: MatmulShape, lanes: int) -> Elements:
    """Pairs where both factors come in a form that the target multiplies two at a time."""
    left, right = shape.row_factor.narrow, shape.column_factor.narrow
    target = kernel.target
    known = {"i16": target.is_x86, "bf16": target.has_fast_bf16_dot}
    if left is not None and left == right and known[left] and lanes >= _LEAST_LANES:
        return Pairs(kernel, shape, left)
    return Singles(kernel, shape)


def bind_product(
    builder: KernelBuilder, shape: MatmulShape, scope: LaneScope, first: Dim, at: Dim, step: int = 0
) -> None:
    """Binds the summed dim to first + at + step."""
    at_first = Lanes(first, at + step) if at.__class__ is int else Lanes(builder.add(first, at), step)
    scope.bind(shape.products.syms, at_first)


def lanes_along_products(
    builder: KernelBuilder, shape: MatmulShape, scope: LaneScope, first: Dim, at: Dim, count: Dim, lanes: int
) -> LaneScope:
    """A scope whose lanes are the products from first + at on, as far as a block of `count` goes."""
    whole = (count if count.__class__ is int else shape.products.extent) % lanes == 0
    here = scope.copy(lanes, None if whole else builder.lane_mask(lanes, builder.sub(count, at)))
    here.bind(shape.products.syms, Lanes(builder.add(first, at), tuple(range(lanes))))
    return here
