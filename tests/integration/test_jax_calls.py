"""Custom calls of JAX that we write out in StableHLO: sparse rows by dense matrices, tridiagonal systems. The right
values are those of dense matrices in NumPy, and of jax.jit."""

import jax
import numpy as np
import pyiree
import pytest
from jax.experimental import sparse
from jax.lax.linalg import tridiagonal_solve


@pytest.fixture
def random():
    return np.random.default_rng(5)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32])
@pytest.mark.parametrize(("rows", "columns", "right"), [(5, 7, (7,)), (5, 7, (7, 3)), (1, 1, (1, 1)), (9, 2, (2, 20))])
def test_compressed_rows(random, dtype, rows, columns, right):
    dense = np.where(random.random((rows, columns)) < 0.4, random.integers(-9, 9, (rows, columns)), 0).astype(dtype)
    dense[0] = 0  # rows may be empty
    x = random.integers(-9, 9, right).astype(dtype)
    matrix = sparse.BCSR.fromdense(dense)
    multiply = pyiree.jit(lambda matrix, x: matrix @ x)
    assert "cpu_csr_sparse_dense_ffi" in multiply.lower(matrix, x).as_text()
    np.testing.assert_array_equal(multiply(matrix, x), dense @ x)


def test_entries_behind_the_last_row_count_for_nothing(random):
    dense = np.where(random.random((6, 4)) < 0.4, 1.0, 0.0).astype(np.float32)
    matrix = sparse.BCSR.fromdense(dense, nse=24)
    got = pyiree.jit(lambda matrix, x: matrix @ x)(matrix, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(got, dense @ np.arange(4, dtype=np.float32))
    empty = sparse.BCSR.fromdense(np.zeros((0, 4), np.complex64))
    for x in (np.ones(4, np.complex64), np.ones((4, 3), np.complex64)):
        assert pyiree.jit(lambda matrix, x: matrix @ x)(empty, x).shape == (0, *x.shape[1:])
    nothing = sparse.BCSR.fromdense(np.zeros((6, 4), np.float32))
    assert not np.any(pyiree.jit(lambda matrix, x: matrix @ x)(nothing, np.ones((4, 2), np.float32)))


def _solve(*arguments):
    return tridiagonal_solve(*arguments, perturb_singular=True)


def _matrix(below, middle, above):
    return np.diag(middle) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize(("shape", "sides"), [((1,), 1), ((2,), 3), ((3, 17), 2), ((2, 2, 5), 1), ((0, 4), 1)])
def test_tridiagonal_systems(random, dtype, shape, sides):
    below, middle, above = (random.standard_normal(shape).astype(dtype) for _ in range(3))
    right = random.standard_normal((*shape, sides)).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        middle = middle + 1j * random.standard_normal(shape).astype(np.float32)
    below[..., 2::3] = 0
    x = np.asarray(pyiree.jit(_solve)(below, middle, above, right))
    assert x.shape == right.shape and x.dtype == dtype
    n = shape[-1]
    flat = [a.reshape(-1, n) for a in (below, middle, above)]
    for below, middle, above, side, found in zip(*flat, right.reshape(-1, n, sides), x.reshape(-1, n, sides)):
        wanted = np.linalg.solve(_matrix(below, middle, above).astype(np.complex128), side)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5 * max(1, np.abs(wanted).max()) ** 2)


def test_singular_tridiagonal_systems():
    zeros, ones = np.zeros(3, np.float32), np.ones((3, 1), np.float32)
    systems = [
        (zeros, zeros, zeros, ones),
        (zeros, -zeros, zeros, -ones),
        tuple(np.array(row, np.float32) for row in ([0, 1], [1, 3], [3, 0], [[1], [4]])),
        (zeros, zeros + np.float32(2e-38), zeros, ones * np.float32(1e30)),
        (zeros, zeros + np.float32(2e-38), zeros, ones * np.float32(1e-36)),
        (zeros + 1, zeros + 1, zeros + 1, ones),
        (zeros[:1], zeros[:1], zeros[:1], ones[:1] * 0),
    ]
    for system in systems:
        wanted = np.asarray(jax.jit(_solve)(*system))
        np.testing.assert_allclose(pyiree.jit(_solve)(*system), wanted, rtol=1e-4, err_msg=str(system))
