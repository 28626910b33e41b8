"""Counters, bounds and conditions are numbers of the host; floats and data stay on the device."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

X = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)


def test_a_counter_is_the_loops_own(run_passes, in_order):
    text = run_passes(
        """
        util.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c5 = arith.constant 5 : i32
          %zero = arith.constant dense<0> : tensor<i32>
          %one = arith.constant dense<1> : tensor<i32>
          %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%n = %zero, %x = %a) -> (tensor<i32>, tensor<4xf32>) : i32 {
            %e = tensor.empty() : tensor<i32>
            %m = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>],
                iterator_types = []} ins(%n, %one : tensor<i32>, tensor<i32>) outs(%e : tensor<i32>) {
            ^bb0(%p: i32, %q: i32, %o: i32):
              %s = arith.addi %p, %q : i32
              linalg.yield %s : i32
            } -> tensor<i32>
            %v = tensor.extract %n[] : tensor<i32>
            %w = arith.sitofp %v : i32 to f32
            %t = tensor.splat %w : tensor<4xf32>
            scf.yield %m, %t : tensor<i32>, tensor<4xf32>
          }
          util.return %r#1 : tensor<4xf32>
        }
        """,
        "pyiree-flow-materialize-host-scalars",
        "canonicalize",
    )
    in_order(text, "scf.for %arg1 = ", "-> (tensor<4xf32>)", "arith.sitofp %arg1", "scf.yield")
    assert "tensor.extract" not in text.partition("scf.for")[2] and "linalg.generic" not in text


PROGRAMS = {
    "counted": (lambda x: lax.fori_loop(0, 7, lambda i, c: jnp.sin(c) + i, x), 1),
    "nested": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, i + 1, lambda j, d: d * 2 + i + j, c), x),
        1,
    ),
    "bound from the device": (
        lambda x: lax.fori_loop(0, jnp.sum(x > 0), lambda i, c: c * 0.5 + i, x),
        2,
    ),
    "condition on data": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 100, lambda c: c + 1, x), 2),
    "two counters": (
        lambda x: lax.while_loop(
            lambda s: (s[0] < 5) & (s[1] < 9), lambda s: (s[0] + 1, s[1] + 3, s[2] + 1), (0, 0, x)
        ),
        1,
    ),
    "branches": (lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), 3),
    "switch in a loop": (
        lambda x: lax.fori_loop(0, 4, lambda i, c: lax.switch(i % 3, [jnp.sin, jnp.cos, jnp.tanh], c), x),
        3,
    ),
    "a number that is a result": (
        lambda x: (
            lax.fori_loop(0, 5, lambda i, c: c * 0.5 + x, x), jnp.int32(5), lax.fori_loop(0, 5, lambda i, n: n + 1, 0)
        ),
        2,
    ),
    "a counter that bounds a loop within": (
        lambda x: lax.while_loop(
            lambda s: jnp.sum(s[1]) < 100,
            lambda s: (
                s[0] + 1, lax.while_loop(lambda t: t[0] < s[0], lambda t: (t[0] + 1, jnp.abs(t[1]) + 1), (0, s[1]))[1]
            ),
            (0, x),
        ),
        4,
    ),
    "a number that data changes": (
        lambda x: lax.fori_loop(
            0,
            3,
            lambda i, s: lax.while_loop(
                lambda t: jnp.sum(t[1]) < 100,
                lambda t: (t[0] + jnp.sum(t[1] > 0, dtype=jnp.int32), t[1] + 1),
                (lax.cond(x[0, 0] > 0, lambda: 1, lambda: 2), s[1] - 1),
            ),
            (0, x),
        ),
        5,
    ),
    "slices of the counter": (lambda x: lax.fori_loop(0, 4, lambda i, c: c.at[i].set(x[i] * 2), x * 0), 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, traced, run_program, flow_text, dispatches):
    function, count = PROGRAMS[name]
    text = flow_text(traced(function, X))
    assert len(dispatches(text)) <= count, text
    expected = jax.tree.leaves(jax.jit(function)(X))
    for found, wanted in zip(run_program(text, X, compile_from="flow"), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)



def test_an_element_of_iota_is_its_place(run_passes, in_order):
    text = run_passes(
        """
        util.func private @f(%a: tensor<9xf32>) -> tensor<9xf32> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c5 = arith.constant 5 : index
          %e = tensor.empty() : tensor<5xi32>
          %steps = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
              outs(%e : tensor<5xi32>) {
          ^bb0(%o: i32):
            %d = linalg.index 0 : index
            %n = arith.index_cast %d : index to i32
            %two = arith.constant 2 : i32
            %t = arith.muli %n, %two : i32
            linalg.yield %t : i32
          } -> tensor<5xi32>
          %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %a) -> (tensor<9xf32>) {
            %s = tensor.extract_slice %steps[%i] [1] [1] : tensor<5xi32> to tensor<1xi32>
            %one = tensor.collapse_shape %s [] : tensor<1xi32> into tensor<i32>
            %m = tensor.extract %one[] : tensor<i32>
            %k = arith.index_cast %m : i32 to index
            %v = tensor.extract %a[%k] : tensor<9xf32>
            %y = tensor.insert %v into %x[%i] : tensor<9xf32>
            scf.yield %y : tensor<9xf32>
          }
          util.return %r : tensor<9xf32>
        }
        """,
        "pyiree-flow-materialize-host-scalars",
        "canonicalize",
    )
    in_order(text, "scf.for %arg1", "arith.index_cast %arg1", "arith.muli", "tensor.extract %arg0", "scf.yield")
    assert "tensor<5xi32>" not in text.partition("scf.for")[2]
