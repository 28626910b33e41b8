"""Fourier transforms along a dim.

Enters: a dispatch with one transform (`dialects/fourier`) whose result is stored. Leaves: a kernel of one of two kinds.
Where results are contiguous along the transform, one row is done after the other (`fourier/rows`). Elsewhere lanes are
rows, which never meet (`fourier/columns`); where the operand is contiguous along the transform all the same, it is
transposed on its way in.
"""

from __future__ import annotations

from ...dialects.fourier import is_transform, transform_of
from ...ir.core import Operation
from .. import configure
from ..complex_values import Complex
from ..configure import Band
from ..dispatch import DispatchGraph, KernelContext
from ..elements import unsupported
from ..evaluate import Evaluator
from ..fourier.codelets import Codelets
from ..fourier.columns import Columns, chunks, cost_of, radices_of, slots_bytes, start_of
from ..fourier.rows import Rows, RowShape, power_of_two, row_shape
from ..indexing import Dim, Lanes, LaneScope, Sym, of
from ..loops import ELEMENT_BITS, MAX_LOCAL_BYTES, KernelBuilder, vector
from ..nest import Range, loop_nest, tile_ranges
from ..plan import Plan, count_factors
from ..stores import ResultStore
from ..structured import structured
from ..survey import Survey, survey
from ..target import Target

_NANOSECONDS_PER_OP = 0.3


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a Fourier transform."""
    return _FourierKernel(graph, target).build()


class _FourierKernel:
    def __init__(self, graph: DispatchGraph, target: Target):
        self.builder = KernelBuilder(graph.name)
        self.context = KernelContext(graph, self.builder)
        self.op: Operation = next(op for op in graph.ops if is_transform(op))
        self.transform = transform_of(self.op)
        self.view = structured(self.op)
        self.result = ResultStore(graph.stores[0], self.context)
        if len(graph.stores) != 1 or self.result.value.defining_op is not self.op:
            raise unsupported(graph.stores[-1], "it stores more than the result of a Fourier transform")
        self.length = self.transform.length
        self.elem = self.result.buffer.elem
        self.lanes = configure.lanes_for(target, ELEMENT_BITS[self.elem])
        outputs = [expression.position for expression in self.view.output_map(0)]
        extents: dict[int, Dim] = dict(zip(outputs, self.context.shape(self.result.value), strict=True))
        extents[self.transform.place] = self.length
        self.syms = [Sym(f"d{loop}", extents[loop]) for loop in range(self.view.rank)]
        self.place, self.frequency = self.syms[self.transform.place], self.syms[self.transform.frequency]
        self.rows = [sym for sym in self.syms if sym not in (self.place, self.frequency)]
        self.point = [of(sym) for sym in self.syms]
        self.result_point = tuple([self.point[loop] for loop in outputs])

    def build(self) -> Plan:
        builder = self.builder
        if any(sym.extent.__class__ is int and sym.extent == 0 for sym in self.rows):
            return Plan(builder.finish(), [0])
        if radices_of(self.length) is None:
            raise unsupported(self.op, f"its length {self.length} has a prime factor that is too long")
        found = survey(self.context, self.syms, lambda scope: self._store(scope, self._load(scope)))
        bands = configure.bands_of(self.rows, found, builder)
        number = self._lane_band(bands, found)
        if number is not None:
            return self._rows_side_by_side(bands, number, found)
        shape = row_shape(self.elem, self.lanes, self.length)
        if shape is None or shape.tail == 1:
            return self._one_by_one(bands)
        return self._along_rows(bands, shape)

    # -- elements

    def _load(self, scope: LaneScope) -> Complex:
        """The operand's elements at the scope's rows and places."""
        builder = self.builder
        ((operand, map_),) = self.view.input_maps()
        value = Evaluator(self.context, scope).operand_at(operand, map_, self.point, None)
        if value.__class__ is not Complex:
            value = Complex(value, builder.const(0, value.type))
        return Complex(builder.splat(value.re, scope.lanes), builder.splat(value.im, scope.lanes))

    def _store(self, scope: LaneScope, value: Complex) -> None:
        """Stores results at the scope's rows and frequencies."""
        if self.transform.scale != 1.0:
            codelets = Codelets(self.builder, vector(self.elem, value.lanes), self.transform.sign)
            value = codelets.scaled(value, self.transform.scale)
        self.result.store(scope, self.result_point, value)

    def _load_along(self, scope: LaneScope, base: Dim, offset: int, lanes: int) -> Complex:
        return self._load(_along(scope, self.place, base, offset, lanes))

    def _plan(self, bands: list[Band], tiles: configure.Tiles) -> Plan:
        return Plan(self.builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    # -- one row after the other

    def _along_rows(self, bands: list[Band], shape: RowShape) -> Plan:
        rows = Rows(self.builder, self.elem, shape, self.transform.sign)
        tiles = configure.tile_bands(bands, shape.cost * _NANOSECONDS_PER_OP, [1] * len(bands))

        def row(scope: LaneScope) -> None:
            rows.run(
                lambda base, offset, lanes: self._load_along(scope, base, offset, lanes),
                lambda base, offset, value: self._store(
                    _along(scope, self.frequency, base, offset, value.lanes), value
                ),
            )

        loop_nest(LaneScope(self.builder, 1), bands, tile_ranges(self.builder, bands, tiles), row)
        return self._plan(bands, tiles)

    def _one_by_one(self, bands: list[Band]) -> Plan:
        """Rows in scalars."""
        columns = self._columns(1, False)
        work = cost_of(self.length) * _NANOSECONDS_PER_OP
        tiles = configure.tile_bands(bands, work, [1] * len(bands))
        ranges = tile_ranges(self.builder, bands, tiles)
        loop_nest(LaneScope(self.builder, 1), bands, ranges, lambda scope: self._run_columns(scope, columns, False))
        return self._plan(bands, tiles)

    # -- rows side by side

    def _lane_band(self, bands: list[Band], found: Survey) -> int | None:
        """The band whose rows are the lanes; None where a row is done on its own."""
        store = next(access for access in found.accesses if access.store)
        if store.coefficients.get(self.frequency) == 2:
            return None
        for number in range(len(bands) - 1, -1, -1):
            if store.coefficients.get(bands[number].inner) == 2 and bands[number].extent.__class__ is int:
                return number
        return None

    def _is_transposed(self, band: Band, found: Survey) -> bool:
        """Whether the operand is contiguous along the transform and not along the lanes."""
        for access in found.accesses:
            step = access.coefficients.get(self.place, 0)
            if not access.store and not access.opaque and step in (1, 2):
                across = access.coefficients.get(band.inner, 0)
                if across.__class__ is not int or across > step:
                    return True
        return False

    def _column_lanes(self, band: Band) -> int:
        lanes = power_of_two(min(self.lanes, band.extent))
        while lanes > 1 and slots_bytes(self.elem, lanes, self.length) > MAX_LOCAL_BYTES:
            lanes //= 2
        return lanes

    def _columns(self, lanes: int, transposed: bool) -> Columns:
        in_memory = transposed or len(radices_of(self.length)) > 1
        return Columns(self.builder, self.elem, lanes, self.length, self.transform.sign, int(in_memory))

    def _rows_side_by_side(self, bands: list[Band], number: int, found: Survey) -> Plan:
        builder, band = self.builder, bands[number]
        lanes = self._column_lanes(band)
        transposed = self._is_transposed(band, found)
        columns = self._columns(lanes, transposed)
        work = cost_of(self.length) / lanes * _NANOSECONDS_PER_OP
        multiples = [lanes if k == number else 1 for k in range(len(bands))]
        tiles = configure.tile_bands(bands, work, multiples)
        ranges = tile_ranges(builder, bands, tiles)

        def vectors(scope: LaneScope) -> None:
            rng: Range = ranges[number]
            with builder.for_(rng.start, rng.stop, lanes) as loop:
                # The last vector begins earlier where they don't come out even.
                first = builder.min(loop.index, band.extent - lanes) if band.extent % lanes else loop.index
                if transposed:
                    self._fill_slots(scope, band, first, columns)
                self._run_columns(_along(scope, band.syms, first, 0, lanes), columns, transposed)

        outer = [k for k in range(len(bands)) if k != number]
        loop_nest(LaneScope(builder, 1), [bands[k] for k in outer], [ranges[k] for k in outer], vectors)
        return self._plan(bands, tiles)

    def _run_columns(self, scope: LaneScope, columns: Columns, filled: bool) -> None:
        lanes = scope.lanes

        def at(sym: Sym, base: Dim, offset: int) -> LaneScope:
            inner = scope.copy(lanes)
            inner.bind(sym, Lanes(base, offset))
            return inner

        columns.run(
            0,
            None if filled else lambda base, offset: self._load(at(self.place, base, offset)),
            lambda base, offset, value: self._store(at(self.frequency, base, offset), value),
        )

    def _fill_slots(self, scope: LaneScope, band: Band, first: Dim, columns: Columns) -> None:
        """Loads rows in vectors along the transform and transposes them into the slots."""
        builder = self.builder
        along = power_of_two(min(columns.lanes, self.length))
        with chunks(builder, self.length, along) as loop:
            start = start_of(builder, loop.index, self.length, along)
            rows = []
            for lane in range(columns.lanes):
                row = scope.copy(1)
                row.bind(band.syms, Lanes(first, lane))
                rows.append(self._load_along(row, start, 0, along))
            columns.store_rows(start, rows)


def _along(scope: LaneScope, syms: Sym | tuple[Sym, ...], base: Dim, offset: int, lanes: int) -> LaneScope:
    """A scope whose lanes are neighbours along a sym or band."""
    inner = scope.copy(lanes)
    inner.bind(syms, Lanes(base, offset if lanes == 1 else tuple(range(offset, offset + lanes))))
    return inner
