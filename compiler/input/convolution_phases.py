"""Convolutions of images with holes (`lhs_dilation`) as convolutions without: one for each phase of the output.

Enters: one spatial dimension of a convolution. Leaves: its phases. Between the elements of an image whose elements are
`holes` apart there is nothing but zeros, and output places that are a period apart see zeros at the same places of
the window. So the places of one phase need only the other places of the window, and a convolution of the image as it
is: what the transposed convolution and the gradient of a strided one do with `1 / holes` of the products. XLA's loops
and oneDNN leave the zeros out too; a product of a zero between elements with an infinite weight is not a NaN here.
"""

from __future__ import annotations

import math

from pyiree.compiler.input.sizes import dilated
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial dimension: tap `k` of the window sees at place `i` of the output what is at
    `first + i * stride + k * dilation` of the image, whose `size` elements are `holes` apart; outside is zero."""

    size: int
    places: int
    window: int
    stride: int
    first: int
    holes: int
    dilation: int

    @property
    def behind(self) -> int:
        """The place behind the last that a window sees."""
        return self.first + (self.places - 1) * self.stride + (self.window - 1) * self.dilation + 1

    @property
    def padding(self) -> tuple[int, int]:
        """How many places that windows see are in front of the image and behind it."""
        return max(0, -self.first), max(0, self.behind - dilated(self.size, self.holes))

    def padded(self, low: int, high: int) -> Axis:
        """The same places of an image with zeros for its holes, with `low` more in front of it and `high` behind it."""
        size = dilated(self.size, self.holes) + low + high
        return Axis(size, self.places, self.window, self.stride, self.first + low, 1, self.dilation)


@dataclass(frozen=True, slots=True)
class Phase:
    """Every `period`-th place of the output: it needs `axis.window` taps, `step` apart from the tap `tap` on."""

    period: int
    tap: int
    step: int
    axis: Axis


def phases(axis: Axis) -> list[Phase]:
    """The phases of the output's places, in the order of the first place of each. They have the same length; the last
    place of some may be behind the output's end."""
    period = axis.holes // math.gcd(axis.stride, axis.holes)
    step = axis.holes // math.gcd(axis.dilation, axis.holes)
    places = -(-axis.places // period)
    found = []
    for place in range(period):
        start = axis.first + place * axis.stride
        tap = next((k for k in range(min(step, axis.window)) if (start + k * axis.dilation) % axis.holes == 0), None)
        window = 0 if tap is None else -(-(axis.window - tap) // step)
        tap = tap or 0
        first = (start + tap * axis.dilation) // axis.holes
        stride, dilation = axis.stride * period // axis.holes, axis.dilation * step // axis.holes
        found.append(Phase(period, tap, step, Axis(axis.size, places, window, stride, first, 1, dilation)))
    return found
