"""One step of a sort in runs (`dialects/sort_runs`).

Enters: a sort with the attribute of a step. Leaves: what a workgroup does of it: it makes one run of keys, or merges
its part of a pair of runs, into longer runs of keys or into elements of the result.
"""

from __future__ import annotations

from ...dialects.sort_runs import SortRuns
from ...ir.core import Value as TensorValue
from ..dispatch import KernelContext
from ..evaluate import Evaluator
from ..indexing import Dim, Index, Lanes, LaneScope, Sym
from ..loops import Buffer, Value
from ..stores import ResultStore
from .key_sort import KeySort, ResultRow, Row
from .merge_sort import RunSorter

#: Workgroups that merge a pair of runs.
_PARTS = 8


def workgroups_of(runs: SortRuns) -> int:
    """The workgroups for a row."""
    return _PARTS * runs.padded // runs.make if runs.have else runs.padded // runs.make


class SortStep:
    """The loops of a step. `place` is a point of the tensors with `along` for the dim that is sorted."""

    def __init__(
        self, keys: KeySort, runs: SortRuns, place: tuple[Index, ...], along: Sym, input: TensorValue,
        store: ResultStore, elements: Row, result: ResultRow,
    ):  # fmt: skip
        self.keys, self.runs, self.builder = keys, runs, keys.builder
        self._place, self._along = place, along
        self._elements, self._result = elements, result
        self._context, self._input, self._store = keys.context, input, store
        self._made: Buffer | None = None
        if runs.make < runs.padded or not runs.have:
            self._made = self._view(store.buffer, True)

    def part(self, scope: LaneScope, number: Dim) -> None:
        """The work of one workgroup on a row."""
        scope = scope.copy()
        scope.bind(self._along, Lanes(0))
        runs, number = self.runs, self.builder.index(number)
        if runs.have:
            self._merge(scope, number)
        else:
            base = self._address(scope, self._store.address(self._place))
            there = scope.within((self._along,), (0, runs.extent - 1))
            other = self.builder.add(base, runs.padded)
            self.keys.make_run(there, self._elements, self._made, base, other, number, runs.make)

    def _merge(self, scope: LaneScope, number: Value) -> None:
        builder, runs, keys = self.builder, self.runs, self.keys
        buffer, index = read_place(self._context, scope, self._input, self._place)
        memory, base = self._view(buffer, False), self._address(scope, index)
        sorter = RunSorter(builder, keys.shape, keys.key.bits, memory, self._made)
        size = runs.make // _PARTS
        pair = builder.div(number, _PARTS)
        first, start = builder.mul(pair, runs.make), builder.mul(builder.rem(number, _PARTS), size)
        place, stop = builder.add(base, first), builder.add(start, size)
        if self._made is None:
            keys.merge_into(
                sorter, scope, self._elements, self._result, place, runs.have, runs.make, start, stop
            )
            return
        target = builder.add(self._address(scope, self._store.address(self._place)), first)
        store = sorter.run_store(target, runs.make, builder.rem(pair, 2))
        sorter.merge_pair(place, runs.have, runs.make, runs.have.bit_length(), start, stop, store)

    def _address(self, scope: LaneScope, index: Index) -> Dim:
        where = scope.resolve(index)
        return self.builder.add(where.base, where.offset)

    def _view(self, buffer: Buffer, writable: bool) -> Buffer:
        """The memory of a tensor as keys."""
        name = f"{buffer.name}_keys"
        return self.builder.binding(name, self.keys.key.elem, buffer.number, buffer.byte_offset, writable)


class _Probe(LaneScope):
    """Notes what is read."""

    found: list[tuple[Buffer, Index]]

    def touch(self, buffer: Buffer, index: Index, store: bool) -> None:
        self.found.append((buffer, index))


def read_place(
    context: KernelContext, scope: LaneScope, value: TensorValue, place: tuple[Index, ...]
) -> tuple[Buffer, Index]:
    """Where a tensor that is only read lies in memory."""
    probe = _Probe(scope.builder, 1)
    probe.found = []
    probe._syms, probe._groups = dict(scope._syms), list(scope._groups)
    Evaluator(context, probe).value_at(value, place)
    ((buffer, index),) = probe.found
    return buffer, index
