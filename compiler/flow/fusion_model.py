"""What may become one dispatch: at which indices, how often and at what cost a group of ops reads each value.

Enters: tensor ops, consumers before producers. Leaves: a `FusionGroup` that says whether one more producer may join it.

A group has one iteration domain, the dims of its results, and further dims along which it reduces; all are numbered. A
value that the group reads is needed at one tuple of dims for each place that reads it. A reduction may join where its
result is needed at the group's *rows* alone, the same for all of them: then every workgroup has whole rows, and none
waits for another. A contraction may join where its result is needed at the whole domain.

Work moves out of the loops that it does not depend on, so a value of a row is computed once a row; a value needed at
inner dims alone is computed again for each round of the loops around them, which is fine as long as that is little.

A long program reads many values half way, and few where it begins. So a group may read too many while it grows; if it
still does in the end, or is too large, it goes back to where it needed the fewest values of the ops that it gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from pyiree.compiler.dialects.fourier import is_transform
from pyiree.compiler.dialects.iree_linalg_ext import ScanOp, ScatterOp, SortOp, TopkOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.flow.fused_indices import (
    ZERO,
    Index,
    Indices,
    collapsed,
    expanded,
    has_moved,
    plain_dims,
    view_reads,
)
from pyiree.compiler.flow.fused_ops import (
    CHEAP,
    is_made_by,
    is_plain_output,
    is_turned_round,
    is_worth_copying,
    makes_columns,
    reads_windows,
    result_indices,
    tensor_inputs,
    users_of,
)
from pyiree.compiler.flow.in_place import updates_itself
from pyiree.compiler.flow.known_sizes import loop_size, sizes_of
from pyiree.compiler.flow.op_kinds import (
    CONTRACTION,
    ELEMENTWISE,
    FEW_ROWS,
    REDUCTION,
    RESHAPES,
    VIEW,
    WHOLE,
    captured_tensors,
    cost_of,
    element_count,
    elements_of,
    keeps_runs,
    keeps_workgroups_busy,
    kind_of,
    moves_only,
    runs_down_long_columns,
)
from pyiree.compiler.ir.affine import AffineConstant, AffineDim
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.types import TensorType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Repeated instructions of a whole dispatch that take less time than starting one more.
SMALL = 20_000.0
#: Beyond this many ops, or instructions for a point, a kernel only grows; unrelated ones are not brought together to
#: be that large.
MAX_OPS = 500
MAX_COST = 4000.0
MAX_COST_TOGETHER = 200.0
#: Ops of whose results parts come from different places.
PIECES = frozenset({"tensor.pad", "tensor.concat", "tensor.insert_slice"})
#: Fewer elements side by side are read slowly where rows are made of many such runs.
_SHORT_RUN = 64
#: Tensors that a dispatch reads and writes; executables take a few more.
MAX_BINDINGS = 28
#: What only a few workgroups do counts for more: if it is dear, many should do it before.
_BY_FEW = 2.0
#: Elements that do not lie side by side take as many instructions as vectors do.
_COLLECTED = 8.0
#: Dispatches over fewer elements take less time than starting them.
FEW_ELEMENTS = 1 << 14
#: Fewer elements are moved one by one in less time than that.
_FEW_TO_MOVE = 1 << 11

#: Different indices at which a kernel computes a value, or pieces of results for which it does, each with instructions
#: of its own, and of all of its ops.
MAX_PLACES = 32
MAX_COPIES = 2 * MAX_OPS


@dataclass(slots=True)
class Read:
    """One place where a group reads a value: the loops around it, how often each of their rounds does it, the
    instructions of the ops so far that are repeated there, and the pieces of results that it is read for: a kernel
    computes it for each of them."""

    indices: Indices
    loops: frozenset[int]
    repeats: float = 1.0
    spent: float = 0.0
    pieces: frozenset[Hashable] = frozenset({None})


class FusionGroup:
    """Ops that will be one dispatch, and the domain that they share."""

    def __init__(self, root: Operation) -> None:
        self._root = root
        self._start()

    def _start(self) -> None:
        root = self._root
        self.ops: dict[Operation, None] = {}
        self.cost = 0.0
        self.copies = 0
        self.clones: set[Operation] = set()
        self.extents: list[int | None] = []
        #: The same, with what is known of those that vary: equal ones are equal sizes.
        self.sizes: list[Hashable] = []
        #: The dims of each row, once a reduction or contraction is part of the group.
        self.rows: frozenset[int] | None = None
        self.domain: frozenset[int] = frozenset()
        self.kind = kind_of(root)
        self.reads: dict[Value, dict[tuple, Read]] = {}
        #: Tensors from outside and results, as far as is known.
        self.inputs: dict[Value, None] = {}
        self.stored: dict[Value, None] = {}
        self._gathered: set[Value] = set()
        self._contracted: set[Value] = set()
        self._apart: set[Value] = set()
        self._has_long_columns = False
        #: What the group writes in place: it comes from outside, and no other results, which are whole, are beside it.
        self._target = root.operands[1] if updates_itself(root) else None
        #: How it grew: methods and what they were given.
        self._steps: list[tuple[Callable[..., None], tuple]] = []
        #: Nothing but copies joins a group that has been cut.
        self._is_cut = False
        self._add_root(root)

    # The domain.

    def _new_dim(self, size: Hashable) -> int:
        if size == 1:
            return ZERO
        self.extents.append(size if isinstance(size, int) else None)
        self.sizes.append(size)
        return len(self.extents) - 1

    def _add_root(self, root: Operation) -> None:
        self.stored.update(dict.fromkeys(root.results))
        if self.kind == WHOLE:
            self._add_whole(root)
            return
        indices = tuple([self._new_dim(size) for size in sizes_of(root.results[0])])
        self.domain = plain_dims(indices)
        if self.kind in (REDUCTION, CONTRACTION):
            self.rows = self.domain
        for result, at in result_indices(root, indices):
            self._note(result, Read(at, self.domain))
        self._include(root)

    def _add_whole(self, root: Operation) -> None:
        """Scans, sorts and scatters take one element of their inputs after the other; producers of those may join."""
        self.ops[root] = None
        self.inputs.update(dict.fromkeys([v for v in root.operands if isinstance(v.type, TensorType)]))
        if isinstance(root, ScatterOp):
            updates, positions = root.updates, root.indices
            at = tuple([self._new_dim(size) for size in sizes_of(updates)])
            batch = at[: len(positions.type.shape) - 1]  # type: ignore[attr-defined]
            self._note(updates, Read(at, plain_dims(at), _BY_FEW))
            self._note(positions, Read((*batch, ("scattered", root)), plain_dims(batch), _BY_FEW))
            # A producer that reads the original would keep the scatter from writing in its place.
            self._apart.add(root.original)
        elif isinstance(root, ScanOp | SortOp | TopkOp):
            values = root.outputs if isinstance(root, SortOp) else root.inputs
            shape = values[0].type.shape  # type: ignore[attr-defined]
            at = tuple([self._new_dim(size) for size in sizes_of(values[0])])
            rows = element_count([d for i, d in enumerate(shape) if i != root.dimension])
            for value in values:
                self._note(value, Read(at, plain_dims(at), 1.0 if rows >= FEW_ROWS else _BY_FEW))

        elif is_transform(root):
            # Each place is read once, for all frequencies.
            value = root.inputs[0]
            at = tuple([self._new_dim(size) for size in sizes_of(value)])
            self._note(value, Read(at, plain_dims(at)))

    def covers(self, indices: Indices, dims: frozenset[int]) -> bool:
        """Whether indices are these dims, each once."""
        plain = [i for i in indices if i != ZERO]
        return not has_moved(plain) and len(set(plain)) == len(plain) and set(plain) == dims

    def result_place(self, value: Value) -> frozenset[int] | None:
        """The dims of the dispatch's domain if a value of the group is one more result, or None if it can't be."""
        places = {read.indices for read in self.reads.get(value, {}).values()}
        if len(places) != 1 or self.kind == WHOLE:
            return None
        (indices,) = places
        if self.covers(indices, self.domain) or (self.rows is not None and self.covers(indices, self.rows)):
            return self.domain
        plain = plain_dims(indices)
        if self.rows is None:
            # The reduction says what the rows are.
            is_row = value.defining_op is not None and kind_of(value.defining_op) == REDUCTION
            return self.domain if is_row and self.covers(indices, plain) else None
        extents = [self.extents[d] for d in plain]
        if (
            self.kind == CONTRACTION
            or self.domain != self.rows
            or self._has_long_columns
            or not self.rows < plain
            or not self.covers(indices, plain)
            or len(set(extents)) != len(extents)
            or is_made_by(value.defining_op, CONTRACTION)  # type: ignore[arg-type]
        ):
            return None
        # What a reduction reads, stored on the way: rows now have elements.
        return plain if self._are_rows(self.rows, plain) else None

    # Joining.

    def accepts(self, op: Operation) -> bool:
        """Whether a producer of values that the group reads may join it."""
        if self.is_full or (self._is_cut and not self._may_end_with(op)):
            return False
        kind = kind_of(op)
        reads = self._reads_of(op)
        if self._target in op.results:
            return False
        if op.results and self._turns_pieces_round(op):
            return False
        if _copies(reads) > MAX_PLACES:
            return False
        if not reads or kind in (None, WHOLE) or any(result in self._gathered for result in op.results):
            return False
        if any(value in self._apart for value in tensor_inputs(op)):
            return False
        if kind in (ELEMENTWISE, VIEW):
            return self._accepts_elementwise(op, reads)
        return self.kind != WHOLE and self._accepts_reduction(op, kind, reads)

    def _turns_pieces_round(self, op: Operation) -> bool:
        """Whether parts of what is turned round would come from different places. Blocks are turned round where all of
        them is there; elsewhere elements would be read one by one, which is dear where there are many."""
        if elements_of(op.results[0]) <= _FEW_TO_MOVE or makes_columns(op):
            return False
        if op.name in PIECES:
            return any(user in self.ops and not keeps_runs(user, 1) for user in users_of(op))
        return not keeps_runs(op, 1) and any(user in self.ops and user.name in PIECES for user in users_of(op))

    def _may_end_with(self, op: Operation) -> bool:
        """Whether an op is computed where it is read by a group that has been cut too."""
        return is_worth_copying(op) and self.bindings + len(tensor_inputs(op)) <= MAX_BINDINGS

    def _reads_of(self, op: Operation) -> list[Read]:
        return [read for result in op.results for read in self.reads.get(result, {}).values()]

    def _accepts_elementwise(self, op: Operation, reads: list[Read]) -> bool:
        if any(result in self._contracted for result in op.results):
            if op.name in RESHAPES:
                return True
            plain = not any(has_moved(read.indices) for read in reads)
            moves = moves_only(op) and op.name not in ("tensor.extract_slice", "tensor.bitcast")
            # Vectors are read as such, or in blocks that are turned round, but not again for every place of a window.
            beside_windows = any(user in self.ops and reads_windows(user) for user in users_of(op))
            return plain and moves and keeps_runs(op, 1 if beside_windows else 2)
        rows = self._rows_to_be(op, reads)
        total = sum([self._recomputed(read, op, rows) for read in reads])
        if total <= 1.5 or all(read.spent + cost_of(op) <= CHEAP for read in reads):
            return True
        return sum([self._repeated(read, read.spent + cost_of(op)) for read in reads]) <= SMALL

    def _repeated(self, read: Read, cost: float) -> float:
        """The instructions that a read repeats; moved elements are collected one by one."""
        return self._points(read) * cost * (_COLLECTED if has_moved(read.indices) else 1.0)

    def _points(self, read: Read) -> float:
        return read.repeats * element_count([self.extents[d] for d in read.loops])

    def _recomputed(self, read: Read, op: Operation, rows: frozenset[int] | None) -> float:
        """How often each element is computed if it is computed where it is read."""
        if has_moved(read.indices):
            return self._points(read) / max(1, elements_of(op.results[0]))
        used = plain_dims(read.indices)
        if not used:
            return read.repeats

        def nesting(d: int) -> tuple[bool, int]:
            return (rows is not None and d not in rows, d)

        innermost = max(map(nesting, used))
        around = [self.extents[d] for d in read.loops - used if nesting(d) < innermost]
        return read.repeats * element_count(around)

    def _rows_to_be(self, op: Operation, reads: list[Read]) -> frozenset[int] | None:
        """The rows of the group, or what they will be once the reduction behind an op has joined."""
        if self.rows is not None or self.kind == WHOLE:
            return self.rows
        places = {read.indices for read in reads}
        if len(places) != 1:
            return None
        (indices,) = places
        plain = plain_dims(indices)
        if plain == self.domain or not self.covers(indices, plain) or not self._are_rows(plain, self.domain):
            return None
        return plain if is_made_by(op, REDUCTION) else None

    def _are_rows(self, rows: frozenset[int], domain: frozenset[int]) -> bool:
        """Whether there are enough rows for the work, or little work, and a row is no heap of short runs."""
        order = sorted(domain)
        inside = next((order[i + 1 :] for i in reversed(range(len(order))) if order[i] in rows), order)
        run = element_count([self.extents[d] for d in inside])
        if inside and run < _SHORT_RUN and len(inside) < len(domain - rows):
            return False
        inner = element_count([self.extents[d] for d in domain - rows])
        side_by_side = bool(rows) and max(rows) == max(domain)
        return keeps_workgroups_busy([self.extents[d] for d in sorted(rows)], inner, side_by_side=side_by_side)

    def _accepts_reduction(self, op: Operation, kind: str, reads: list[Read]) -> bool:
        places = {read.indices for read in reads}
        if len(places) != 1 or not isinstance(op, LinalgOp):
            return False
        (indices,) = places
        plain = plain_dims(indices)
        if not self.covers(indices, plain) or not all(is_plain_output(op, n) for n in range(len(op.outputs))):
            return False
        reduced = [loop_size(op, d) for d, runs in enumerate(op.iterators()) if runs != "parallel"]
        if not self._tells_apart(plain, reduced) or self._has_long_columns or runs_down_long_columns(op):
            return False
        if kind == CONTRACTION:
            return self.rows is None and plain == self.domain and self._stores_runs(op, indices)
        if self.kind == CONTRACTION:
            return False
        if self.rows is not None:
            return plain == self.rows
        return plain == self.domain or self._are_rows(plain, self.domain)

    def _stores_runs(self, op: LinalgOp, indices: Indices) -> bool:
        """Whether vectors of a contraction's result are stored as such or in blocks that are turned round, not element
        by element: it is turned round no further than that, or a factor was before."""
        last = [i for i in indices if i != ZERO][-1:]
        return all(d in sorted(self.domain)[-2:] for d in last) or any(map(is_turned_round, op.inputs))

    def _tells_apart(self, rows: frozenset[int], reduced: Iterable[Hashable]) -> bool:
        """Whether at most one of the sizes beside the rows varies: a kernel knows dims by their extents."""
        inner = {*reduced, *(size for d, size in enumerate(self.sizes) if d not in rows)}
        return sum(not isinstance(size, int) for size in inner) <= 1

    def add(self, op: Operation, *, stored: bool = False, copied: bool = False) -> None:
        """Makes a producer part of the group; `stored` makes its values results as well, `copied` the op a copy."""
        self._steps.append((FusionGroup._add, (op, stored, copied)))
        self._add(op, stored, copied)

    def _add(self, op: Operation, stored: bool, copied: bool) -> None:
        kind = kind_of(op)
        if copied:
            self.clones.add(op)
        if stored:
            used = [r for r in op.results if r.has_uses]
            for result in used:
                self.domain = self.result_place(result) or self.domain
            self.stored.update(dict.fromkeys(used))
        if kind in (REDUCTION, CONTRACTION):
            self.rows = plain_dims(self._reads_of(op)[0].indices)
            self.kind = kind
        self._include(op)

    # Cutting.

    @property
    def bindings(self) -> int:
        """The tensors that the group reads and writes."""
        return len(self.inputs) + len(self.stored)

    @property
    def is_full(self) -> bool:
        """Whether it has as many ops as a kernel should have, and has not been cut yet."""
        if self._is_cut:
            return False
        return len(self.ops) >= MAX_OPS or self.cost >= MAX_COST or self.copies >= MAX_COPIES

    @property
    def is_to_be_cut(self) -> bool:
        """Whether it can't stay as it is, and can be made smaller."""
        return bool(self._steps) and self.bindings > MAX_BINDINGS

    def cut(self) -> list[Operation]:
        """Goes back to an earlier state, for good; gives the ops that are no longer part of it, last ones first.

        That is the state that reads the fewest values that other ops have to store for it, among the larger ones of
        those that may be a dispatch.
        """
        whole, steps = self.ops, self._steps
        self._start()
        # For each state: values that are stored for it, steps and ops.
        states = [(self._made_before(), 0, len(self.ops))]
        for number, (step, arguments) in enumerate(steps[:-1], 1):
            step(self, *arguments)
            if len(self.inputs) + self._count_escaping() <= MAX_BINDINGS:
                states.append((self._made_before(), number, len(self.ops)))
        enough = states[-1][2] // 2
        _, kept, _ = min([s for s in states if s[2] >= enough], key=lambda state: (state[0], -state[1]))
        self._start()
        for step, arguments in steps[:kept]:
            step(self, *arguments)
        self._steps, self._is_cut = steps[:kept], True
        return [op for op in whole if op not in self.ops]

    def _count_escaping(self) -> int:
        """How many values have readers outside of the group as it stands; what reads them in a copy may be elsewhere
        too."""
        return sum(
            any(user not in self.ops or user in self.clones for user in result.users)
            for op in self.ops
            if op not in self.clones
            for result in op.results
        )

    def _made_before(self) -> int:
        """How many values the group reads that dispatches make."""
        makers = [value.defining_op for value in self.inputs]
        return sum(op is not None and kind_of(op) is not None and not is_worth_copying(op) for op in makers)

    # Groups side by side.

    def form(self) -> tuple | None:
        """What groups have in common that may become one, or None for a group that stays on its own."""
        if self.kind in (WHOLE, CONTRACTION) or self._target is not None:
            return None
        return (*self.sizes, self.rows)

    def reads_alike(self, other: FusionGroup, value: Value) -> bool:
        """Whether another group of this form needs a value, or parts of it, at the points where this one does."""
        places = self._apart_from_moves(value)
        return bool(places) and places == other._apart_from_moves(value)

    def has_room_for(self, other: FusionGroup) -> bool:
        """Whether the ops of another group are not too many for one kernel, nor the tensors."""
        bindings = {**self.inputs, **other.inputs, **self.stored, **other.stored}
        if self.cost + other.cost > MAX_COST_TOGETHER:
            return False
        return len(self.ops) + len(other.ops) <= MAX_OPS and len(bindings) <= MAX_BINDINGS

    @property
    def is_small(self) -> bool:
        """Whether the work is less than starting a dispatch."""
        return self.rows is None and element_count([self.extents[d] for d in self.domain]) <= FEW_ELEMENTS

    def may_absorb_rows(self, other: FusionGroup) -> bool:
        """Whether reductions whose results this group reads at its rows may be part of it."""
        if other.kind != REDUCTION or other.domain != other.rows or self.kind in (WHOLE, CONTRACTION):
            return False
        if other._has_long_columns or self._has_long_columns:
            return False
        if not self.has_room_for(other) or any(value in self._gathered for value in other.stored):
            return False
        places = {indices for value in other.stored for indices in self._places(value)}
        orders = {tuple([i for i in indices if i != ZERO]) for indices in places}
        if len(orders) != 1:
            return False
        (order,) = orders
        plain = plain_dims(order)
        if not self.covers(order, plain) or [self.extents[d] for d in order] != other.row_extents:  # type: ignore[index]
            return False
        if not self._tells_apart(plain, [size for d, size in enumerate(other.sizes) if d not in other.rows]):  # type: ignore[operator]
            return False
        return plain == self.rows if self.rows is not None else self._are_rows(plain, self.domain)

    @property
    def row_extents(self) -> list[int | None]:
        return [self.extents[d] for d in sorted(self.rows or ())]

    def absorb_rows(self, other: FusionGroup) -> None:
        """Takes over the reductions whose results this group reads at its rows."""
        self._steps.append((FusionGroup._absorb_rows, (other,)))
        self._absorb_rows(other)

    def _absorb_rows(self, other: FusionGroup) -> None:
        self.rows = plain_dims(next(indices for value in other.stored for indices in self._places(value)))
        self.kind = REDUCTION
        self._take_ops(other)

    def _apart_from_moves(self, value: Value) -> set[tuple[int | None, ...]]:
        """The dims at which a value is read; parts of it may be next to each other."""
        return {tuple([None if isinstance(i, tuple) else i for i in indices]) for indices in self._places(value)}

    def _places(self, value: Value) -> set[Indices]:
        return {read.indices for read in self.reads.get(value, {}).values()}

    def absorb(self, other: FusionGroup) -> None:
        """Takes over the ops of another group of the same form."""
        self._steps.append((FusionGroup._absorb, (other,)))
        self._absorb(other)

    def _absorb(self, other: FusionGroup) -> None:
        self.domain |= other.domain
        for value, reads in other.reads.items():
            own = self.reads.setdefault(value, {})
            for key, read in reads.items():
                own.setdefault(key, read)
        self._gathered |= other._gathered
        self._has_long_columns |= other._has_long_columns
        self._take_ops(other)

    def _take_ops(self, other: FusionGroup) -> None:
        own = {op for group in (self, other) for op in group.ops if op not in group.clones}
        self.ops.update(other.ops)
        self.cost += other.cost
        self.copies += other.copies
        self.clones = (self.clones | other.clones) - own
        self.stored.update(other.stored)
        self.inputs = {v: None for v in (*self.inputs, *other.inputs) if v.defining_op not in self.ops}

    # Reads.

    def _note(self, value: Value, read: Read) -> None:
        """Remembers a read; those at the same indices in the same loops are one."""
        known = self.reads.setdefault(value, {}).setdefault((read.indices, read.loops), read)
        known.spent = max(known.spent, read.spent)
        known.repeats = max(known.repeats, read.repeats)
        known.pieces |= read.pieces

    def _include(self, op: Operation) -> None:
        rows = self._rows_to_be(op, self._reads_of(op)) if kind_of(op) in (ELEMENTWISE, VIEW) else self.rows
        self.ops[op] = None
        self.cost += cost_of(op)
        self.copies += max(1, _copies(self._reads_of(op)))
        if kind_of(op) == REDUCTION:
            self._has_long_columns |= runs_down_long_columns(op)
        self._gathered.update(captured_tensors(op))
        for result in op.results:
            self.inputs.pop(result, None)
        self.inputs.update(dict.fromkeys(tensor_inputs(op)))
        cost = cost_of(op)
        chosen = op.name in PIECES
        for result in op.results:
            for read in list(self.reads.get(result, {}).values()):
                again = self._recomputed(read, op, rows) > 1.5
                for operand, indices, loops in self._operand_reads(op, result, read):
                    if isinstance(operand.type, TensorType):
                        spent = read.spent + cost if again else 0.0
                        pieces = frozenset([(piece, op, indices) for piece in read.pieces]) if chosen else read.pieces
                        self._note(operand, Read(indices, loops, read.repeats, spent, pieces))
        if kind_of(op) == CONTRACTION or any(result in self._contracted for result in op.results):
            self._contracted.update(tensor_inputs(op))

    def _operand_reads(
        self, op: Operation, result: Value, read: Read
    ) -> Iterator[tuple[Value, Indices, frozenset[int]]]:
        """The operands of an op, where they are needed, and in which loops."""
        if isinstance(op, LinalgOp):
            yield from self._linalg_reads(op, result, read)
        elif op.name == "tensor.expand_shape":
            yield op.operands[0], collapsed(op.groups, read.indices, op.result.type.shape), read.loops  # type: ignore[attr-defined]
        elif op.name == "tensor.collapse_shape":
            source = op.operands[0]
            at = expanded(op.groups, read.indices, source.type.shape)  # type: ignore[attr-defined]
            yield source, at, read.loops
        else:
            for value, at in view_reads(op, read.indices):
                yield value, at, read.loops

    def _linalg_reads(self, op: LinalgOp, result: Value, read: Read) -> Iterator[tuple[Value, Indices, frozenset[int]]]:
        maps = op.maps()
        output = maps[len(op.inputs) + list(op.results).index(result)]
        loops: list[Index] = [("loop", op, d) for d in range(len(op.iterators()))]
        for position, index in zip(output.dim_positions(), read.indices):
            if position is not None:
                loops[position] = index
        around = read.loops
        spare = [d for d in sorted(self.domain) if d not in read.indices]
        for d, kind in enumerate(op.iterators()):
            if kind != "parallel":
                loops[d] = self._reduced_dim(loop_size(op, d), spare)
                around |= plain_dims(loops)
        if kind_of(op) == REDUCTION:
            around = plain_dims(loops)
        for operand, map_ in zip(op.operands, maps):
            at: list[Index] = []
            for expr in map_.results:
                if isinstance(expr, AffineDim):
                    at.append(loops[expr.position])
                else:
                    at.append(ZERO if isinstance(expr, AffineConstant) else ("at", expr, *loops))
            yield operand, tuple(at), around

    def _reduced_dim(self, size: Hashable, spare: list[int]) -> int:
        """A dim of the domain beside the rows that a reduction runs along, or a new one."""
        if size == 1:
            return ZERO
        for d in spare:
            if self.sizes[d] == size:
                spare.remove(d)
                return d
        known = [d for d in range(len(self.sizes)) if d not in self.domain and self.sizes[d] == size]
        return known[0] if known else self._new_dim(size)


def _copies(reads: list[Read]) -> int:
    """How often a kernel has the instructions of what is read."""
    return sum([len(read.pieces) for read in reads])
