"""Elements as signed integers that rise in the order of a sort, and back.

Enters: a `SortOrder` of a known kind. Leaves: an `ElementKey`, which gives each element a key of its own: where
elements count as equal though their bits differ (the zeros, the NaNs), they have neighbouring keys, in `classes`. So
keys alone can be sorted, without the elements; who sorts then puts the elements of a class into the order that they
came in, if there are different ones.
"""

from __future__ import annotations

from ...dialects.sort_orders import NUMBERS, PLAIN, SortOrder
from ..loops import KernelBuilder, Value, vector

_MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def rising_number(builder: KernelBuilder, order: SortOrder, number: Value) -> Value:
    """The numbers that an order is about as signed ones, of which the least comes first; this is its own inverse."""
    flip = 0 if order.is_signed else 1 << (order.bits - 1)
    flip ^= (1 << order.bits) - 1 if order.falls else 0
    return builder.op("arith.xori", (number, builder.const(flip, number.type)), number.type) if flip else number


class ElementKey:
    """Keys in the signed integers of the elements' width."""

    def __init__(self, order: SortOrder):
        self.order = order
        self.bits = order.bits
        self.elem = f"i{self.bits}"
        self.type = vector(self.elem)
        #: The least and the greatest key; the latter is for what is to come after everything.
        self.first, self.last = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        self._shift = 0
        #: The least and the greatest key of elements that are equal to one another.
        self.classes: list[tuple[int, int]] = []
        if order.kind == NUMBERS:
            # The keys go round, so that negative NaNs come after the positive ones and not before all numbers.
            self._shift = (1 << _MANTISSA_BITS[order.argument.type.name]) - 1
            ranges = [(-1 - self._shift, -self._shift), (self.last - 2 * self._shift + 1, self.last)]
            self.classes = [(~high, ~low) for low, high in ranges] if order.falls else ranges

    def encode(self, builder: KernelBuilder, element: Value) -> Value:
        """The keys of elements."""
        type = element.type.with_elem(self.elem)
        if self.order.kind == PLAIN:
            return rising_number(builder, self.order, element)
        bits = element if element.type is type else builder.op("arith.bitcast", (element,), type)
        return self._turn(builder, self._turned_over(builder, bits), False)

    def decode(self, builder: KernelBuilder, key: Value, elem: str) -> Value:
        """The elements that have these keys."""
        if self.order.kind == PLAIN:
            return rising_number(builder, self.order, key)
        return self._of_bits(builder, self._turn(builder, key, True), elem)

    def decode_number(self, builder: KernelBuilder, number: Value, elem: str) -> Value:
        """Elements with these rising numbers, one of each class."""
        plain = rising_number(builder, self.order, number)
        return plain if self.order.kind == PLAIN else self._of_bits(builder, plain, elem)

    def is_one_of_many(self, builder: KernelBuilder, number: Value) -> Value:
        """In each lane whether different elements have that rising number: zeros and NaNs."""
        bits = rising_number(builder, self.order, number)
        mask = bits.type.with_elem("i1")
        zero = builder.op("arith.cmpi", (bits, builder.const(0, bits.type)), mask, "eq")
        infinity = builder.const(self.last - self._shift, bits.type)
        return builder.op("arith.ori", (zero, builder.op("arith.cmpi", (bits, infinity), mask, "sgt")), mask)

    def _of_bits(self, builder: KernelBuilder, turned: Value, elem: str) -> Value:
        bits = self._turned_over(builder, turned)
        return bits if bits.type.elem == elem else builder.op("arith.bitcast", (bits,), bits.type.with_elem(elem))

    def _turned_over(self, builder: KernelBuilder, bits: Value) -> Value:
        """All bits but the sign turned over where that is set; this is its own inverse."""
        type = bits.type
        sign = builder.op("arith.shrsi", (bits, builder.const(self.bits - 1, type)), type)
        return builder.op(
            "arith.xori", (bits, builder.op("arith.andi", (sign, builder.const(self.last, type)), type)), type
        )

    def _turn(self, builder: KernelBuilder, key: Value, back: bool) -> Value:
        type = key.type
        if self.order.falls:
            # ~(key - shift), which is its own inverse.
            return builder.op("arith.subi", (builder.const(self._shift - 1, type), key), type)
        shift = builder.const(self._shift, type)
        return builder.op("arith.addi" if back else "arith.subi", (key, shift), type) if self._shift else key
