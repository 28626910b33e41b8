"""Side effects, as declared by traits.

What enters: an op. What leaves: whether it can be removed when unused, merged with an equal one, or moved.
"""

from __future__ import annotations

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


def is_removable(op: Operation) -> bool:
    """Whether the op may go when none of its results is used."""
    traits = op.traits
    if Terminator in traits or Symbol in traits:
        return False
    if Pure in traits:
        return True
    if RecursivelyPure in traits:
        return all(
            is_removable(nested) or Terminator in nested.traits for region in op.regions for nested in region.ops
        )
    known = [effect for effect in _EFFECTS if effect in traits]
    # Reading or allocating what nobody looks at is nothing; an op that declares no effect at all may do anything.
    return bool(known) and MemoryWrite not in known and MemoryFree not in known


def is_dead(op: Operation) -> bool:
    """Whether the op is unused and may go."""
    return not any(result._uses for result in op._results) and is_removable(op)
