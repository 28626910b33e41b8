"""Each LAPACK routine as a call: which arrays it gives, and the arguments of the Fortran call.

Enters: a `CallBuilder` that knows the operands. Leaves: its plan, filled in. Results are made in the order of the
routine's row in `vmfb/host_calls`; matrices are column-major, so `rows` is their last dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pyiree.runtime.modules.lapack_calls import Array, CallBuilder
from pyiree.runtime.native.layout import INVALID_ARGUMENT, UNIMPLEMENTED
from pyiree.runtime.vm.errors import VmError

_I32 = np.dtype("int32")


class Description(NamedTuple):
    """A routine: the ranks of its operands without the batch, and what fills in the plan."""

    ranks: tuple[int, ...]
    describe: Callable[[CallBuilder], None]


DESCRIPTIONS: dict[str, Description] = {}


def _routine(*names: str, ranks: tuple[int, ...]) -> Callable[[Callable[[CallBuilder], None]], None]:
    """Declares the description of routines, named without their first letter."""

    def register(describe: Callable[[CallBuilder], None]) -> None:
        for name in names:
            DESCRIPTIONS[name] = Description(ranks, describe)

    return register


def _order(a: Array) -> int:
    """The order of a square matrix."""
    if a.rows != a.columns:
        raise VmError(INVALID_ARGUMENT, f"a square matrix is needed, not one of {a.rows} rows, {a.columns} columns")
    return a.rows


@_routine("potrf", ranks=(2,))
def _potrf(c: CallBuilder) -> None:
    a, info = c.overwritten(0), c.info()
    c.call("potrf", c.char("uplo"), _order(a), a, a.leading, info)


@_routine("getrf", ranks=(2,))
def _getrf(c: CallBuilder) -> None:
    a = c.overwritten(0)
    pivots, info = c.result((min(a.rows, a.columns),), _I32), c.info()
    c.call("getrf", a.rows, a.columns, a, a.leading, pivots, info)


@_routine("geqrf", ranks=(2,))
def _geqrf(c: CallBuilder) -> None:
    a = c.overwritten(0)
    tau = c.result((min(a.rows, a.columns),))
    c.call("geqrf", a.rows, a.columns, a, a.leading, tau, *c.workspaces(c.dtype), c.scratch((), _I32))


@_routine("geqp3", ranks=(2, 1))
def _geqp3(c: CallBuilder) -> None:
    a, pivots = c.overwritten(0), c.overwritten(1)
    tau = c.result((min(a.rows, a.columns),))
    own = [c.scratch((2 * a.columns + 1,), c.real)] if c.is_complex else []
    work = c.workspaces(c.dtype)
    c.call("geqp3", a.rows, a.columns, a, a.leading, pivots, tau, *work, *own, c.scratch((), _I32))


@_routine("orgqr", "ungqr", ranks=(2, 1))
def _orgqr(c: CallBuilder) -> None:
    a, tau = c.overwritten(0), c.operand(1)
    name = "ungqr" if c.is_complex else "orgqr"
    info = c.scratch((), _I32)
    c.call(name, a.rows, a.columns, tau.shape[0], a, a.leading, tau, *c.workspaces(c.dtype), info)


@_routine("ormqr", "unmqr", ranks=(2, 1, 2))
def _ormqr(c: CallBuilder) -> None:
    a, tau, product = c.operand(0), c.operand(1), c.overwritten(2)
    name, transposed = ("unmqr", "C") if c.is_complex else ("ormqr", "T")
    side = "L" if c.attributes["left"] else "R"
    trans = transposed if c.attributes["transpose"] else "N"
    reflectors = tau.shape[0]
    work, info = c.workspaces(c.dtype), c.scratch((), _I32)
    c.call(
        name, side, trans, product.rows, product.columns, reflectors, a, a.leading, tau, product, product.leading,
        *work, info,
    )  # fmt: skip


@_routine("syevd", "heevd", ranks=(2,))
def _syevd(c: CallBuilder) -> None:
    a = c.overwritten(0)
    n = _order(a)
    values, info = c.result((n,), c.real), c.info()
    if c.is_complex:
        name, work = "heevd", c.workspaces(c.dtype, c.real, _I32)
    else:
        name, work = "syevd", c.workspaces(c.dtype, _I32)
    c.call(name, c.char("mode"), c.char("uplo"), n, a, a.leading, values, *work, info)


@_routine("geev", ranks=(2,))
def _geev(c: CallBuilder) -> None:
    a = c.copied(0)
    n = _order(a)
    left, right = c.char("compute_left"), c.char("compute_right")
    if c.is_complex:
        values = [c.result((n,))]
        vectors = [c.result((n, n)), c.result((n, n))]
    else:
        values = [c.result((n,)), c.result((n,))]
        vectors = [c.scratch_results((n, n), c.dtype), c.scratch_results((n, n), c.dtype)]
        given = [c.result((n, n), c.complex), c.result((n, n), c.complex)]
        for mode, packed, out in zip((left, right), vectors, given):
            if mode == "V":
                c.unpack(values[1], packed, out)
    info = c.info()
    c.must_be_finite(a)
    own = [c.scratch((2 * n,), c.real)] if c.is_complex else []
    work = c.workspaces(c.dtype)
    stride = max(1, n)
    c.call(
        "geev", left, right, n, a, a.leading, *values, vectors[0], stride, vectors[1], stride, *work, *own, info
    )


@_routine("gees", ranks=(2,))
def _gees(c: CallBuilder) -> None:
    if c.char("sort") != "N":
        raise VmError(UNIMPLEMENTED, "a Schur form with sorted eigenvalues is not supported")
    a = c.overwritten(0)
    n = _order(a)
    vectors = c.result((n, n))
    values = [c.result((n,)) for _ in range(1 if c.is_complex else 2)]
    selected, info = c.result((), _I32), c.info()
    c.must_be_finite(a)
    own = [c.scratch((n,), c.real)] if c.is_complex else []
    work, unused = c.workspaces(c.dtype), c.scratch((n,), _I32)
    c.call(
        "gees", c.char("mode"), "N", unused, n, a, a.leading, selected, *values, vectors, max(1, n), *work, *own,
        unused, info,
    )  # fmt: skip


def _svd_results(c: CallBuilder, mode: str) -> tuple[Array, Array, Array, Array, Array]:
    a = c.overwritten(0)
    m, n, k = a.rows, a.columns, min(a.rows, a.columns)
    s = c.result((k,), c.real)
    # Without vectors nobody reads these two.
    u = c.result({"A": (m, m), "S": (k, m), "N": (0, 0)}[mode])
    vt = c.result({"A": (n, n), "S": (n, k), "N": (0, 0)}[mode])
    return a, s, u, vt, c.info()


@_routine("gesdd", ranks=(2,))
def _gesdd(c: CallBuilder) -> None:
    mode = c.char("mode")
    a, s, u, vt, info = _svd_results(c, mode)
    small, large = sorted((a.rows, a.columns))
    needed = 7 * small
    if mode != "N":
        needed = max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small)
    own = [c.scratch((max(1, needed),), c.real)] if c.is_complex else []
    work = c.workspaces(c.dtype)
    counts = c.scratch((8 * small,), _I32)
    c.call(
        "gesdd", mode, a.rows, a.columns, a, a.leading, s, u, u.leading, vt, vt.leading, *work, *own, counts, info
    )


@_routine("gesvd", ranks=(2,))
def _gesvd(c: CallBuilder) -> None:
    mode = c.char("mode")
    a, s, u, vt, info = _svd_results(c, mode)
    own = [c.scratch((5 * min(a.rows, a.columns),), c.real)] if c.is_complex else []
    work = c.workspaces(c.dtype)
    c.call(
        "gesvd", mode, mode, a.rows, a.columns, a, a.leading, s, u, u.leading, vt, vt.leading, *work, *own, info
    )


@_routine("trsm", ranks=(2, 2))
def _trsm(c: CallBuilder) -> None:
    a, b = c.operand(0), c.overwritten(1)
    _order(a)
    codes = [c.char(name) for name in ("side", "uplo", "trans_x", "diag")]
    c.call("trsm", *codes, b.rows, b.columns, c.dtype.type(1), a, a.leading, b, b.leading)


@_routine("gehrd", ranks=(2,))
def _gehrd(c: CallBuilder) -> None:
    a = c.overwritten(0)
    n = _order(a)
    tau, info = c.result((max(0, n - 1),)), c.info()
    low, high = c.attributes["low"], c.attributes["high"]
    c.call("gehrd", n, low, high, a, a.leading, tau, *c.workspaces(c.dtype), info)


@_routine("sytrd", "hetrd", ranks=(2,))
def _sytrd(c: CallBuilder) -> None:
    a = c.overwritten(0)
    n = _order(a)
    d, e, tau = c.result((n,), c.real), c.result((max(0, n - 1),), c.real), c.result((max(0, n - 1),))
    info = c.info()
    name = "hetrd" if c.is_complex else "sytrd"
    c.call(name, c.char("uplo"), n, a, a.leading, d, e, tau, *c.workspaces(c.dtype), info)


@_routine("gtsv", ranks=(1, 1, 1, 2))
def _gtsv(c: CallBuilder) -> None:
    lower, diagonal, upper, b = (c.overwritten(k) for k in range(4))
    info = c.info()
    # JAX's lower diagonal is as long as the others; its first number stands outside of the matrix.
    below = replace(lower, skipped=lower.dtype.itemsize)
    c.call("gtsv", b.rows, b.columns, below, diagonal, upper, b, b.leading, info)
