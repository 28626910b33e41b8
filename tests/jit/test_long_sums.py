"""Long sums of f32 are as accurate as NumPy's, which adds up in pairs: 10 million numbers of one sign."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

COUNT = 10_000_000
#: What rounding the result itself, and a few additions, may cost.
ROUNDING = 3e-7


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).uniform(0, 1, COUNT).astype(np.float32)


def error(found, exact):
    return np.max(np.abs(np.asarray(found, np.float64) - exact) / np.abs(exact))


REDUCTIONS = {
    "sum": (jnp.sum, np.sum),
    "mean": (jnp.mean, np.mean),
    "var": (jnp.var, np.var),
    "std": (jnp.std, np.std),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_everything(numbers, name):
    ours, numpys = REDUCTIONS[name]
    exact = numpys(numbers.astype(np.float64))
    assert error(pyiree.jit(ours)(numbers), exact) <= ROUNDING


@pytest.mark.each_value
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(10, COUNT // 10), (COUNT // 10, 10), (1000, COUNT // 1000), (COUNT // 100, 100)])
@pytest.mark.parametrize("name", [*REDUCTIONS, "cumsum"])
def test_an_axis(numbers, name, shape, axis):
    ours, numpys = (jnp.cumsum, np.cumsum) if name == "cumsum" else REDUCTIONS[name]
    x = numbers.reshape(shape)
    exact = numpys(x.astype(np.float64), axis=axis)
    allowed = max(error(numpys(x, axis=axis), exact), 2 * ROUNDING)
    assert error(pyiree.jit(lambda x: ours(x, axis=axis))(x), exact) <= allowed


def test_running_sums(numbers):
    exact = np.cumsum(numbers.astype(np.float64))
    assert error(pyiree.jit(jnp.cumsum)(numbers), exact) <= error(np.cumsum(numbers), exact)


@pytest.mark.each_value
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(10, COUNT // 10), (COUNT // 10, 10), (1000, COUNT // 1000), (COUNT // 100, 100)])
def test_products_with_a_vector(numbers, shape, axis):
    x = numbers.reshape(shape)
    weights = np.random.default_rng(1).uniform(0, 1, shape[axis]).astype(np.float32)
    function = (lambda x, w: w @ x) if axis == 0 else (lambda x, w: x @ w)
    exact = function(x.astype(np.float64), weights.astype(np.float64))
    assert error(pyiree.jit(function)(x, weights), exact) <= max(error(function(x, weights), exact), 2 * ROUNDING)


def test_products_of_two_vectors(numbers):
    exact = numbers.astype(np.float64) @ numbers.astype(np.float64)
    assert error(pyiree.jit(jnp.dot)(numbers, numbers), exact) <= ROUNDING


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, jnp.float8_e4m3fn], ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_and_products_of_half_types_are_rounded_once(dtype, reverse):
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    near_one = (1 + x[:60] / 20).astype(dtype)
    x = (x / 20).astype(dtype)
    step = -1 if reverse else 1
    for function, given in ((np.cumsum, x), (np.cumsum, np.abs(x)), (np.cumprod, near_one)):
        ours = {np.cumsum: jax.lax.cumsum, np.cumprod: jax.lax.cumprod}[function]
        exact = function(given.astype(np.float64)[::step])[::step]
        got = np.asarray(pyiree.jit(lambda v, ours=ours: ours(v, reverse=reverse))(given))
        wanted = exact.astype(np.float32).astype(dtype)
        spacing = np.abs(np.nextafter(wanted.astype(np.float32), np.inf)) * float(jnp.finfo(dtype).eps)
        # A value between two may be rounded either way.
        assert (got == wanted).mean() > 0.98
        assert (
            np.abs(got.astype(np.float64) - exact) <= 0.51 * spacing + float(jnp.finfo(dtype).smallest_subnormal)
        ).all()
