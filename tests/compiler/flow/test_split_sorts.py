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


PAIRS = """
util.func private @f(%a: tensor<10000xi32>, %b: tensor<10000xi64>) -> tensor<10000xi64> {
  %0:2 = iree_linalg_ext.sort dimension(0) outs(%b, %a : tensor<10000xi64>, tensor<10000xi32>) {
  ^bb0(%p: i64, %q: i64, %x: i32, %y: i32):
    %s = arith.cmpi ult, %x, %y : i32
    iree_linalg_ext.yield %s : i1
  } -> tensor<10000xi64>, tensor<10000xi32>
  util.return %0#0 : tensor<10000xi64>
}
"""


def test_runs(run_passes, in_order):
    text = run_passes(SORT.format(shape="100003xi32", dim=0, predicate="slt"), PASS)
    in_order(
        text,
        "arith.constant 2147483647 : i32",
        "tensor.pad %arg0 low[0] high[100701]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 0, 25088, 0]}",
        "tensor<200704xi32>",
        "tensor.extract_slice",
        "[100352] [1]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 25088, 50176, 0]}",
        "tensor.extract_slice",
        "[100003] [1]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [100003, 100352, 50176, 100352, 0]}",
        "tensor<100003xi32>, tensor<100003xi32>",
    )


def test_runs_with_places(run_passes, in_order):
    """Codes of twice the width: the memory that they are in is that of twice the elements."""
    text = run_passes(PAIRS, PASS)
    in_order(
        text,
        "tensor.pad %arg0 low[0] high[30960]",
        "iree_linalg_ext.sort {pyiree.sort_runs = [10000, 10240, 0, 5120, 32]}",
        "iree_linalg_ext.sort {pyiree.sort_runs = [10000, 10240, 5120, 10240, 32]}",
        "tensor<10000xi64>, tensor<10000xi32>, tensor<10000xi32>",
    )


def test_what_comes_last(run_passes):
    text = run_passes(SORT.format(shape="20000xi32", dim=0, predicate="ugt"), PASS)
    assert "arith.constant 0 : i32" in text and text.count("iree_linalg_ext.sort") == 2


def test_long_columns_are_transposed(run_passes, in_order):
    text = run_passes(SORT.format(shape="2000x3xi32", dim=0, predicate="slt"), PASS)
    in_order(
        text,
        "(d0, d1) -> (d1, d0)",
        "tensor<3x2000xi32>",
        "iree_linalg_ext.sort dimension(1)",
        "tensor<2000x3xi32>",
        "util.return",
    )


@pytest.mark.parametrize("shape, dim", [("1000xi32", 0), ("1000x3xi32", 0), ("?xi32", 0)])
def test_others_stay(run_passes, shape, dim):
    assert "sort_runs" not in run_passes(SORT.format(shape=shape, dim=dim, predicate="slt"), PASS)


@pytest.mark.parametrize(
    "shape, dtype", [((100003,), np.float32), ((3, 26385), np.float16), ((2, 1, 70000), np.uint32)]
)
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


@pytest.mark.each_value
@pytest.mark.parametrize("shape, dtype", [((100003,), np.float16), ((3, 16385), np.float32), ((7000,), np.int32)])
@pytest.mark.parametrize("descending", [False, True])
def test_places(shape, dtype, descending, traced, run_program):
    rng = np.random.default_rng(5)
    x = rng.integers(-500, 500, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.1] = np.nan

    def function(x):
        order = jnp.argsort(x, stable=True, descending=descending)
        return order, *lax.sort((x, lax.iota(jnp.int32, x.size).reshape(x.shape)), num_keys=1)

    order, values, places = run_program(traced(function, x), x)
    up = np.argsort(x, -1, kind="stable")
    down = x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]
    np.testing.assert_array_equal(order, down if descending else up)
    bits = f"u{x.dtype.itemsize}"
    np.testing.assert_array_equal(values.view(bits), np.take_along_axis(x, up, -1).view(bits))
    np.testing.assert_array_equal(places, np.take_along_axis(np.arange(x.size).reshape(shape), up, -1))


@pytest.mark.parametrize("shape, dim", [((20000, 3), 0), ((2, 1500, 20), 1)], ids=str)
def test_columns(shape, dim, traced, run_program):
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    (result,) = run_program(traced(lambda x: jnp.sort(x, dim), x), x)
    np.testing.assert_array_equal(result, np.sort(x, dim))
