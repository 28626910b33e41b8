"""Optax: a small CNN under every kind of optimizer."""

import jax
import jax.numpy as jnp
import pyiree
import pytest

optax = pytest.importorskip("optax")

OPTIMIZERS = {
    "adam": lambda: optax.adam(1e-3),
    "adamw with a schedule and clipping": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 5, 50))
    ),
    "lamb": lambda: optax.lamb(1e-3),
    "adafactor": lambda: optax.adafactor(1e-3),
    "lion": lambda: optax.lion(1e-4),
    "adabelief": lambda: optax.adabelief(1e-3),
    "noisy sgd": lambda: optax.noisy_sgd(1e-2),
    "rmsprop": lambda: optax.rmsprop(1e-3, momentum=0.9),
    "several steps": lambda: optax.MultiSteps(optax.sgd(0.1, momentum=0.9), 2),
    "lbfgs": lambda: optax.lbfgs(),
}
KEY = jax.random.key(1)


def parameters():
    keys = jax.random.split(KEY, 3)
    return {
        "first": jax.random.normal(keys[0], (3, 3, 1, 8)) * 0.2,
        "second": jax.random.normal(keys[1], (3, 3, 8, 16)) * 0.1,
        "dense": jax.random.normal(keys[2], (16 * 7 * 7, 10)) * 0.03,
        "bias": jnp.zeros(10),
    }


def network(parameters, x):
    for name in ("first", "second"):
        x = jax.lax.conv_general_dilated(
            x, parameters[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ parameters["dense"] + parameters["bias"]


def loss(parameters, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(network(parameters, x), y).mean()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name, same):
    optimizer = OPTIMIZERS[name]()
    x, y = jax.random.normal(KEY, (8, 28, 28, 1)), jnp.arange(8)

    def step(weights, state):
        value, gradient = jax.value_and_grad(loss)(weights, x, y)
        more = {"value": value, "grad": gradient, "value_fn": lambda w: loss(w, x, y)} if name == "lbfgs" else {}
        updates, state = optimizer.update(gradient, state, weights, **more)
        return optax.apply_updates(weights, updates), state, value

    compiled, reference = pyiree.jit(step), jax.jit(step)
    state = (parameters(), optimizer.init(parameters()))
    for _ in range(4):  # each step from the same state, since differences grow along a path
        expected = reference(*state)
        same(compiled(*state), expected, tolerance=1e-4)
        state = expected[:2]
