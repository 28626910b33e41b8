"""Rows that the data picks from a table that the caches do not hold are asked for before their turn."""

import numpy as np
import pytest


def picked(texts, rows, width, count, element="f32"):
    """out0[i, j] = in0[in1[i], j]"""
    types = [texts.tensor((rows, width), element), texts.tensor((count,), "i32")]
    out = texts.tensor((count, width), element)
    body = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in1", types[1])], [("%e", out)], ["(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        f"%j = linalg.index 1 : index\n%i = arith.index_cast %a0 : i32 to index\n"
        f"%r = tensor.extract %in0[%i, %j] : {types[0]}", "%r",
    )  # fmt: skip
    return texts.dispatch(types, [out], body)


@pytest.mark.each_value
@pytest.mark.parametrize(("width", "count"), [(32, 1), (32, 2), (33, 37), (100, 3), (1500, 70)])
def test_large_tables(texts, build_kernel, runnable_target, width, count):
    """The last rounds have no later row; the number of the last one is read instead."""
    rows = (8 << 20) // width
    table = np.random.default_rng(0).standard_normal((rows, width)).astype(np.float32)
    ids = np.random.default_rng(1).integers(0, rows, count).astype(np.int32)
    ids[-1] = rows - 1
    kernel = build_kernel(picked(texts, rows, width, count), runnable_target.cpu)
    found = np.zeros((count, width), np.float32)
    kernel.run([table, ids, found])
    np.testing.assert_array_equal(found, table[ids])


def test_loops(texts, build_kernel):
    """Before: a row is loaded when its turn comes. After: one row ahead, line by line; its number is read in range."""
    text = build_kernel(picked(texts, 40000, 256, 64), "x86-64-v4").kernel.text("kernel")
    before, _, rest = text.partition("prefetch %in0")
    assert rest
    assert "%in1" in before
    assert "arith.minsi" in before
    assert "store" not in before


@pytest.mark.parametrize(("rows", "width"), [(40, 256), (40000, 16)], ids=["small table", "short rows"])
def test_where_it_does_not_pay(texts, build_kernel, rows, width):
    assert "prefetch" not in build_kernel(picked(texts, rows, width, 64), "x86-64-v4").kernel.text("kernel")
