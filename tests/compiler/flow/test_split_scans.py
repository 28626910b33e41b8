"""Long running combinations of few rows are done in blocks."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "pyiree-flow-split-scans"

SCAN = """
util.func private @f(%a: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %z = arith.constant 0.0 : f32
  %out = tensor.empty() : tensor<{n}xf32>
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0:2 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%a : tensor<{n}xf32>)
      outs(%out, %i : tensor<{n}xf32>, tensor<f32>) {{
  ^bb0(%so_far: f32, %next: f32):
    %s = arith.addf %so_far, %next : f32
    iree_linalg_ext.yield %s : f32
  }} -> tensor<{n}xf32>, tensor<f32>
  util.return %0#0 : tensor<{n}xf32>
}}
"""


def test_blocks(run_passes, in_order):
    text = run_passes(SCAN.format(n=262144), PASS)
    in_order(
        text,
        "tensor.expand_shape %arg0 [[0, 1]] output_shape [16, 16384]",
        "iree_linalg_ext.scan dimension(1)",
        "tensor.extract_slice",
        "iree_linalg_ext.scan dimension(0)",
        "linalg.generic",
        "tensor.extract %",
        "arith.addf",
        "arith.select",
        "tensor.collapse_shape",
    )


def test_rows_are_filled_up(run_passes, in_order):
    text = run_passes(SCAN.format(n=100003), PASS)
    in_order(text, "tensor.pad %arg0 low[0] high[5]", "iree_linalg_ext.scan", "tensor.extract_slice", "[100003] [1]")


def test_short_ones_stay(run_passes):
    assert run_passes(SCAN.format(n=1024), PASS).count("iree_linalg_ext.scan") == 1


@pytest.mark.parametrize("shape, dim", [((100003,), 0), ((40000, 3), 0), ((2, 50000), 1)])
def test_numbers(shape, dim, traced, run_program):
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)

    def function(x):
        return jnp.cumsum(x * 2, dim), lax.cummax(x, dim), lax.cumsum(x, dim, reverse=True)

    sums, maxima, reverse = run_program(traced(function, x), x)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(sums, np.cumsum(exact * 2, dim), rtol=1e-4, atol=1e-2)
    np.testing.assert_array_equal(maxima, np.maximum.accumulate(x, dim))
    np.testing.assert_allclose(reverse, np.flip(np.cumsum(np.flip(exact, dim), dim), dim), rtol=1e-4, atol=1e-2)
