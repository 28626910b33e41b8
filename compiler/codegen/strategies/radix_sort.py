"""Sorting by the digits of a key, the lowest first.

Enters: the order of a sort by one number. Leaves: its `RadixKey`, and `RadixSort`, the loops for one row. All digits
are counted in one pass; then each digit has a pass that moves the elements from one place to another in the order of
that digit, equal ones as they were, so that the last pass leaves them sorted. Keys are computed in vectors; the
elements of a vector are then moved one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ...dialects.sort_orders import SortOrder
from ..dispatch import KernelContext
from ..evaluate import Evaluator
from ..indexing import Dim, LaneScope
from ..loops import INDEX, Buffer, KernelBuilder, Value, vector

_DIGIT_BITS = 8
_DIGITS = 1 << _DIGIT_BITS
_COUNT = vector("i32")


class RadixKey:
    """The number that an order is about, computed from one element, in digits."""

    def __init__(self, order: SortOrder):
        self.body, self.value, self.number = order.body, order.value, order.number
        self.argument = order.argument
        self.bits = max(_DIGIT_BITS, order.bits)
        #: What turns the key into an unsigned number that rises in the order of the sort.
        self.flip = (1 << (self.bits - 1)) * order.is_signed ^ ((1 << self.bits) - 1) * order.falls

    @property
    def passes(self) -> int:
        return self.bits // _DIGIT_BITS

    def digits(self, context: KernelContext, scope: LaneScope, element: Value) -> list[Value]:
        """The digits of an element's key as 32-bit numbers, the lowest first."""
        builder = context.builder
        evaluator = Evaluator(context, scope.copy(element.lanes))
        (key,) = evaluator.run_body(self.body, {self.argument: element}, [], None, [self.value])
        key = builder.splat(key, element.lanes)
        if key.type.elem == "i1":
            key = builder.op("arith.extui", (key,), key.type.with_elem("i8"))
        if self.flip:
            key = builder.op("arith.xori", (key, builder.const(self.flip, key.type)), key.type)
        found = []
        for number in range(self.passes):
            shift = builder.const(_DIGIT_BITS * number, key.type)
            digit = key if number == 0 else builder.op("arith.shrui", (key, shift), key.type)
            wide = digit.type.with_elem("i32")
            if key.type.bits != 32:
                digit = builder.op("arith.trunci" if key.type.bits > 32 else "arith.extui", (digit,), wide)
            found.append(builder.op("arith.andi", (digit, builder.const(_DIGITS - 1, wide)), wide))
        return found


class Place(Protocol):
    """Where the elements of a row are: one for each tensor and position."""

    def load(self, scope: LaneScope, number: int, position: Dim, lanes: int, first: int) -> Value: ...


class Destination(Place, Protocol):
    def store(self, scope: LaneScope, number: int, position: Value, value: Value) -> None: ...


class LocalPlace:
    """A row in local memory."""

    def __init__(self, builder: KernelBuilder, buffers: Sequence[Buffer]):
        self._builder, self._buffers = builder, buffers

    def load(self, scope: LaneScope, number: int, position: Dim, lanes: int, first: int) -> Value:
        return self._builder.load(self._buffers[number], position, first, lanes)

    def store(self, scope: LaneScope, number: int, position: Value, value: Value) -> None:
        self._builder.store(value, self._buffers[number], position)


class RadixSort:
    def __init__(self, context: KernelContext, key: RadixKey, tensors: int, extent: Dim, lanes: int):
        self.context, self.builder, self.key = context, context.builder, key
        self.tensors, self.extent = tensors, extent
        self.lanes = lanes
        self.counts = self.builder.local("counts", "i32", _DIGITS * key.passes)
        self.digits = self.builder.local("digits", "i32", lanes * key.passes)

    def row(self, scope: LaneScope, source: Place, aside: Destination, result: Destination) -> None:
        """Sorts a row from its source into the result; an even number of passes goes by way of `aside`."""
        self._count(scope, source)
        self._sum_up()
        for number in range(self.key.passes):
            target = result if (self.key.passes - number) % 2 else aside
            self._pass(scope, number, source, target)
            source = target

    def _count(self, scope: LaneScope, source: Place) -> None:
        """How often each digit occurs, for all digits of the keys."""
        builder = self.builder
        zeros = builder.const(0, vector("i32", 16))
        with builder.for_(0, _DIGITS * self.key.passes, 16) as loop:
            builder.store(zeros, self.counts, loop.index)

        def count(position: Value, lanes: int) -> None:
            element = builder.splat(source.load(scope, self.key.number, position, lanes, 0), lanes)
            digit = self._one_by_one(self.key.digits(self.context, scope, element))
            for lane in range(lanes):
                for number in range(self.key.passes):
                    self._next(digit(number, lane), number)

        self._positions(count)

    def _sum_up(self) -> None:
        """Turns numbers of digits into the place of the first element with each."""
        builder = self.builder
        for number in range(self.key.passes):
            with builder.for_(0, _DIGITS, 1, [builder.const(0, _COUNT)]) as loop:
                (before,) = loop.carried
                count = builder.load(self.counts, loop.index, _DIGITS * number, 1)
                builder.store(before, self.counts, loop.index, _DIGITS * number)
                loop.yield_(builder.op("arith.addi", (before, count), _COUNT))

    def _pass(self, scope: LaneScope, number: int, source: Place, target: Destination) -> None:
        """Moves all elements to where one digit says."""
        builder = self.builder

        def move(position: Value, lanes: int) -> None:
            element = builder.splat(source.load(scope, self.key.number, position, lanes, 0), lanes)
            digit = self._one_by_one([self.key.digits(self.context, scope, element)[number]])
            for lane in range(lanes):
                place = self._next(digit(0, lane), number)
                place = builder.op("arith.extui", (place,), INDEX)
                for tensor in range(self.tensors):
                    target.store(scope, tensor, place, source.load(scope, tensor, position, 1, lane))

        self._positions(move)

    def _next(self, digit: Value, number: int) -> Value:
        """The count of a digit, which grows by one."""
        builder = self.builder
        count = builder.load(self.counts, digit, _DIGITS * number, 1)
        more = builder.op("arith.addi", (count, builder.const(1, _COUNT)), _COUNT)
        builder.store(more, self.counts, digit, _DIGITS * number)
        return count

    def _one_by_one(self, digits: Sequence[Value]) -> Callable[[int, int], Value]:
        """Access to the lanes of vectors of digits, by way of memory."""
        builder = self.builder
        lanes = digits[0].lanes
        if lanes > 1:
            for number, vector_of_digits in enumerate(digits):
                builder.store(vector_of_digits, self.digits, 0, number * self.lanes)

        def digit(number: int, lane: int) -> Value:
            one = builder.load(self.digits, 0, number * self.lanes + lane, 1) if lanes > 1 else digits[number]
            return builder.op("arith.extui", (one,), INDEX)

        return digit

    def _positions(self, body: Callable[[Value, int], None]) -> None:
        """Runs `body` over the row in vectors, then over what is left."""
        builder = self.builder
        main = builder.round_down(self.extent, self.lanes)
        with builder.for_(0, main, self.lanes) as loop:
            body(loop.index, self.lanes)
        with builder.for_(main, self.extent) as loop:
            body(loop.index, 1)
