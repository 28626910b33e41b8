"""How the results of a reduction are accumulated.

Enters: a linalg op with reduction loops. Leaves: a list of `Reducer`s, each with the state that a loop carries: how it
begins, takes one more element, joins two states, and becomes a result.

Order is free only for known operations (a sum, a maximum, …). A body that does something else runs in order, unless it
picks one of its elements (argmax): then lanes may run side by side, and their winners meet in the order of position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from ..ir.core import BlockArgument, Operation, Value
from ..ir.floats import numpy_float_dtype
from .complex_values import Complex, Element, all_parts, elements_of_parts, is_complex
from .elements import element_name
from .evaluate import Evaluator
from .indexing import Index
from .loops import FLOATS, KernelBuilder, vector
from .loops import Value as LoopValue
from .small_floats import FORMATS
from .structured import StructuredOp, dim_of, is_structured, structured

State = list[LoopValue]


@cache
def _ends(elem: str) -> tuple[float, float]:
    """What no number of a float type is below or above: its infinities, or its last numbers where it has none."""
    if elem not in FORMATS or FORMATS[elem].infinite:
        return -math.inf, math.inf
    import ml_dtypes

    info = ml_dtypes.finfo(numpy_float_dtype(elem))
    return float(info.min), float(info.max)


def _identities(elem: str) -> dict[str, float | int]:
    bits = vector(elem).bits
    if elem in FLOATS:
        least, greatest = _ends(elem)
        return {"arith.addf": 0.0, "arith.mulf": 1.0, "arith.maximumf": least, "arith.minimumf": greatest}
    top = 1 << (bits - 1)
    return {
        "arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0,
        "arith.maxsi": -top if bits > 1 else 1, "arith.minsi": top - 1, "arith.maxui": 0, "arith.minui": -1,
    }  # fmt: skip


_FREE_ORDER = frozenset({
    "arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf", "arith.addi", "arith.muli", "arith.andi",
    "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui",
})  # fmt: skip


def known_identity(name: str, elem: str) -> float | int | None:
    """The identity of an operation whose order is free, or None for other ops."""
    return _identities(elem).get(name) if name in _FREE_ORDER else None


class Reducer:
    """One accumulated thing: results `numbers` of the op. `inputs` are the body's values that each step takes."""

    numbers: tuple[int, ...]
    any_order = True
    group = 1
    """How many elements it likes to take at once."""
    long_sum = False

    def inputs(self) -> Sequence[Value] | None:
        """The body values that `take` wants; None for the op's inputs themselves."""
        raise NotImplementedError

    def begin(self, lanes: int) -> State:
        raise NotImplementedError

    def take(self, state: State, inputs: list[LoopValue], step: Step) -> State:
        raise NotImplementedError

    def take_all(self, state: State, steps: list[tuple[list[LoopValue], Step]]) -> State:
        """Several elements that go into one state, in order."""
        for inputs, step in steps:
            state = self.take(state, inputs, step)
        return state

    def join(self, x: State, y: State) -> State:
        raise NotImplementedError

    def across_lanes(self, state: State) -> State:
        """The state of one lane that stands for all."""
        raise NotImplementedError

    def finish(self, state: State, initial: list[LoopValue]) -> list[LoopValue]:
        """The results, the op's initial values included."""
        raise NotImplementedError

    # -- long sums: a chunk is summed on its own and then added to the total with its rounding error

    def begin_total(self, lanes: int) -> State:
        return self.begin(lanes)

    def begin_chunk(self, total: State) -> State:
        return total

    def end_chunk(self, total: State, chunk: State) -> State:
        return chunk

    def end_total(self, total: State) -> State:
        return total


class Step:
    """Where one step of a reduction happens: evaluator, loop indices."""

    __slots__ = ("evaluator", "loops")

    def __init__(self, evaluator: Evaluator, loops: list[Index]):
        self.evaluator, self.loops = evaluator, loops


class OperationReducer(Reducer):
    """result = op(result, input) for one known op. Half sums and products accumulate in f32 and round once."""

    def __init__(self, builder: KernelBuilder, number: int, name: str, value: Value, elem: str):
        self.builder = builder
        self.numbers = (number,)
        self.name = name
        self.value = value
        self.elem = elem
        narrow = elem in FLOATS and vector(elem).bits < 32
        self.state_elem = "f32" if narrow and name in ("arith.addf", "arith.mulf") else elem
        self.long_sum = name == "arith.addf"
        self.identity = _identities(elem)[name]

    def inputs(self) -> Sequence[Value]:
        return (self.value,)

    def _op(self, x: LoopValue, y: LoopValue) -> LoopValue:
        return self.builder.op(self.name, (x, y), x.type)

    def _constant(self, lanes: int) -> LoopValue:
        return self.builder.const(self.identity, vector(self.state_elem, lanes))

    def begin(self, lanes: int) -> State:
        return [self._constant(lanes)]

    def widened(self, value: LoopValue, lanes: int) -> LoopValue:
        value = self.builder.splat(value, lanes)
        if self.state_elem != self.elem:
            value = self.builder.op("arith.extf", (value,), vector(self.state_elem, lanes))
        return value

    def take(self, state: State, inputs: list[LoopValue], step: Step) -> State:
        return [self._op(state[0], self.widened(inputs[0], state[0].lanes))]

    def join(self, x: State, y: State) -> State:
        return [self._op(x[0], y[0])]

    def across_lanes(self, state: State) -> State:
        return [self.builder.reduce(self.name, state[0])]

    def finish(self, state: State, initial: list[LoopValue]) -> list[LoopValue]:
        value, first = state[0], initial[0]
        if not (first.const is not None and first.const == self.identity):
            value = self._op(self.widened(first, value.lanes), value)
        if self.state_elem != self.elem:
            value = self.builder.op("arith.truncf", (value,), vector(self.elem, value.lanes))
        return [value]

    # Chunk totals: s + x and what its rounding lost (exact, by Knuth's two-sum), kept in two sums.

    def begin_total(self, lanes: int) -> State:
        return [self._constant(lanes)] * (2 if self.long_sum else 1)

    def begin_chunk(self, total: State) -> State:
        return [self._constant(total[0].lanes)] if self.long_sum else total

    def end_chunk(self, total: State, chunk: State) -> State:
        if not self.long_sum:
            return chunk
        builder = self.builder
        high, low = total
        type = high.type

        def sub(x, y):
            return builder.op("arith.subf", (x, y), type)

        added = self._op(high, chunk[0])
        part = sub(added, high)
        error = self._op(sub(high, sub(added, part)), sub(chunk[0], part))
        return [added, self._op(low, error)]

    def end_total(self, total: State) -> State:
        if not self.long_sum:
            return total
        builder = self.builder
        high, low = total
        # Beyond the finite numbers the error is NaN and means nothing.
        gap = builder.op("arith.subf", (high, high), high.type)
        finite = builder.op("arith.cmpf", (gap, gap), vector("i1", high.lanes), "oeq")
        return [builder.select(finite, self._op(high, low), high)]


class ExtremumReducer(Reducer):
    """maximumf or minimumf: a plain compare and select beside a sticky mask of lanes that met a NaN, and the signs.

    That is several times faster than an operation that orders NaN and zeros in every step. Two elements need one
    test for NaN: a processor has few masks in flight. A maximum that is zero is the negative one if all elements have
    the sign, a minimum if any has: so the bits of all of them are combined.
    """

    group = 2

    def __init__(self, builder: KernelBuilder, number: int, name: str, value: Value, elem: str):
        self.builder = builder
        self.numbers = (number,)
        self.value = value
        self.elem = elem
        self.maximum = name == "arith.maximumf"
        self.identity = _identities(elem)[name]
        self.state_elem = "f64" if elem == "f64" else "f32"
        self.bits_elem = "i64" if elem == "f64" else "i32"
        self.combine = "arith.andi" if self.maximum else "arith.ori"

    def inputs(self) -> Sequence[Value]:
        return (self.value,)

    def begin(self, lanes: int) -> State:
        builder = self.builder
        return [
            builder.const(self.identity, vector(self.state_elem, lanes)),
            builder.const(0, vector("i1", lanes)),
            builder.const(-1 if self.maximum else 0, vector(self.bits_elem, lanes)),
        ]

    def _better(self, x: LoopValue, y: LoopValue) -> LoopValue:
        predicate = "ogt" if self.maximum else "olt"
        holds = self.builder.op("arith.cmpf", (x, y), vector("i1", x.lanes), predicate)
        return self.builder.select(holds, x, y)

    def take(self, state: State, inputs: list[LoopValue], step: Step | None) -> State:
        value = self._wide(inputs[0], state[0].lanes)
        return self._joined(state, value, value, value)

    def take_all(self, state: State, steps: list[tuple[list[LoopValue], Step]]) -> State:
        values = [self._wide(inputs[0], state[0].lanes) for inputs, _ in steps]
        for x, y in zip(values[::2], values[1::2]):
            state = self._joined(state, self._better(x, y), x, y)
        return self._joined(state, values[-1], values[-1], values[-1]) if len(values) % 2 else state

    def _wide(self, value: LoopValue, lanes: int) -> LoopValue:
        value = self.builder.splat(value, lanes)
        if self.state_elem != self.elem:
            value = self.builder.op("arith.extf", (value,), vector(self.state_elem, lanes))
        return value

    def _joined(self, state: State, best: LoopValue, x: LoopValue, y: LoopValue) -> State:
        """The state with the better of x and y; a NaN in either is noted, and the signs of both."""
        op = self.builder.op
        nan = op("arith.cmpf", (x, y), state[1].type, "uno")
        bits = self._bits(x)
        if y is not x:
            bits = op(self.combine, (bits, self._bits(y)), bits.type)
        return [
            self._better(best, state[0]),
            op("arith.ori", (state[1], nan), nan.type),
            op(self.combine, (state[2], bits), bits.type),
        ]

    def _bits(self, value: LoopValue) -> LoopValue:
        return self.builder.op("arith.bitcast", (value,), vector(self.bits_elem, value.lanes))

    def join(self, x: State, y: State) -> State:
        op = self.builder.op
        return [
            self._better(x[0], y[0]),
            op("arith.ori", (x[1], y[1]), x[1].type),
            op(self.combine, (x[2], y[2]), x[2].type),
        ]

    def across_lanes(self, state: State) -> State:
        builder = self.builder
        kind = "maxnum" if self.maximum else "minnum"
        return [
            builder.reduce(kind, state[0]),
            builder.reduce("arith.ori", state[1]),
            builder.reduce(self.combine, state[2]),
        ]

    def finish(self, state: State, initial: list[LoopValue]) -> list[LoopValue]:
        builder = self.builder
        first = initial[0]
        if not (first.const is not None and first.const == self.identity):
            state = self.take(state, [first], None)
        value, nan, bits = state
        negative = builder.op("arith.cmpi", (bits, builder.const(0, bits.type)), nan.type, "slt")
        zero = builder.const(0.0, value.type)
        signed = builder.select(negative, builder.const(-0.0, value.type), zero)
        value = builder.select(builder.op("arith.cmpf", (value, zero), nan.type, "oeq"), signed, value)
        value = builder.select(nan, builder.const(math.nan, value.type), value)
        if self.state_elem != self.elem:
            value = builder.op("arith.truncf", (value,), vector(self.elem, value.lanes))
        return [value]


class BodyReducer(Reducer):
    """The body itself is the step, for all results together.

    `picks` says, where the body picks one of two elements (argmax), which of its values is which result's element and
    which result is the position: then two states are joined by the body, the earlier one as what it has so far.
    """

    def __init__(self, builder: KernelBuilder, view: StructuredOp, picks: Picks | None):
        self.builder = builder
        self.view = view
        self.numbers = tuple(range(len(view.outputs)))
        self.picks = picks
        self.any_order = picks is not None
        self.initial: list[Element] = []

    def inputs(self) -> Sequence[Value]:
        return ()

    def begin(self, lanes: int) -> State:
        return [self.builder.splat(part, lanes) for part in all_parts(self.initial)]

    def _elements(self, state: State) -> list[Element]:
        """The results that a flat state is."""
        return elements_of_parts([output.type for output in self.view.outputs], state)

    def take(self, state: State, inputs: list[Element], step: Step) -> State:
        values = step.evaluator.body_inputs(self.view, step.loops, None)
        return self._run(values, state, step.evaluator, step.loops)

    def _run(self, values: dict, state: State, evaluator: Evaluator, loops: list[Index]) -> State:
        view = self.view
        values.update(zip(view.body.arguments[len(view.inputs) :], self._elements(state), strict=True))
        results = evaluator.run_body(view.body, values, loops, None)
        return [self.builder.splat(part, state[0].lanes) for part in all_parts(results)]

    def join(self, x: State, y: State) -> State:
        builder, picks = self.builder, self.picks
        positions = (x[picks.position], y[picks.position])
        earlier = builder.op("arith.cmpi", positions, vector("i1", x[0].lanes), "slt")
        first = [builder.select(earlier, a, b) for a, b in zip(x, y, strict=True)]
        second = [builder.select(earlier, b, a) for a, b in zip(x, y, strict=True)]
        values = dict(zip(picks.elements, second, strict=True))
        return self._run(values, first, self.evaluator, [])

    def across_lanes(self, state: State) -> State:
        builder = self.builder
        lanes = state[0].lanes
        while lanes > 1:
            lanes //= 2
            halves = []
            for start in (0, lanes):
                if lanes == 1:
                    halves.append([builder.extract(v, start) for v in state])
                else:
                    halves.append([builder.shuffle(v, v, range(start, start + lanes)) for v in state])
            state = self.join(*halves)
        return state

    def finish(self, state: State, initial: list[Element]) -> list[Element]:
        return self._elements(state)


class Picks:
    """How a body picks an element: `elements` are its values that become the results, `position` numbers the result
    that says where the element was."""

    __slots__ = ("elements", "position")

    def __init__(self, elements: tuple[Value, ...], position: int):
        self.elements, self.position = elements, position


def _picks(view: StructuredOp) -> Picks | None:
    """Recognises a body each of whose results is select(c, new element, old result) or the other way round, one of
    the elements being the position along a single reduced dim."""
    if len(view.reductions) != 1:
        return None
    elements, position = [], None
    for number, result in enumerate(view.body.terminator.operands):
        op = result.defining_op
        accumulator = view.body.arguments[len(view.inputs) + number]
        if op is None or op.name != "arith.select" or accumulator not in op.operands[1:]:
            return None
        element = op.operands[2] if op.operands[1] is accumulator else op.operands[1]
        elements.append(element)
        if position is None and _is_position(view, element):
            position = number
    return None if position is None else Picks(tuple(elements), position)


def _is_position(view: StructuredOp, value: Value) -> bool:
    """Whether a body value counts up along the reduced dim: linalg.index of it, or an input that is an iota."""
    (reduced,) = view.reductions
    if isinstance(value, BlockArgument):
        if value.index >= len(view.inputs):
            return False
        source = view.inputs[value.index].defining_op
        dims = [dim_of(e) for e in view.maps[value.index]]
        if source is None or not is_structured(source) or reduced not in dims:
            return False
        inner = structured(source)
        if inner.inputs or inner.body is None or inner.reductions:
            return False
        mapped = [dim_of(e) for e in inner.output_map(view.inputs[value.index].index)]
        return _is_index(inner.body.terminator.operands[0], mapped[dims.index(reduced)])
    return _is_index(value, reduced)


def _is_index(value: Value, dim: int | None) -> bool:
    """Whether a value counts up with a loop: its index, or what the loops around it add to that."""
    op = value.defining_op
    while op is not None and op.name in ("arith.index_cast", "arith.index_castui"):
        op = op.operands[0].defining_op
    if op is not None and op.name == "arith.addi":
        x, y = op.operands
        return (_is_index(x, dim) and _is_fixed(y, dim)) or (_is_index(y, dim) and _is_fixed(x, dim))
    return op is not None and op.name == "linalg.index" and int(op.get_attr("dim")) == dim


def _is_fixed(value: Value, dim: int | None) -> bool:
    """Whether a value is made of constants and the indices of other loops."""
    op = value.defining_op
    if op is None or op.name not in ("arith.constant", "linalg.index", "arith.muli", "arith.addi"):
        return False
    if op.name == "linalg.index":
        return int(op.get_attr("dim")) != dim
    return all(_is_fixed(operand, dim) for operand in op.operands)


class ComplexReducer(Reducer):
    """A complex result whose parts are reduced each on its own, as in a sum."""

    def __init__(self, number: int, re: OperationReducer, im: OperationReducer):
        self.numbers = (number,)
        self.re, self.im = re, im
        self.long_sum = re.long_sum and im.long_sum

    def inputs(self) -> Sequence[Value]:
        return (self.re.value, self.im.value)

    def _both(self, method: str, *states: State) -> State:
        """Calls a method of both on their halves of the states."""
        return [
            *getattr(self.re, method)(*[s[: len(s) // 2] for s in states]),
            *getattr(self.im, method)(*[s[len(s) // 2 :] for s in states]),
        ]

    def begin(self, lanes: int) -> State:
        return [*self.re.begin(lanes), *self.im.begin(lanes)]

    def take(self, state: State, inputs: list[Element], step: Step) -> State:
        half = len(state) // 2
        return [*self.re.take(state[:half], inputs[:1], step), *self.im.take(state[half:], inputs[1:], step)]

    def join(self, x: State, y: State) -> State:
        return self._both("join", x, y)

    def across_lanes(self, state: State) -> State:
        return self._both("across_lanes", state)

    def finish(self, state: State, initial: list[Element]) -> list[Element]:
        half = len(state) // 2
        (re,) = self.re.finish(state[:half], [initial[0].re])
        (im,) = self.im.finish(state[half:], [initial[0].im])
        return [Complex(re, im)]

    def begin_total(self, lanes: int) -> State:
        return [*self.re.begin_total(lanes), *self.im.begin_total(lanes)]

    def begin_chunk(self, total: State) -> State:
        return self._both("begin_chunk", total)

    def end_chunk(self, total: State, chunk: State) -> State:
        return self._both("end_chunk", total, chunk)

    def end_total(self, total: State) -> State:
        return self._both("end_total", total)


class DotReducer(OperationReducer):
    """A sum of products, multiplied and added in one rounding where the target can.

    A named contraction of booleans asks whether any pair is true.
    """

    def __init__(self, builder: KernelBuilder, factors: Sequence[Value] | None, elem: str):
        add, self.multiply = ("arith.addf", "arith.mulf") if elem in FLOATS else ("arith.addi", "arith.muli")
        if elem == "i1" and factors is None:
            add, self.multiply = "arith.ori", "arith.andi"
        super().__init__(builder, 0, add, None, elem)
        self.factors = factors

    def inputs(self) -> Sequence[Value] | None:
        return self.factors

    def take(self, state: State, inputs: list[LoopValue], step: Step) -> State:
        builder, lanes = self.builder, state[0].lanes
        x, y = (self.factor(value, lanes) for value in inputs)
        if self.name != "arith.addf":
            return [self._op(state[0], builder.op(self.multiply, (x, y), x.type))]
        return [builder.op("fma", (x, y, state[0]), x.type)]

    def factor(self, value: LoopValue, lanes: int) -> LoopValue:
        """A factor in the type of the sum; named contractions multiply in it."""
        builder = self.builder
        value = builder.splat(value, lanes)
        if value.type.elem == self.state_elem:
            return value
        op = "arith.extf" if value.type.is_float else "arith.extsi"
        return builder.op(op, (value,), vector(self.state_elem, lanes))


def dot_factors(view: StructuredOp) -> tuple[Value, Value] | None:
    """The two body values whose products a generic op sums up."""
    if view.body is None or len(view.outputs) != 1:
        return None
    found = _known_operation(view, 0)
    if found is None or len(found) != 2 or found[0] not in ("arith.addf", "arith.addi"):
        return None
    product = found[1].defining_op
    wanted = "arith.mulf" if found[0] == "arith.addf" else "arith.muli"
    if product is None or product.name != wanted or not product.result.has_one_use:
        return None
    return product.operands[0], product.operands[1]


def reducers_of(builder: KernelBuilder, view: StructuredOp) -> list[Reducer]:
    """The reducers that together give the op's results."""
    factors = dot_factors(view)
    if view.is_dot or factors is not None:
        return [DotReducer(builder, factors, element_name(view.outputs[0].type))]
    simple = [_known_operation(view, number) for number in range(len(view.outputs))]
    if all(found is not None for found in simple):
        return [_operation_reducer(builder, number, *found) for number, found in enumerate(simple)]
    return [BodyReducer(builder, view, _picks(view))]


def _operation_reducer(
    builder: KernelBuilder, number: int, name: str, value: Value, imaginary: Value | None = None
) -> Reducer:
    if imaginary is not None:
        re = _operation_reducer(builder, number, name, value)
        return ComplexReducer(number, re, _operation_reducer(builder, number, name, imaginary))
    elem = element_name(value.type)
    kind = ExtremumReducer if name in ("arith.maximumf", "arith.minimumf") else OperationReducer
    return kind(builder, number, name, value, elem)


def _known_operation(view: StructuredOp, number: int) -> tuple | None:
    """(op, the value that it combines the result with) where the body is result = op(result, value); for a complex
    result, whose parts are both that, (op, real value, imaginary value)."""
    accumulator = view.body.arguments[len(view.inputs) + number]
    combined = view.body.terminator.operands[number]
    if is_complex(combined.type):
        return _known_operation_on_parts(accumulator, combined)
    return _combination(accumulator, combined)


def _known_operation_on_parts(accumulator: Value, combined: Value) -> tuple[str, Value, Value] | None:
    create = combined.defining_op
    if create is None or create.name != "complex.create" or len(accumulator.users) != 2:
        return None
    found = []
    for name, part in zip(("complex.re", "complex.im"), create.operands, strict=True):
        old = next((user.result for user in accumulator.users if user.name == name), None)
        found.append(None if old is None else _combination(old, part))
    if None in found or found[0][0] != found[1][0] or found[0][0] not in ("arith.addf", "arith.mulf"):
        return None
    return found[0][0], found[0][1], found[1][1]


def _combination(accumulator: Value, combined: Value) -> tuple[str, Value] | None:
    op: Operation | None = combined.defining_op
    if op is None or op.name not in _FREE_ORDER or not accumulator.has_one_use or not combined.has_one_use:
        return None
    if op.operands[0] is accumulator:
        return op.name, op.operands[1]
    if op.operands[1] is accumulator:
        return op.name, op.operands[0]
    return None
