"""Functions of the host that programs import besides the HAL's: LAPACK routines, and callbacks into Python.

Pure data: the modules' names, and for each LAPACK routine what its import takes and gives. Arrays are buffer views,
matrices in them column by column (the last dimension runs down a column); dimensions before those of the routine are
a batch. Scalar arguments follow the arrays: the attributes of the call in JAX's program, sorted by name.
"""

from __future__ import annotations

from typing import NamedTuple

LAPACK_MODULE = "pyiree_lapack"
CALLBACK_MODULE = "pyiree_callback"

# What callbacks are called in their module, before their number: plain ones, and those that pass a token on.
CALLBACK, ORDERED_CALLBACK = "callback", "ordered_callback"

# The first letter of a routine's name says which numbers it is for.
REAL, COMPLEX = "sd", "cz"

_ROWS = """
potrf(a; uplo) -> factor, info
getrf(a) -> lu, pivots, info
geqrf(a) -> a, tau
geqp3(a, pivots) -> a, pivots, tau
orgqr(a, tau) -> q | real
ungqr(a, tau) -> q | complex
ormqr(a, tau, c; left, transpose) -> c | real
unmqr(a, tau, c; left, transpose) -> c | complex
syevd(a; mode, uplo) -> vectors, values, info | real
heevd(a; mode, uplo) -> vectors, values, info | complex
geev(a; compute_left, compute_right) -> values_re, values_im, left, right, info | real
geev(a; compute_left, compute_right) -> values, left, right, info | complex
gees(a; mode, sort) -> form, vectors, values_re, values_im, selected, info | real
gees(a; mode, sort) -> form, vectors, values, selected, info | complex
gesdd(a; mode) -> a, s, u, vt, info
gesvd(a; mode) -> a, s, u, vt, info
trsm(a, b; diag, side, trans_x, uplo) -> x
gehrd(a; high, low) -> h, tau, info
sytrd(a; uplo) -> a, d, e, tau, info | real
hetrd(a; uplo) -> a, d, e, tau, info | complex
gtsv(lower, diagonal, upper, b) -> lower, diagonal, upper, x, info
"""


class LapackRoutine(NamedTuple):
    """What the import of a routine takes and gives."""

    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def convention(self) -> str:
        """The calling convention of the import."""
        return f"0{'r' * len(self.operands)}{'i' * len(self.attributes)}_{'r' * len(self.results)}"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def _read_rows() -> dict[str, LapackRoutine]:
    found = {}
    for row in _ROWS.split("\n"):
        if row:
            signature, _, kinds = row.partition(" | ")
            name, _, rest = signature.partition("(")
            parameters, _, results = rest.partition(") -> ")
            operands, _, attributes = parameters.partition("; ")
            routine = LapackRoutine(_names(operands), _names(attributes), _names(results))
            letters = {"real": REAL, "complex": COMPLEX, "": REAL + COMPLEX}[kinds]
            found.update({letter + name: routine for letter in letters})
    return found


#: Every routine by its name: `spotrf`, `dpotrf`, …
LAPACK_ROUTINES: dict[str, LapackRoutine] = _read_rows()
