"""Sorts by several numbers, or by one of 64 bits with places, go by one part after another."""

import numpy as np
import pytest
from jax import lax

PASS = "pyiree-flow-sort-by-parts"

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
        "iree_linalg_ext.sort dimension(0)",
        "arith.cmpi ugt",
        "arith.shrui",
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


@pytest.mark.each_value
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


@pytest.mark.parametrize("shape, dim", [((2000,), 0), ((30, 40), 1), ((50, 20), 0)], ids=str)
def test_several_numbers(shape, dim, traced, run_program):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, shape).astype(np.uint8)
    y = rng.integers(-3, 3, shape).astype(np.float32)
    y[rng.random(shape) < 0.1] = np.nan
    y[rng.random(shape) < 0.1] = -0.0
    z = np.arange(x.size, dtype=np.int32).reshape(shape)

    def function(x, y, z):
        return lax.sort((x, y, z), dim, num_keys=2)

    results = run_program(traced(function, x, y, z), x, y, z)
    order = np.lexsort((np.nan_to_num(y), np.isnan(y), x), dim)
    for result, values in zip(results, (x, y, z), strict=True):
        expected = np.take_along_axis(values, order, dim)
        np.testing.assert_array_equal(result.view(f"u{values.itemsize}"), expected.view(f"u{values.itemsize}"))


@pytest.mark.parametrize("size", [50, 300, 9000])
def test_complex_numbers(size, traced, run_program):
    rng = np.random.default_rng(2)
    x = (rng.integers(-3, 3, size) + 1j * rng.integers(-3, 3, size)).astype(np.complex64)
    places = np.arange(size, dtype=np.int32)
    values, order = run_program(traced(lambda x, n: lax.sort((x, n), num_keys=1), x, places), x, places)
    np.testing.assert_array_equal(order, np.lexsort((x.imag, x.real)))
    np.testing.assert_array_equal(values, x[order])


def test_what_is_no_order_stays(run_passes):
    """The places decide only where the numbers are equal; here they do where these are unequal."""
    text = SORT.format(shape="1000", dim=0, predicate="slt").replace(
        "iree_linalg_ext.yield %s",
        "%e = arith.cmpi ne, %x, %y : i64\n%f = arith.cmpf olt, %p, %q : f32\n%c = arith.andi %e, %f : i1\n"
        "%o = arith.ori %s, %c : i1\niree_linalg_ext.yield %o",
    )
    assert "trunci" not in run_passes(text, PASS)
