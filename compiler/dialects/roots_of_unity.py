"""Roots of unity, right to the last bit or the one before.

Enters: fractions of a turn as whole numbers. Leaves: cosines and sines, of angles that were first reduced exactly to an
eighth of a turn and are computed in the widest floats that NumPy has.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_TURN = 2 * np.longdouble("3.14159265358979323846264338327950288419716939937510")


def roots(numbers: np.ndarray, of: int) -> np.ndarray:
    """cos and sin of `numbers / of` turns as doubles, in a new last dimension."""
    numbers = np.asarray(numbers, dtype=np.int64) % of
    # In units of 1 / (8 * of) turns; octant k runs from (2k - 1) to (2k + 1) halves of it.
    eighths = 8 * numbers
    octant = (eighths + of // 2) // of
    angle = (eighths - octant * of).astype(np.longdouble) * (_TURN / (8 * np.longdouble(of)))
    cosine, sine = np.cos(angle).astype(np.float64), np.sin(angle).astype(np.float64)
    half = np.sqrt(np.longdouble(0.5))
    odd = octant % 2 == 1
    diagonal = ((np.cos(angle) - np.sin(angle)) * half, (np.cos(angle) + np.sin(angle)) * half)
    cosine, sine = np.where(odd, diagonal[0], cosine), np.where(odd, diagonal[1], sine)
    quarter = octant // 2 % 4
    re = np.choose(quarter, [cosine, -sine, -cosine, sine])
    im = np.choose(quarter, [sine, cosine, -sine, -cosine])
    return np.stack([re, im], -1).astype(np.float64)


@lru_cache(maxsize=4096)
def root(number: int, of: int) -> tuple[float, float]:
    """(cos, sin) of one fraction of a turn."""
    re, im = roots(np.array([number]), of)[0]
    return float(re), float(im)
