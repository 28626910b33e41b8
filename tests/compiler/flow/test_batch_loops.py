"""Loops whose iterations are independent are one more dim of their ops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "pyiree-flow-batch-loops"

HEAD = """
#id = affine_map<(d0, d1) -> (d0, d1)>
util.func private @f(%a: tensor<31x8xf32>, %init: tensor<31x8xf32>) -> tensor<31x8xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %e = tensor.empty() : tensor<1x8xf32>
  %r = scf.for %i = {low} to %c31 step %c1 iter_args(%y = %init) -> (tensor<31x8xf32>) {{
    %back = arith.subi %i, {low} : index
    %x = tensor.extract_slice {source}[{place}, 0] [1, 8] [1, 1] : tensor<31x8xf32> to tensor<1x8xf32>
    %z = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
        ins(%x : tensor<1x8xf32>) outs(%e : tensor<1x8xf32>) {{
    ^bb0(%in: f32, %out: f32):
      %s = math.exp %in : f32
      linalg.yield %s : f32
    }} -> tensor<1x8xf32>
    %n = tensor.insert_slice %z into %y[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<31x8xf32>
    scf.yield %n : tensor<31x8xf32>
  }}
  util.return %r : tensor<31x8xf32>
}}
"""


def test_rows(run_passes, in_order):
    text = run_passes(HEAD.format(low="%c0", source="%a", place="%i"), PASS)
    assert "scf.for" not in text
    in_order(
        text,
        "tensor.expand_shape %arg0 [[0, 1], [2]] output_shape [31, 1, 8]",
        'iterator_types = ["parallel", "parallel", "parallel"]',
        "tensor.collapse_shape %1 [[0, 1], [2]] : tensor<31x1x8xf32> into tensor<31x8xf32>",
        "util.return %collapsed",
    )


def test_what_an_iteration_replaces_may_be_read(run_passes, in_order):
    text = run_passes(HEAD.format(low="%c1", source="%y", place="%i"), PASS)
    assert "scf.for" not in text
    in_order(
        text, "tensor.extract_slice %arg1[1, 0] [30, 8]", "math.exp", "tensor.insert_slice %collapsed into %arg1[1, 0]"
    )


def test_what_another_iteration_made_may_not(run_passes):
    text = run_passes(HEAD.format(low="%c1", source="%y", place="%back"), PASS)
    assert "scf.for" in text


def _windows(x, w):
    size = w.shape[0]
    rows, columns = x.shape[0] - size + 1, x.shape[1] - size + 1

    def row(out, i):
        def column(out, j):
            window = lax.dynamic_slice(x, (i, j), (size, size))
            return lax.dynamic_update_slice(out, jnp.sum(window * w)[None, None], (i, j)), None

        return lax.scan(column, out, jnp.arange(columns))[0], None

    return lax.scan(row, jnp.zeros((rows, columns)), jnp.arange(rows))[0]


def _blocks(x):
    def block(i, out):
        part = jnp.tanh(lax.dynamic_slice(x, (i * 16, 0), (16, 5))) + i
        return lax.dynamic_update_slice(out, part, (i * 16, 0))

    return lax.fori_loop(0, 8, block, jnp.ones((130, 5)))


def _scan(step, xs, **options):
    return lax.scan(lambda carry, x: (carry, step(x)), 0, xs, **options)[1]


def _rows(function, low, high):
    return lambda x: lax.fori_loop(low, high, lambda i, out: function(i, out, x), x)


BATCHED = {
    "softmax": (lambda x: lax.map(jax.nn.softmax, x), [(64, 100)]),
    "product": (lambda x, w: lax.map(lambda a: jnp.tanh(a @ w), x), [(6, 32, 16), (16, 24)]),
    "two_products": (lambda x, y: lax.map(lambda ab: ab[0] @ ab[1].T, (x, y)), [(20, 17, 16), (20, 9, 16)]),
    "windows": (_windows, [(33, 40), (3, 3)]),
    "backwards": (lambda x: _scan(lambda a: jnp.exp(a).sum(), x, reverse=True), [(30, 7)]),
    "blocks": (_blocks, [(128, 5)]),
    "in_place": (_rows(lambda i, out, x: out.at[i].set(out[i] * 2 + i), 0, 10), [(10, 4)]),
    "part_in_place": (_rows(lambda i, out, x: out.at[i, 1:3].set(out[i, 1:3].sum() + out[i, 1:3]), 2, 7), [(10, 4)]),
    "every_other": (_rows(lambda i, out, x: out.at[2 * i + 1].set(jnp.cos(x[2 * i])), 0, 5), [(11, 4)]),
    "down": (_rows(lambda i, out, x: out.at[9 - i].set(x[i] + 1), 0, 10), [(10, 4)]),
    "columns": (_rows(lambda i, out, x: out.at[:, i].set(x[:, i].sum() + x[:, 5 - i]), 0, 6), [(9, 6)]),
    "several": (lambda x: _scan(lambda a: (a + 1, a.sum(), jnp.outer(a, a), a > 0), x), [(9, 6)]),
    "numbers": (lambda x: _scan(lambda i: jnp.float32(i) * x, np.arange(9)), [(6,)]),
    "gathered": (lambda x: lax.map(lambda i: x[i] * 2, jnp.array([3, 1, 2, 8, 0])), [(9, 6)]),
    "padded": (lambda x: lax.map(lambda a: jnp.concatenate([jnp.pad(a, (1, 2)), a, jnp.zeros(3)]), x), [(9, 6)]),
}


def _check(function, shapes, traced, run_program, flow_text):
    """Compares numbers with those of jax.jit; gives the text at the flow phase."""
    random = np.random.default_rng(1)
    arguments = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    text = flow_text(traced(function, *arguments))
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, right in zip(run_program(text, *arguments, compile_from="flow"), wanted, strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found.astype(np.float64), np.asarray(right, np.float64), rtol=2e-5, atol=1e-5)
    return text


@pytest.mark.parametrize("name", BATCHED)
def test_no_loop_is_left(name, traced, run_program, flow_text):
    assert "scf.for" not in _check(*BATCHED[name], traced, run_program, flow_text)


LOOPS = {
    "one_after_the_other": (_rows(lambda i, out, x: out.at[i].set(out[i - 1] * 2 + i), 1, 10), [(10, 4)]),
    "overlapping": (_rows(lambda i, out, x: lax.dynamic_update_slice(out, x[:3] + i, (i, 0)), 0, 7), [(10, 4)]),
    "the_same_place": (_rows(lambda i, out, x: out.at[3].set(x[i]), 0, 7), [(10, 4)]),
    "sums": (_rows(lambda i, out, x: out.at[i].set(out.sum(0)), 0, 7), [(10, 4)]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_iterations_that_wait_for_each_other(name, traced, run_program, flow_text):
    _check(*LOOPS[name], traced, run_program, flow_text)


def test_a_loop_inside_carries_all_iterations(traced, run_program, flow_text):
    def each(a):
        return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i, a)

    text = _check(lambda x: lax.map(each, x), [(9, 6)], traced, run_program, flow_text)
    assert text.count("scf.for") == 1


def test_what_needs_much_memory_stays(traced, flow_text):
    def each(a):
        return (jnp.outer(a, a) @ jnp.outer(a, a + 1)).sum()

    source = traced(lambda x: lax.map(each, x), np.zeros((1024, 1024), np.float32))
    assert "scf.for" in flow_text(source)
