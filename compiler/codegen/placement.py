"""Where in the domain of a dispatch each of its results is.

Enters: the domain's syms (the dims of the first, largest result) and what evaluating that result on paper has shown.
Leaves: for every further result the index of each of its dims.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.core import Value
from . import indexing
from .dispatch import KernelContext
from .elements import unsupported
from .evaluate import Indices
from .indexing import Dim, Index, Sym, of, same_extent
from .kept_values import ValueUses
from .stores import ResultStore
from .structured import dim_of, is_structured, structured

# What a dim is taken for whose extent is known only at run time.
_USUAL_EXTENT = 256


def largest(stores: Sequence[ResultStore]) -> ResultStore:
    """The result whose dims are the domain; of equal ones the last, since it may read others at dims of its own."""

    def size(store: ResultStore) -> tuple[int, int]:
        points = 1
        for n in store.shape:
            points *= n if n.__class__ is int else _USUAL_EXTENT
        return points, len(store.shape)

    return max(reversed(stores), key=size)


def syms_of(indices: Sequence[Index]) -> set[Sym]:
    return {term for index in indices for term in index.terms if term.__class__ is Sym}


def is_plain(index: Index) -> bool:
    """Whether an index is one dim, or 0."""
    if index.constant or len(index.terms) > 1:
        return False
    return all(term.__class__ is Sym and coefficient == 1 for term, coefficient in index.terms.items())


class Placement:
    """The index of every result; the largest one is at the syms in order."""

    def __init__(self, context: KernelContext, stores: Sequence[ResultStore], uses: ValueUses):
        self.context = context
        self.uses = uses
        self.primary = largest(stores)
        #: The largest first, then those that read others before these: where one is read, it has its place.
        self.order = [self.primary, *(store for store in reversed(stores) if store is not self.primary)]
        self.syms = [Sym(f"d{k}", extent) for k, extent in enumerate(self.primary.shape)]
        self._indices: dict[ResultStore, Indices] = {self.primary: tuple([of(sym) for sym in self.syms])}
        self.reduced_at: dict[Value, Indices] = {}
        """Results of reductions and where they are needed."""
        self._places: dict[Value, list[Index | None]] = {}

    def __getitem__(self, store: ResultStore) -> Indices:
        return self._indices[store]

    def place(self, store: ResultStore) -> Indices:
        """Finds the index of a result, once everything larger has been evaluated."""
        found = self._indices.get(store)
        if found is None:
            found = self._where_needed(store) or self._beside_a_sibling(store) or self._by_producers(store)
            self._indices[store] = found
        return found

    def _where_needed(self, store: ResultStore) -> Indices | None:
        """The one index at which another result reads it."""
        places = set(self.uses.seen.get(store.value, {}).values())
        if len(places) != 1:
            return None
        (indices,) = places
        plain = [index for index in indices if index.terms]
        if not all(map(is_plain, indices)) or len(syms_of(plain)) != len(plain):
            return None
        return indices

    def _beside_a_sibling(self, store: ResultStore) -> Indices | None:
        """Another result of the same op tells at which of its loops the domain is."""
        op = store.value.defining_op
        if op is None or not is_structured(op):
            return None
        view = structured(op)
        for other, indices in self._indices.items():
            if other.value.defining_op is op and not view.reductions:
                loops = dict(zip(map(dim_of, view.output_map(other.value.index)), indices, strict=True))
                own = [loops.get(dim_of(e)) for e in view.output_map(store.value.index)]
                if None not in own:
                    return tuple(own)
        return None

    def _by_producers(self, store: ResultStore) -> Indices:
        """Where the reductions behind it have their results; for dims of which they say nothing, those of the domain in
        order. A dim of one element is at 0. All reductions of a dispatch have the same rows: one that is met here for
        the first time has those of the others, wherever else its operands are read."""
        self._places = {}
        known = self._distinct(self._places_of(store.value), store)
        rows = syms_of([index for indices in self.reduced_at.values() for index in indices])
        has_rows = bool(rows) and self._has_new_reduction(store.value)
        if has_rows:
            known = [index if index is None or syms_of([index]) <= rows else None for index in known]
        left = [sym for sym in self.syms if sym not in syms_of([index for index in known if index is not None])]
        if has_rows:
            left.sort(key=lambda sym: sym not in rows)
        indices = []
        for index, size in zip(known, store.shape, strict=True):
            if index is None and size.__class__ is int and size == 1:
                index = indexing.ZERO
            elif index is None:
                index = of(self._next_dim(left, size, store))
            indices.append(index)
        return tuple(indices)

    def _has_new_reduction(self, value: Value) -> bool:
        """Whether a value is made from the result of a reduction that has no place yet."""
        seen, pending = set(), [value]
        while pending:
            at = pending.pop()
            op = at.defining_op
            if op is None or at in seen or at in self.reduced_at:
                continue
            seen.add(at)
            if is_structured(op) and structured(op).reductions:
                return True
            pending += op.operands
        return False

    def _distinct(self, places: Sequence[Index | None], store: ResultStore) -> list[Index | None]:
        """The places that can be those of a result: each of its dims is along another dim of the domain, as large as
        itself. An operand that is read twice, as `x[:, None] - x[None, :]` does, tells the same one for both; where
        another reduction reads it, it tells what that one reduces."""
        taken: set[Sym] = set()
        distinct: list[Index | None] = []
        for index, size in zip(places, store.shape, strict=True):
            syms = set() if index is None else syms_of([index])
            fits = all(sym in self.syms and same_extent(sym.extent, size) for sym in syms) if syms else size == 1
            distinct.append(index if fits and not syms & taken else None)
            taken |= syms
        return distinct

    def _next_dim(self, left: list[Sym], size: Dim, store: ResultStore) -> Sym:
        sym = next((sym for sym in left if same_extent(sym.extent, size)), None)
        if sym is None:
            raise unsupported(
                store.op,
                f"its shape {store.shape} does not fit the other results, {self.primary.shape}; split the dispatch",
            )
        left.remove(sym)
        return sym

    def _places_of(self, value: Value) -> list[Index | None]:
        found = self._places.get(value)
        if found is None:
            found = self._places[value] = self._find_places(value)
        return found

    def _find_places(self, value: Value) -> list[Index | None]:
        if value in self.reduced_at:
            return list(self.reduced_at[value])
        seen = set(self.uses.seen.get(value, {}).values())
        if len(seen) == 1:
            (indices,) = seen
            if all(map(is_plain, indices)):
                return list(indices)
        op = value.defining_op
        places: list[Index | None] = [None] * len(value.type.shape)
        if op is not None and is_structured(op):
            view = structured(op)
            loops: list[Index | None] = [None] * view.rank
            for operand, map_ in view.input_maps():
                for expression, index in zip(map_, self._places_of(operand) if map_ else (), strict=True):
                    position = dim_of(expression)
                    if position is not None and loops[position] is None:
                        loops[position] = index
            positions = [dim_of(expression) for expression in view.output_map(value.index)]
            return [None if position is None else loops[position] for position in positions]
        if op is not None and op.name.startswith(("arith.", "math.")):
            for operand in op.operands:
                if len(getattr(operand.type, "shape", ())) == len(places):
                    places = [x if x is not None else y for x, y in zip(places, self._places_of(operand), strict=True)]
        return places
