"""Sorts by codes: numbers that everything that is sorted follows from.

Enters: a sort whose order is that of one number. Leaves: its plan, if its elements can be told from such numbers, or
the places that they came from fit beside these. Short rows of which many lie side by side are sorted in lanes, others
one by one in vectors, and long ones in steps. What is sorted in other ways has no plan here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.sort_orders import LOCAL_ROW_BYTES, place_bits, sort_order
from ...dialects.sort_runs import SortRuns, sort_runs
from ...ir.core import Operation
from .. import configure
from ..complex_values import is_complex
from ..configure import Band
from ..dispatch import KernelContext
from ..indexing import LaneScope, Sym
from ..nest import loop_nest, tile_ranges
from ..plan import Plan, count_factors
from ..stores import ResultStore
from ..target import Target
from .column_sort import ColumnSort
from .key_sort import KeySort
from .sort_codes import Code, ElementCode, PairCode, SortedTensors
from .sort_keys import ElementKey
from .sort_steps import SortStep, workgroups_of

# Rows of so many elements one after the other are sorted in lanes, and of those side by side as many as fit.
_SHORT = 256
_COLUMN_BYTES = 96 << 10


def code_plan(
    context: KernelContext, target: Target, op: Operation, stores: Sequence[ResultStore], domain: Sequence[Sym],
    bands: list[Band],
) -> Plan | None:  # fmt: skip
    """The plan of a sort by codes; `bands` are its rows."""
    order, along, runs = sort_order(op.region.blocks[0]), domain[op.dimension], sort_runs(op)
    values = list(op.outputs)
    if order is None or along.extent.__class__ is not int or any(is_complex(value.type) for value in values):
        return None
    extent = along.extent if runs is None else runs.extent
    if runs is not None and runs.make == runs.padded:
        values = values[:-1]
    bits = place_bits(order, len(values), extent) if runs is None else runs.place_bits
    if bits is None:
        return None
    tensors = SortedTensors(context, values, stores, domain, along)
    code = PairCode(tensors, order, bits) if bits else ElementCode(tensors, ElementKey(order))
    if runs is not None:
        return _step_plan(context, target, code, runs, op, stores, bands)
    is_inner = op.dimension == len(domain) - 1
    if bands and _fits_lanes(target, code, extent, bands[-1], is_inner):
        return _column_plan(context, target, code, extent, bands, is_inner)
    if extent * code.bits > LOCAL_ROW_BYTES * 8:
        return None
    keys = KeySort(target, code, extent)
    memory = keys.local_memory()
    tiles = configure.tile_bands(bands, 0.2 * extent * extent.bit_length(), [1] * len(bands))
    ranges = tile_ranges(context.builder, bands, tiles)
    loop_nest(LaneScope(context.builder, 1), bands, ranges, lambda scope: keys.row(scope, memory))
    return _plan(context, bands, tiles)


def _fits_lanes(target: Target, code: Code, extent: int, band: Band, is_inner: bool) -> bool:
    """Whether rows are sorted in lanes: if there are enough, and if they are short or lie side by side."""
    count = band.extent
    if count.__class__ is not int or count < target.lanes(code.bits):
        return False
    return extent <= (_SHORT if is_inner else _COLUMN_BYTES // target.vector_bytes)


def _column_plan(context, target, code: Code, extent: int, bands: Sequence[Band], is_inner: bool) -> Plan:
    """The plan of sorts in lanes."""
    columns = ColumnSort(target, code, extent, bands[-1], is_inner)
    nanoseconds = 0.1 * extent * extent.bit_length()
    tiles = configure.tile_bands(bands, nanoseconds, [1] * (len(bands) - 1) + [columns.lanes])
    ranges = tile_ranges(context.builder, bands, tiles)

    def groups(scope: LaneScope) -> None:
        with context.builder.for_(ranges[-1].start, ranges[-1].stop, columns.lanes) as loop:
            columns.group(scope, loop.index)

    loop_nest(LaneScope(context.builder, 1), bands[:-1], ranges[:-1], groups)
    return _plan(context, bands, tiles)


def _step_plan(context, target, code: Code, runs: SortRuns, op: Operation, stores, bands) -> Plan:
    """The plan of one step of a long sort."""
    parts = workgroups_of(runs)
    part = Sym("part", parts)
    bands = [*bands, Band((part,), parts)]
    is_last = runs.have > 0 and runs.make == runs.padded
    step = SortStep(KeySort(target, code, runs.extent), runs, op.outputs[-1], None if is_last else stores[0])
    tiles = configure.Tiles([1] * len(bands))
    ranges = tile_ranges(context.builder, bands, tiles)
    loop_nest(
        LaneScope(context.builder, 1), bands, ranges, lambda scope: step.part(scope, scope.lanes_of((part,)).base)
    )
    return _plan(context, bands, tiles)


def _plan(context: KernelContext, bands: Sequence[Band], tiles: configure.Tiles) -> Plan:
    return Plan(context.builder.finish(), count_factors(context, [b.extent for b in bands], tiles.sizes) or [1])
