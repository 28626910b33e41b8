"""`stablehlo.scatter` as `iree_linalg_ext.scatter` on at most two dimensions.

Enters: any scatter; one whose body reads several operands together goes another way (`coupled_scatter.py`). Leaves:
the operand as rows, updates as rows, and one row number for each update, -1 for those that would touch something out of
bounds (they are dropped). Where the scattered dimensions are not the leading ones, or windows are not whole rows, every
element is a row of its own. One window at a place that is known (`x.at[2:5].set(y)`) is a slice that is combined and
inserted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.input.converter import CALLEE_NAMES, Converter, converts
from pyiree.compiler.input.coupled_scatter import scatter_together
from pyiree.compiler.input.elements import SIGNED, Element, element
from pyiree.compiler.input.emitter import PARALLEL, identity_map, int_array
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.indexing import StartIndices
from pyiree.compiler.input.jaxlib_mlir import defining_op, dialect_attribute
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.input.shapes import broadcast, extract_slice, insert_slice, reshape, reshaped
from pyiree.compiler.input.sizes import Size, is_static, product
from pyiree.compiler.input.values import Lazy, Tensor, Uniform, known_integers
from pyiree.compiler.ir.attributes import bool_attr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import TensorType, i1


@converts("stablehlo.scatter")
def _scatter(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    count = len(operands) // 2
    if count > 1 and 0 not in operands[-1].shaped.shape and not _are_separate(op.regions[0].blocks[0], count):
        return _scattered_together(c, op, operands[:count], operands[count], operands[count + 1 :])
    return [_scattered(c, op, k, operands[k], operands[count], operands[count + 1 + k]) for k in range(count)]


def _scattered(c: Converter, op: Any, number: int, operand: Lazy, indices: Lazy, updates: Lazy) -> Lazy:
    """One of a scatter's results."""
    if 0 in updates.shaped.shape:
        return operand
    scatter = _Scatter(c, op, number, operand, indices, updates)
    if not is_static((*operand.shaped.shape, *updates.shaped.shape)):
        return scatter.of_any_size()
    place = scatter.known_place()
    if place is not None:
        return scatter.into_slice(place)
    return Tensor(operand.shaped, scatter.by_rows() if scatter.has_whole_rows() else scatter.by_elements())


def _scattered_together(
    c: Converter, op: Any, operands: Sequence[Lazy], indices: Lazy, updates: Sequence[Lazy]
) -> list[Lazy]:
    """All results of a scatter whose body reads several operands."""
    if not _reads_only_its_own(op.regions[0].blocks[0]):
        raise c.emitter.unsupported(op, "of several operands, with a body that reads more than its arguments")
    rows = _Scatter(c, op, 0, operands[0], indices, updates[0]).element_numbers()
    given = [*operands, *updates]
    flat = [_reshaped(c, value, (product(value.shaped.shape),)) for value in given]
    made = scatter_together(c, op, flat[: len(operands)], flat[len(operands) :], rows)
    return [_reshaped(c, new, old.shaped.shape) for old, new in zip(operands, made)]


def _reshaped(c: Converter, value: Lazy, shape: Sequence[int | Size]) -> Lazy:
    """As a tensor of another shape."""
    whole = Tensor(value.shaped, c.tensor(value))
    return reshaped(c, whole, Shaped.of(shape, value.shaped.element))


def _reads_only_its_own(body: Any) -> bool:
    """Whether a body neither reads values from outside nor calls functions."""
    known = set(body.arguments)
    for view in body.operations:
        op = view.operation
        if op.name in CALLEE_NAMES or any(value not in known for value in op.operands):
            return False
        known.update(op.results)
    return True


def _are_separate(body: Any, count: int) -> bool:
    """Whether each result of a body follows from its own operand and update alone."""
    sources: dict[Any, set[int]] = {value: {i % count} for i, value in enumerate(body.arguments)}
    for view in body.operations:
        op = view.operation
        if op.name == "stablehlo.return":
            return all(sources.get(value, set()) <= {k} for k, value in enumerate(op.operands))
        found: set[int] = set().union(*[sources.get(value, set()) for value in op.operands])
        sources.update(dict.fromkeys(op.results, found))
    return False


class _Scatter:
    """One scatter, with its dimension numbers read."""

    def __init__(
        self, c: Converter, op: Any, number: int, operand: Lazy, indices: Lazy, updates: Lazy
    ) -> None:
        self.number = number
        numbers = dialect_attribute(op, "scatter_dimension_numbers", "ScatterDimensionNumbers")
        self.c, self.op = c, op
        self.operand, self.indices, self.updates = operand, indices, updates
        self.shape = operand.shaped.shape
        self.start_map = list(numbers.scattered_dims_to_operand_dims)
        self.batching = dict(zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims))
        self.inserted = list(numbers.inserted_window_dims)
        self.update_window = list(numbers.update_window_dims)
        self.vector_dim = numbers.index_vector_dim
        self.window = [d for d in range(len(self.shape)) if d not in self.inserted and d not in self.batching]
        self.update_batch = [d for d in range(len(updates.shaped.shape)) if d not in self.update_window]
        window_loops = dict(zip(self.window, self.update_window))
        #: How long the window is along each dimension of the operand.
        self.sizes = [updates.shaped.shape[window_loops[d]] if d in window_loops else 1 for d in range(len(self.shape))]
        self.window_loops = window_loops

    def has_whole_rows(self) -> bool:
        """Whether the window is all of the trailing dimensions, and only leading ones are scattered."""
        leading = len(self.shape) - len(self.window)
        return (
            self.window == list(range(leading, len(self.shape)))
            and all(self.sizes[d] == self.shape[d] for d in self.window)
            and all(d < leading for d in self.start_map)
        )

    def known_place(self) -> list[int | Uniform] | None:
        """Where the only window goes, if the host knows it: numbers, or scalars such as counters."""
        if self.batching or math.prod(self.updates.shaped.shape[d] for d in self.update_batch) != 1:
            return None
        parts: Sequence[int | Lazy] | None = known_integers(self.indices)
        if parts is None and isinstance(self.indices, Uniform):
            parts = [self.indices] * len(self.start_map)
        elif parts is None:
            pieces = defining_op(self.op.operands[1])
            joined = pieces is not None and pieces.name == "stablehlo.concatenate"
            parts = [self.c.value_of(piece) for piece in pieces.operands] if joined else ()
        starts: dict[int, int | Uniform] = {}
        for d, part in zip(self.start_map, parts):
            if isinstance(part, Uniform) and math.prod(part.shaped.shape) == 1:
                starts[d] = part if part.attribute is None else part.attribute.value  # type: ignore[attr-defined]
            elif isinstance(part, int):
                starts[d] = part
        if len(parts) != len(self.start_map) or len(starts) != len(parts):
            return None
        return [starts.get(d, 0) for d in range(len(self.shape))]

    def into_slice(self, place: list[int | Uniform]) -> Lazy:
        """The operand with a window of it combined with the updates; one that does not fit is dropped."""
        c, operand, emitter = self.c, self.operand, self.c.emitter
        kind, index = operand.shaped.element, self.indices.shaped.element
        offsets: list[int | Value] = []
        fits: Value | None = None
        for start, n, size in zip(place, self.shape, self.sizes):
            if isinstance(start, int):
                if not 0 <= start <= n - size:
                    return operand
                offsets.append(start)
            else:
                scalar = c.uniform_scalar(start)
                within, _ = _within(c, scalar, index, n - size, index)
                fits = within if fits is None else emitter.binary("arith.andi", fits, within)
                offsets.append(c.clamped_index(scalar, index, max(n - size, 0)))
        original = c.tensor(operand)
        window = Shaped(tuple(self.sizes), kind, TensorType(self.sizes, kind.type))
        update: Lazy = Tensor(window, reshape(c, c.tensor(self.updates), self.sizes))
        old = Tensor(window, extract_slice(c, original, offsets, self.sizes, [1] * len(place)))

        def combine(scalars: list[Value]) -> list[Value]:
            new = self._combined(*scalars)
            return [new if fits is None else emitter.select(fits, new, scalars[0])]

        new = c.map(window, [old, update], combine)
        return Tensor(operand.shaped, insert_slice(c, c.tensor(new), original, offsets))

    def by_rows(self) -> Value:
        """Updates of whole rows."""
        c = self.c
        leading = len(self.shape) - len(self.window)
        rows, width = math.prod(self.shape[:leading]), math.prod(self.shape[leading:])
        batch_shape = [self.updates.shaped.shape[d] for d in self.update_batch]
        count = math.prod(batch_shape)
        order = [*self.update_batch, *self.update_window]
        ordered_shape = tuple(self.updates.shaped.shape[d] for d in order)
        kind = self.updates.shaped.element
        ordered = broadcast(
            c,
            self.updates,
            Shaped(ordered_shape, kind, TensorType(ordered_shape, kind.type)),
            [order.index(d) for d in range(len(order))],
        )
        numbers = self._row_numbers(batch_shape, {d: i for i, d in enumerate(self.update_batch)}, leading)
        window = (width,) if self.window else ()
        original = reshape(c, c.tensor(self.operand), (rows, *window))
        rows_of_updates = reshape(c, c.tensor(ordered), (count, *window))
        return self._emit(rows_of_updates, numbers, count, original)

    def by_elements(self) -> Value:
        """Every element of the updates on its own."""
        c = self.c
        count = math.prod(self.updates.shaped.shape)
        numbers = c.tensor(self.element_numbers())
        original = reshape(c, c.tensor(self.operand), (math.prod(self.shape),))
        return self._emit(reshape(c, c.tensor(self.updates), (count,)), numbers, count, original)

    def of_any_size(self) -> Lazy:
        """As `by_elements`, where sizes are known when the program runs."""
        c, kind = self.c, self.operand.shaped.element
        numbers = self.element_numbers()
        (count,) = numbers.shaped.shape
        column = reshaped(c, numbers, Shaped.of((count, 1), numbers.shaped.element))
        updates = reshaped(c, self.updates, Shaped.of((count,), kind))
        flat = Shaped.of((product(self.shape),), kind)
        original = reshaped(c, self.operand, flat)
        made = scatter_rows(c, c.tensor(updates), c.tensor(column), c.tensor(original), self._combined)
        return reshaped(c, Tensor(flat, made), self.operand.shaped)

    def element_numbers(self) -> Tensor:
        """For each element of the updates, in order, the number of the operand's element it goes to; -1 for none."""
        shape = self.updates.shaped.shape
        numbers = self._row_numbers(shape, {d: d for d in range(len(shape))}, len(self.shape))
        given = Tensor(Shaped.of(shape, self._number_type()), numbers)
        vector = Shaped.of((product(shape),), self._number_type())
        return Tensor(vector, self.c.tensor(reshaped(self.c, given, vector)))

    def _number_type(self) -> Element:
        small = is_static(self.shape) and math.prod(self.shape) < 1 << 31
        return element("i32" if small else "i64")

    def _row_numbers(self, loops: Sequence[int | Size], loop_of: dict[int, int], leading: int) -> Value:
        """For each update the row it goes to; `loop_of` says along which loop a dimension of the updates runs."""
        c = self.c
        emitter = c.emitter
        number = self._number_type()
        rank = len(loops)
        starts = StartIndices(c, self.indices, self.vector_dim, [loop_of[d] for d in self.update_batch], rank)
        strides = [product(self.shape[d + 1 : leading]) for d in range(leading)]

        def compute(arguments: list[Value]) -> list[Value]:
            total = emitter.integer(0, number.type)
            valid: Value | None = None
            for d in range(leading):
                place: Value | None = None
                if d in self.start_map:
                    start = starts.component(self.start_map.index(d), arguments)
                    limit = self.shape[d] - self.sizes[d]
                    within, place = _within(c, start, self.indices.shaped.element, limit, number)
                    valid = within if valid is None else emitter.binary("arith.andi", valid, within)
                if d in self.batching:
                    place = _plus(c, place, self._loop_index(starts.loop_of(self.batching[d]), number))
                if d in self.window_loops and self.sizes[d] != 1:
                    place = _plus(c, place, self._loop_index(loop_of[self.window_loops[d]], number))
                if place is not None:
                    step = _as_number(c, strides[d], number)
                    scaled = place if strides[d] == 1 else emitter.binary("arith.muli", place, step)
                    total = emitter.binary("arith.addi", total, scaled)
            if valid is None:
                return [total]
            return [emitter.select(valid, total, emitter.integer(-1, number.type))]

        shaped = Shaped.of(loops, number)
        outputs = [(emitter.empty(shaped.type, shaped.sizes), identity_map(rank))]
        return emitter.generic(starts.inputs, outputs, (PARALLEL,) * rank, compute).results[0]

    def _loop_index(self, loop: int, number: Element) -> Value:
        emitter = self.c.emitter
        return emitter.cast("arith.index_cast", emitter.linalg_index(loop), number.type)

    def _emit(self, updates: Value, numbers: Value, count: int, original: Value) -> Value:
        c = self.c
        unique = self.op.attributes["unique_indices"].value if "unique_indices" in self.op.attributes else False
        column = reshape(c, numbers, (count, 1))
        return reshape(c, scatter_rows(c, updates, column, original, self._combined, unique), self.shape)

    def _combined(self, old: Value, update: Value) -> Value:
        """What the body makes of an element; it reads nothing of other operands."""
        block = self.op.regions[0].blocks[0]
        half = len(block.arguments) // 2
        known = {self.number: old, half + self.number: update}
        scalars = [
            known[i] if i in known else self.c.emitter.zero(self.c.shaped(value).element.type)
            for i, value in enumerate(block.arguments)
        ]
        return self.c.scalar_block(block, scalars)[self.number]


def scatter_rows(
    c: Converter,
    updates: Value,
    column: Value,
    original: Value,
    combine: Callable[[Value, Value], Value],
    unique: bool = False,
) -> Value:
    """`iree_linalg_ext.scatter` of rows by their numbers; `combine` gets the old value first."""
    emitter = c.emitter
    block = Block([updates.type.element_type, original.type.element_type])  # type: ignore[attr-defined]
    with emitter.inside(block):
        update, old = block.arguments
        emitter.emit("iree_linalg_ext.yield", [combine(old, update)], ())
    properties = {"dimension_map": int_array([0]), "unique_indices": bool_attr(unique)}
    scattered = emitter.emit(
        "iree_linalg_ext.scatter",
        (updates, column, original),
        (original.type,),
        properties,
        (Region(block),),
        (2, 1),
    )
    return scattered.results[0]


def _as_number(c: Converter, size: int | Size, number: Element) -> Value:
    if isinstance(size, Size):
        return c.emitter.cast("arith.index_cast", size.value, number.type)
    return c.emitter.integer(size, number.type)


def _plus(c: Converter, x: Value | None, y: Value) -> Value:
    return y if x is None else c.emitter.binary("arith.addi", x, y)


def _within(
    c: Converter, start: Value, kind: Element, limit: int | Size, number: Element
) -> tuple[Value, Value]:
    """Whether a start index lies between 0 and `limit`, and the index as a row number's type."""
    emitter = c.emitter
    if isinstance(limit, Size):
        place = convert(emitter, start, kind, number)
        none, bound = emitter.integer(0, number.type), _as_number(c, limit, number)
        within = emitter.binary("arith.andi", emitter.cmpi("sge", place, none), emitter.cmpi("sle", place, bound))
        return within, place
    if limit < 0:
        return emitter.integer(0, i1), emitter.integer(0, number.type)
    # As unsigned numbers, negative indices are larger than any limit. One wider than the type is no limit.
    width = start.type.width  # type: ignore[attr-defined]
    highest = (1 << (width - (kind.kind == SIGNED))) - 1
    within = emitter.cmpi("ule", start, emitter.integer(min(limit, highest), start.type))
    if width < number.type.width:
        name = "arith.extsi" if kind.kind == SIGNED else "arith.extui"
        return within, emitter.cast(name, start, number.type)
    if width > number.type.width:
        return within, emitter.cast("arith.trunci", start, number.type)
    return within, start
