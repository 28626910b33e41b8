"""Sorts of long rows in steps, each of which many workgroups share.

A step is an iree_linalg_ext.sort like any other, so any tool reads and runs it: to sort what is sorted already changes
nothing. The attribute `pyiree.sort_runs = [extent, padded, have, make, place_bits]` says how much of that a step may
leave to the others. Rows of `extent` elements are filled up at the end to `padded`, a multiple of the runs. A step that
makes runs of `make` elements leaves codes in the memory of its result, in a form that only the next step knows; that
one has them, `have` long. The first step has none, the last makes a whole row. A code is the number that an element is
sorted by and, in `place_bits` more bits, its place.
"""

from __future__ import annotations

from dataclasses import astuple

from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.types import i64
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

ATTRIBUTE = "pyiree.sort_runs"
#: What the length of a run is a multiple of: every vector width divides a quarter of it.
RUN_MULTIPLE = 512


@dataclass(frozen=True)
class SortRuns:
    """What a step has and makes."""

    extent: int
    padded: int
    have: int
    make: int
    place_bits: int

    @property
    def attribute(self) -> ArrayAttr:
        return ArrayAttr([IntegerAttr(n, i64) for n in astuple(self)])


def sort_runs(op: Operation) -> SortRuns | None:
    """The step that a sort is, or None where it is a whole sort."""
    found = op.attributes.get(ATTRIBUTE)
    return None if found is None else SortRuns(*[number.value for number in found])
