"""Transposed operands in register tiles.

Enters: a full tile of `lanes` rows by `lanes` columns of an elementwise domain, in which results are contiguous along
one band and a load along another. Leaves: for each row of the tile the loaded values as a vector along the columns,
from `lanes` contiguous loads and a network of two-operand shuffles instead of one gather a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from .configure import Band
from .indexing import Index, LaneScope, Resolved
from .loops import Buffer, KernelBuilder, Value, storage_bytes
from .survey import Access, Survey

# What vectors of processors are made of, and what most instructions that move lanes stay inside of.
_PIECE_BYTES = 16


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
    """n vectors of n lanes, n a power of two.

    Squares inside of 16 bytes come first, round by round from what the lower and the upper halves of two vectors have
    side by side; then such pieces change places, the even ones and the odd ones of two vectors. Processors have
    instructions for just these, which take no table of lanes, and which LLVM finds soonest.
    """
    count = len(vectors)
    inside = min(count, _PIECE_BYTES // storage_bytes(vectors[0].type.elem))
    pieces = [_zipped(builder, vectors[k : k + inside], inside) for k in range(0, count, inside)]
    columns = [_unzipped(builder, list(column), inside) for column in zip(*pieces, strict=True)]
    return [column[k] for k in range(count // inside) for column in columns]


def _zipped(builder: KernelBuilder, vectors: list[Value], inside: int) -> list[Value]:
    """`inside` vectors whose squares of that size are transposed."""
    lanes, half = vectors[0].lanes, inside // 2
    starts = range(0, lanes, inside)
    low, high = (
        [lane for start in starts for k in range(half) for lane in (start + first + k, lanes + start + first + k)]
        for first in (0, half)
    )
    for _ in range(inside.bit_length() - 1):
        pairs = list(zip(vectors[:half], vectors[half:], strict=True))
        vectors = [builder.shuffle(x, y, picks) for x, y in pairs for picks in (low, high)]
    return vectors


def _unzipped(builder: KernelBuilder, vectors: list[Value], inside: int) -> list[Value]:
    """As many vectors as they have pieces of `inside` lanes, with the pieces transposed."""
    count = len(vectors)
    even, odd = (
        [piece * inside + lane for piece in range(first, 2 * count, 2) for lane in range(inside)] for first in (0, 1)
    )
    for _ in range(count.bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [builder.shuffle(x, y, picks) for picks in (even, odd) for x, y in pairs]
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
