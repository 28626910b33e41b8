"""Transposed operands in register tiles.

Enters: a full tile of `lanes` rows by `lanes` columns of an elementwise domain, in which results are contiguous along
one band and a load along another. Leaves: for each row of the tile the loaded values as a vector along the columns,
from `lanes` contiguous loads and a network of two-operand shuffles instead of one gather a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from .configure import Band
from .indexing import Index, LaneScope, Resolved
from .loops import Buffer, KernelBuilder, Value
from .survey import Access, Survey


class TransposeTile:
    """The rows of one tile share what was loaded; `across` is the band of the rows."""

    def __init__(self, across: Band):
        self._across = across
        self._loaded: dict[tuple[Buffer, Index], list[Value]] = {}

    def load(self, scope: LaneScope, buffer: Buffer, index: Index, where: Resolved, row: int) -> Value | None:
        """The elements at `index` for row number `row`, or None where the load does not run along the rows."""
        if where.vector is not None or index.terms.get(self._across.inner) != 1:
            return None
        found = self._loaded.get((buffer, index))
        if found is None:
            columns = [
                scope.builder.load(buffer, where.base, where.offset + place - row, scope.lanes)
                for place in where.pattern
            ]
            found = self._loaded[(buffer, index)] = transpose(scope.builder, columns)
        return found[row]


def transpose(builder: KernelBuilder, vectors: Sequence[Value]) -> list[Value]:
    """n vectors of n lanes, n a power of two: round by round, blocks off the diagonal change places."""
    count = len(vectors)
    vectors = list(vectors)
    block = 1
    while block < count:
        low = [k if not k & block else count + (k ^ block) for k in range(count)]
        high = [(k | block) if not k & block else count + k for k in range(count)]
        for k in range(count):
            if not k & block:
                x, y = vectors[k], vectors[k | block]
                vectors[k], vectors[k | block] = builder.shuffle(x, y, low), builder.shuffle(x, y, high)
        block *= 2
    return vectors


def transposed_band(bands: Sequence[Band], survey: Survey, columns: int) -> int | None:
    """The band along which some load is contiguous that strides along the columns; None where there is none."""
    inner = bands[columns].inner
    for number in range(len(bands) - 1, -1, -1):
        if number != columns and any(_transposed(a, inner, bands[number]) for a in survey.accesses):
            return number
    return None


def _transposed(access: Access, columns, rows: Band) -> bool:
    step = access.coefficients.get(columns, 0)
    strided = step.__class__ is int and abs(step) > 1
    contiguous = access.coefficients.get(rows.inner) == 1
    return strided and contiguous and not access.store and not access.opaque and access.buffer.elem != "i1"
