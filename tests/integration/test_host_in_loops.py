"""Loops that call Python functions in some of their iterations: they leave the device for these only. Results, calls
and what the calls were given are those of jax.jit."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax import lax
from jax.experimental import io_callback
from pyiree.compiler.stream import command_costs


class _Seen:
    """The arrays that were handed over, kept as they came."""

    def __init__(self):
        self.calls = []

    def note(self, *arrays):
        self.calls.append(arrays)

    def double(self, x):
        self.calls.append((x,))
        return np.asarray(x) * 2


def _debug(seen):
    def step(i, x):
        lax.cond(x[0] > 1.0, lambda x: jax.debug.callback(seen.note, x, ordered=True), lambda x: None, x)
        return jnp.cos(x) + 0.3 * jnp.flip(x)

    return lambda x: lax.fori_loop(0, 40, step, x)


def _value(seen):
    def step(state):
        x, k = state
        x = jnp.sin(x) + 0.1 * jnp.flip(x)
        given = jax.ShapeDtypeStruct(x.shape, x.dtype)
        x = lax.cond(jnp.sum(x) < 1.0, lambda x: jax.pure_callback(seen.double, given, x), lambda x: x * 0.7, x)
        return x, k + 1

    return lambda x: lax.while_loop(lambda s: (s[1] < 30) & (jnp.sum(s[0]) < 1e6), step, (x, 0))


def _both_ways(seen):
    given = jax.ShapeDtypeStruct((4,), np.float32)

    def step(state):
        x, y, k = state
        x, y = lax.cond(
            x[0] > y[0],
            lambda x, y: (io_callback(seen.double, given, x, ordered=True), x),
            lambda x, y: (y, io_callback(seen.double, given, y + k, ordered=True) * 0.1),
            x,
            y,
        )
        return x * 0.9, y + 0.2, k + 1

    return lambda x: lax.while_loop(lambda s: (s[2] < 20) & (jnp.sum(s[0]) < 1e6), step, (x, x + 1, 0))


def _in_an_inner_loop(seen):
    def inner(state):
        x, k = state
        lax.cond(k % 3 == 2, lambda x: jax.debug.callback(seen.note, x, k, ordered=True), lambda x: None, x)
        return x * 0.8, k + 1

    def step(i, x):
        return lax.while_loop(lambda s: jnp.sum(s[0]) > 1.0, inner, (x + i, 0))[0]

    return lambda x: lax.fori_loop(0, 6, step, x)


def _a_loop_beside(seen):
    """The way with the call has a loop of its own in front of it."""

    def tell(x):
        x = lax.while_loop(lambda x: jnp.sum(x) > 2, lambda x: x * 0.6, x)
        jax.debug.callback(seen.note, x, ordered=True)
        return x

    def step(state):
        x, k = state
        return lax.cond(jnp.sum(x) > 8, tell, lambda x: x + 0.7, x), k + 1

    return lambda x: lax.while_loop(lambda s: (s[1] < 40) & (jnp.sum(s[0]) < 1e6), step, (x, 0))


def _always(seen):
    def step(state):
        x, k = state
        jax.debug.callback(seen.note, k, ordered=True)
        return x * 0.5 + 1, k + 1

    return lambda x: lax.while_loop(lambda s: (s[1] < 5) & (jnp.sum(s[0]) < 1e6), step, (x, 0))


PROGRAMS = {f.__name__[1:]: f for f in (_debug, _value, _both_ways, _in_an_inner_loop, _a_loop_beside, _always)}
ARGUMENT = np.array([0.9, 0.1, -0.4, 1.3], np.float32)


@pytest.mark.each_value
@pytest.mark.parametrize("longest", [10_000_000.0, 250.0], ids=["at_once", "in_pieces"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_calls(name, longest, monkeypatch):
    monkeypatch.setattr(command_costs, "_LONG", longest)
    ours, theirs = _Seen(), _Seen()
    function = pyiree.jit(PROGRAMS[name](ours))
    for _ in range(3):
        found = function(ARGUMENT)
    jax.effects_barrier()
    reference = jax.jit(PROGRAMS[name](theirs))
    for _ in range(3):
        wanted = reference(ARGUMENT)
    jax.effects_barrier()
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
    assert len(theirs.calls) > 3
    for call, expected in zip(ours.calls, theirs.calls, strict=True):
        for x, y in zip(call, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("always", "both_ways")])
def test_iterations_without_a_call_stay_on_the_device(name):
    text = pyiree.jit(PROGRAMS[name](_Seen())).lower(ARGUMENT).as_text("stream")
    assert "_control_0::@" in text


def test_errors_of_a_call_leave_the_loop():
    def fail(x):
        raise ValueError("too large")

    def step(state):
        x, k = state
        lax.cond(jnp.sum(x) > 100, lambda x: jax.debug.callback(fail, x), lambda x: None, x)
        return x * 1.5, k + 1

    function = pyiree.jit(lambda x: lax.while_loop(lambda s: s[1] < x[3] * 20, step, (x, 0)))
    with pytest.raises(Exception, match="too large"):
        function(ARGUMENT + 0.5)
    np.testing.assert_allclose(function(ARGUMENT * 0 + 1e-6)[0], ARGUMENT * 0 + 1.5e-6)
