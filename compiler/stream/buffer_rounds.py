"""Buffers that swap places from iteration to iteration of a loop.

Enters: the block that begins a loop, and what the end of an iteration hands to it. Leaves: a `Round`, which tells where
each buffer is after so many iterations; or None where iterations hand on other memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyiree.compiler.ir.core import Block, BlockArgument, Value
from pyiree.compiler.stream.types import is_resource
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Buffers may change places in a round of so many iterations.
_MAX_ROUND = 60


@dataclass
class Round:
    """Which buffer each carried resource is in the next iteration; after `start` iterations, places repeat after every
    `length` more."""

    following: dict[int, int]
    start: int
    length: int

    def after(self, iterations: int) -> dict[int, int]:
        """Which of the first buffers each carried resource is after some iterations."""
        places = {k: k for k in self.following}
        for _ in range(self.fewest(iterations)):
            places = {k: places[self.following[k]] for k in places}
        return places

    def fewest(self, iterations: int) -> int:
        """The fewest iterations, none of which is a start, after which places are as after some."""
        if iterations < self.start:
            return iterations
        return self.start + (iterations - self.start) % self.length


def buffer_round(header: Block, handed_on: Sequence[Value]) -> Round | None:
    """How the resources that a header takes change places."""
    following: dict[int, int] = {}
    for argument in header.arguments:
        if is_resource(argument.type):
            value = handed_on[argument.index]
            if not isinstance(value, BlockArgument) or value.block is not header:
                return None
            following[argument.index] = value.index
    start, length = 0, 1
    for number in following:
        seen: list[int] = []
        at = number
        while at not in seen:
            seen.append(at)
            at = following[at]
        start, length = max(start, seen.index(at)), math.lcm(length, len(seen) - seen.index(at))
    return Round(following, start, length) if length <= _MAX_ROUND else None
