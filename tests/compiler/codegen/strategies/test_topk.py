"""The first few elements of an order: values and places, against NumPy's stable sort."""

import numpy as np
import pytest


def top(texts, shape, k, dim, element, compare):
    source = texts.tensor(shape, element)
    result_shape = tuple(k if d == dim else n for d, n in enumerate(shape))
    values, places = texts.tensor(result_shape, element), texts.tensor(result_shape, "i32")
    body = f"""
%v = tensor.empty() : {values}
%i = tensor.empty() : {places}
%out0, %out1 = iree_linalg_ext.topk dimension({dim}) ins(%in0 : {source}) outs(%v, %i : {values}, {places}) {{
^bb0(%x: {element}, %y: {element}):
  %c = {compare} %x, %y : {element}
  iree_linalg_ext.yield %c : i1
}} -> {values}, {places}"""
    return texts.dispatch([source], [values, places], body), result_shape


@pytest.mark.parametrize(
    ("shape", "k", "dim"),
    [((5, 1000), 16, 1), ((3, 64), 64, 1), ((2, 70), 1, 1), ((1000, 3), 7, 0), ((4, 17), 5, 1), ((3, 300, 2), 9, 1)],
    ids=str,
)
def test_largest(texts, run_dispatch, runnable_target, shape, k, dim):
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(np.float32)
    text, result = top(texts, shape, k, dim, "f32", "arith.cmpf ogt,")
    values, places = run_dispatch(text, [x], [(result, np.float32), (result, np.int32)], runnable_target.cpu)
    order = np.argsort(-x, axis=dim, kind="stable").take(range(k), axis=dim)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, dim))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_smallest_integers(texts, run_dispatch, dtype):
    x = np.random.default_rng(1).integers(-100, 100, (3, 500)).astype(dtype)
    text, result = top(texts, (3, 500), 20, 1, texts.element(dtype), "arith.cmpi slt,")
    values, places = run_dispatch(text, [x], [(result, dtype), (result, np.int32)])
    order = np.argsort(x, axis=1, kind="stable")[:, :20]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_rising_rows(texts, run_dispatch):
    """Every element comes before those so far."""
    x = np.tile(np.arange(3000, dtype=np.float32), (2, 1))
    text, result = top(texts, (2, 3000), 33, 1, "f32", "arith.cmpf ogt,")
    values, places = run_dispatch(text, [x], [(result, np.float32), (result, np.int32)])
    np.testing.assert_array_equal(places, np.tile(np.arange(2999, 2966, -1), (2, 1)))
    np.testing.assert_array_equal(values, places.astype(np.float32))
