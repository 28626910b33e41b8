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


SMALL_FLOATS = [
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip


def _codes(name, count):
    """Numbers with all kinds of bits."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    if "int" in name:
        info = ml_dtypes.iinfo(dtype)
        return np.random.default_rng(3).integers(int(info.min), int(info.max) + 1, count).astype(dtype)
    codes = np.random.default_rng(3).integers(0, 1 << ml_dtypes.finfo(dtype).bits, count)
    return codes.astype(np.uint8).view(dtype)


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4", *SMALL_FLOATS])
@pytest.mark.parametrize("size", [30, 1000])
def test_sorts(name, size):
    x = _codes(name, size)
    wide = x.astype(np.float32)
    if name.endswith("fnuz"):  # whose NaN has the bits of -0, and so is the least in the total order
        wide[np.isnan(wide)] = -np.inf
    order = np.argsort(wide, kind="stable")
    numbers, places = pyiree.jit(lambda v: (jnp.sort(v), jnp.argsort(v)))(x)
    np.testing.assert_array_equal(places, order)
    assert np.array_equal(numbers.view(np.uint8), x[order].view(np.uint8))
    finite = x[np.isfinite(x.astype(np.float32))]  # top_k tells NaNs by their signs
    most, _ = pyiree.jit(lambda v: jax.lax.top_k(v, 5))(finite)
    np.testing.assert_array_equal(most.astype(np.float32), np.sort(finite.astype(np.float32))[:-6:-1])


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_signs(name):
    x = _codes(name, 300)
    np.testing.assert_array_equal(pyiree.jit(jnp.sign)(x).astype(np.float32), np.sign(x.astype(np.float32)))


@pytest.mark.parametrize("name", ["int2", "uint4", "float4_e2m1fn", "float6_e3m2fn", "float8_e4m3fn"])
def test_a_loop_that_collects(name):
    x = np.abs(np.linspace(-1, 1, 9)).astype(getattr(ml_dtypes, name))
    last, seen = pyiree.jit(lambda v: jax.lax.scan(lambda c, e: (jax.lax.max(c, e), c), v[0], v))(x)
    wide = np.maximum.accumulate(x.astype(np.float32))
    assert last.astype(np.float32) == wide[-1]
    np.testing.assert_array_equal(seen.astype(np.float32), np.concatenate([wide[:1], wide[:-1]]))


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn"])
def test_nan_and_numbers_out_of_range_become_four_bits(source):
    x = np.array([0, -0.0, 1e9, -1e9, np.inf, -np.inf, np.nan, -np.nan, 1e-30, -1e-30, 5, -2.5])
    x = x.astype(jnp.dtype(source))
    with jax.enable_x64(True):
        narrow = [jit(lambda v: v.astype(jnp.float4_e2m1fn))(x) for jit in (pyiree.jit, jax.jit)]
    assert np.array_equal(*[np.asarray(codes).view(np.uint8) for codes in narrow])


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
