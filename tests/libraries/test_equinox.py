"""Equinox: modules as arguments, a recurrent net trained on sequences, functions that hold static parts."""

import jax
import jax.numpy as jnp
import pyiree
import pytest

eqx = pytest.importorskip("equinox")
optax = pytest.importorskip("optax")

KEY = jax.random.key(0)


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear
    size: int = eqx.field(static=True)

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.size = 16
        self.cell, self.out = eqx.nn.GRUCell(4, 16, key=first), eqx.nn.Linear(16, 1, key=second)

    def __call__(self, xs):
        state, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(self.size), xs)
        return jax.nn.sigmoid(self.out(state))


def test_training_a_recurrent_net(same):
    model, x, y = Recurrent(KEY), jax.random.normal(KEY, (8, 20, 4)), jnp.ones((8, 1))
    optimizer = optax.adam(1e-2)

    def loss(model, x, y):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    def step(model, state, x, y):
        value, gradient = jax.value_and_grad(loss)(model, x, y)
        updates, state = optimizer.update(gradient, state, model)
        return eqx.apply_updates(model, updates), state, value

    ours = theirs = (model, optimizer.init(model))
    compiled, reference = pyiree.jit(step), jax.jit(step)
    for _ in range(10):
        *ours, our_loss = compiled(*ours, x, y)
        *theirs, their_loss = reference(*theirs, x, y)
    same((tuple(ours), our_loss), (tuple(theirs), their_loss), tolerance=1e-4)


def test_a_module_with_functions_in_it(same):
    arrays, static = eqx.partition(eqx.nn.MLP(2, 3, 8, 2, key=KEY), eqx.is_array)

    def apply(arrays, x):
        return jax.vmap(eqx.combine(arrays, static))(x)

    x = jax.random.normal(KEY, (7, 2))
    same(pyiree.jit(apply)(arrays, x), jax.jit(apply)(arrays, x))


def test_an_error_raised_in_a_program():
    """`error_if` is a callback: what it raises reaches the caller."""

    def root(x):
        return jnp.sqrt(eqx.error_if(x, jnp.any(x < 0), "negative numbers have no root"))

    assert float(pyiree.jit(root)(jnp.float32(4))) == 2
    with pytest.raises(Exception, match="negative numbers have no root"):
        jax.block_until_ready(pyiree.jit(root)(jnp.float32(-4)))
