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
    source = traced(function, x)
    assert len(dispatches(flow_text(source))) >= 2
    with jax.enable_x64():
        wanted = jax.tree.leaves(function(jnp.asarray(x, jnp.float64)))
    for found, right in zip(run_program(source, x), wanted, strict=True):
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-3)
        else:
            np.testing.assert_array_equal(found, right)
