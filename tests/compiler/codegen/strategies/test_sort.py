"""Sorts against NumPy's stable sort: any dim, several tensors, runs that do not fit beside."""

import numpy as np
import pytest


def sort(texts, shape, dim, elements, body):
    """Sorts in0, in1, … together; body compares %l0, %r0, %l1, %r1, … and defines %s."""
    types = [texts.tensor(shape, e) for e in elements]
    arguments = ", ".join(f"%l{k}: {e}, %r{k}: {e}" for k, e in enumerate(elements))
    names = ", ".join(f"%in{k}" for k in range(len(elements)))
    results = "%out0" if len(elements) == 1 else f"%v:{len(elements)}"
    text = (
        f"{results} = iree_linalg_ext.sort dimension({dim}) outs({names} : {', '.join(types)}) {{\n^bb0({arguments}):\n"
        f"{body}\niree_linalg_ext.yield %s : i1\n}} -> {', '.join(types)}"
    )
    text = texts.dispatch(types, types, text)
    for k in range(len(elements)):
        text = text.replace(f"%out{k},", f"%v#{k},") if len(elements) > 1 else text
    return text


LESS = "%s = arith.cmpf olt, %l0, %r0 : f32"


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((1,), 0), ((2,), 0), ((1000,), 0), ((5, 33), 1), ((33, 5), 0), ((3, 17, 4), 1), ((4, 1), 1), ((0,), 0)],
    ids=str,
)
def test_floats(texts, run_dispatch, shape, dim):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (result,) = run_dispatch(sort(texts, shape, dim, ["f32"], LESS), [x], [(shape, np.float32)])
    np.testing.assert_array_equal(result, np.sort(x, dim))


def test_descending_and_levels(texts, run_dispatch, runnable_target):
    x = np.random.default_rng(1).integers(-50, 50, (3, 77)).astype(np.int32)
    text = sort(texts, x.shape, 1, ["i32"], "%s = arith.cmpi sgt, %l0, %r0 : i32")
    (result,) = run_dispatch(text, [x], [(x.shape, np.int32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, -np.sort(-x, 1))


@pytest.mark.parametrize("size", [100, 30000, 100000])
def test_stable_with_a_companion(texts, run_dispatch, size):
    rng = np.random.default_rng(2)
    keys, places = rng.integers(0, size // 8, size).astype(np.float32), np.arange(size, dtype=np.int32)
    text = sort(texts, (size,), 0, ["f32", "i32"], LESS)
    sorted_keys, order = run_dispatch(text, [keys, places], [((size,), np.float32), ((size,), np.int32)])
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(sorted_keys, np.sort(keys))


@pytest.mark.parametrize("order", ["sorted", "reversed", "equal"])
def test_special_orders(texts, run_dispatch, order):
    x = {"sorted": np.arange(40000), "reversed": np.arange(40000)[::-1], "equal": np.zeros(40000)}[order].astype(
        np.float32
    )
    (result,) = run_dispatch(sort(texts, x.shape, 0, ["f32"], LESS), [x], [(x.shape, np.float32)])
    np.testing.assert_array_equal(result, np.sort(x))
