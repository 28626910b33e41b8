"""Compiled triangular solves and Cholesky factors, beside NumPy in double precision. JAX calls LAPACK instead, so that
these are written in StableHLO."""

import jax
import ml_dtypes
import numpy as np
import pyiree
import pytest

ELEMENTS = {"float64": "f64", "complex128": "complex<f64>", "bfloat16": "bf16"}
TOLERANCE = {"float64": 1e-11, "complex128": 1e-11, "bfloat16": 0.1}


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    array = array + 1j * rng.standard_normal(shape) if dtype == "complex128" else array
    return array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def tensor(array, dtype):
    return f"tensor<{'x'.join(map(str, array.shape))}x{ELEMENTS[dtype]}>"


def spoiled(a, lower):
    """NaN in the triangle that must not be read."""
    n = a.shape[-1]
    other = np.tri(n, k=-1, dtype=bool)
    return np.where(other.T if lower else other, np.nan, a.astype("complex128")).astype(a.dtype)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(
    ("dtype", "left", "lower", "unit", "transpose"),
    [
        ("float64", True, True, False, "NO_TRANSPOSE"),
        ("float64", False, True, True, "TRANSPOSE"),
        ("float64", True, False, True, "TRANSPOSE"),
        ("complex128", False, False, False, "NO_TRANSPOSE"),
        ("complex128", True, True, False, "ADJOINT"),
        ("complex128", False, True, False, "ADJOINT"),
        ("bfloat16", True, False, False, "NO_TRANSPOSE"),
    ],
)
def test_triangular_solve(dtype, left, lower, unit, transpose):
    a = random((2, 4, 4), dtype) * 0.5 + 3 * np.eye(4)
    a = a.astype(random((1,), dtype).dtype)
    b = random((2, 4, 3) if left else (2, 3, 4), dtype, 1)
    flags = [f"{k} = {str(v).lower()}" for k, v in (("left_side", left), ("lower", lower), ("unit_diagonal", unit))]
    attributes = ", ".join([*flags, f"transpose_a = #stablehlo<transpose {transpose}>"])
    ta, tb = tensor(a, dtype), tensor(b, dtype)
    text = f"""func.func @main(%a: {ta}, %b: {tb}) -> {tb} {{
      %0 = "stablehlo.triangular_solve"(%a, %b) <{{{attributes}}}> : ({ta}, {tb}) -> {tb}
      return %0 : {tb}
    }}"""
    x = np.asarray(pyiree.compile(text).main(spoiled(a, lower), b)).astype("complex128")
    matrix = np.tril(a.astype("complex128")) if lower else np.triu(a.astype("complex128"))
    if unit:
        matrix = matrix * (1 - np.eye(4)) + np.eye(4)
    turned = np.swapaxes(matrix, 1, 2)
    applied = {"NO_TRANSPOSE": matrix, "TRANSPOSE": turned, "ADJOINT": turned.conj()}[transpose]
    product = applied @ x if left else x @ applied
    assert np.abs(product - b.astype("complex128")).max() < TOLERANCE[dtype]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("dtype", "lower"), [("float64", True), ("complex128", False), ("bfloat16", True)])
def test_cholesky(dtype, lower):
    a = random((2, 5, 5), dtype).astype("complex128")
    a = a @ np.swapaxes(a, 1, 2).conj() + 5 * np.eye(5)
    given = spoiled(a, lower).astype(random((1,), dtype).dtype)
    t = tensor(given, dtype)
    text = f"""func.func @main(%a: {t}) -> {t} {{
      %0 = "stablehlo.cholesky"(%a) <{{lower = {str(lower).lower()}}}> : ({t}) -> {t}
      return %0 : {t}
    }}"""
    c = np.asarray(pyiree.compile(text).main(given)).astype("complex128")
    adjoint = np.swapaxes(c, 1, 2).conj()
    assert np.abs((c @ adjoint if lower else adjoint @ c) - a).max() < 5 * TOLERANCE[dtype]
    assert not np.tril(c, -1).any() if not lower else not np.triu(c, 1).any()


def test_a_program_of_loops_runs_anywhere():
    text = """func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }"""
    assert b"pyiree_lapack" not in pyiree.compile(text).vmfb
