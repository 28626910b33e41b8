"""Long rows are sorted in runs, which are then merged."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "pyiree-flow-split-sorts"

SORT = """
util.func private @f(%a: tensor<{shape}>) -> tensor<{shape}> {{
  %0 = iree_linalg_ext.sort dimension({dim}) outs(%a : tensor<{shape}>) {{
  ^bb0(%x: i32, %y: i32):
    %s = arith.cmpi {predicate}, %x, %y : i32
    iree_linalg_ext.yield %s : i1
  }} -> tensor<{shape}>
  util.return %0 : tensor<{shape}>
}}
"""


def test_runs(run_passes, in_order):
    text = run_passes(SORT.format(shape="100003xi32", dim=0, predicate="slt"), PASS)
    in_order(
        text,
        "arith.constant 2147483647 : i32",
        "tensor.pad %arg0 low[0] high[100701]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 0, 25088]}",
        "tensor<200704xi32>",
        "tensor.extract_slice",
        "[100352] [1]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 25088, 50176]}",
        "tensor.extract_slice",
        "[100003] [1]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 50176, 100352]}",
        "%arg0 : tensor<100003xi32>, tensor<100003xi32>",
    )


def test_what_comes_last(run_passes):
    text = run_passes(SORT.format(shape="20000xi32", dim=0, predicate="ugt"), PASS)
    assert "arith.constant 0 : i32" in text and text.count("iree_linalg_ext.sort") == 2


@pytest.mark.parametrize("shape, dim", [("1000xi32", 0), ("20000x3xi32", 0), ("?xi32", 0)])
def test_others_stay(run_passes, shape, dim):
    assert "sort_runs" not in run_passes(SORT.format(shape=shape, dim=dim, predicate="slt"), PASS)


@pytest.mark.parametrize("shape", [(13000,), (100003,), (3, 16385), (2, 1, 70000)], ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.uint32])
def test_numbers(shape, dtype, traced, run_program):
    rng = np.random.default_rng(4)
    x = (rng.standard_normal(shape) * 100).astype(np.int32).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.1] = -np.nan

    def function(x):
        return jnp.sort(x + x), lax.rev(lax.sort(-x), [x.ndim - 1])

    first, second = run_program(traced(function, x), x)
    bits = f"u{x.dtype.itemsize}"
    for result, value in ((first, x + x), (second[..., ::-1], -x)):
        expected = np.take_along_axis(value, np.argsort(value, -1, kind="stable"), -1)
        np.testing.assert_array_equal(np.ascontiguousarray(result).view(bits), expected.view(bits))
