"""Fits the four rates of a Lotka-Volterra system to noisy observations, by gradients through an adaptive ODE solve.

The solver is Diffrax's, the optimizer Optax's; one training step, with the solve, its gradient and the update, is one
program compiled by pyiree.

    pip install -e '.[examples]'
    python examples/ode_diffrax.py [--steps N]
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
from extra import libraries_of_the_extra

with libraries_of_the_extra():
    import diffrax
    import optax

TIMES = np.linspace(0.0, 8.0, 33, dtype=np.float32)
TRUE_RATES = np.array([1.1, 0.4, 0.4, 0.1], np.float32)
START = np.array([10.0, 5.0], np.float32)


def field(t, populations, rates):
    prey, hunters = populations
    birth, hunt, death, growth = rates
    return jnp.stack([birth * prey - hunt * prey * hunters, growth * prey * hunters - death * hunters])


def solve(rates):
    """The populations at TIMES, (33, 2)."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), t0=0.0, t1=8.0, dt0=0.05, y0=jnp.asarray(START), args=rates,
        saveat=diffrax.SaveAt(ts=TIMES), stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
        max_steps=512,
    ).ys  # fmt: skip


optimizer = optax.adam(3e-2)


def loss(logarithms, observed):
    """Rates are positive, so it is their logarithms that are fitted."""
    return jnp.mean((solve(jnp.exp(logarithms)) - observed) ** 2)


@pyiree.jit
def step(logarithms, state, observed):
    value, gradient = jax.value_and_grad(loss)(logarithms, observed)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(logarithms, updates), state, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    clean = np.asarray(pyiree.jit(solve)(TRUE_RATES))
    observed = clean + 0.05 * np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    logarithms = np.log(TRUE_RATES * np.array([0.9, 1.1, 1.1, 0.9], np.float32))
    state = optimizer.init(logarithms)
    for number in range(1, steps + 1):
        logarithms, state, value = step(logarithms, state, observed)
        if number % 100 == 0:
            print(f"step {number}: mean squared error {float(value):.5f}")
    print("rates", np.exp(np.asarray(logarithms)).round(3), "true", TRUE_RATES)


if __name__ == "__main__":
    main()
