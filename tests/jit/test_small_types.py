"""Numbers of less than a byte, and eight-bit floats, as arguments, constants and results."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest

TYPES = ["int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e8m0fnu", "float8_e4m3", "float8_e5m2"]


@pytest.mark.parametrize("name", TYPES)
def test_they_cross_the_boundary(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    y = np.abs(np.linspace(-1, 1, 9)).astype(np.int32 if "int" in name else np.float32).astype(dtype)

    def f(v):
        return v[::2], v.astype(jnp.float32) * 2, jnp.concatenate([v, jnp.asarray(y)])

    some, wide, both = pyiree.jit(f)(y)
    assert some.dtype == both.dtype == dtype
    assert np.array_equal(some.view(np.uint8), y[::2].view(np.uint8))
    np.testing.assert_array_equal(wide, y.astype(np.float32) * 2)
    assert np.array_equal(both.view(np.uint8), np.concatenate([y, y]).view(np.uint8))
    assert isinstance(pyiree.jit(lambda v: v)(jnp.asarray(y)), jax.Array)


def test_four_bits_wrap_as_integers_do():
    x = np.arange(-8, 8).astype(ml_dtypes.int4)
    got = pyiree.jit(lambda v: v + v)(x)
    assert np.array_equal(got.astype(int), (2 * x.astype(int) + 8) % 16 - 8)


@pytest.mark.parametrize("name", [
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e3m4",
])  # fmt: skip
def test_running_extremes_of_types_without_infinity(name):
    x = np.linspace(-2, 2, 40)[np.argsort(np.sin(np.arange(40)))].astype(getattr(ml_dtypes, name))
    largest, least = pyiree.jit(lambda v: (jax.lax.cummax(v), jax.lax.cummin(v, reverse=True)))(x)
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(largest.astype(np.float32), np.maximum.accumulate(wide))
    np.testing.assert_array_equal(least.astype(np.float32), np.minimum.accumulate(wide[::-1])[::-1])
