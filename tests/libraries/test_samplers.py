"""NumPyro and BlackJAX: Hamiltonian Monte Carlo on small regressions, whole steps and chains of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

KEY = jax.random.key(0)


@pytest.mark.parametrize("algorithm", ["HMC", "NUTS"])
def test_numpyro(algorithm, same):
    numpyro = pytest.importorskip("numpyro")
    hmc = pytest.importorskip("numpyro.infer.hmc").hmc
    distributions = numpyro.distributions

    def model(x, y=None):
        weights = numpyro.sample("weights", distributions.Normal(0, 1).expand([3]).to_event(1))
        bias = numpyro.sample("bias", distributions.Normal(0, 1))
        deviation = numpyro.sample("deviation", distributions.HalfNormal(1.0))
        numpyro.sample("y", distributions.Normal(x @ weights + bias, deviation), obs=y)

    x = jax.random.normal(KEY, (50, 3))
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.3 + 0.1 * jax.random.normal(KEY, (50,))
    info = numpyro.infer.util.initialize_model(KEY, model, model_args=(x, y))
    start, kernel = hmc(info.potential_fn, algo=algorithm)
    state = start(info.param_info, num_warmup=40, trajectory_length=1.0)
    compiled, reference = pyiree.jit(kernel), jax.jit(kernel)
    for step in range(60):
        expected = reference(state)
        # While the step is being chosen the potential is steep; after that a step of ours is one of jax's.
        if step >= 40:
            found = compiled(state)
            assert int(found.num_steps) == int(expected.num_steps)
            same(found.z, expected.z, tolerance=2e-3)
        state = expected


def algorithms():
    blackjax = pytest.importorskip("blackjax")
    observed = np.random.default_rng(0).normal(2, 1, 100).astype(np.float32)

    def log_density(position):
        residual = (observed - position["mean"]) / jnp.exp(position["log"])
        return jnp.sum(-0.5 * residual**2 - position["log"]) - 0.5 * position["mean"] ** 2 - 0.5 * position["log"] ** 2

    return {
        "nuts": blackjax.nuts(log_density, step_size=0.05, inverse_mass_matrix=jnp.ones(2)),
        "hmc": blackjax.hmc(log_density, 0.05, jnp.ones(2), 10),
        "mala": blackjax.mala(log_density, 0.01),
        "random walk": blackjax.rmh(log_density, blackjax.mcmc.random_walk.normal(jnp.ones(2) * 0.1)),
    }


@pytest.mark.parametrize("name", ["nuts", "hmc", "mala", "random walk"])
def test_blackjax(name, same):
    algorithm = algorithms()[name]
    state = algorithm.init({"mean": jnp.array(1.0), "log": jnp.array(0.0)})
    compiled, reference = pyiree.jit(algorithm.step), jax.jit(algorithm.step)
    for key in jax.random.split(KEY, 10):
        expected, _ = reference(key, state)
        found, _ = compiled(key, state)
        same(found.position, expected.position, tolerance=1e-4)
        state = expected


def test_a_chain_in_one_program(same):
    algorithm = algorithms()["hmc"]
    state = algorithm.init({"mean": jnp.array(1.0), "log": jnp.array(0.0)})

    def chain(key, state):
        return jax.lax.scan(lambda s, k: (algorithm.step(k, s)[0],) * 2, state, jax.random.split(key, 20))[1].position

    same(pyiree.jit(chain)(KEY, state), jax.jit(chain)(KEY, state), tolerance=1e-3)
