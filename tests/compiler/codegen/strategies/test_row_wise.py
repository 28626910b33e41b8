"""Row-wise dispatches: softmax and layer normalisation as one kernel, along any dim."""

import numpy as np
import pytest

FULL = "(d0, d1) -> (d0, d1)"


def fills(texts, rows, full):
    return (
        f"%ninf = arith.constant 0xFF800000 : f32\n%z = arith.constant 0.0 : f32\n%er = tensor.empty() : {rows}\n"
        f"%ef = tensor.empty() : {full}\n%fm = linalg.fill ins(%ninf : f32) outs(%er : {rows}) -> {rows}\n"
        f"%fs = linalg.fill ins(%z : f32) outs(%er : {rows}) -> {rows}\n"
    )


class Rows:
    """Builds the generics of a row-wise dispatch over dims (d0, d1), reducing `axis`."""

    def __init__(self, texts, shape, axis):
        self.texts = texts
        self.full = texts.tensor(shape, "f32")
        self.rows = texts.tensor((shape[1 - axis],), "f32")
        self.row_map = f"(d0, d1) -> (d{1 - axis})"
        self.kinds = ["reduction" if d == axis else "parallel" for d in (0, 1)]

    def reduce(self, result, source, fill, op):
        return self.texts.generic(
            result, [(source, self.full)], [(fill, self.rows)], [FULL, self.row_map], self.kinds,
            f"%r = {op} %a0, %c0 : f32", "%r",
        ) + "\n"  # fmt: skip

    def map(self, result, sources, body):
        inputs = [(s, self.rows if s in self.row_values else self.full) for s in sources]
        maps = [self.row_map if s in self.row_values else FULL for s in sources]
        return (
            self.texts.generic(result, inputs, [("%ef", self.full)], [*maps, FULL], ["parallel"] * 2, body, "%r") + "\n"
        )

    row_values = ("%mx", "%sum", "%mean", "%var")


def softmax(texts, shape, axis):
    rows = Rows(texts, shape, axis)
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%mx", "%in0", "%fm", "arith.maximumf")
    body += rows.map("%ex", ["%in0", "%mx"], "%0 = arith.subf %a0, %a1 : f32\n%r = math.exp %0 : f32")
    body += rows.reduce("%sum", "%ex", "%fs", "arith.addf")
    body += rows.map("%out0", ["%ex", "%sum"], "%r = arith.divf %a0, %a1 : f32")
    return texts.dispatch([rows.full], [rows.full], body)


SHAPES = [(8, 100), (33, 7), (5, 1), (1, 64), (100, 8), (64, 33), (2, 3000), (3, 30000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax(texts, run_dispatch, shape, axis):
    x = (np.random.default_rng(0).standard_normal(shape) * 5).astype(np.float32)
    (result,) = run_dispatch(softmax(texts, shape, axis), [x], [(shape, np.float32)])
    exact = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    exact /= exact.sum(axis, keepdims=True)
    np.testing.assert_allclose(result, exact, rtol=4e-6, atol=1e-30)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_levels(texts, run_dispatch, runnable_target, axis):
    x = np.random.default_rng(1).standard_normal((21, 45)).astype(np.float32)
    (result,) = run_dispatch(softmax(texts, x.shape, axis), [x], [(x.shape, np.float32)], runnable_target.cpu)
    exact = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    np.testing.assert_allclose(result, exact / exact.sum(axis, keepdims=True), rtol=4e-6)


def test_softmax_keeps_its_exponentials(texts, build_kernel):
    kernel = build_kernel(softmax(texts, (64, 1000), 1)).kernel
    assert kernel.local_memory_bytes >= 4000
    exponentials = kernel.text("kernel").count("math.exp")
    assert build_kernel(softmax(texts, (64, 40000), 1)).kernel.local_memory_bytes == 0
    assert build_kernel(softmax(texts, (64, 40000), 1)).kernel.text("kernel").count("math.exp") > exponentials


@pytest.mark.parametrize("shape", [(5, 100), (17, 9), (3, 2048)], ids=str)
def test_layer_norm(texts, run_dispatch, shape):
    rows = Rows(texts, shape, 1)
    count = float(shape[1])
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%mean", "%in0", "%fs", "arith.addf")
    body += f"%n = arith.constant {count} : f32\n"
    body += rows.map("%d", ["%in0", "%mean"], "%m = arith.divf %a1, %n : f32\n%r = arith.subf %a0, %m : f32")
    body += rows.map("%d2", ["%d"], "%r = arith.mulf %a0, %a0 : f32")
    body += rows.reduce("%var", "%d2", "%fs", "arith.addf")
    body += "%eps = arith.constant 1.0e-5 : f32\n"
    body += rows.map(
        "%out0", ["%d", "%var"],
        "%v = arith.divf %a1, %n : f32\n%w = arith.addf %v, %eps : f32\n"
        "%q = math.rsqrt %w : f32\n%r = arith.mulf %a0, %q : f32",
    )  # fmt: skip
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    (result,) = run_dispatch(texts.dispatch([rows.full], [rows.full], body), [x], [(shape, np.float32)])
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(
        result, centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-6
    )


def test_logsumexp_gives_only_the_rows(texts, run_dispatch):
    shape = (6, 130)
    rows = Rows(texts, shape, 1)
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%mx", "%in0", "%fm", "arith.maximumf")
    body += rows.map("%ex", ["%in0", "%mx"], "%0 = arith.subf %a0, %a1 : f32\n%r = math.exp %0 : f32")
    body += rows.reduce("%sum", "%ex", "%fs", "arith.addf")
    body += texts.generic(
        "%out0", [("%sum", rows.rows), ("%mx", rows.rows)], [("%er", rows.rows)], ["(d0) -> (d0)"] * 3, ["parallel"],
        "%l = math.log %a0 : f32\n%r = arith.addf %l, %a1 : f32", "%r",
    )  # fmt: skip
    x = (np.random.default_rng(3).standard_normal(shape) * 8).astype(np.float32)
    (result,) = run_dispatch(texts.dispatch([rows.full], [rows.rows], body), [x], [((6,), np.float32)])
    wide = x.astype(np.float64)
    np.testing.assert_allclose(
        result, np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1), rtol=1e-6
    )


def test_rows_keep_their_dim(texts, run_dispatch):
    """x / sum(x, keepdims): the sums go through an expand_shape and are a result too."""
    shape = (9, 70)
    rows = Rows(texts, shape, 1)
    column = texts.tensor((9, 1), "f32")
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%sum", "%in0", "%fs", "arith.addf")
    body += f"%out1 = tensor.expand_shape %sum [[0, 1]] output_shape [9, 1] : {rows.rows} into {column}\n"
    body += texts.generic(
        "%out0", [("%in0", rows.full), ("%out1", column)], [("%ef", rows.full)],
        [FULL, "(d0, d1) -> (d0, 0)", FULL], ["parallel"] * 2, "%r = arith.divf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    x = np.random.default_rng(4).random(shape).astype(np.float32)
    full, sums = run_dispatch(
        texts.dispatch([rows.full], [rows.full, column], body), [x], [(shape, np.float32), ((9, 1), np.float32)]
    )
    exact = x.astype(np.float64).sum(1, keepdims=True)
    np.testing.assert_allclose(sums, exact, rtol=1e-6)
    np.testing.assert_allclose(full, x / exact, rtol=1e-6)


@pytest.mark.parametrize("shape", [(12, 12), (7, 50)], ids=str)
def test_transposed_result(texts, run_dispatch, shape):
    """(x - max of each row) transposed, beside the row maxima."""
    rows = Rows(texts, shape, 1)
    turned = texts.tensor(shape[::-1], "f32")
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%out1", "%in0", "%fm", "arith.maximumf")
    body += f"%et = tensor.empty() : {turned}\n" + texts.generic(
        "%out0", [("%in0", rows.full), ("%out1", rows.rows)], [("%et", turned)],
        [FULL, "(d0, d1) -> (d0)", "(d0, d1) -> (d1, d0)"], ["parallel"] * 2, "%r = arith.subf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    text = texts.dispatch([rows.full], [turned, rows.rows], body)
    full, maxima = run_dispatch(text, [x], [(shape[::-1], np.float32), (shape[:1], np.float32)])
    np.testing.assert_array_equal(maxima, x.max(1))
    np.testing.assert_array_equal(full, (x - x.max(1, keepdims=True)).T)


def test_reductions_over_different_rows_are_refused(texts, build_kernel):
    from pyiree.compiler.errors import CompileError

    rows, columns = Rows(texts, (8, 8), 1), Rows(texts, (8, 8), 0)
    body = fills(texts, rows.rows, rows.full) + rows.reduce("%mx", "%in0", "%fm", "arith.maximumf")
    body += columns.reduce("%sum", "%in0", "%fs", "arith.addf")
    body += texts.generic(
        "%out0", [("%mx", rows.rows), ("%sum", rows.rows)], [("%ef", rows.full)],
        ["(d0, d1) -> (d0)", "(d0, d1) -> (d1)", FULL], ["parallel"] * 2, "%r = arith.addf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    with pytest.raises(CompileError, match="rows are not those"):
        build_kernel(texts.dispatch([rows.full], [rows.full], body))
