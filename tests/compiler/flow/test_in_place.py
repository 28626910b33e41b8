"""Slices of what a loop carries are written where it lies, if they are computed from what they replace."""

import jax
import numpy as np
import pytest
from jax import lax

_RANDOM = np.random.default_rng(3)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _step(t, fields):
    x, y, z = fields
    y = y.at[0, :].set(z[t])
    y = y.at[1:, :].set(y[1:, :] - 0.5 * (z[1:, :] - z[:-1, :]))
    x = x.at[:, 1:].set(x[:, 1:] - 0.5 * (z[:, 1:] - z[:, :-1]))
    z = z.at[:-1, :-1].set(z[:-1, :-1] - 0.25 * (x[:-1, 1:] - x[:-1, :-1] + y[1:, :-1] - y[:-1, :-1]))
    return x, y, z


def _inner(t, fields):
    x, y = fields
    y = y.at[1:-1, 1:-1].set(x[1:-1, 1:-1] + x[1:-1, 2:] - x[:-2, 1:-1])
    return x.at[1:-1, 1:-1].set(0.25 * (y[1:-1, 1:-1] + y[1:-1, 2:] - y[:-2, 1:-1])), y


_FIELDS = (_f32(80, 90), _f32(80, 90), _f32(80, 90))
PROGRAMS = {
    "fields": (lambda *f: lax.fori_loop(0, 6, _step, f), _FIELDS, 3),
    "inner": (lambda *f: lax.fori_loop(0, 6, _inner, f), _FIELDS[:2], 2),
    # The old contents are used behind the update, or handed on.
    "used_behind": (
        lambda x: lax.fori_loop(0, 6, lambda t, s: (s[0].at[1:].set(s[0][1:] * 0.5), s[0][::-1]), (x, x)),
        (_FIELDS[0],),
        0,
    ),
    "kept": (
        lambda x: lax.fori_loop(0, 6, lambda t, s: (s[0].at[1:].set(s[0][1:] * 0.5), s[0]), (x, x)), (_FIELDS[0],), 0
    ),
    # What is written at one place is read at another.
    "shifted": (lambda x: lax.fori_loop(0, 6, lambda t, s: s.at[1:].set(s[:-1] * 0.5), x), (_FIELDS[0],), 0),
    # Two slices of different shapes.
    "unlike": (
        lambda x, y: lax.fori_loop(
            0, 6, lambda t, s: (s[0].at[1:].set(s[0][1:] * s[1][1:]), s[1].at[:, 2:].set(s[1][:, 2:] * 0.5)), (x, y)
        ),
        _FIELDS[:2],
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_updates(name, traced, flow_text, run_program):
    function, arguments, in_place = PROGRAMS[name]
    module = traced(function, *arguments)
    text = flow_text(module)
    loop = text[text.index("util.func public") :]
    dispatches = [line for line in loop.splitlines() if "flow.dispatch @" in line]
    assert sum("-> %" in line for line in dispatches) >= in_place
    for found, value in zip(
        run_program(module, *arguments), jax.tree.leaves(jax.jit(function)(*arguments)), strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5)
