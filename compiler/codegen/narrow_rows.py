"""Rows of a few elements that lie one after the other: computed column by column, stored in the order of memory.

Enters: the vector band of a dispatch, along which the rows run, and the short band inside of it. Leaves: for a vector
of rows the value of every column at once, turned into as many vectors as there are columns, each stored as a whole.

    lanes are rows:  x0 x1 x2 …   y0 y1 y2 …   z0 z1 z2 …
    memory:          x0 y0 z0 x1 y1 z1 x2 …

The columns share what they read, and pieces of a concatenation are each computed where they are, not chosen lane by
lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import configure
from .complex_values import Complex, Element
from .configure import Band, VectorPlan
from .indexing import Lanes, LaneScope
from .loops import KernelBuilder, Value, storage_bytes
from .placement import Placement
from .stores import ResultStore
from .survey import Survey

# Turning more columns takes longer than storing element by element, and code grows with the square of them.
_MAX_COLUMNS = 12
# The same of bytes: few processors have an instruction that moves them about in a long vector, and what LLVM finds for
# the others takes it seconds.
_MAX_COLUMNS_OF_BYTES = 4
# Instructions of the columns together beyond which the code is too large.
_MAX_COST = 600.0
# Vectors along the rows that make up for the code.
_LEAST_VECTORS = 4


def row_band(bands: Sequence[Band], survey: Survey, lanes: int, vector_band: int) -> int:
    """The band to run vectors along: the one around a short band, where its columns are better computed side by side.

    The lanes of a short band stay idle in part, and where it is made of pieces they would compute what all pieces are
    and choose."""
    number = vector_band - 1
    if number < 0 or _columns(bands, survey, number) is None:
        return vector_band
    rows, columns = bands[number], bands[vector_band]
    if rows.extent.__class__ is int and rows.extent < _LEAST_VECTORS * lanes:
        return vector_band
    if survey.cuts.get(columns.inner):
        return number
    loads = [access for access in survey.accesses if not access.store]
    stores = len(survey.accesses) - len(loads)
    beside = survey.cost + sum([configure.access_cost(a, columns.inner, lanes) for a in loads]) + stores
    beside /= configure.utilisation(columns.extent, lanes)
    along = survey.cost + sum([configure.access_cost(a, rows.inner, lanes) for a in loads]) + stores * columns.extent
    return number if along < beside else vector_band


def narrow_columns(bands: Sequence[Band], survey: Survey, plan: VectorPlan) -> int | None:
    """The number of the short band whose columns are computed side by side, or None where that can't be done."""
    return _columns(bands, survey, plan.band) if plan.lanes > 1 and plan.repeat == 1 else None


def _columns(bands: Sequence[Band], survey: Survey, rows: int) -> int | None:
    """The band inside of the one of rows, if it is short and results are stored in the order of both."""
    number = rows + 1
    if number != len(bands) - 1 or len(bands[number].syms) != 1:
        return None
    columns = bands[number].extent
    if columns.__class__ is not int or columns > _MAX_COLUMNS or columns * max(survey.cost, 1.0) > _MAX_COST:
        return None
    row, column = bands[rows].inner, bands[number].inner
    stores = [access for access in survey.accesses if access.store]
    if columns > _MAX_COLUMNS_OF_BYTES and any(storage_bytes(access.buffer.elem) == 1 for access in stores):
        return None
    written = [access.coefficients for access in stores]
    in_order = all(steps.get(row) == columns and steps.get(column) == 1 for steps in written)
    return number if written and in_order else None


def store_rows(
    scopes: Sequence[LaneScope],
    columns: Band,
    stores: Sequence[ResultStore],
    placement: Placement,
    evaluate: Callable[[LaneScope], list[Element]],
) -> None:
    """Computes and stores the columns of one vector of rows after the other."""
    for scope in scopes:
        found = []
        for number in range(columns.extent):
            # Known to be this one, so that of pieces none but its own is computed.
            inner = scope.within(columns.syms, (number, number))
            inner.bind(columns.syms, Lanes(number))
            found.append((inner, evaluate(inner)))
        for k, store in enumerate(stores):
            values = [values[k] for _, values in found]
            if scope.mask is not None or scope.lanes == 1 or any(value.__class__ is Complex for value in values):
                for (inner, _), value in zip(found, values, strict=True):
                    store.store(inner, placement[store], value)
                continue
            vectors = in_order_of_rows(scope.builder, [scope.builder.splat(value, scope.lanes) for value in values])
            store.store_run(found[0][0], placement[store], vectors)


def in_order_of_rows(builder: KernelBuilder, columns: Sequence[Value]) -> list[Value]:
    """The elements of vectors in turns, as vectors again."""
    count, lanes = len(columns), columns[0].lanes
    results = []
    for number in range(count):
        wanted = [divmod(number * lanes + lane, count) for lane in range(lanes)]
        result = columns[0]
        for k in range(1, count):
            # The first shuffle takes lanes of two columns to their places, every further one those of one more.
            picks = [row + lanes * c if c < 2 else 0 for row, c in wanted]
            if k > 1:
                picks = [lanes + row if c == k else lane for lane, (row, c) in enumerate(wanted)]
            result = builder.shuffle(result, columns[k], picks)
        results.append(result)
    return results
