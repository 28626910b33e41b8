"""Where sums wait between blocks of products, and before what follows the product is applied.

Enters: a `MatmulShape`. Leaves: a store of sums: the place of a result, where there is one of the sums' type that
nothing in the dispatch reads, or else local memory; and what follows the product, as far as sizes depend on it.
"""

from __future__ import annotations

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ...complex_values import Element, all_parts
from ...evaluate import Evaluator
from ...indexing import Dim, LaneScope
from ...loops import INDEX, Buffer, Value, vector
from ...nest import Range
from ...row_kernel import RowKernel
from ...stages import Row
from ...stores import ResultStore
from ...survey import SurveyScope, op_cost, survey
from .shape import MatmulShape


@dataclass(frozen=True)
class Place:
    """A vector of sums: row `row + number`, from column `column + offset` on."""

    row: Dim
    number: int
    column: Dim
    offset: int


class SumsInResult:
    """Sums stand where the result will."""

    def __init__(self, kernel: RowKernel, store: ResultStore):
        self._builder, self._store = kernel.builder, store
        self._indices = kernel.domain.indices(store)

    def load(self, rows: Range, columns: Range, corner: LaneScope, place: Place) -> Value:
        where = corner.resolve(self._store.address(self._indices))
        first = 0 if where.pattern is None else where.pattern[0]
        return self._builder.load(self._store.buffer, where.base, where.offset + first, corner.lanes, corner.mask)

    def store(self, rows: Range, columns: Range, corner: LaneScope, place: Place, value: Value) -> None:
        self._store.store(corner, self._indices, value)


class SumsInLocalMemory:
    """The workgroup's block of sums, row by row."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, rows: int, columns: int):
        self._builder, self._row = kernel.builder, columns
        self._buffer: Buffer = self._builder.local("sums", shape.reducer.state_elem, rows * columns)

    def _at(self, rows: Range, columns: Range, place: Place) -> tuple[Dim, int]:
        builder = self._builder
        row = builder.mul(builder.sub(place.row, rows.start), self._row)
        return builder.add(row, builder.sub(place.column, columns.start)), place.number * self._row + place.offset

    def load(self, rows: Range, columns: Range, corner: LaneScope, place: Place) -> Value:
        base, offset = self._at(rows, columns, place)
        return self._builder.load(self._buffer, base, offset, corner.lanes)

    def store(self, rows: Range, columns: Range, corner: LaneScope, place: Place, value: Value) -> None:
        base, offset = self._at(rows, columns, place)
        self._builder.store(value, self._buffer, base, offset)


Sums = SumsInResult | SumsInLocalMemory


def sums_of(kernel: RowKernel, shape: MatmulShape, rows: int, columns: int) -> Sums:
    """The store of sums; in local memory it has room for so many rows and columns of a workgroup."""
    store = result_for_sums(kernel, shape)
    return SumsInLocalMemory(kernel, shape, rows, columns) if store is None else SumsInResult(kernel, store)


def result_for_sums(kernel: RowKernel, shape: MatmulShape) -> ResultStore | None:
    """A result in whose place sums may wait: of their type, contiguous, and read by nothing in the dispatch."""
    store = kernel.domain.placement.primary
    accesses = kernel.survey.accesses
    read = {access.buffer.number for access in accesses if not access.store}
    inner = kernel.row_bands[shape.columns].inner
    contiguous = all(a.coefficients.get(inner) == 1 for a in accesses if a.store and a.buffer is store.buffer)
    fits = store.buffer.elem == shape.reducer.state_elem and store.buffer.number not in read
    return store if fits and contiguous else None


def has_epilogue(kernel: RowKernel, shape: MatmulShape) -> bool:
    """Whether anything is left to do once the sums stand where they are kept."""
    if result_for_sums(kernel, shape) is None:
        return True
    reduction, reducer = shape.reduction, shape.reducer
    result = reduction.view.op.results[0]
    initial: list[Element] = []

    def look(scope: SurveyScope) -> None:
        evaluator = Evaluator(kernel.context, scope)
        initial.append(evaluator.value_at(reduction.view.outputs[0], reduction.result_indices[0]))

    survey(kernel.context, [*kernel.domain.rows, *kernel.domain.reduced], look)
    begins_empty = initial[0].const is not None and initial[0].const == reducer.identity
    plain = all(store.value is result for store in kernel.domain.stores)
    return not (plain and begins_empty and reducer.elem == reducer.state_elem)


def epilogue_cost(kernel: RowKernel, shape: MatmulShape) -> float:
    """Rough instructions from a vector of sums to the results."""
    reduction, domain = shape.reduction, kernel.domain
    (indices,) = reduction.result_indices
    values: list[Element] = []

    def look(scope: SurveyScope) -> None:
        row = Row(kernel.context, scope)
        result = reduction.view.op.results[0]
        row.provide(result, indices, kernel.builder.stand_in(vector(shape.reducer.elem)))
        evaluator = row.evaluator()
        values.extend(evaluator.value_at(store.value, domain.indices(store)) for store in domain.stores)

    survey(kernel.context, [*domain.rows, *domain.reduced], look)
    pending, seen = all_parts(values), set()
    while pending:
        op = pending.pop().op
        if op is not None and op not in seen and op.results[0].type is not INDEX:
            seen.add(op)
            pending += op.operands
    return sum([op_cost(op.name) for op in seen if op.name not in ("load", "gather")])
