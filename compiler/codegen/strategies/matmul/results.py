"""The result of a matrix product: scopes of accumulators, what follows the product, workgroups.

Enters: a `MatmulShape`, vectors of sums. Leaves: stores of results, from registers or from sums that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ...configure import Tiles
from ...indexing import Dim, Lanes, LaneScope
from ...loops import Value, vector
from ...nest import Range, loop_nest, tile_ranges, vector_loop
from ...plan import Plan, count_factors
from ...row_kernel import RowKernel
from ...stages import Row
from .shape import MatmulShape
from .sums import Place, Sums


@dataclass
class Block:
    """What a workgroup is at: rows and columns of the result, and products `first` to `first + count`."""

    scope: LaneScope
    rows: Range
    columns: Range
    first: Dim
    count: Dim
    packed: Range | None = None
    """The rows that the row source holds now."""
    begins: Value | None = None
    """Whether these products are the first, and the last; None where they are all."""
    ends: Value | None = None


def plan_workgroups(
    kernel: RowKernel, shape: MatmulShape, tiles: Tiles, body: Callable[[LaneScope, Range, Range], None]
) -> Plan:
    """The kernel in which each workgroup runs `body` over its rows and columns, for its part of the outer bands."""
    builder, bands = kernel.builder, kernel.row_bands
    ranges = tile_ranges(builder, bands, tiles)
    rows = Range(0, 1, 1, 1) if shape.rows is None else ranges[shape.rows]
    outer = shape.outer
    loop_nest(
        LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer],
        lambda scope: body(scope, rows, ranges[shape.columns]),
    )  # fmt: skip
    return Plan(builder.finish(), count_factors(kernel.context, [band.extent for band in bands], tiles.sizes))


class Results:
    """Stores results; `sums` is where sums are kept meanwhile, if they are."""

    def __init__(self, kernel: RowKernel, shape: MatmulShape, lanes: int, sums: Sums | None):
        self.kernel, self.shape, self.lanes, self.sums = kernel, shape, lanes, sums
        self.builder = kernel.builder
        self.band = kernel.row_bands[shape.columns]

    def bind_rows(self, scope: LaneScope, row: Dim, number: int = 0) -> None:
        if self.shape.rows is not None:
            scope.bind(self.kernel.row_bands[self.shape.rows].syms, Lanes(row, number))

    def corner(self, block: Block, place: Place, width: int) -> LaneScope:
        """The scope of one accumulator in a panel of `width` columns."""
        lanes, left = self.lanes, width - place.offset
        corner = block.scope.copy(lanes, self.builder.lane_mask(lanes, left) if left < lanes else None)
        self.bind_rows(corner, place.row, place.number)
        corner.bind(self.band.syms, Lanes(place.column, tuple(range(place.offset, place.offset + lanes))))
        return corner

    def prefetch(self, corners: Sequence[LaneScope]) -> None:
        """Asks for the lines that results will be stored in."""
        store = self.kernel.domain.placement.primary
        address = store.address(self.kernel.domain.indices(store))
        for corner in corners:
            where = corner.resolve(address)
            if where.vector is None and where.pattern is not None:
                self.builder.prefetch(store.buffer, where.base, where.offset + where.pattern[0])

    def finish(self, corner: LaneScope, value: Value) -> None:
        """Stores the results at one vector of sums."""
        row = Row(self.kernel.context, corner)
        reduction = self.shape.reduction
        (indices,) = reduction.result_indices
        initial = row.evaluator().value_at(reduction.view.outputs[0], indices)
        (result,) = self.shape.reducer.finish([value], [initial])
        row.provide(reduction.view.op.results[0], indices, result)
        evaluator = row.evaluator()
        domain = self.kernel.domain
        values = [evaluator.value_at(store.value, domain.indices(store)) for store in domain.stores]
        for store, stored in zip(domain.stores, values, strict=True):
            store.store(corner, domain.indices(store), stored)

    # -- sums that were kept

    def clear(self, block: Block, row: Dim, height: int) -> None:
        """Makes the sums of some rows zero."""

        def at(scope: LaneScope, place: Place) -> None:
            zero = self.builder.const(0, vector(self.shape.reducer.state_elem, scope.lanes))
            self.sums.store(block.rows, block.columns, scope, place, zero)

        self._each(block, row, height, at)

    def finish_kept(self, block: Block, row: Dim, height: Dim) -> None:
        """Stores the results of some rows."""

        def at(scope: LaneScope, place: Place) -> None:
            self.finish(scope, self.sums.load(block.rows, block.columns, scope, place))

        self._each(block, row, height, at)

    def _each(self, block: Block, row: Dim, height: Dim, body: Callable[[LaneScope, Place], None]) -> None:
        """Runs `body` for every vector of sums of some rows."""
        builder = self.builder
        plan = self.kernel.vector_plan(self.lanes)
        with builder.for_(0, height, 1, covered=True) as loop:
            here, number = block.scope.copy(), builder.add(row, loop.index)
            self.bind_rows(here, number)

            def at(scopes: list[LaneScope]) -> None:
                for scope in scopes:
                    body(scope, Place(number, 0, scope.lanes_of(self.band.syms).base, 0))

            vector_loop(here, self.band, block.columns, plan, at)
