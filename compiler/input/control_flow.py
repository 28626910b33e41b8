"""`while`, `case` and `if` as scf: loops that count become `scf.for`, whose counter is a scalar of the host.

Before: all that a loop carries is tensors. After: values that only pass through are dropped, counters that run
alike are one, and only what the body computes is carried. A tensor of a size that is known when the program runs has
the size that it starts with in each iteration, unless the body makes it another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import BOOLEAN, SIGNED
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import defining_op, dialect_attribute
from pyiree.compiler.input.sizes import size_of
from pyiree.compiler.input.values import TOKEN, Lazy, Tensor, Token, Uniform
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import i1
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@dataclass
class Counter:
    """A carried integer that every iteration adds a constant to, while it is less than a bound."""

    number: int
    step: int
    bound: Lazy


class Carried:
    """The values that a loop carries as tensors, by their numbers among the operands of its op."""

    def __init__(self, c: Converter, op: Any, operands: list[Lazy], numbers: list[int], resized: set[int]) -> None:
        self._c = c
        self._numbers = numbers
        self._shapes = [c.shaped(op.results[n]) if n in resized else operands[n].shaped for n in numbers]
        #: The numbers of those that may have another size in each iteration; grows when an iteration ends.
        self.resized = resized
        self.holds = True
        self.inits = self._tensors(operands)
        self.types = [value.type for value in self.inits]

    def _tensors(self, lazies: Sequence[Lazy]) -> list[Value]:
        c = self._c
        return [c.of_type(c.tensor(lazies[n]), shaped.type) for n, shaped in zip(self._numbers, self._shapes)]

    def known_as(self, values: Sequence[Value]) -> dict[int, Lazy]:
        """What the loop's values are in an iteration or behind the loop, by their numbers."""
        return {n: _of_any_size(self._c, s, v) for n, s, v in zip(self._numbers, self._shapes, values)}

    def hand_on(self, results: Sequence[Lazy]) -> None:
        """Ends an iteration. The loop `holds` only if no size differs from what it was taken for."""
        for n, shaped in zip(self._numbers, self._shapes):
            if n not in self.resized and tuple(results[n].shaped.shape) != tuple(shaped.shape):
                self.resized.add(n)
                self.holds = False
        self._c.emitter.emit("scf.yield", self._tensors(results), ())


def _behind_calls(c: Converter, value: Any, calls: tuple[Any, ...] = ()) -> tuple[Any, tuple[Any, ...]]:
    """A value that a call gives or that a called function gets, where it is made: the value there, and the calls
    that lead there, the outermost first."""
    while True:
        owner = defining_op(value)
        if owner is None and calls:
            *outer, call = calls
            value, calls = call.operands[value.arg_number], tuple(outer)
        elif owner is not None and owner.name == "func.call":
            block = c.functions[owner.attributes["callee"].value].regions[0].blocks[0]
            value, calls = list(block.operations)[-1].operation.operands[value.result_number], (*calls, owner)
        else:
            return value, calls


def _carried_unchanged(c: Converter, returned: Any, arguments: Any) -> list[bool]:
    """For each carried value whether an iteration hands it on as it got it."""
    return [_behind_calls(c, value) == (argument, ()) for value, argument in zip(returned, arguments)]


def _steps(c: Converter, returned: Any, arguments: Any) -> dict[int, int]:
    """The carried rank-0 signed integers that every iteration adds a constant to, and the constants."""
    found: dict[int, int] = {}
    for number, (value, argument) in enumerate(zip(returned, arguments)):
        shaped = c.reader.shaped(value.type)
        if shaped is None or shaped.shape or shaped.element.kind != SIGNED or shaped.element.type.width < 32:
            continue
        made, calls = _behind_calls(c, value)
        add = defining_op(made)
        if add is None or add.name != "stablehlo.add":
            continue
        lhs, rhs = [_behind_calls(c, operand, calls) for operand in add.operands]
        other = rhs if lhs == (argument, ()) else lhs if rhs == (argument, ()) else None
        step = None if other is None else _constant_integer(c, other[0])
        if step is not None:
            found[number] = step
    return found


def _constant_integer(c: Converter, value: Any) -> int | None:
    """The integer of a scalar constant inside or outside of the loop."""
    owner = defining_op(value)
    if owner is None or owner.name != "stablehlo.constant":
        return None
    constant = c.constant(owner)
    attribute = constant.attribute if isinstance(constant, Uniform) else None
    return attribute.value if isinstance(attribute, IntegerAttr) else None


def _find_counter(
    c: Converter, condition: Any, steps: dict[int, int], unchanged: list[bool], operands: list[Lazy]
) -> Counter | None:
    """The counter that decides when the loop ends, if that is all that decides."""
    compare = defining_op(list(condition.operations)[-1].operation.operands[0])
    if compare is None or compare.name != "stablehlo.compare":
        return None
    direction = dialect_attribute(compare, "comparison_direction", "ComparisonDirectionAttr").value
    lhs, rhs = compare.operands
    if direction == "GT":
        lhs, rhs, direction = rhs, lhs, "LT"
    if direction != "LT":
        return None
    arguments = list(condition.arguments)
    number = next((i for i, a in enumerate(arguments) if a == lhs), None)
    if number is None or steps.get(number, 0) <= 0:
        return None
    inside = next((i for i, a in enumerate(arguments) if a == rhs), None)
    if inside is not None:
        return Counter(number, steps[number], operands[inside]) if unchanged[inside] else None
    owner = defining_op(rhs)
    if owner is not None and owner.name == "stablehlo.constant":
        return Counter(number, steps[number], c.constant(owner))
    if c.knows(rhs):
        return Counter(number, steps[number], c.value_of(rhs))
    return None


@converts("stablehlo.while")
def _while(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    returned = list(list(body.operations)[-1].operation.operands)
    arguments = list(body.arguments)
    # Tokens carry nothing, so that the one from outside serves.
    unchanged = [
        same or isinstance(operand, Token)
        for same, operand in zip(_carried_unchanged(c, returned, arguments), operands)
    ]
    steps = _steps(c, returned, arguments)
    counter = _find_counter(c, condition, steps, unchanged, operands)
    resized: set[int] = set()
    found = None
    while found is None:
        if counter is None:
            found = _general_while(c, op, operands, unchanged, resized)
        else:
            found = _counted_loop(c, op, operands, unchanged, resized, steps, counter)
    return found


def _counted_loop(
    c: Converter,
    op: Any,
    operands: list[Lazy],
    unchanged: list[bool],
    resized: set[int],
    steps: dict[int, int],
    counter: Counter,
) -> list[Lazy] | None:
    """The results; None if a size was taken for the same in each iteration and is not: it is `resized` now."""
    emitter = c.emitter
    body = op.regions[1].blocks[0]
    location = emitter.location
    kind = operands[counter.number].shaped
    lower = c.host_scalar(operands[counter.number])
    upper = c.host_scalar(counter.bound)
    step = emitter.integer(counter.step, kind.element.type)
    # Counters that run beside the deciding one, from a start that the host knows, follow from it.
    beside = [
        number
        for number, by in steps.items()
        if number != counter.number
        and by == counter.step
        and isinstance(operands[number], Uniform)
        and operands[number].shaped.element is kind.element
    ]
    counters = [counter.number, *beside]
    numbers = [n for n in range(len(operands)) if n not in counters and not unchanged[n]]
    carried = Carried(c, op, operands, numbers, resized)
    block = Block([kind.element.type, *carried.types])
    with emitter.inside(block):
        induction = block.arguments[0]
        for number, argument in enumerate(body.arguments):
            if number in counters:
                c.bind(argument, _beside(c, operands, number, counter.number, induction, lower))
            elif unchanged[number]:
                c.bind(argument, operands[number])
        for number, value in carried.known_as(block.arguments[1:]).items():
            c.bind(body.arguments[number], value)
        results = c.convert_block(body)
        emitter.location = location
        carried.hand_on(results)
    loop = emitter.emit("scf.for", (lower, upper, step, *carried.inits), carried.types, None, (Region(block),))
    if not carried.holds:
        loop.erase()
        return None
    found = carried.known_as(loop.results)
    for number in range(len(operands)):
        if number in counters:
            if _is_used(op.results[number]):
                last = _last_value(c, lower, upper, counter.step)
                found[number] = _beside(c, operands, number, counter.number, last, lower)
            else:
                found[number] = operands[number]
        elif unchanged[number]:
            found[number] = operands[number]
    return [found[n] for n in range(len(operands))]


def _is_used(value: Any) -> bool:
    return next(iter(value.uses), None) is not None


def _beside(c: Converter, operands: list[Lazy], number: int, deciding: int, count: Value, lower: Value) -> Uniform:
    """A counter by its distance from the start of the one that decides."""
    start = operands[number]
    if number == deciding:
        return Uniform(start.shaped, scalar=count)
    assert isinstance(start, Uniform)
    first, other = operands[deciding], start
    if isinstance(first, Uniform) and first.attribute is not None and first.attribute is other.attribute:
        return Uniform(start.shaped, scalar=count)
    gone = c.emitter.binary("arith.subi", count, lower)
    return Uniform(start.shaped, scalar=c.emitter.binary("arith.addi", c.uniform_scalar(start), gone))


def _last_value(c: Converter, lower: Value, upper: Value, step: int) -> Value:
    """The counter after the loop: the first value from `lower` in steps that isn't below `upper`."""
    emitter = c.emitter
    if step == 1:
        return emitter.binary("arith.maxsi", lower, upper)
    constant = emitter.integer(step, lower.type)
    distance = emitter.binary("arith.subi", upper, lower)
    rounded = emitter.binary("arith.ceildivsi", distance, constant)
    end = emitter.binary("arith.addi", lower, emitter.binary("arith.muli", rounded, constant))
    return emitter.select(emitter.cmpi("slt", lower, upper), end, lower)


def _general_while(
    c: Converter, op: Any, operands: list[Lazy], unchanged: list[bool], resized: set[int]
) -> list[Lazy] | None:
    """As `_counted_loop`, for any condition."""
    emitter = c.emitter
    location = emitter.location
    condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    carried = Carried(c, op, operands, [n for n in range(len(operands)) if not unchanged[n]], resized)

    def bind(region_block: Any, block: Block) -> None:
        values = carried.known_as(block.arguments)
        for number, argument in enumerate(region_block.arguments):
            c.bind(argument, values.get(number, operands[number]))

    before = Block(carried.types)
    with emitter.inside(before):
        bind(condition, before)
        decided = c.host_scalar(c.convert_block(condition)[0])
        emitter.location = location
        emitter.emit("scf.condition", (decided, *before.arguments), ())
    after = Block(carried.types)
    with emitter.inside(after):
        bind(body, after)
        results = c.convert_block(body)
        emitter.location = location
        carried.hand_on(results)
    loop = emitter.emit("scf.while", carried.inits, carried.types, None, (Region(before), Region(after)))
    if not carried.holds:
        loop.erase()
        return None
    found = carried.known_as(loop.results)
    return [found.get(n, operands[n]) for n in range(len(operands))]


@converts("stablehlo.if")
def _if(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (predicate,) = operands
    then, otherwise = [region.blocks[0] for region in op.regions]
    if isinstance(predicate, Uniform) and predicate.attribute is not None:
        return c.convert_block(then if predicate.attribute.value else otherwise)
    return _branches(c, op, c.host_scalar(predicate), lambda: c.convert_block(then), lambda: c.convert_block(otherwise))


@converts("stablehlo.case")
def _case(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (which,) = operands
    blocks = [region.blocks[0] for region in op.regions]
    last = len(blocks) - 1
    if last == 0:
        return c.convert_block(blocks[0])
    if isinstance(which, Uniform) and which.attribute is not None:
        number = which.attribute.value
        return c.convert_block(blocks[number if 0 <= number <= last else last])
    predicate = _as_predicate(c, op.operands[0]) if last == 1 else None
    if predicate is not None:
        # JAX's cond turns its predicate into 0 or 1 first.
        return _branches(
            c, op, c.host_scalar(predicate), lambda: c.convert_block(blocks[1]), lambda: c.convert_block(blocks[0])
        )
    scalar = c.host_scalar(which)

    def choose(number: int) -> Sequence[Lazy]:
        if number == last:
            return c.convert_block(blocks[last])
        here = c.emitter.cmpi("eq", scalar, c.emitter.integer(number, scalar.type))
        return _branches(c, op, here, lambda: c.convert_block(blocks[number]), lambda: choose(number + 1))

    return list(choose(0))


def _as_predicate(c: Converter, value: Any) -> Lazy | None:
    """The bool that an index was converted from, or None."""
    owner = defining_op(value)
    if owner is None or owner.name != "stablehlo.convert":
        return None
    source = owner.operands[0]
    shaped = c.reader.shaped(source.type)
    return c.value_of(source) if shaped is not None and shaped.element.kind == BOOLEAN else None


def _branches(c: Converter, op: Any, condition: Value, then: Any, otherwise: Any) -> list[Lazy]:
    """`scf.if` around two conversions, whose results are tensors."""
    emitter = c.emitter
    location = emitter.location
    results = [c.reader.shaped(value.type) for value in op.results]
    types = [shaped.type for shaped in results if shaped is not None]
    regions = []
    for branch in (then, otherwise):
        block = Block()
        with emitter.inside(block):
            values = [c.tensor(lazy) for lazy in branch() if not isinstance(lazy, Token)]
            emitter.location = location
            emitter.emit("scf.yield", [c.of_type(value, type) for value, type in zip(values, types)], ())
        regions.append(Region(block))
    assert condition.type is i1
    chosen = iter(emitter.emit("scf.if", (condition,), types, None, regions).results)
    return [TOKEN if shaped is None else _of_any_size(c, shaped, next(chosen)) for shaped in results]


def _of_any_size(c: Converter, shaped: Shaped, value: Value) -> Tensor:
    """A value whose dynamic dims are known from itself alone."""
    if not shaped.type.has_static_shape:
        dims = enumerate(shaped.shape)
        sizes = [size_of(c.emitter, c.emitter.dim(value, d)) if size is None else size for d, size in dims]
        shaped = Shaped.of(sizes, shaped.element)
    return Tensor(shaped, value)
