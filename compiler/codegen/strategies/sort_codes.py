"""What is moved while rows are sorted: one signed integer for each place, from which all results follow.

Enters: a sort's tensors and its order. Leaves: a code, which makes an integer of what lies at a place and stores the
results that follow from it. An `ElementCode` is a key that the element is told from; a `PairCode` is a number to sort
by and, in the lower bits, the place that it came from, which keeps equal ones in order and tells what else is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.sort_orders import NUMBERS, SortOrder, code_bits
from ...ir.core import Value as TensorValue
from ..dispatch import KernelContext
from ..elements import element_name
from ..evaluate import Evaluator
from ..indexing import Dim, Lanes, LaneScope, Sym, of
from ..loops import BOOL, INDEX, KernelBuilder, Value, vector
from ..stores import ResultStore
from .sort_keys import ElementKey, rising_number


class SortedTensors:
    """The tensors of a sort: what is read, and where the results go."""

    def __init__(
        self, context: KernelContext, values: Sequence[TensorValue], stores: Sequence[ResultStore],
        domain: Sequence[Sym], along: Sym,
    ):  # fmt: skip
        self.context, self.builder = context, context.builder
        self.values, self.stores, self.along = list(values), list(stores), along
        self.point = tuple([of(sym) for sym in domain])
        self.element_bits = vector(element_name(values[0].type)).bits

    def at(self, scope: LaneScope, position: Dim, lanes: int = 1, mask: Value | None = None) -> LaneScope:
        """Places of a row from a position on."""
        inner = scope.copy(lanes, mask)
        inner.bind(self.along, Lanes(position, 0 if lanes == 1 else tuple(range(lanes))))
        return inner

    def load(self, scope: LaneScope, number: int) -> Value:
        """What is read of a tensor."""
        value = Evaluator(self.context, scope).value_at(self.values[number], self.point)
        return self.builder.splat(value, scope.lanes)

    def store(self, scope: LaneScope, number: int, value: Value) -> None:
        """Stores elements of a result."""
        self.stores[number].store(scope, self.point, value)


class ElementCode:
    """Keys of the elements of one tensor; `number` tells which of those that are read it is."""

    def __init__(self, tensors: SortedTensors, key: ElementKey, number: int = 0):
        self.tensors, self._key, self._number = tensors, key, number
        self.bits, self.first, self.last = code_bits(key.order, 0), key.first, key.last
        self.type = vector(f"i{self.bits}")
        self.classes = key.classes
        self._elem = element_name(key.order.argument.type)

    def load(self, scope: LaneScope) -> Value:
        """The code of what lies at a place."""
        builder = self.tensors.builder
        key = self._key.encode(builder, self.tensors.load(scope, self._number))
        wide = key.type.with_elem(self.type.elem)
        return key if key.type is wide else builder.op("arith.extsi", (key,), wide)

    def store(self, scope: LaneScope, code: Value) -> None:
        """Stores what follows from a code."""
        builder, type = self.tensors.builder, code.type.with_elem(self._key.elem)
        key = code if code.type is type else builder.op("arith.trunci", (code,), type)
        self.tensors.store(scope, 0, self._key.decode(builder, key, self._elem))


class PairCode:
    """Numbers to sort by, with places of `place_bits` bits below them."""

    def __init__(self, tensors: SortedTensors, order: SortOrder, place_bits: int):
        self.tensors, self._order, self._place_bits = tensors, order, place_bits
        self.bits = code_bits(order, place_bits)
        self.type = vector(f"i{self.bits}")
        self.first, self.last = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        self.classes: list[tuple[int, int]] = []
        self._key = ElementKey(order) if order.has_element_keys else None

    def load(self, scope: LaneScope) -> Value:
        """The code of what lies at a place."""
        tensors, builder, order = self.tensors, self.tensors.builder, self._order
        element = tensors.load(scope, order.number)
        evaluator = Evaluator(tensors.context, scope.copy(scope.lanes))
        (number,) = evaluator.run_body(order.body, {order.argument: element}, [], None, [order.value])
        number = rising_number(builder, order, builder.splat(number, scope.lanes))
        type = number.type.with_elem(self.type.elem)
        wide = builder.op("arith.extsi", (number,), type) if number.type is not type else number
        high = builder.op("arith.shli", (wide, builder.const(self._place_bits, type)), type)
        place = builder.splat(scope.value(of(tensors.along), self.type.elem), scope.lanes)
        return builder.op("arith.ori", (high, place), type)

    def store(self, scope: LaneScope, code: Value) -> None:
        """Stores what follows from a code."""
        tensors, builder, order = self.tensors, self.tensors.builder, self._order
        places = self._places(code)
        origin = scope.copy(scope.lanes, scope.mask)
        origin.bind(tensors.along, Lanes(places))
        for number in range(len(tensors.values)):
            if number != order.number or self._key is None:
                tensors.store(scope, number, tensors.load(origin, number))
        if self._key is None:
            return
        shift = builder.const(self._place_bits, code.type)
        high = builder.op("arith.shrsi", (code, shift), code.type)
        number = builder.op("arith.trunci", (high,), code.type.with_elem(f"i{order.bits}"))
        elem = element_name(order.argument.type)
        if order.kind != NUMBERS:
            tensors.store(scope, order.number, self._key.decode(builder, number, elem))
            return
        tensors.store(scope, order.number, self._key.decode_number(builder, number, elem))
        # Zeros and NaNs differ though their numbers are equal.
        doubtful = self._key.is_one_of_many(builder, number)
        if scope.mask is not None:
            doubtful = builder.op("arith.andi", (doubtful, scope.mask), doubtful.type)
        with builder.if_(builder.reduce("arith.ori", doubtful)):
            mask = doubtful if scope.lanes > 1 else None
            origin = origin.copy(scope.lanes, mask)
            exact = scope.copy(scope.lanes, mask)
            tensors.store(exact, order.number, tensors.load(origin, order.number))

    def _places(self, code: Value) -> Value:
        """Where codes come from, as indices."""
        builder = self.tensors.builder
        below = builder.const((1 << self._place_bits) - 1, code.type)
        place = builder.op("arith.andi", (code, below), code.type)
        wide = code.type.with_elem("i64")
        return place if wide is code.type else builder.op("arith.extui", (place,), wide)


Code = ElementCode | PairCode


def copy_class(
    tensors: SortedTensors, code: Code, scope: LaneScope, extent: Dim, ends: tuple[int, int], begin: Dim,
    part: tuple[Dim, Dim],
) -> None:  # fmt: skip
    """Stores the elements of a row with codes between two ends, in the order that they came in: from place `begin` on,
    those whose places are in `part`."""
    builder = tensors.builder
    start, stop = map(builder.index, part)
    with builder.for_(0, extent, 1, [builder.index(begin)]) as loop:
        (place,) = loop.carried
        # The code is stored: a number that is kept as a float may become another NaN on the way.
        one = code.load(tensors.at(scope, loop.index))
        counts = _between(builder, builder.const(ends[0], code.type), one, builder.const(ends[1], code.type))
        inside = _between(builder, start, place, builder.index(builder.sub(stop, 1)))
        with builder.if_(builder.op("arith.andi", (counts, inside), BOOL)):
            code.store(tensors.at(scope, place), one)
        loop.yield_(builder.index(builder.add(place, builder.op("arith.extui", (counts,), INDEX))))


def _between(builder: KernelBuilder, low: Value, value: Value, high: Value) -> Value:
    ends = [builder.op("arith.cmpi", pair, BOOL, "sle") for pair in ((low, value), (value, high))]
    return builder.op("arith.andi", ends, BOOL)
