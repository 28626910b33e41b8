"""Long columns side by side are reduced in strips whose accumulators are in local memory."""

import ml_dtypes
import numpy as np
import pytest

START = {"arith.addf": "0.0", "arith.maximumf": "0xFF800000"}


def down_columns(texts, shape, op, element="f32"):
    """out0 = in0 reduced along its second last dim; a sum of squares, or an extremum."""
    kept = (*shape[:-2], shape[-1])
    source, out = texts.tensor(shape, element), texts.tensor(kept, element)
    dims = [f"d{k}" for k in range(len(shape))]
    places = [d for k, d in enumerate(dims) if k != len(shape) - 2]
    kinds = ["parallel"] * len(shape)
    kinds[-2] = "reduction"
    start = START[op] if element == "f32" else "0.0"
    step = f"%q = arith.mulf %a0, %a0 : {element}\n%s = {op} %c0, %q : {element}"
    if op == "arith.maximumf":
        step = f"%s = {op} %c0, %a0 : {element}"
    body = f"%z = arith.constant {start} : {element}\n%e = tensor.empty() : {out}\n"
    body += f"%f = linalg.fill ins(%z : {element}) outs(%e : {out}) -> {out}\n"
    body += texts.generic(
        "%out0", [("%in0", source)], [("%f", out)],
        [f"({', '.join(dims)}) -> ({', '.join(dims)})", f"({', '.join(dims)}) -> ({', '.join(places)})"], kinds,
        step, "%s",
    )  # fmt: skip
    return texts.dispatch([source], [out], body)


# The last ones: a strip that is not whole, lanes that do not exist, rows that are left over.
SHAPES = [(1024, 1024), (130, 8192), (515, 2049), (2, 300, 2100), (4099, 301)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(texts, run_dispatch, runnable_target, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    text = down_columns(texts, shape, "arith.addf")
    (result,) = run_dispatch(text, [x], [((*shape[:-2], shape[-1]), np.float32)], runnable_target.cpu)
    np.testing.assert_allclose(result, (x.astype(np.float64) ** 2).sum(-2), rtol=3e-7)


@pytest.mark.parametrize("shape", [(700, 1024), (515, 2049)], ids=str)
def test_maxima(texts, run_dispatch, runnable_target, shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    x[5, 7], x[-1, -1], x[:, 11] = np.nan, np.nan, -np.inf
    text = down_columns(texts, shape, "arith.maximumf")
    (result,) = run_dispatch(text, [x], [(shape[1:], np.float32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, x.max(0))


@pytest.mark.parametrize(("element", "dtype"), [("f64", np.float64), ("bf16", ml_dtypes.bfloat16)])
def test_elements(texts, run_dispatch, element, dtype):
    x = np.random.default_rng(2).integers(-3, 4, (1100, 2050)).astype(dtype)
    (result,) = run_dispatch(down_columns(texts, x.shape, "arith.addf", element), [x], [(x.shape[1:], dtype)])
    expected = (x.astype(np.float64) ** 2).sum(0).astype(dtype)
    np.testing.assert_array_equal(result, expected)


def test_loops(texts, build_kernel):
    """Before: each row is left after a few lines. After: rows by eight, and in them all columns of a page."""
    text = build_kernel(down_columns(texts, (1024, 8192), "arith.addf"), "x86-64-v4").kernel.text("kernel")
    rows, _, columns = text.partition("for %")[2].partition("step 8")
    assert rows
    assert columns.count("load %in0") == 8


@pytest.mark.parametrize("shape", [(1024, 64), (40, 100000), (256, 256)], ids=["narrow", "short", "small"])
def test_where_it_does_not_pay(texts, build_kernel, shape):
    """Rows that a strip in registers covers, columns with little to add up, and what the caches hold."""
    text = build_kernel(down_columns(texts, shape, "arith.addf"), "x86-64-v4").kernel.text("kernel")
    assert "totals" not in text
