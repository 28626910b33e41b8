"""One step of a sort in runs (`dialects/sort_runs`).

Enters: a sort with the attribute of a step. Leaves: what a workgroup does of it: it makes one run of codes, or merges
its part of a pair of runs, into longer runs of codes or into the results.
"""

from __future__ import annotations

from ...dialects.sort_runs import SortRuns
from ...ir.core import Value as TensorValue
from ..dispatch import KernelContext
from ..evaluate import Evaluator
from ..indexing import Dim, Index, Lanes, LaneScope
from ..loops import Buffer, Value
from ..stores import ResultStore
from .key_sort import KeySort
from .merge_sort import RunSorter

#: Workgroups that merge a pair of runs.
_PARTS = 8


def workgroups_of(runs: SortRuns) -> int:
    """The workgroups for a row."""
    return _PARTS * runs.padded // runs.make if runs.have else runs.padded // runs.make


class SortStep:
    """The loops of a step. Codes are read from the memory of `input` and made in that of `made`."""

    def __init__(self, keys: KeySort, runs: SortRuns, input: TensorValue, made: ResultStore | None):
        self.keys, self.runs, self.builder = keys, runs, keys.builder
        self._tensors, self._input, self._made = keys.tensors, input, made
        self._target = None if made is None else self._codes_in(made.buffer, True)

    def part(self, scope: LaneScope, number: Dim) -> None:
        """The work of one workgroup on a row."""
        scope, along = scope.copy(), self._tensors.along
        scope.bind(along, Lanes(0))
        runs, number = self.runs, self.builder.index(number)
        if runs.have:
            self._merge(scope, number)
        else:
            base = self._address(scope, self._made.address(self._tensors.point))
            there = scope.within((along,), (0, runs.extent - 1))
            other = self.builder.add(base, runs.padded)
            self.keys.make_run(there, self._target, base, other, number, runs.make)

    def _merge(self, scope: LaneScope, number: Value) -> None:
        builder, runs, keys = self.builder, self.runs, self.keys
        buffer, index = place_in_memory(self._tensors.context, scope, self._input, self._tensors.point)
        memory, base = self._codes_in(buffer, False), self._address(scope, index)
        sorter = RunSorter(builder, keys.shape, keys.code.bits, memory, self._target)
        size = runs.make // _PARTS
        pair = builder.div(number, _PARTS)
        first, start = builder.mul(pair, runs.make), builder.mul(builder.rem(number, _PARTS), size)
        place, stop = builder.add(base, first), builder.add(start, size)
        if self._made is None:
            keys.merge_into(sorter, scope, place, runs.have, runs.make, start, stop)
            return
        target = builder.add(self._address(scope, self._made.address(self._tensors.point)), first)
        store = sorter.run_store(target, runs.make, builder.rem(pair, 2))
        sorter.merge_pair(place, runs.have, runs.make, runs.have.bit_length(), start, stop, store)

    def _address(self, scope: LaneScope, index: Index) -> Dim:
        """The place of a code in memory; a row of elements has room for whole codes."""
        where = scope.resolve(index)
        ratio = self.keys.code.bits // self._tensors.element_bits
        return self.builder.div(self.builder.add(where.base, where.offset), ratio)

    def _codes_in(self, buffer: Buffer, writable: bool) -> Buffer:
        """The memory of a tensor as codes."""
        name, elem = f"{buffer.name}_codes", self.keys.code.type.elem
        return self.builder.binding(name, elem, buffer.number, buffer.byte_offset, writable)


class _Probe(LaneScope):
    """Notes what is read."""

    found: list[tuple[Buffer, Index]]

    def touch(self, buffer: Buffer, index: Index, store: bool) -> None:
        self.found.append((buffer, index))


def place_in_memory(
    context: KernelContext, scope: LaneScope, value: TensorValue, point: tuple[Index, ...]
) -> tuple[Buffer, Index]:
    """Where an element of a tensor that is only read lies."""
    probe = _Probe(scope.builder, 1)
    probe.found = []
    probe.take(scope)
    Evaluator(context, probe).value_at(value, point)
    ((buffer, index),) = probe.found
    return buffer, index
