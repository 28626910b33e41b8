"""Large reductions to few results are done in blocks, by size alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

PASS = "iree-dispatch-creation-split-reduction-ops"

SUM = """
util.func private @f(%a: tensor<{n}xf32>) -> tensor<f32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
      iterator_types = ["reduction"]}} ins(%a : tensor<{n}xf32>) outs(%i : tensor<f32>) {{
  ^bb0(%x: f32, %acc: f32):
    {body}
    linalg.yield %s : f32
  }} -> tensor<f32>
  util.return %0 : tensor<f32>
}}
"""


def test_blocks_that_fit(run_passes, in_order):
    text = run_passes(SUM.format(n=1048576, body="%s = arith.addf %acc, %x : f32"), PASS)
    in_order(
        text,
        "tensor.expand_shape %arg0 [[0, 1]] output_shape [64, 16384]",
        'iterator_types = ["parallel", "reduction"]} ins(%expanded : tensor<64x16384xf32>)',
        'iterator_types = ["reduction"]} ins(%4 : tensor<64xf32>) outs(%1 : tensor<f32>)',
    )


def test_a_rest_is_what_the_blocks_are_added_to(run_passes, in_order):
    text = run_passes(SUM.format(n=1048573, body="%s = arith.addf %acc, %x : f32"), PASS)
    in_order(text, "tensor.extract_slice %arg0[0]", "tensor.expand_shape", "tensor.extract_slice %arg0[1")
    assert text.count("linalg.generic") == 3


def test_indices_stay_those_of_the_whole(run_passes, in_order):
    body = """
    %n = linalg.index 0 : index
    %c = arith.index_cast %n : index to i32
    %v = arith.sitofp %c : i32 to f32
    %p = arith.mulf %x, %v : f32
    %s = arith.addf %acc, %p : f32
    """
    text = run_passes(SUM.format(n=1048576, body=body), PASS)
    in_order(text, "linalg.index 1", "linalg.index 0", "arith.muli", "arith.addi", "arith.index_cast", "linalg.generic")


@pytest.mark.parametrize(
    "source",
    [
        SUM.format(n=4096, body="%s = arith.addf %acc, %x : f32"),
        SUM.format(n="?", body="%s = arith.addf %acc, %x : f32"),
        # The old result in the middle of a formula: no two halves that could be joined.
        SUM.format(n=1048576, body="%m = arith.mulf %acc, %acc : f32\n %s = arith.addf %m, %x : f32"),
    ],
    ids=["small", "dynamic", "no combiner"],
)
def test_what_stays_whole(run_passes, source):
    assert run_passes(source, PASS).count("linalg.generic") == 1


def _numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


PROGRAMS = {
    "sum": (lambda x: (jnp.sum(x), jnp.sum(x, 0), jnp.max(x)), _numbers(100003, 3)),
    "columns": (lambda x: jnp.mean(x, (0, 1)), _numbers(80, 700, 16)),
    "argmax": (lambda x: (jnp.argmax(x), jnp.argmin(x, 0)), np.round(_numbers(77777, 2) * 2)),
    "argmax of nan": (lambda x: jnp.argmax(x), np.where(np.arange(90000) % 30011 == 30010, np.nan, np.float32(1))),
    "any": (lambda x: jnp.any(x > 4.9), _numbers(70000)),
    "dot": (lambda x: jnp.vdot(x, x), _numbers(300000)),
    "integers": (lambda x: (x.astype(jnp.int32) * 7).sum(), np.round(_numbers(100000) * 9)),
    "squares of indices": (lambda x: jnp.sum(x * jnp.arange(100000.0)), _numbers(100000)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name, traced, run_program, flow_text, dispatches):
    function, x = PROGRAMS[name]
    text = flow_text(traced(function, x))
    assert len(dispatches(text)) >= 2
    with jax.enable_x64():
        wanted = jax.tree.leaves(function(jnp.asarray(x, jnp.float64)))
    for found, right in zip(run_program(text, x, compile_from="flow"), wanted, strict=True):
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-3)
        else:
            np.testing.assert_array_equal(found, right)


PRODUCT = """
util.func private @f(%a: tensor<{k}xf32>, %b: tensor<{k}x{n}xf32>) -> tensor<{n}xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{n}xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<{n}xf32>) -> tensor<{n}xf32>
  %0 = linalg.vecmat ins(%a, %b : tensor<{k}xf32>, tensor<{k}x{n}xf32>) outs(%i : tensor<{n}xf32>) -> tensor<{n}xf32>
  util.return %0 : tensor<{n}xf32>
}}
"""


def test_products_of_a_row_are_done_in_blocks_of_the_matrix(run_passes, in_order):
    text = run_passes(PRODUCT.format(k=1024, n=1024), PASS)
    in_order(
        text,
        "tensor.expand_shape %arg0 [[0, 1]] output_shape [8, 128]",
        "tensor.expand_shape %arg1 [[0, 1], [2]] output_shape [8, 128, 1024]",
        'iterator_types = ["parallel", "parallel", "reduction"]',
        'iterator_types = ["reduction", "parallel"]',
    )


@pytest.mark.parametrize(
    ("k", "n"), [(200, 512), (4096, 16384), (40, 1024)], ids=["small", "many columns", "few products"]
)
def test_products_that_stay_whole(run_passes, k, n):
    assert run_passes(PRODUCT.format(k=k, n=n), PASS).count("linalg.vecmat") == 1


PRODUCTS = {
    "a row": (lambda x, y: x[0] @ y, (1, 3001), (3001, 300)),
    "a few rows": (lambda x, y: x @ y, (5, 1777), (1777, 703)),
    "from the right": (lambda x, y: y.T @ x[0], (1, 100003), (100003, 7)),
    "two summed dims": (lambda x, y: jnp.einsum("kl,kln->n", x.reshape(40, 50), y), (1, 2000), (40, 50, 333)),
    "what follows": (lambda x, y: jnp.tanh(x @ y / 50) + 1, (2, 2048), (2048, 512)),
    "narrow numbers": (
        lambda x, y: jnp.matmul(x[0].astype(jnp.bfloat16), y.astype(jnp.bfloat16)).astype(jnp.float32),
        (1, 4096), (4096, 256),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_numbers_of_products(name, traced, run_program, flow_text, dispatches):
    function, *shapes = PRODUCTS[name]
    x, y = (np.random.default_rng(7).uniform(0, 1, shape).astype(np.float32) for shape in shapes)
    if name == "narrow numbers":
        x, y = (np.round(v * 4) / 4 for v in (x, y))
    text = flow_text(traced(function, x, y))
    assert len(dispatches(text)) >= 2
    with jax.enable_x64():
        wanted = function(jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64))
    (found,) = run_program(text, x, y, compile_from="flow")
    np.testing.assert_allclose(found, wanted, rtol=1e-2 if name == "narrow numbers" else 3e-6)


RUNS = """
util.func private @f(%a: tensor<4x{on_top}x6x{run}xf32>) -> tensor<4x6xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = linalg.generic {{
      indexing_maps = [affine_map<(n, t, g, c) -> (n, t, g, c)>, affine_map<(n, t, g, c) -> (n, g)>],
      iterator_types = ["parallel", "reduction", "parallel", "reduction"]
    }} ins(%a : tensor<4x{on_top}x6x{run}xf32>) outs(%i : tensor<4x6xf32>) {{
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }} -> tensor<4x6xf32>
  util.return %0 : tensor<4x6xf32>
}}
"""


def test_short_runs_on_top_of_each_other_first(run_passes, in_order):
    text = run_passes(RUNS.format(on_top=100, run=8), PASS)
    in_order(
        text,
        'iterator_types = ["parallel", "reduction", "parallel", "parallel"]} ins(%arg0 : tensor<4x100x6x8xf32>)',
        "-> tensor<4x6x8xf32>",
        'iterator_types = ["reduction", "parallel", "parallel"]}',
        "-> tensor<4x6xf32>",
    )


@pytest.mark.parametrize(("on_top", "run"), [(100, 64), (8, 8), (100, 1)])
def test_runs_that_are_long_or_few(run_passes, on_top, run):
    assert run_passes(RUNS.format(on_top=on_top, run=run), PASS).count("linalg.generic") == 1


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.max, jnp.prod, jnp.mean])
def test_numbers_of_short_runs(traced, run_program, reduce):
    x = np.random.default_rng(5).standard_normal((3, 40, 5, 3, 4)).astype(np.float32)

    def reduced(x):
        return reduce(x, axis=(1, 3, 4)), reduce(x, axis=(1, 4))

    for mine, other in zip(run_program(traced(reduced, x), x), jax.jit(reduced)(x), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
