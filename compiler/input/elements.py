"""Element types as StableHLO sees them: a kind, which knows about signedness, beside our signless type.

Enters: element types in MLIR's spelling. Leaves: one `Element` for each, so that identity is equality.
"""

from __future__ import annotations

import functools
import re

from pyiree.compiler.ir.types import ComplexType, FloatType, IntegerType, Type
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

FLOAT, SIGNED, UNSIGNED, BOOLEAN, COMPLEX = "float", "signed", "unsigned", "boolean", "complex"


@dataclass(frozen=True, eq=False)
class Element:
    """An element type: what its values mean (`kind`), our type for it, and its spelling in StableHLO."""

    kind: str
    type: Type
    spelling: str

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer (bools are neither)."""
        return self.kind in (SIGNED, UNSIGNED)


@functools.cache
def signless(width: int) -> IntegerType:
    """The signless integer type of a width."""
    return IntegerType(width)


@functools.cache
def element(spelling: str) -> Element:
    """The element of `f32`, `i8` (signed in StableHLO), `ui8`, `i1` (a bool), `complex<f32>`, …"""
    if spelling == "i1":
        return Element(BOOLEAN, signless(1), spelling)
    if found := re.fullmatch(r"(u?)i(\d+)", spelling):
        return Element(UNSIGNED if found[1] else SIGNED, signless(int(found[2])), spelling)
    if found := re.fullmatch(r"complex<(\w+)>", spelling):
        return Element(COMPLEX, ComplexType(FloatType(found[1])), spelling)
    if spelling == "index":
        raise ValueError("index tensors have no StableHLO element")
    return Element(FLOAT, FloatType(spelling), spelling)
