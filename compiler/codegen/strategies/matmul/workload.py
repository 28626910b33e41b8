"""How much of a matrix product a workgroup should do.

Enters: the time that one product of the outer bands takes. Leaves: the time that a workgroup should take, from the
problem's size alone, so that results do not depend on how many workers there are.
"""

from __future__ import annotations

import math

from ...row_kernel import RowKernel
from .shape import MatmulShape

_LEAST_NANOSECONDS = 10_000.0
_MOST_NANOSECONDS = 1_200_000.0
_MANY_WORKGROUPS = 16


def wanted_nanoseconds(kernel: RowKernel, shape: MatmulShape, nanoseconds: float) -> float:
    """What a workgroup should be worth where each product of the outer bands takes so many nanoseconds."""
    total = nanoseconds * math.prod([kernel.row_bands[k].extent for k in shape.outer])
    return min(max(total / _MANY_WORKGROUPS, _LEAST_NANOSECONDS), _MOST_NANOSECONDS)


def even_part(extent: int, most: int, multiple: int) -> int:
    """The size of equal parts of an extent, each a multiple and at most `most`, which is at least one multiple."""
    if extent <= most:
        return extent
    most -= most % multiple
    return math.ceil(math.ceil(extent / math.ceil(extent / most)) / multiple) * multiple
