"""Fourier transforms along a dim.

Enters: a dispatch with one transform (`dialects/fourier`) whose result is stored. Leaves: a kernel of one of two kinds.
Where results are contiguous along the transform, one row is done after the other (`fourier/rows`; `fourier/dense` if
its length has long prime factors), real signals as complex ones of half the length (`fourier/halves`). Elsewhere lanes
are rows, which never meet (`fourier/columns`); where the operand is contiguous along the transform all the same, it is
transposed on its way in.
"""

from __future__ import annotations

from functools import partial

from ...dialects.fourier import OPERAND, RESULT, is_transform, transform_of
from ...ir.core import Operation
from .. import configure
from ..complex_values import Complex, is_complex
from ..configure import Band
from ..dispatch import DispatchGraph, KernelContext
from ..elements import unsupported
from ..evaluate import Evaluator
from ..fourier.codelets import Codelets
from ..fourier.columns import Columns, chunks, cost_of, radices_of, slots_bytes, start_of
from ..fourier.dense import DenseRows
from ..fourier.halves import Halves
from ..fourier.rows import Load, Rows, Store, power_of_two, row_shape
from ..indexing import Dim, Lanes, LaneScope, Sym, of
from ..loops import BOOL, ELEMENT_BITS, KernelBuilder, vector
from ..nest import Range, loop_nest, tile_ranges
from ..plan import Plan, count_factors
from ..stores import ResultStore
from ..structured import structured
from ..survey import Survey, survey
from ..target import LEAST_LOCAL_BYTES, Target

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
        self.is_complex = is_complex(self.result.value.type)
        self.lanes = configure.lanes_for(target, ELEMENT_BITS[self.elem])
        outputs = [expression.position for expression in self.view.output_map(0)]
        extents: dict[int, Dim] = dict(zip(outputs, self.context.shape(self.result.value), strict=True))
        extents[self.transform.place] = self.transform.places
        self.syms = [Sym(f"d{loop}", extents[loop]) for loop in range(self.view.rank)]
        self.place, self.frequency = self.syms[self.transform.place], self.syms[self.transform.frequency]
        self.rows = [sym for sym in self.syms if sym not in (self.place, self.frequency)]
        self.point = [of(sym) for sym in self.syms]
        self.result_point = tuple([self.point[loop] for loop in outputs])

    def build(self) -> Plan:
        builder = self.builder
        if any(sym.extent.__class__ is int and sym.extent == 0 for sym in self.rows):
            return Plan(builder.finish(), [0])
        found = survey(self.context, self.syms, lambda scope: self._store(scope, self._load(scope)))
        bands = configure.bands_of(self.rows, found, builder)
        number = self._lane_band(bands, found)
        return self._along_rows(bands) if number is None else self._rows_side_by_side(bands, number, found)

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
        """Stores results at the scope's rows and frequencies, of a real one the real part."""
        if self.transform.scale != 1.0:
            value = self._scaled(value)
        self.result.store(scope, self.result_point, value if self.is_complex else value.re)

    def _scaled(self, value: Complex) -> Complex:
        codelets = Codelets(self.builder, vector(self.elem, value.lanes), self.transform.sign)
        return codelets.scaled(value, self.transform.scale)

    def _load_along(self, scope: LaneScope, base: Dim, offset: int, lanes: int) -> Complex:
        return self._load(_along(scope, self.place, base, offset, lanes))

    def _store_along(self, scope: LaneScope, base: Dim, offset: int, value: Complex) -> None:
        self._store(_along(scope, self.frequency, base, offset, value.lanes), value)

    def _load_pairs(self, scope: LaneScope, base: Dim, offset: int, lanes: int) -> Complex:
        """Neighbours in a real row as complex numbers."""
        builder, first = self.builder, self.builder.mul(base, 2)
        parts = [self._load_along(scope, first, 2 * offset + k * lanes, lanes).re for k in (0, 1)]
        if lanes > 1:
            parts = [builder.shuffle(*parts, range(k, 2 * lanes, 2)) for k in (0, 1)]
        return Complex(*parts)

    def _store_pairs(self, scope: LaneScope, base: Dim, offset: int, value: Complex) -> None:
        """Complex numbers as neighbours in a real row."""
        builder, lanes, first = self.builder, value.lanes, self.builder.mul(base, 2)
        value = self._scaled(value)
        parts = [value.re, value.im]
        if lanes > 1:
            picks = [k + part * lanes for k in range(lanes) for part in (0, 1)]
            parts = [builder.shuffle(*parts, picks[:lanes]), builder.shuffle(*parts, picks[lanes:])]
        for number, part in enumerate(parts):
            place = _along(scope, self.frequency, first, 2 * offset + number * lanes, lanes)
            self.result.store(place, self.result_point, part)

    def _plan(self, bands: list[Band], tiles: configure.Tiles) -> Plan:
        return Plan(self.builder.finish(), count_factors(self.context, [b.extent for b in bands], tiles.sizes) or [1])

    # -- one row after the other

    def _along_rows(self, bands: list[Band]) -> Plan:
        builder, sign, half = self.builder, self.transform.sign, self.transform.half
        length = self.length if half is None else self.length // 2
        halves = None if half is None else Halves(builder, self.elem, self.lanes, length, sign)
        shape = row_shape(self.elem, self.lanes, length)
        if radices_of(length) is None:
            dense = DenseRows(builder, self.elem, self.lanes, length, sign)
            run, work = dense.run, dense.cost
        elif shape is None or shape.tail == 1:
            columns = self._columns(1, length, False)
            work = cost_of(length)

            def run(load: Load, store: Store) -> None:
                columns.run(0, lambda base, offset: load(base, offset, 1), store)
        else:
            run, work = Rows(builder, self.elem, shape, sign).run, shape.cost

        def row(scope: LaneScope) -> None:
            load, store = partial(self._load_along, scope), partial(self._store_along, scope)
            if halves is None:
                run(load, store)
            elif half == RESULT:
                run(partial(self._load_pairs, scope), halves.store)
                halves.take_apart(store)
            else:
                halves.join(load)
                run(halves.load, partial(self._store_pairs, scope))

        if halves is not None:
            work += 20 * length / halves.lanes
        tiles = configure.tile_bands(bands, work * _NANOSECONDS_PER_OP, [1] * len(bands))
        loop_nest(LaneScope(builder, 1), bands, tile_ranges(builder, bands, tiles), row)
        return self._plan(bands, tiles)

    # -- rows side by side

    def _lane_band(self, bands: list[Band], found: Survey) -> int | None:
        """The band whose rows are the lanes; None where a row is done on its own."""
        store = next(access for access in found.accesses if access.store)
        if self.transform.half == OPERAND or radices_of(self.length) is None:
            return None
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
            if not access.store and self.place not in access.opaque and step in (1, 2):
                across = access.coefficients.get(band.inner, 0)
                if band.inner in access.opaque or across.__class__ is not int or across > step:
                    return True
        return False

    def _column_lanes(self, band: Band) -> int:
        lanes = power_of_two(min(self.lanes, band.extent))
        while lanes > 1 and slots_bytes(self.elem, lanes, self.length) > LEAST_LOCAL_BYTES:
            lanes //= 2
        return lanes

    def _columns(self, lanes: int, length: int, transposed: bool) -> Columns:
        in_memory = transposed or len(radices_of(length)) > 1
        return Columns(self.builder, self.elem, lanes, length, self.transform.sign, int(in_memory))

    def _rows_side_by_side(self, bands: list[Band], number: int, found: Survey) -> Plan:
        builder, band = self.builder, bands[number]
        lanes = self._column_lanes(band)
        transposed = self._is_transposed(band, found)
        columns = self._columns(lanes, self.length, transposed)
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

        def store(base: Dim, offset: int, value: Complex) -> None:
            """Stores a frequency that the result has: `base` is less than the numbers of the last round lie apart."""
            last, builder = self.frequency.extent - 1, self.builder
            if base.__class__ is int or offset + columns.length // columns.radices[-1] - 1 <= last:
                if offset <= last:
                    self._store(at(self.frequency, base, offset), value)
            elif offset <= last:
                limit = builder.index(last + 1 - offset)
                with builder.if_(builder.op("arith.cmpi", (base, limit), BOOL, "slt")):
                    self._store(at(self.frequency, base, offset), value)

        columns.run(
            0,
            None if filled else lambda base, offset: self._load(at(self.place, base, offset)),
            store,
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
