"""Diffrax: ODE solves with adaptive steps, explicit and implicit, their gradients and batches."""

import jax
import jax.numpy as jnp
import pyiree
import pytest

diffrax = pytest.importorskip("diffrax")


def field(t, y, args):
    birth, hunt, death, growth = args
    prey, hunters = y
    return jnp.stack([birth * prey - hunt * prey * hunters, growth * prey * hunters - death * hunters])


def solve(y0, args, solver, adjoint=None):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field), solver, t0=0.0, t1=10.0, dt0=0.1, y0=y0, args=args,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 10.0, 21)),
        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8),
        adjoint=adjoint or diffrax.RecursiveCheckpointAdjoint(),
    )  # fmt: skip
    return solution.ys


PROGRAMS = {
    "explicit": lambda y, args: solve(y, args, diffrax.Tsit5()),
    "implicit": lambda y, args: solve(y, args, diffrax.Kvaerno5()),
    "gradient": lambda y, args: jax.grad(lambda y: solve(y, args, diffrax.Tsit5())[-1].sum())(y),
    "backward in time": lambda y, args: jax.grad(
        lambda y: solve(y, args, diffrax.Tsit5(), diffrax.BacksolveAdjoint())[-1].sum()
    )(y),
    "batch": lambda y, args: jax.vmap(lambda y: solve(y, args, diffrax.Dopri5()))(jnp.stack([y, 1.1 * y])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lotka_volterra(name, same):
    with jax.enable_x64(True):
        y, args = jnp.array([10.0, 5.0]), tuple(map(jnp.asarray, (1.1, 0.4, 0.4, 0.1)))
        same(pyiree.jit(PROGRAMS[name])(y, args), jax.jit(PROGRAMS[name])(y, args), tolerance=1e-10)


def test_a_stochastic_equation(same):
    def path(key, y0):
        noise = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(2,), key=key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: jnp.diag(0.1 * y), noise)
        )
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, 0.05, y0).ys

    key, y0 = jax.random.key(0), jnp.ones(2)
    same(pyiree.jit(path)(key, y0), jax.jit(path)(key, y0))
