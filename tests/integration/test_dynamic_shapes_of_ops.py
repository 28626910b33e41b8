"""Ops of other elements than floats, and of rarer kinds, on arrays whose sizes are known when the program runs."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest
from jax import lax

SIZES = [{"b": 1, "n": 3}, {"b": 2, "n": 5}, {"b": 7, "n": 2}]


def at(shape, dtype, sizes):
    """Small whole numbers, exact in every type; complex ones have different parts."""
    numbers = np.random.default_rng(3)
    shape = [eval(n, dict(sizes)) for n in shape.split(", ")]
    whole = numbers.integers(0, 7, shape) + (1j * numbers.integers(-5, 5, shape) if np.dtype(dtype).kind == "c" else 0)
    return whole.astype(dtype)


def assert_as_jit(function, program, arguments, **tolerances):
    """The program gives what jax.jit gives for these sizes."""
    expected = np.asarray(jax.jit(function)(*arguments))
    given = program.main(*arguments)
    assert (given.shape, given.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(given, expected, **tolerances)


BITS = {
    "bytes": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), "b", np.int32),
    "halves": (lambda x: lax.bitcast_convert_type(x, jnp.uint16), "b, n", np.float32),
    "of bytes": (lambda x: lax.bitcast_convert_type(x, jnp.int32), "b, 4", np.uint8),
    "of halves": (lambda x: lax.bitcast_convert_type(x, jnp.float32), "b, n, 2", ml_dtypes.bfloat16),
    "same width": (lambda x: lax.bitcast_convert_type(x, jnp.int32), "b, n", np.float32),
    "small floats": (lambda x: lax.bitcast_convert_type(x, jnp.float8_e4m3fn).astype(jnp.float32), "b, n", np.int32),
    "of small floats": (lambda x: lax.bitcast_convert_type(x, jnp.int16), "b, n, 2", ml_dtypes.float8_e5m2),
    "nibbles": (lambda x: lax.bitcast_convert_type(x, jnp.int4).astype(jnp.int8), "b, n", np.uint8),
    "of nibbles": (lambda x: lax.bitcast_convert_type(x.astype(jnp.int4), jnp.int8), "b, 2", np.int8),
    "of sizes": (lambda x: lax.bitcast_convert_type(jnp.arange(x.shape[0]), jnp.int16), "b", np.float32),
    "view": (lambda x: x.view(jnp.float32), "b, n*2", np.float16),
    "view of parts": (lambda x: x.view(jnp.float32), "b, n", np.complex64),
    "view as pairs": (lambda x: x.view(jnp.complex64), "b, n*2", np.float32),
}


@pytest.mark.parametrize("name", BITS)
def test_bits_in_elements_of_another_width(compile_symbolic, name):
    function, shape, dtype = BITS[name]
    program = compile_symbolic(function, [shape], dtype)
    for sizes in SIZES:
        assert_as_jit(function, program, [at(shape, dtype, sizes)], rtol=0)


def test_bits_of_complex_numbers():
    program = pyiree.compile("""
func.func @main(%x: tensor<?xcomplex<f64>>, %y: tensor<?x?xcomplex<f32>>) ->
    (tensor<?x?xcomplex<f32>>, tensor<?xcomplex<f64>>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<?xcomplex<f64>>) -> tensor<?x?xcomplex<f32>>
  %1 = stablehlo.bitcast_convert %y : (tensor<?x?xcomplex<f32>>) -> tensor<?xcomplex<f64>>
  return %0, %1 : tensor<?x?xcomplex<f32>>, tensor<?xcomplex<f64>>
}""")
    for n in (1, 5):
        x, y = at("n", np.complex128, {"n": n}), at("n, 2", np.complex64, {"n": n})
        split, joined = program.main(x, y)
        np.testing.assert_array_equal(split, x.view(np.complex64).reshape(n, 2))
        np.testing.assert_array_equal(joined, y.view(np.complex128)[:, 0])
