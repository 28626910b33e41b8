"""What is sorted by 64-bit numbers with its places is sorted by each half of them."""

import numpy as np
import pytest

PASS = "pyiree-flow-sort-by-halves"

SORT = """
util.func private @f(%a: tensor<{shape}xi64>, %b: tensor<{shape}xf32>) -> (tensor<{shape}xi64>, tensor<{shape}xf32>) {{
  %0:2 = iree_linalg_ext.sort dimension({dim}) outs(%a, %b : tensor<{shape}xi64>, tensor<{shape}xf32>) {{
  ^bb0(%x: i64, %y: i64, %p: f32, %q: f32):
    %s = arith.cmpi {predicate}, %x, %y : i64
    iree_linalg_ext.yield %s : i1
  }} -> tensor<{shape}xi64>, tensor<{shape}xf32>
  util.return %0#0, %0#1 : tensor<{shape}xi64>, tensor<{shape}xf32>
}}
"""


def test_halves(run_passes, in_order):
    text = run_passes(SORT.format(shape="1000", dim=0, predicate="sgt"), PASS)
    in_order(
        text,
        "arith.trunci",
        "arith.shrui",
        "iree_linalg_ext.sort dimension(0)",
        "arith.cmpi ugt",
        "tensor.extract",
        "iree_linalg_ext.sort dimension(0)",
        "arith.cmpi sgt",
        "tensor.extract %arg0",
        "tensor.extract %arg1",
    )


def test_few_stay(run_passes):
    assert "trunci" not in run_passes(SORT.format(shape="20", dim=0, predicate="slt"), PASS)


PROGRAM = """
func.func @main(%a: tensor<{shape}x{element}>, %b: tensor<{shape}xf32>)
    -> (tensor<{shape}x{element}>, tensor<{shape}xf32>) {{
  %0:2 = "stablehlo.sort"(%a, %b) <{{dimension = {dim} : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.compare {way}, %x, %y, {kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}) : (tensor<{shape}x{element}>, tensor<{shape}xf32>) -> (tensor<{shape}x{element}>, tensor<{shape}xf32>)
  return %0#0, %0#1 : tensor<{shape}x{element}>, tensor<{shape}xf32>
}}
"""


@pytest.mark.parametrize("way", ["LT", "GT"])
@pytest.mark.parametrize("element, kind", [("i64", "SIGNED"), ("ui64", "UNSIGNED"), ("f64", "TOTALORDER")])
@pytest.mark.parametrize("shape, dim", [("1000", 0), ("40x30", 1), ("40x30", 0)])
def test_numbers(way, element, kind, shape, dim, run_program):
    rng = np.random.default_rng(0)
    sizes = [int(n) for n in shape.split("x")]
    x = rng.integers(-(2**63), 2**63 - 1, sizes)
    x = np.where(rng.random(sizes) < 0.5, x % 5 - 2, x)
    x[rng.random(sizes) < 0.2] &= -(2**32)
    y = rng.standard_normal(sizes).astype(np.float32)
    # In total order the bits of floats rise as integers do, those of negative ones turned over.
    number = np.where(x < 0, x ^ (2**63 - 1), x) if element == "f64" else x.astype(element.replace("i", "int"))
    x = x.view(np.float64) if element == "f64" else number
    results = run_program(PROGRAM.format(shape=shape, dim=dim, element=element, kind=kind, way=way), x, y)
    order = np.argsort(~number if way == "GT" else number, dim, kind="stable")
    for result, values in zip(results, (x, y), strict=True):
        expected = np.take_along_axis(values, order, dim)
        np.testing.assert_array_equal(result.view(f"u{values.itemsize}"), expected.view(f"u{values.itemsize}"))
