"""Side effects, as declared by traits.

What enters: an op. What leaves: whether it can be removed when unused, merged with an equal one, or moved.
"""

from __future__ import annotations

from functools import cache

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.traits import (
    MemoryAlloc,
    MemoryFree,
    MemoryRead,
    MemoryWrite,
    Pure,
    RecursivelyPure,
    Symbol,
    Terminator,
)

_EFFECTS = (MemoryRead, MemoryWrite, MemoryAlloc, MemoryFree)


def is_pure(op: Operation) -> bool:
    """Whether the op has no effect and reads nothing that can change."""
    traits = op.traits
    if Pure in traits:
        return True
    if RecursivelyPure not in traits:
        return False
    return all(
        is_pure(nested) or Terminator in nested.traits for region in op.regions for nested in region.ops
    )


#: How `is_removable` decides for the ops of a class.
NEVER, ALWAYS, AS_ITS_REGIONS = 0, 1, 2


@cache
def removal_rule(traits: frozenset) -> int:
    """Whether unused ops with these traits may go: `NEVER`, `ALWAYS`, or if all ops in their regions may."""
    if Terminator in traits or Symbol in traits:
        return NEVER
    if Pure in traits:
        return ALWAYS
    if RecursivelyPure in traits:
        return AS_ITS_REGIONS
    # Reading or allocating what nobody looks at is nothing; an op that declares no effect at all may do anything.
    known = [effect for effect in _EFFECTS if effect in traits]
    return ALWAYS if known and MemoryWrite not in known and MemoryFree not in known else NEVER


def is_removable(op: Operation) -> bool:
    """Whether the op may go when none of its results is used."""
    rule = removal_rule(op.traits)
    return rule == ALWAYS or (rule == AS_ITS_REGIONS and has_removable_regions(op))


def has_removable_regions(op: Operation) -> bool:
    """Whether all ops in the regions of an op may go."""
    return all(
        is_removable(nested) or Terminator in nested.traits for region in op.regions for nested in region.ops
    )


def is_dead(op: Operation) -> bool:
    """Whether the op is unused and may go."""
    for result in op._results:
        if result._uses:
            return False
    return is_removable(op)
