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
        bits = element
        if self.order.kind == PLAIN:
            flip = 0 if self.order.is_signed else 1 << (self.bits - 1)
            flip ^= (1 << self.bits) - 1 if self.order.falls else 0
            return builder.op("arith.xori", (bits, builder.const(flip, type)), type) if flip else bits
        if element.type is not type:
            bits = builder.op("arith.bitcast", (element,), type)
        return self._turn(builder, self._turned_over(builder, bits), False)

    def decode(self, builder: KernelBuilder, key: Value, elem: str) -> Value:
        """The elements that have these keys."""
        type = key.type
        if self.order.kind == PLAIN:
            return self.encode(builder, key)
        bits = self._turned_over(builder, self._turn(builder, key, True))
        return bits if type.elem == elem else builder.op("arith.bitcast", (bits,), type.with_elem(elem))

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


def element_key(order: SortOrder | None) -> ElementKey | None:
    """The keys of an order of elements themselves, or None where there are none."""
    return ElementKey(order) if order is not None and order.has_element_keys else None
