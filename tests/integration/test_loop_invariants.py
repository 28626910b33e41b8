"""Loops that compute the same in every iteration: the numbers of jax.jit, however often they run, and no product is
computed again."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax import export, lax

_RANDOM = np.random.default_rng(3)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _integers(*shape):
    return _RANDOM.integers(-4, 5, shape).astype(np.float32)


def _product(n, a, c):
    return lax.fori_loop(0, n, lambda i, a: jnp.where(jnp.arange(24)[:, None] == i % 3, a, (c @ c) % 7), a)


def _nested(n, x, a):
    def outer(i, x):
        return lax.fori_loop(0, n, lambda j, y: jnp.roll(y, 1) - jnp.tanh(a @ a)[0] + jnp.tanh(a * i)[1], x)

    return lax.fori_loop(0, n, outer, x)


def _condition(n, x, a):
    def goes_on(state):
        x, k = state
        return (k < n) & (jnp.linalg.norm(x) < jnp.linalg.norm(a @ a))

    def step(state):
        x, k = state
        return x + jnp.exp(a)[0] * 0.1 + jnp.roll(x, 1) * 0.5, k + 1

    return lax.while_loop(goes_on, step, (x, 0))


def _branch(n, x, a):
    def less(x):
        return x - jnp.cumsum(a @ a, 1)[1]

    def more(x):
        return jnp.roll(x, 1) + 1 + (a @ a)[0]

    def step(i, x):
        return lax.cond(x.sum() > 0, less, more, x)

    return lax.fori_loop(0, n, step, x)


def _loop_in_a_branch(n, x, a):
    def loop(x):
        return lax.fori_loop(0, n, lambda i, y: jnp.flip(y) * 0.5 + jnp.sin(a @ a)[2], x)

    return lax.cond(x[0] > 0, loop, lambda x: x * 2, x)


def _whole(n, x, a):
    def step(i, x):
        order, best = jnp.sort(a.ravel())[:24], jnp.cumsum(a, 1)[3]
        seen = jnp.abs(jnp.fft.fft(a[0])).astype(x.dtype)
        return jnp.roll(x, 1) * 0.5 + order + best * seen

    return lax.fori_loop(0, n, step, x)


def _softmax(n, x, a):
    return lax.fori_loop(0, n, lambda i, x: jax.nn.softmax(a @ a.T, axis=-1) @ x + jnp.roll(x, 1), x)


def _kept(n, x, a):
    """What moves is a result too, and what the loop starts with and writes into."""

    def step(i, state):
        return (a @ a).at[i % 24].set(state[0][1]), state[1] + (a @ a).sum()

    return lax.fori_loop(0, n, step, (a, jnp.float32(0)))


def _cell(h, x, w, u, b):
    return jnp.tanh(h @ w + x @ u + b)


def _network(n, x, w, u, b, h):
    def step(h, k):
        h = _cell(h, x, w, u, b)
        return jnp.where(k < n, h, 0), h.sum()

    return lax.scan(step, h, jnp.arange(12))


def _gradient(n, x, w, u, b, h):
    def loss(w, u, b, x):
        last, sums = _network(n, x, w, u, b, h)
        return (last**2).sum() + sums.mean()

    return jax.grad(loss, argnums=(0, 1, 2, 3))(w, u, b, x)


_CELL = (_f32(6, 10), 0.3 * _f32(16, 16), 0.3 * _f32(10, 16), _f32(16), _f32(6, 16))
PROGRAMS = {
    "product": (_product, (_integers(24, 24), _integers(24, 24))),
    "nested": (_nested, (_f32(24), 0.2 * _f32(24, 24))),
    "condition": (_condition, (_f32(24), 0.5 * _f32(24, 24))),
    "branch": (_branch, (_f32(24), 0.1 * _f32(24, 24))),
    "loop_in_a_branch": (_loop_in_a_branch, (np.abs(_f32(24)), 0.2 * _f32(24, 24))),
    "whole": (_whole, (_f32(24), _f32(24, 24))),
    "softmax": (_softmax, (_f32(24), _f32(24, 24))),
    "kept": (_kept, (_f32(24, 24), 0.2 * _f32(24, 24))),
    "network": (_network, _CELL),
    "gradient": (_gradient, _CELL),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name):
    function, arguments = PROGRAMS[name]
    ours, jax_jit = pyiree.jit(function), jax.jit(function)
    for n in (0, 1, 2, 7):
        wanted = jax.tree.leaves(jax_jit(np.int32(n), *arguments))
        for found, right in zip(jax.tree.leaves(ours(np.int32(n), *arguments)), wanted, strict=True):
            assert found.dtype == right.dtype
            scale = max(1.0, float(np.abs(right).max()))
            np.testing.assert_allclose(found, right, rtol=2e-5, atol=2e-5 * scale)


def test_integers_are_the_same_bits():
    function, arguments = PROGRAMS["product"]
    found, right = (jit(function)(np.int32(50), *arguments) for jit in (pyiree.jit, jax.jit))
    np.testing.assert_array_equal(found, right)


def _loop_text(function, *arguments):
    """What follows at the flow phase from the first loop of the host on; nothing if none is left."""
    text = pyiree.jit(function).lower(*arguments).as_text("flow")
    main = text[text.index("util.func public") :]
    found = re.search(r"scf\.(for|while)", main)
    return main[found.start() :] if found else ""


@pytest.mark.parametrize(("name", "products"), [
    ("product", 0), ("nested", 0), ("condition", 0), ("branch", 2), ("loop_in_a_branch", 0), ("kept", 0),
    ("network", 1),
])  # fmt: skip
def test_products_in_loops(name, products):
    """In the network the product with the state is left; products in branches stay there."""
    function, arguments = PROGRAMS[name]
    text = _loop_text(function, np.int32(5), *arguments)
    assert len(re.findall(r"flow\.dispatch @\w+::@\w*matmul", text)) == products, text


def test_sizes_of_the_call():
    def function(x, a):
        return lax.fori_loop(0, 3, lambda i, x: jnp.flip(x, 1) + jnp.tanh(a @ a.T) @ x, x)

    symbol = jax.ShapeDtypeStruct(export.symbolic_shape("n, 8"), np.float32)
    program = pyiree.compile(export.export(jax.jit(function), platforms=["cpu"])(symbol, symbol).mlir_module())
    for rows in (1, 5, 64):
        x, a = 0.1 * _f32(rows, 8), 0.1 * _f32(rows, 8)
        np.testing.assert_allclose(program.main(x, a), jax.jit(function)(x, a), rtol=2e-5, atol=2e-5)
