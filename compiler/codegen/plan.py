"""What a strategy hands back: the kernel, and how many workgroups run it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .indexing import Dim
from .loops import KernelFunction, Value


@dataclass(frozen=True)
class CeilDiv:
    """ceil(value / divisor) of a dynamic dim of the dispatch, a scalar of the kernel."""

    value: Value
    divisor: int


@dataclass
class Plan:
    """A kernel and its workgroup count: the product of `factors`, ints or `CeilDiv`s of dynamic dims."""

    kernel: KernelFunction
    factors: list[int | CeilDiv] = field(default_factory=list)

    @property
    def static_count(self) -> int | None:
        """The count where it is known at compile time."""
        if all(isinstance(f, int) for f in self.factors):
            return math.prod(self.factors)
        return None


def count_factors(extents: Sequence[Dim], tile_sizes: Sequence[int]) -> list[int | CeilDiv]:
    """Tiles of each extent; a size of 0 is one tile, which an extent of 0 does not have."""
    factors: list[int | CeilDiv] = []
    for extent, size in zip(extents, tile_sizes, strict=True):
        if extent.__class__ is int:
            factors.append(-(-extent // size) if size else min(extent, 1))
        elif size:
            factors.append(CeilDiv(extent, size))
    return factors
