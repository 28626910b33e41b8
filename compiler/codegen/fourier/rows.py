"""A transform along memory, of h * t elements.

Enters: elements in vectors along the row. Leaves: frequencies in vectors along the row. Elements that lie t apart are
transformed first, in registers, for a vector of neighbours at a time; times twiddle factors they are transposed into
slots, where frequency k1 < h is the lane and the neighbour's number the slot. A transform along the slots gives
frequencies k1 + h * k2 in neighbouring lanes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...dialects.roots_of_unity import roots
from ..complex_values import Complex
from ..indexing import Dim
from ..loops import KernelBuilder, vector
from ..target import LEAST_LOCAL_BYTES
from . import codelets
from .codelets import Codelets
from .columns import Columns, chunks, cost_of, radices_of, slots_bytes, start_of

#: Elements from a computed place plus a known one on, as many as the last number says.
Load = Callable[[Dim, int, int], Complex]
Store = Callable[[Dim, int, Complex], None]


def power_of_two(number: int) -> int:
    """The largest power of two that is no larger."""
    return 1 << (number.bit_length() - 1)


class RowShape:
    """How a row of `length` is split: `head` by `tail`, `along` neighbours at a time, heads in `lanes`."""

    def __init__(self, elem: str, lanes: int, length: int, head: int):
        self.length, self.head, self.tail = length, head, length // head
        self.along = power_of_two(min(lanes, self.tail))
        self.lanes = power_of_two(min(lanes, head))
        self.blocks = -(-head // self.lanes)
        self.bytes = self.blocks * slots_bytes(elem, self.lanes, self.tail)

    @property
    def cost(self) -> float:
        """Rough instructions of a row."""
        each = codelets.cost(self.head) + 4 * (self.head - 1) + 8 * self.head
        turned = self.blocks * self.lanes * 2 * (self.along.bit_length() + 1)
        return -(-self.tail // self.along) * (each + turned) + self.blocks * cost_of(self.tail)


def row_shape(elem: str, lanes: int, length: int) -> RowShape | None:
    """The cheapest split of a row; None where none has its slots in local memory."""
    shapes = [
        RowShape(elem, lanes, length, head)
        for head in range(2, codelets.LARGEST_PRIME + 1)
        if length % head == 0 and codelets.is_codelet(head) and radices_of(length // head) is not None
    ]
    return min([s for s in shapes if s.bytes <= LEAST_LOCAL_BYTES], key=lambda shape: shape.cost, default=None)


class Rows:
    """Emits transforms of rows of one shape."""

    def __init__(self, builder: KernelBuilder, elem: str, shape: RowShape, sign: int):
        self.builder, self.shape = builder, shape
        self.columns = Columns(builder, elem, shape.lanes, shape.tail, sign, shape.blocks)
        self._codelets = Codelets(builder, vector(elem, shape.along), sign)
        starts = np.minimum(np.arange(0, shape.tail, shape.along), shape.tail - shape.along)
        places = starts[:, None, None] + np.arange(shape.along)
        factors = roots(sign * places * np.arange(1, shape.head)[:, None], shape.length)
        self._factors = builder.table("twiddles", elem, np.moveaxis(factors, -1, -2))

    def run(self, load: Load, store: Store) -> None:
        """Transforms one row."""
        builder, shape = self.builder, self.shape
        with chunks(builder, shape.tail, shape.along) as loop:
            self._heads(loop.index, start_of(builder, loop.index, shape.tail, shape.along), load)
        for block in range(shape.blocks):
            first = self._first(block)
            self.columns.run(
                block * shape.tail,
                None,
                lambda base, offset, value, first=first: store(
                    builder.mul(base, shape.head), offset * shape.head + first, value
                ),
            )

    def _first(self, block: int) -> int:
        """The frequency in the first lane of a block; the last block begins early enough to be full."""
        return min(block * self.shape.lanes, self.shape.head - self.shape.lanes)

    def _heads(self, number: Dim, start: Dim, load: Load) -> None:
        builder, shape = self.builder, self.shape
        at = builder.mul(number, 2 * (shape.head - 1) * shape.along)
        heads: dict[int, Complex] = {}

        def give(k: int, value: Complex) -> None:
            if k:
                offset = 2 * (k - 1) * shape.along
                re, im = (builder.load(self._factors, at, offset + part * shape.along, shape.along) for part in (0, 1))
                value = self._codelets.times(value, re, im)
            heads[k] = value

        self._codelets.transform(shape.head, lambda i: load(start, i * shape.tail, shape.along), give)
        for block in range(shape.blocks):
            first = self._first(block)
            rows = [heads[first + k] for k in range(shape.lanes)]
            self.columns.store_rows(builder.add(start, block * shape.tail), rows)
