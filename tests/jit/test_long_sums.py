"""Long sums of f32 are as accurate as NumPy's, which adds up in pairs: 10 million numbers of one sign."""

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
