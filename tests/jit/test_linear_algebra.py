"""Factorizations and solvers, which call LAPACK, beside NumPy's in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax.lax import linalg

TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-11, "complex128": 1e-11}


_FAST = ("float32", "complex128")


@pytest.fixture(params=[pytest.param(d, marks=() if d in _FAST else pytest.mark.slow) for d in TOLERANCE])
def dtype(request):
    with jax.enable_x64(True):
        yield request.param


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    return (array + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else array).astype(dtype)


def positive(shape, dtype):
    a = random(shape, dtype)
    return (a @ np.swapaxes(a, -1, -2).conj() + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(got, want, dtype):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_factors_of_a_batch_rebuild_its_matrices(dtype):
    @pyiree.jit
    def rebuild(a, s):
        c, upper = jnp.linalg.cholesky(s), jnp.linalg.cholesky(s, upper=True)
        q, r = jnp.linalg.qr(a)
        u, d, vh = jnp.linalg.svd(a, full_matrices=False)
        w, v = jnp.linalg.eigh(s)
        lu, _, permutation = linalg.lu(a)
        lower = jnp.tril(lu, -1) + jnp.eye(5, 4, dtype=a.dtype)
        permuted = jnp.take_along_axis(a, permutation[..., None], 1)
        whole = c @ c.mT.conj(), upper.mT.conj() @ upper, q @ r, (u * d[:, None]) @ vh, (v * w[:, None]) @ v.mT.conj()
        return *whole, lower @ jnp.triu(lu[:, :4]), permuted, r, d

    a, s = random((2, 5, 4), dtype), positive((2, 4, 4), dtype)
    *whole, product, permuted, r, d = rebuild(a, s)
    for got, want in zip(whole, (s, s, a, a, s), strict=True):
        close(got, want, dtype)
    close(product, permuted, dtype)
    assert np.array_equal(r, np.triu(r))
    close(d, np.linalg.svd(a.astype("complex128"), compute_uv=False), dtype)


def test_solvers(dtype):
    @pyiree.jit
    def solve(a, b, t):
        options = {"left_side": False, "lower": False, "transpose_a": True, "conjugate_a": True}
        right = linalg.triangular_solve(t, b.mT, **options)
        return jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), right

    a, b = positive((3, 4, 4), dtype), random((3, 4, 2), dtype, 1)
    triangle = np.triu(positive((3, 4, 4), dtype))
    x, inverse, determinant, right = solve(a, b, triangle)
    wide = a.astype("complex128" if "complex" in dtype else "float64")
    close(x, np.linalg.solve(wide, b), dtype)
    close(inverse, np.linalg.inv(wide), dtype)
    np.testing.assert_allclose(determinant, np.linalg.det(wide), rtol=TOLERANCE[dtype])
    close(right @ np.swapaxes(triangle, 1, 2).conj(), np.swapaxes(b, 1, 2), dtype)


def test_eigenvalues_of_any_matrix(dtype):
    a = random((3, 5, 5), dtype)
    w, left, right = pyiree.jit(linalg.eig)(a)
    close(a @ right, right * w[:, None], dtype)
    close(np.swapaxes(left, 1, 2).conj() @ a, w[..., None] * np.swapaxes(left, 1, 2).conj(), dtype)


def test_condensed_forms(dtype):
    """Each form is similar to the matrix: it has its characteristic polynomial."""
    a, s = random((4, 4), dtype), positive((4, 4), dtype)
    hessenberg, (t, z), (_, d, e, _) = pyiree.jit(
        lambda a, s: (linalg.hessenberg(a)[0], jax.scipy.linalg.schur(a), linalg.tridiagonal(s))
    )(a, s)
    close(z @ t @ z.conj().T, a, dtype)
    close(np.poly(np.triu(np.asarray(hessenberg), -1)), np.poly(a), dtype)
    tridiagonal = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    close(np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(s), dtype)


def test_pivoted_factors(dtype):
    a = random((2, 5, 3), dtype)
    q, r, p = pyiree.jit(lambda a: linalg.qr(a, pivoting=True, full_matrices=False))(a)
    close(q @ r, np.take_along_axis(a, p[:, None], 2), dtype)
    sizes = np.abs(np.diagonal(r, axis1=1, axis2=2))
    assert (np.diff(sizes) <= 1e-6).all()


def test_orthogonal_factors_are_applied(dtype):
    def apply(a, c):
        packed, taus = linalg.hessenberg(a)
        reflectors = packed[:, 1:, :-1]
        q = linalg.householder_product(reflectors, taus)
        applied = [
            linalg.ormqr(reflectors, taus, c if left else c.mT, left=left, transpose=transpose)
            for left in (True, False)
            for transpose in (True, False)
        ]
        return q, applied

    a, c = random((2, 5, 5), dtype), random((2, 4, 3), dtype)
    q, applied = pyiree.jit(apply)(a, c)
    adjoint, right = np.swapaxes(q, 1, 2).conj(), np.swapaxes(c, 1, 2)
    for got, want in zip(applied, (adjoint @ c, q @ c, right @ adjoint, right @ q), strict=True):
        close(got, want, dtype)


def test_tridiagonal_systems(dtype):
    lower, diagonal, upper = (random((2, 5), dtype, seed) for seed in range(3))
    diagonal, b = diagonal + 4, random((2, 5, 3), dtype, 3)
    x = pyiree.jit(linalg.tridiagonal_solve)(lower, diagonal, upper, b)
    rows = [np.diag(d) + np.diag(u[:-1], 1) + np.diag(low[1:], -1) for low, d, u in zip(lower, diagonal, upper)]
    close(np.stack(rows) @ x, b, dtype)


def test_what_cannot_be_factored_is_nan():
    values = np.array([[2.0, 0], [0, 3]], "float32")
    broken = np.stack([values, -values, values])
    c = pyiree.jit(jnp.linalg.cholesky)(broken)
    assert np.isnan(c[1]).any() and not np.isnan(c[[0, 2]]).any()
    broken[1] = np.inf
    w = pyiree.jit(jnp.linalg.eigvals)(broken)
    assert np.isnan(w[1]).all()
    np.testing.assert_allclose(np.sort(w[2].real), [2, 3])


def test_matrices_and_batches_without_elements():
    inverse, c = pyiree.jit(lambda x: (jnp.linalg.inv(x), jnp.linalg.cholesky(x)))(np.zeros((2, 0, 0), "float32"))
    assert inverse.shape == c.shape == (2, 0, 0)
    w, v = pyiree.jit(jnp.linalg.eigh)(np.zeros((0, 3, 3), "float32"))
    assert w.shape == (0, 3) and v.shape == (0, 3, 3)


def test_gradients_go_through():
    a = positive((4, 4), "float64")
    with jax.enable_x64(True):

        def loss(a):
            return jnp.linalg.slogdet(a)[1] + jnp.trace(jnp.linalg.inv(a))

        inverse = np.linalg.inv(a)
        close(pyiree.jit(jax.grad(loss))(a), (inverse - inverse @ inverse).T, "float64")


def test_the_call_is_seen_in_every_phase_and_in_the_file():
    lowered = pyiree.jit(jnp.linalg.cholesky).lower(np.eye(3, dtype="float32"))
    for phase in ("input", "flow", "stream", "hal"):
        assert "util.call @pyiree_lapack.spotrf" in lowered.as_text(phase)
    assert "vm.import private @pyiree_lapack.spotrf" in lowered.as_text("vm")
    assert b"pyiree_lapack.spotrf" in lowered.compile().vmfb


def test_wrong_attributes_are_named():
    text = """func.func @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>) {
      %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {side = 76 : ui8}}
        : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<2x2xf32>, tensor<i32>
    }"""
    with pytest.raises(pyiree.UnsupportedError, match=r"side, not uplo"):
        pyiree.compile(text)
