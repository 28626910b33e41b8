"""Special functions of real numbers beside mpmath and jax.jit."""

import jax
import mpmath
import numpy as np
import pyiree
import pytest
from jax.scipy.special import gammaln


@pytest.mark.parametrize("part", [np.float32, np.float64])
def test_log_gamma_keeps_its_digits_near_the_roots(part):
    eps = np.finfo(part).eps
    steps = np.concatenate([eps * np.arange(-9, 10), np.linspace(-0.5, 0.5, 101), np.geomspace(1e-7, 0.1, 30)])
    x = np.concatenate([1 + steps, 2 + steps]).astype(part)
    with jax.enable_x64(True):
        got = np.asarray(pyiree.jit(gammaln)(x))
    assert (got[(x == 1) | (x == 2)] == 0).all()
    for z, g in zip(x, got):
        wanted = mpmath.loggamma(mpmath.mpf(float(z)))
        assert abs(mpmath.mpf(float(g)) - wanted) <= 4 * float(eps) * abs(wanted), (z, g, wanted)


@pytest.mark.parametrize("part", ["float16", "bfloat16"])
def test_log_gamma_of_half_types_is_rounded_once(part):
    x = np.linspace(0.5, 2.5, 65).astype(jax.numpy.dtype(part))
    wanted = np.array([mpmath.loggamma(mpmath.mpf(float(z))) for z in x], np.float64)
    wide = wanted.astype(np.float32).astype(x.dtype)
    np.testing.assert_array_equal(pyiree.jit(gammaln)(x).astype(np.float32), wide.astype(np.float32))
