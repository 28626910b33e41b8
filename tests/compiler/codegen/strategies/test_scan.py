"""Scans along any dim against NumPy: known operations in vectors, other bodies in order."""

import numpy as np
import pytest


def scan(texts, shape, dim, body, element="f32", inclusive=True, init="0.0"):
    """out0: the running values; out1: the last ones."""
    full = texts.tensor(shape, element)
    rows = texts.tensor([n for d, n in enumerate(shape) if d != dim], element)
    text = f"%z = arith.constant {init} : {element}\n%e = tensor.empty() : {full}\n%er = tensor.empty() : {rows}\n"
    text += f"%f = linalg.fill ins(%z : {element}) outs(%er : {rows}) -> {rows}\n"
    text += (
        f"%r:2 = iree_linalg_ext.scan dimension({dim}) inclusive({str(inclusive).lower()}) ins(%in0 : {full}) "
        f"outs(%e, %f : {full}, {rows}) {{\n^bb0(%a: {element}, %b: {element}):\n{body}\n"
        f"iree_linalg_ext.yield %s : {element}\n}} -> {full}, {rows}"
    )
    return texts.dispatch([full], [full, rows], text).replace("%out0,", "%r#0,").replace("%out1,", "%r#1,")


def rows_shape(shape, dim):
    return tuple(n for d, n in enumerate(shape) if d != dim)


CASES = [
    ((100,), 0),
    ((1,), 0),
    ((5, 77), 1),
    ((77, 5), 0),
    ((40, 33), 0),
    ((3, 64), 1),
    ((2, 9, 20), 1),
    ((4, 1), 1),
    ((3, 17), 0),
]


@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
@pytest.mark.parametrize("inclusive", [True, False])
def test_integer_sum(texts, run_dispatch, shape, dim, inclusive):
    x = np.random.default_rng(0).integers(-(2**30), 2**30, shape).astype(np.int32)
    init = "0" if inclusive else "7"
    text = scan(texts, shape, dim, "%s = arith.addi %a, %b : i32", "i32", inclusive, init)
    running, last = run_dispatch(text, [x], [(shape, np.int32), (rows_shape(shape, dim), np.int32)])
    expected = np.cumsum(x, dim, dtype=np.int32)
    total = expected.take(-1, dim)
    if not inclusive:
        expected, total = (expected - x + 7).astype(np.int32), (total + 7).astype(np.int32)
    np.testing.assert_array_equal(running, expected)
    np.testing.assert_array_equal(last, total)


@pytest.mark.parametrize(("shape", "dim"), [((7, 200), 1), ((200, 7), 0), ((3000,), 0)], ids=str)
def test_floats_and_levels(texts, run_dispatch, runnable_target, shape, dim):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    outputs = [(shape, np.float32), (rows_shape(shape, dim), np.float32)]
    running, _ = run_dispatch(
        scan(texts, shape, dim, "%s = arith.addf %a, %b : f32"), [x], outputs, runnable_target.cpu
    )
    np.testing.assert_allclose(running, np.cumsum(x.astype(np.float64), dim), rtol=1e-5, atol=1e-4)
    text = scan(texts, shape, dim, "%s = arith.maximumf %a, %b : f32", init="0xFF800000")
    running, last = run_dispatch(text, [x], outputs, runnable_target.cpu)
    np.testing.assert_array_equal(running, np.maximum.accumulate(x, dim))
    np.testing.assert_array_equal(last, x.max(dim))


@pytest.mark.parametrize(("shape", "dim"), [((5, 40), 1), ((40, 20), 0)], ids=str)
def test_a_body_whose_order_matters(texts, run_dispatch, shape, dim):
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.int32)
    body = "%three = arith.constant 3 : i32\n%m = arith.muli %a, %three : i32\n%s = arith.addi %m, %b : i32"
    running, _ = run_dispatch(
        scan(texts, shape, dim, body, "i32", init="0"), [x], [(shape, np.int32), (rows_shape(shape, dim), np.int32)]
    )
    expected, state = [], None
    for k in range(shape[dim]):
        element = x.take(k, dim)
        state = element if state is None else (state * np.int32(3) + element).astype(np.int32)
        expected.append(state)
    np.testing.assert_array_equal(running, np.stack(expected, dim))


def test_minus_zero_stays(texts, run_dispatch):
    x = np.full(20, -0.0, np.float32)
    running, _ = run_dispatch(
        scan(texts, (20,), 0, "%s = arith.addf %a, %b : f32"), [x], [((20,), np.float32), ((), np.float32)]
    )
    assert np.signbit(running).all()
