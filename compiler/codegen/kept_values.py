"""Values of a row that several stages need: computed once, kept in workgroup local memory.

Enters: what each stage of a row-wise dispatch evaluates at every point. Leaves: the `KeptValue`s that are worth
keeping (what is dear to compute, such as the exponential in a softmax), and the loads and stores that keep them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..ir.core import Operation, Value
from . import indexing
from .complex_values import is_complex
from .dispatch import KernelContext
from .elements import element_name
from .evaluate import Evaluator, Indices
from .indexing import LaneScope, Sym
from .loops import Buffer, storage_bytes
from .loops import Value as LoopValue
from .memory import load_at, store_at
from .structured import is_structured
from .survey import op_cost

# Storing and loading again takes about as long as this many ops.
_KEEP_COST = 8.0
_KEEP_BYTES = 96 << 10


@dataclass(frozen=True)
class KeptValue:
    """A tensor value at `indices`, computed in stage number `stage` and read by later ones."""

    value: Value
    indices: Indices
    stage: int


class ValueUses:
    """Which values each stage evaluates, and at which index."""

    def __init__(self):
        self.seen: dict[Value, dict[Operation | None, Indices]] = {}

    def note(self, user: Operation | None, value: Value, indices: Indices) -> None:
        """`user` is the reduction that needs the value, None for the results themselves."""
        self.seen.setdefault(value, {}).setdefault(user, indices)

    def worth_keeping(
        self, stage_of: dict[Operation | None, int], roots: Sequence[Sequence[Value]], reduced: set[Sym]
    ) -> list[KeptValue]:
        """The values to keep, consumers before producers: what lies behind a kept value is not needed again.

        `stage_of` numbers the users that run over all of `reduced`, `roots` are the values that each stage starts from.
        A value counts that depends on all of the reduced syms.
        """
        final = {op for op in stage_of if op is not None}
        reduced = {sym for sym in reduced if not (sym.extent.__class__ is int and sym.extent == 1)}
        kept: dict[Value, KeptValue] = {}
        for value in sorted(self.seen, key=_position, reverse=True):
            places = {stage_of[user]: at for user, at in self.seen[value].items() if user in stage_of}
            if (
                is_complex(value.type)
                or len(places) < 2
                or len(set(places.values())) > 1
                or _cost(value, final) < _KEEP_COST
            ):
                continue
            first = min(places)
            if not reduced <= {term for index in places[first] for term in index.terms}:
                continue
            if any(value in _reached(roots[s], kept, s, final) for s in places if s > first):
                kept[value] = KeptValue(value, places[first], first)
        return list(kept.values())


def _position(value: Value) -> int:
    op = value.defining_op
    op.block._number_ops()
    return op._order


def _cost(value: Value, final: set[Operation]) -> float:
    """Ops behind a value."""
    total, pending, seen = 0.0, [value.defining_op], set()
    while pending:
        op = pending.pop()
        if op is None or op in seen or op in final:
            continue
        seen.add(op)
        if is_structured(op):
            total += sum(op_cost(inner.name) for inner in op.walk()) - 2
        elif op.name.startswith(("arith.", "math.")):
            total += op_cost(op.name)
        pending += [operand.defining_op for operand in op.operands]
    return total


def _reached(roots: Sequence[Value], kept: dict[Value, KeptValue], stage: int, final) -> set[Value]:
    """The values that a stage computes, given those that earlier ones keep."""
    pending, seen = list(roots), set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        op = value.defining_op
        stored = value in kept and kept[value].stage < stage
        if op is not None and not stored and op not in final:
            pending += op.operands
    return seen


class RowMemory:
    """Local memory for the kept values of the rows that are worked on side by side."""

    def __init__(self, context: KernelContext, reduced: Sequence[Sym], values: Sequence[KeptValue]):
        self.context = context
        self.values = list(values)
        self._reduced = list(reduced)
        self._buffers: dict[tuple[Value, int], Buffer] = {}
        self._points = 1
        for sym in reduced:
            if sym.extent.__class__ is not int:
                self.values = []
            else:
                self._points *= sym.extent

    def fit(self, lanes: int, rows: int) -> None:
        """Drops what is too large to keep for `rows` rows of `lanes` lanes; those values are computed again."""
        left = _KEEP_BYTES
        for kept in list(self.values):
            size = self._points * lanes * rows * storage_bytes(element_name(kept.value.type))
            if size > left:
                self.values.remove(kept)
            else:
                left -= size

    def of_stage(self, stage: int) -> list[KeptValue]:
        return [kept for kept in self.values if kept.stage == stage]

    def _buffer(self, kept: KeptValue, row: int, lanes: int) -> Buffer:
        key = (kept.value, row)
        found = self._buffers.get(key)
        if found is None:
            name = f"row{row}_{len(self._buffers)}"
            elem = element_name(kept.value.type)
            found = self._buffers[key] = self.context.builder.local(name, elem, self._points * lanes)
        return found

    def _index(self, lanes: int):
        builder = self.context.builder
        strides = self.context.row_major(tuple([sym.extent for sym in self._reduced]))
        linear = indexing.linear([indexing.of(sym) for sym in self._reduced], strides, builder)
        return indexing.scale(linear, lanes, builder)

    def store(self, kept: KeptValue, row: int, row_lanes: int, evaluator: Evaluator) -> None:
        """Keeps the value of the point that the evaluator is at. `row_lanes` is how many rows a vector has."""
        value = evaluator.value_at(kept.value, kept.indices)
        scope, buffer = evaluator.scope, self._buffer(kept, row, row_lanes)
        if row_lanes == 1:
            store_at(scope, buffer, self._index(1), value)
        else:
            builder = self.context.builder
            where = scope.resolve(self._index(row_lanes))
            builder.store(builder.splat(value, row_lanes), buffer, where.base, where.offset)

    def load(self, kept: KeptValue, row: int, row_lanes: int, scope: LaneScope) -> LoopValue:
        buffer = self._buffer(kept, row, row_lanes)
        if row_lanes == 1:
            return load_at(scope, buffer, self._index(1), None)
        where = scope.resolve(self._index(row_lanes))
        return self.context.builder.load(buffer, where.base, where.offset, row_lanes)
