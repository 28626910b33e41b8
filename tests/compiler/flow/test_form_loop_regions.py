"""Loops whose iterations work on every point alone run inside a kernel; others stay loops of the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

_RANDOM = np.random.default_rng(5)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _spin(s):
    """x, y, z turn into each other; exact in binary floating point."""
    x, y, z = s
    return jnp.stack([y * 0.5 + z, z - x * 0.25, x])


IN_A_KERNEL = {
    "scalar": (lambda x: lax.fori_loop(0, 37, lambda i, y: 0.5 * (y + x / y), x), (np.float32(3.7),)),
    "vector": (lambda x: lax.fori_loop(0, 9, lambda i, y: y * 0.5 + x, jnp.zeros_like(x)), (_f32(101),)),
    "counter": (lambda x: lax.fori_loop(3, 11, lambda i, y: y + x * i.astype(np.float32), x), (_f32(3, 70),)),
    "several": (
        lambda x, y: lax.fori_loop(0, 12, lambda i, s: (s[1] * 0.5, jnp.where(s[0] > 0, s[0], s[1])), (x, y)),
        (_f32(5, 33), _f32(5, 33)),
    ),
    "leading_elements": (lambda s: lax.fori_loop(0, 25, lambda i, a: _spin(a), s), (_f32(3, 200),)),
    "trailing_elements": (
        lambda s: lax.fori_loop(0, 25, lambda i, a: jnp.stack([a[:, 1], a[:, 0] - a[:, 1]], 1), s),
        (_RANDOM.integers(-9, 9, (50, 2), dtype=np.int32),),
    ),
    "all_elements": (lambda s: lax.fori_loop(0, 25, lambda i, a: _spin(a), s), (_f32(3),)),
    "same_for_all": (
        lambda x: lax.fori_loop(0, 8, lambda i, s: (s[0] * 0.5 + s[1], s[1] * 0.5), (x, np.float32(1))),
        (_f32(300),),
    ),
    "bounds_of_the_call": (lambda n, x: lax.fori_loop(0, n, lambda i, y: y * 0.5 + x, x), (np.int32(7), _f32(40))),
    "complex": (lambda z: lax.fori_loop(0, 4, lambda i, w: w * 0.5 + z, z), (_f32(20) + 1j * _f32(20),)),
    "bools": (
        lambda x: lax.fori_loop(0, 5, lambda i, s: (s[0] + 1.0, s[1] ^ (s[0] > 1)), (x, x > 0)),
        (_f32(37),),
    ),
    "invariants": (
        lambda x, t: lax.fori_loop(0, 6, lambda i, y: y + t[i] * x[::-1], x),
        (_f32(30), _f32(6)),
    ),
    "many_iterations": (
        lambda x: lax.fori_loop(0, 3_000_000, lambda i, y: (y * 5 + i) ^ x, x),
        (_RANDOM.integers(0, 99, (4,), dtype=np.int32),),
    ),
}


@pytest.mark.parametrize("name", IN_A_KERNEL)
def test_inside_a_kernel(name, traced, flow_text, run_program):
    function, arguments = IN_A_KERNEL[name]
    module = traced(function, *arguments)
    text = flow_text(module)
    kernels = text[: text.index("util.func public")]
    assert "scf.for" in kernels
    assert ("scf.for" in text[len(kernels) :]) == (name in ("many_iterations", "bounds_of_the_call"))
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, value in zip(run_program(module, *arguments), expected, strict=True):
        # XLA contracts multiplications and additions.
        np.testing.assert_allclose(found, value, rtol=2e-6, atol=1e-5)


ON_THE_HOST = {
    "neighbours": (lambda x: lax.fori_loop(0, 5, lambda i, y: y + jnp.roll(y, 1), x), (_f32(64),)),
    "transposed": (lambda x: lax.fori_loop(0, 5, lambda i, y: y + y.T, x), (_f32(8, 8),)),
    "sum": (lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + y.sum(), x), (_f32(64),)),
    "product": (lambda x: lax.fori_loop(0, 5, lambda i, y: y @ x * 0.25, x), (_f32(8, 8),)),
    "reversed": (lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + y[::-1], x), (_f32(64),)),
}


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_on_the_host(name, traced, flow_text, run_program):
    function, arguments = ON_THE_HOST[name]
    module = traced(function, *arguments)
    text = flow_text(module)
    assert "scf.for" not in text[: text.index("util.func public")]
    expected = jax.jit(function)(*arguments)
    np.testing.assert_allclose(run_program(module, *arguments)[0], expected, rtol=1e-5, atol=1e-5)
