"""Where sums wait between blocks of products, and before what follows the product is applied.

Enters: a `MatmulShape` and its blocks. Leaves: a store of sums, None where they never leave the registers: the place
of a result, where there is one of the sums' type that nothing in the dispatch reads, or else local memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..indexing import Dim, LaneScope
from ..loops import Buffer, Value
from ..row_kernel import RowKernel
from ..stores import ResultStore
from .matmul_blocks import MatmulBlocks
from .matmul_shape import MatmulShape


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

    def load(self, block, corner: LaneScope, place: Place) -> Value:
        where = corner.resolve(self._store.address(self._indices))
        first = 0 if where.pattern is None else where.pattern[0]
        return self._builder.load(self._store.buffer, where.base, where.offset + first, corner.lanes, corner.mask)

    def store(self, block, corner: LaneScope, place: Place, value: Value) -> None:
        self._store.store(corner, self._indices, value)


class SumsInLocalMemory:
    """The workgroup's block of sums, row by row."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, blocks: MatmulBlocks, lanes: int):
        self._builder = kernel.builder
        self._row = blocks.column_vectors * lanes
        self._buffer: Buffer = self._builder.local("sums", shape.reducer.state_elem, blocks.kept_rows * self._row)

    def _at(self, block, place: Place) -> tuple[Dim, int]:
        builder = self._builder
        row = builder.mul(builder.sub(place.row, block.rows.start), self._row)
        return builder.add(row, builder.sub(place.column, block.columns.start)), place.number * self._row + place.offset

    def load(self, block, corner: LaneScope, place: Place) -> Value:
        base, offset = self._at(block, place)
        return self._builder.load(self._buffer, base, offset, corner.lanes)

    def store(self, block, corner: LaneScope, place: Place, value: Value) -> None:
        base, offset = self._at(block, place)
        self._builder.store(value, self._buffer, base, offset)


def sums_between_blocks(
    kernel: RowKernel, shape: MatmulShape, blocks: MatmulBlocks, lanes: int
) -> SumsInResult | SumsInLocalMemory | None:
    """The store of sums that the blocks need."""
    if not blocks.keeps_sums:
        return None
    if blocks.partials is not None:
        return SumsInResult(kernel, blocks.partials)
    return SumsInLocalMemory(kernel, shape, blocks, lanes)
