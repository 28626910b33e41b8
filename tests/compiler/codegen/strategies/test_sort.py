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


# Orders of one number are sorted by its digits.


@pytest.mark.each_pair
@pytest.mark.parametrize("predicate", ["slt", "sgt", "ult", "ugt"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("swapped", [False, True])
def test_digits_of_integers(texts, run_dispatch, dtype, predicate, swapped):
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(info.min, info.max, (3, 777), dtype, endpoint=True)
    x[:, ::7] = x[:, :1]
    places = np.tile(np.arange(777, dtype=np.int32), (3, 1))
    element = texts.element(dtype)
    sides = "%r0, %l0" if swapped else "%l0, %r0"
    text = sort(texts, x.shape, 1, [element, "i32"], f"%s = arith.cmpi {predicate}, {sides} : {element}")
    keys, order = run_dispatch(text, [x, places], [(x.shape, dtype), (x.shape, np.int32)])
    numbers = (x.view(x.dtype.str.replace("i", "u")) if predicate[0] == "u" else x).astype(object)
    descends = (predicate[1] == "g") != swapped
    expected = np.argsort(-numbers if descends else numbers, 1, kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(keys, np.take_along_axis(x, expected, 1))


def key_of(side, number):
    """The bits of a float as an integer that rises with it."""
    return f"""%b{side} = arith.bitcast %{side}{number} : f32 to i32
%z{side} = arith.constant 0 : i32
%m{side} = arith.constant 2147483647 : i32
%n{side} = arith.cmpi slt, %b{side}, %z{side} : i32
%x{side} = arith.xori %b{side}, %m{side} : i32
%k{side} = arith.select %n{side}, %x{side}, %b{side} : i32
"""


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("shape", "dim"), [((30,), 0), ((1000,), 0), ((9, 133), 1), ((133, 9), 0), ((3, 40, 5), 1)], ids=str
)
def test_digits_of_a_computed_key(texts, run_dispatch, runnable_target, shape, dim):
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    y.flat[0], y.flat[1], y.flat[2] = np.inf, -np.inf, np.nan
    body = key_of("l", 1) + key_of("r", 1) + "%s = arith.cmpi slt, %kl, %kr : i32"
    text = sort(texts, shape, dim, ["f32", "f32"], body)
    results = run_dispatch(text, [x, y], [(shape, np.float32)] * 2, runnable_target.cpu)
    order = np.argsort(y, dim, kind="stable")
    for result, values in zip(results, (x, y), strict=True):
        np.testing.assert_array_equal(result, np.take_along_axis(values, order, dim))


def test_a_key_of_two_sides_is_merged(texts, run_dispatch):
    """Where both sides are not treated alike there is no key."""
    x = np.random.default_rng(5).permutation(500).astype(np.int32)
    body = "%c = arith.constant 0 : i32\n%a = arith.addi %l0, %c : i32\n%s = arith.cmpi slt, %a, %r0 : i32"
    (result,) = run_dispatch(sort(texts, x.shape, 0, ["i32"], body), [x], [(x.shape, np.int32)])
    np.testing.assert_array_equal(result, np.sort(x))


def test_memory_to_work_in(texts, run_dispatch):
    """Rows that do not fit a workgroup's memory are sorted by way of a tensor that nobody reads."""
    shape = (2, 20000)
    x = np.random.default_rng(6).integers(-(2**31), 2**31, shape).astype(np.int64)
    type = texts.tensor(shape, "i64")
    text = sort(texts, shape, 1, ["i64"], "%s = arith.cmpi slt, %l0, %r0 : i64")
    text = text.replace(") {\n%in0", f", %o1: !iree_tensor_ext.dispatch.tensor<writeonly:{type}>) {{\n%in0", 1)
    text = text.replace(
        "\nreturn",
        f"\n%w = tensor.empty() : {type}\niree_tensor_ext.dispatch.tensor.store %w, %o1, offsets = [0, 0], "
        f"sizes = [2, 20000], strides = [1, 1] : {type} -> !iree_tensor_ext.dispatch.tensor<writeonly:{type}>\nreturn",
    )
    result, _ = run_dispatch(text, [x], [(shape, np.int64)] * 2)
    np.testing.assert_array_equal(result, np.sort(x, 1))
