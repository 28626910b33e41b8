"""Random graphs of elementwise ops, reductions and products: grouping changes neither their meaning nor their order.

An example is a list of steps; each takes values that are there and adds one. NumPy computes the same in float64.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyiree.compiler.flow import fusion_model

# Formulas over `m`, which is numpy or jax.numpy.
ELEMENTWISE = {
    "tanh": lambda m, x: m.tanh(x),
    "exp": lambda m, x: m.exp(m.clip(x, -3, 2)),
    "square": lambda m, x: x * x * 0.1,
    "round": lambda m, x: m.floor(x * 4) / 4,
}
BINARY = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y * 0.5,
    "max": lambda m, x, y: m.maximum(x, y),
    "where": lambda m, x, y: m.where(m.floor(x * 4) > 1, y, x),
}
ALONG = {
    "sum": lambda m, x, d: m.sum(x, d) * 0.3,
    "maximum": lambda m, x, d: m.max(x, d),
    "mean": lambda m, x, d: m.mean(x, d),
    "var": lambda m, x, d: m.var(x, d),
    "center": lambda m, x, d: x - m.mean(x, d, keepdims=True),
    "softmax": lambda m, x, d: _weights(m, x, d) / m.sum(_weights(m, x, d), d, keepdims=True),
}
MOVES = {
    "transpose": lambda m, x: m.transpose(x),
    "flatten": lambda m, x: m.reshape(x, (-1,)),
    "slice": lambda m, x: x[1:] if x.ndim and x.shape[0] > 1 else x,
    "widen": lambda m, x: m.broadcast_to(x[..., None], (*x.shape, 5)),
    "pad": lambda m, x: m.pad(x, [(1, 0)] * x.ndim) if x.ndim else x,
    "double": lambda m, x: m.concatenate([x, x]) if x.ndim else x,
    "backwards": lambda m, x: x[::-1] if x.ndim else x,
}


def _weights(m, x, d):
    return m.exp(x - m.max(x, d, keepdims=True))


STEPS = [*ELEMENTWISE, *BINARY, *ALONG, *MOVES, "matmul"]
STEP = st.tuples(st.sampled_from(STEPS), st.integers(0, 7), st.integers(0, 7), st.integers(0, 2))
# Every example is compiled and run: making a failing one smaller would take minutes.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SHAPES = st.sampled_from([(), (3,), (5, 8), (8, 5), (8, 8), (4, 1), (2, 3, 5), (1, 7), (8, 5, 8)])


def _take(step, values, m):
    """The value that a step adds, or None if it does not apply."""
    name, first, second, dim = step
    x = values[-1 - first % len(values)]
    if name in ELEMENTWISE:
        return ELEMENTWISE[name](m, x)
    if name in MOVES:
        return MOVES[name](m, x) if x.ndim < 4 else None
    if name in ALONG:
        return ALONG[name](m, x, dim % x.ndim) if x.ndim else None
    if name in BINARY:
        alike = [v for v in values if v.shape == x.shape]
        return BINARY[name](m, x, alike[second % len(alike)])
    fitting = [v for v in values if v.ndim == x.ndim == 2 and v.shape[0] == x.shape[1]]
    return x @ fitting[second % len(fitting)] * 0.2 if fitting else None


def _program(steps, results):
    def run(m, *arguments):
        values = list(arguments)
        for step in steps:
            made = _take(step, values, m)
            if made is not None and made.size <= 4000:
                values.append(made)
        kept = {len(values) - 1} | {r % len(values) for r in results}
        return [values[k] for k in sorted(kept)]

    return run


@settings(max_examples=7, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True,
          phases=_PHASES)  # fmt: skip
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), steps=st.lists(STEP, min_size=3, max_size=16),
       results=st.lists(st.integers(0, 15), max_size=3))  # fmt: skip
def test_meaning(shapes, steps, results, traced, flow_text, run_program):
    _check(shapes, steps, results, traced, flow_text, run_program)


def _check_cut(shapes, steps, results, most, traced, flow_text, run_program):
    """Limits so low that most groups meet them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion_model, "MAX_BINDINGS", most)
        patch.setattr(fusion_model, "MAX_OPS", most + 2)
        _check(shapes, steps, results, traced, flow_text, run_program)


_CUT = {
    "shapes": st.lists(SHAPES, min_size=1, max_size=3), "steps": st.lists(STEP, min_size=8, max_size=30),
    "results": st.lists(st.integers(0, 31), max_size=5), "most": st.integers(2, 9),
}  # fmt: skip


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True,
          phases=_PHASES)  # fmt: skip
@given(**_CUT)
def test_groups_that_are_cut(shapes, steps, results, most, traced, flow_text, run_program):
    _check_cut(shapes, steps, results, most, traced, flow_text, run_program)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), phases=_PHASES)
@given(**_CUT)
def test_many_groups_that_are_cut(shapes, steps, results, most, traced, flow_text, run_program):
    _check_cut(shapes, steps, results, most, traced, flow_text, run_program)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), phases=_PHASES)
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), steps=st.lists(STEP, min_size=3, max_size=30),
       results=st.lists(st.integers(0, 31), max_size=5))  # fmt: skip
def test_meaning_of_many(shapes, steps, results, traced, flow_text, run_program):
    _check(shapes, steps, results, traced, flow_text, run_program)


def _check(shapes, steps, results, traced, flow_text, run_program):
    random = np.random.default_rng(4)
    arguments = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    program = _program(steps, results)
    source = traced(lambda *a: program(jnp, *a), *arguments)
    text = flow_text(source)
    assert _names_are_defined_before(text)
    assert flow_text(source) == text
    wanted = program(np, *[a.astype(np.float64) for a in arguments])
    same = jax.jit(lambda *a: program(jnp, *a))(*arguments)
    for found, exact, jax_found in zip(run_program(source, *arguments), wanted, same, strict=True):
        assert found.shape == exact.shape
        # Rounding to steps may fall on either side; there JAX in the same precision decides.
        scale = max(1.0, float(np.abs(exact).max(initial=0)))
        near = np.isclose(found, exact, rtol=1e-3, atol=2e-4 * scale)
        near |= np.isclose(found, jax_found, rtol=1e-3, atol=2e-4 * scale)
        assert near.mean() > 0.97 if near.size else True


def _names_are_defined_before(text):
    """Whether the host program uses no value before it is made (no cycles were broken)."""
    body = text.rpartition("util.func public @main")[2]
    known = set(re.findall(r"%arg\d+", body))
    for line in body.splitlines()[1:]:
        made, _, rest = line.partition(" = ") if " = " in line else ("", "", line)
        used = {name.partition("#")[0] for name in re.findall(r"%[\w#-]+", rest)}
        if not used <= known:
            return False
        known |= {name.partition(":")[0].strip() for name in made.split(",")}
    return True
