"""Small branches on conditions from the device are both done."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "pyiree-flow-select-branches"

BRANCH = """
#id = affine_map<(d0) -> (d0)>
util.func private @f(%a: tensor<{n}xf32>, %t: tensor<i1>, %host: i1) -> tensor<{n}xf32> {{
  %c = tensor.extract %t[] : tensor<i1>
  %e = tensor.empty() : tensor<{n}xf32>
  %r = scf.if {condition} -> (tensor<{n}xf32>) {{
    %x = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
        ins(%a : tensor<{n}xf32>) outs(%e : tensor<{n}xf32>) {{
    ^bb0(%in: f32, %out: f32):
      %s = math.sin %in : f32
      linalg.yield %s : f32
    }} -> tensor<{n}xf32>
    scf.yield %x : tensor<{n}xf32>
  }} else {{
    scf.yield %a : tensor<{n}xf32>
  }}
  util.return %r : tensor<{n}xf32>
}}
"""


def test_both_are_done(run_passes, in_order):
    text = run_passes(BRANCH.format(n=8, condition="%c"), PASS)
    assert "scf.if" not in text and "tensor.extract" not in text
    in_order(text, "math.sin", "ins(%arg1, %1, %arg0 : tensor<i1>, tensor<8xf32>, tensor<8xf32>)", "arith.select")


def test_much_work_and_what_the_host_knows_stay(run_passes):
    assert "scf.if" in run_passes(BRANCH.format(n=100_000, condition="%c"), PASS)
    assert "scf.if" in run_passes(BRANCH.format(n=8, condition="%host"), PASS)


X = np.random.default_rng(2).standard_normal((9, 6)).astype(np.float32)
PROGRAMS = {
    "cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), [X]),
    "one_is_the_argument": (lambda x: lax.cond(x[0, 0] > 0, lambda x: x, lambda x: -x, x), [X]),
    "of_each": (lambda x: lax.map(lambda a: lax.cond(a[0] > 0, lambda: a, lambda: -a * a.sum()), x), [X]),
    "in_a_loop": (
        lambda x: lax.fori_loop(0, 20, lambda i, c: lax.cond(c.sum() > i, lambda: c - 0.1, lambda: c + 0.3), x), [X]
    ),
    "switch": (
        lambda x, i: lax.switch(i, [lambda: x + 1, lambda: jnp.sin(x), lambda: x * 2, lambda: x.T.reshape(9, 6)]),
        [X, np.int32(2)],
    ),
    "numbers": (lambda x, i: lax.cond(i > 3, lambda: (i + 1, x), lambda: (i * 2, x * i)), [X, np.int32(5)]),
    "not_a_number": (lambda x: lax.cond(x.sum() > 1e9, lambda: jnp.log(-jnp.abs(x)), lambda: x), [X]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name, traced, flow_text, run_program):
    function, arguments = PROGRAMS[name]
    source = traced(function, *arguments)
    assert "scf.if" not in flow_text(source)
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, value in zip(run_program(source, *arguments), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5)


def test_work_that_may_not_end_stays(traced, flow_text, run_program):
    def function(x):
        return lax.cond(x.sum() > 0, lambda: x, lambda: lax.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, x))

    source = traced(function, X)
    assert "scf.if" in flow_text(source)
    for x in (X, -X):
        np.testing.assert_allclose(run_program(source, x)[0], jax.jit(function)(x), rtol=1e-6)
