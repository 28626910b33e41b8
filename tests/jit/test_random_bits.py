"""Random bits beside XLA's, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

KEY = np.array([2**40 + 5, 2**64 - 2], "uint64")  # the counter carries


@pytest.mark.each_value
@pytest.mark.parametrize("algorithm", list(jax.lax.RandomAlgorithm), ids=lambda a: a.name)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (3, 5)], ids=str)
def test_words_are_those_of_xla(algorithm, shape):
    with jax.enable_x64(True):

        def bits(key):
            return jax.lax.rng_bit_generator(key, shape, algorithm=algorithm)

        for got, want in zip(pyiree.jit(bits)(KEY), jax.jit(bits)(KEY)):
            assert np.array_equal(got, want)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64"])
def test_other_widths(dtype):
    with jax.enable_x64(True):

        def bits(key):
            algorithms = jax.lax.RandomAlgorithm
            return [jax.lax.rng_bit_generator(key, (2, 3), dtype=dtype, algorithm=a)[1] for a in algorithms]

        for got, want in zip(pyiree.jit(bits)(KEY), jax.jit(bits)(KEY)):
            assert got.dtype == want.dtype and np.array_equal(got, want)


def test_keys_of_rbg():
    def draw(seed):
        key = jax.random.key(seed, impl="rbg")
        return jax.random.normal(key, (4,)), jax.random.bits(jax.random.split(key, 3)[1], (5,))

    for got, want in zip(pyiree.jit(draw)(7), jax.jit(draw)(7)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_uniform_and_normal_numbers_without_a_key():
    @pyiree.jit
    def draw():
        floats = jax.lax.rng_uniform(jnp.float32(2), jnp.float32(5), (4000,))
        integers = jax.lax.rng_uniform(jnp.int32(-1), jnp.int32(2), (4000,))
        return floats, integers, jax.lax.rng_uniform(jnp.float32(2), jnp.float32(5), (4000,))

    floats, integers, others = draw()
    assert floats.min() >= 2 and floats.max() < 5 and abs(floats.mean() - 3.5) < 0.1
    assert set(np.unique(integers)) == {-1, 0, 1}
    assert not np.array_equal(floats, others)
    text = """func.func @main() -> tensor<4000xf32> {
      %m = stablehlo.constant dense<1.0> : tensor<f32>
      %s = stablehlo.constant dense<2.0> : tensor<f32>
      %n = stablehlo.constant dense<4000> : tensor<1xi64>
      %0 = stablehlo.rng %m, %s, %n, distribution = NORMAL
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4000xf32>
      return %0 : tensor<4000xf32>
    }"""
    normal = pyiree.compile(text).main()
    assert abs(normal.mean() - 1) < 0.15 and abs(normal.std() - 2) < 0.15
