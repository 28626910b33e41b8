"""What a contraction is as a matrix product: which bands are rows, columns and products, and how its factors lie.

Enters: the `RowKernel` of a dispatch whose one reduction sums products. Leaves: a `MatmulShape`, or None where the
dispatch has no such form (sizes that are known only at run time or 0, a factor that is computed from both inputs, only
short runs of products).

The columns are the band that the result is contiguous along; lanes run along them. The largest band that only the
other factor has is the rows. What is left, batch dims among it, is `outer`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ....ir.affine import AffineDim
from ....ir.core import BlockArgument, Value
from ...configure import Band, bands_of
from ...elements import element_name
from ...evaluate import Evaluator
from ...indexing import Sym
from ...loops import Value as LoopValue
from ...placement import syms_of
from ...reducers import DotReducer, reducers_of
from ...row_kernel import RowKernel
from ...stages import Reduction
from ...structured import StructuredOp
from ...survey import Access, survey

# With fewer products in a run, the loops around it would show; they take as long as so many products.
_LEAST_PRODUCTS = 12
_PRODUCTS_OF_A_LOOP = 6
# Products that lie further apart than a page each wait for its address.
_PAGE_BYTES = 4096
_WIDENINGS = frozenset({"arith.extf", "arith.extsi", "arith.extui"})
# Body ops whose value depends on more than their operands.
_POSITIONAL = frozenset({"linalg.index", "tensor.extract"})


class Factor:
    """One of the two values whose products are summed: how it is computed, and how its elements lie in memory."""

    def __init__(self, kernel: RowKernel, reduction: Reduction, reducer: DotReducer, value: Value | None, number: int):
        self._view, self._loops, self._reducer = reduction.view, reduction.loops, reducer
        self._value, self._input = value, number
        self._extension = "arith.extsi"
        context = kernel.context
        values: list[LoopValue] = []
        found = survey(
            context,
            [*kernel.domain.rows, *kernel.domain.reduced],
            lambda scope: values.append(self.at(Evaluator(context, scope))),
        )
        self.accesses: list[Access] = found.accesses
        self.is_plain = values[0].op is not None and values[0].op.name == "load"
        """Whether each element is one load and no more."""

    @property
    def syms(self) -> set[Sym]:
        """The dims that the factor depends on."""
        map_ = self._view.maps[self._input]
        return syms_of([self._loops[e.position] for e in map_ if isinstance(e, AffineDim)])

    def at(self, evaluator: Evaluator, lanes: int = 1) -> LoopValue:
        """The factor where the evaluator is, in the type of the sum; at least `lanes` lanes."""
        view, loops, number = self._view, self._loops, self._input
        element = evaluator.operand_at(view.inputs[number], view.maps[number], loops, None)
        if self._value is not None:
            arguments = {view.body.arguments[number]: element}
            (element,) = evaluator.run_body(view.body, arguments, loops, None, [self._value])
        return self._reducer.factor(element, max(lanes, element.lanes))

    @property
    def narrow(self) -> str | None:
        """The 16-bit element that holds the factor's values, "i16" or "bf16"; None where there is none."""
        elem = element_name(self._view.inputs[self._input].type)
        state = self._reducer.state_elem
        if self._value is not None:
            op = self._value.defining_op
            argument = self._view.body.arguments[self._input]
            if op is None or op.name not in _WIDENINGS or op.operands[0] is not argument:
                return None
            self._extension = op.name
        if state == "f32":
            return "bf16" if elem == "bf16" else None
        fits = elem == "i8" or (elem == "i16" and self._extension == "arith.extsi")
        return "i16" if state == "i32" and fits else None

    def narrow_at(self, evaluator: Evaluator, lanes: int, inside: LoopValue | None) -> LoopValue:
        """The factor as `narrow` elements where the evaluator is; zero where `inside` does not hold."""
        builder, number = evaluator.builder, self._input
        element = evaluator.operand_at(self._view.inputs[number], self._view.maps[number], self._loops, inside)
        element = builder.splat(element, lanes)
        if element.type.elem == "i8":
            element = builder.op(self._extension, (element,), element.type.with_elem("i16"))
        return element

    def step(self, band: Band) -> int | None:
        """Elements from one step of a band to the next, where every access has the same, else None."""
        steps = {access.coefficients.get(band.inner, 0) for access in self.accesses}
        opaque = any(access.opaque & set(band.syms) for access in self.accesses)
        if opaque or len(steps) != 1:
            return None
        (step,) = steps
        return step if step.__class__ is int else None


@dataclass
class MatmulShape:
    reduction: Reduction
    reducer: DotReducer
    rows: int | None
    """The band of the rows by its number in the kernel's row bands; None for a single row."""
    columns: int
    outer: list[int]
    products: Band
    """What is summed over in the innermost loop, and in loops around it."""
    outer_products: list[Band]
    row_factor: Factor
    column_factor: Factor

    @property
    def product_count(self) -> int:
        """How many products each element of the result sums up."""
        return math.prod([band.extent for band in (self.products, *self.outer_products)])

    def row_count(self, kernel: RowKernel) -> int:
        return 1 if self.rows is None else kernel.row_bands[self.rows].extent

    def rows_are_transposed(self, kernel: RowKernel) -> bool:
        """Whether the row factor is contiguous across its rows rather than along them."""
        across = self.rows is not None and self.row_factor.step(kernel.row_bands[self.rows]) == 1
        return across and self.row_factor.step(self.products) != 1


def matmul_shape(kernel: RowKernel) -> MatmulShape | None:
    """The contraction as a matrix product."""
    domain = kernel.domain
    if len(domain.reductions) != 1 or domain.spread or not kernel.row_bands:
        return None
    (reduction,) = domain.reductions
    view = reduction.view
    (reducer,) = reducers_of(kernel.builder, view)
    bands = kernel.row_bands
    if any(sym.extent.__class__ is not int or sym.extent == 0 for sym in (*domain.rows, *reduction.reduced)):
        return None
    inputs = [_input_of(view, value) for value in reducer.factors] if reducer.factors is not None else [0, 1]
    if sorted(inputs, key=str) != [0, 1]:
        return None
    values: Sequence[Value | None] = reducer.factors or (None, None)
    factors = [Factor(kernel, reduction, reducer, value, number) for value, number in zip(values, inputs, strict=True)]
    own = [_bands_of(bands, factor) - _bands_of(bands, other) for factor, other in zip(factors, factors[::-1])]
    columns = len(bands) - 1
    if columns not in own[0] | own[1]:
        return None
    if columns in own[0]:
        factors, own = factors[::-1], own[::-1]
    *outer_products, products = _product_bands(kernel, reduction, factors)
    if outer_products and products.extent < _LEAST_PRODUCTS:
        return None
    rows = max(own[0], key=lambda k: (_enough_rows(kernel, bands[k], factors), k), default=None)
    outer = [k for k in range(len(bands)) if k not in (rows, columns)]
    return MatmulShape(reduction, reducer, rows, columns, outer, products, outer_products, *factors)


def _enough_rows(kernel: RowKernel, band: Band, factors: Sequence[Factor]) -> int:
    """The rows of a band as far as more are of use: where neither factor has to be packed, what one tile holds."""
    columns = kernel.row_bands[-1]
    if all(factor.is_plain for factor in factors) and factors[1].step(columns) == 1:
        return min(band.extent, kernel.target.vector_registers // 2 - 2)
    return band.extent


def _product_bands(kernel: RowKernel, reduction: Reduction, factors: Sequence[Factor]) -> list[Band]:
    """The summed dims, which may be summed in any order, outermost in memory first so that neighbours run together;
    the last is a long one whose products lie close to each other."""

    accesses = [access for factor in factors for access in factor.accesses]

    def stride(sym: Sym) -> tuple[int, ...]:
        steps = [access.coefficients.get(sym, 0) for access in accesses]
        return tuple([step if step.__class__ is int else 0 for step in steps])

    syms = sorted(reduction.reduced, key=stride, reverse=True)
    bands = bands_of(syms, kernel.survey, kernel.builder) or [Band((syms[-1],), 1)]

    def worth(band: Band) -> tuple[bool, float]:
        steps = [step * access.bytes for access, step in zip(accesses, stride(band.inner), strict=True)]
        pages = 2 if max(map(abs, steps), default=0) > _PAGE_BYTES else 1
        return band.extent >= _LEAST_PRODUCTS, -pages * (1 + _PRODUCTS_OF_A_LOOP / band.extent)

    return sorted(bands, key=worth)


def _bands_of(bands: Sequence[Band], factor: Factor) -> set[int]:
    return {k for k, band in enumerate(bands) if set(band.syms) & factor.syms}


def _input_of(view: StructuredOp, value: Value) -> int | None:
    """The number of the one input that a body value is computed from."""
    found, pending = set(), [value]
    while pending:
        value = pending.pop()
        op = value.defining_op
        if isinstance(value, BlockArgument):
            found.add(value.index)
        elif op.name in _POSITIONAL:
            return None
        else:
            pending += op.operands
    return found.pop() if len(found) == 1 else None
