"""Loops that are cut where another piece of a concatenation, a padding or an inserted slice begins."""

import numpy as np
import pytest


def array(shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def doubled(texts, source_shape, result_shape, body):
    source, result = texts.tensor(source_shape, "f32"), texts.tensor(result_shape, "f32")
    dims = ", ".join(f"d{k}" for k in range(len(result_shape)))
    text = body + f"\n%e = tensor.empty() : {result}\n" + texts.generic(
        "%out0", [("%r", result)], [("%e", result)], [f"({dims}) -> ({dims})"] * 2, ["parallel"] * len(result_shape),
        "%d = arith.addf %a0, %a0 : f32", "%d",
    )  # fmt: skip
    return texts.dispatch([source], [result], text)


def rolled(texts, shape, dim, by, source, name):
    """The text of numpy.roll along a dim."""
    type = texts.tensor(shape, "f32")
    pieces = []
    for start, size in ((shape[dim] - by, by), (0, shape[dim] - by)):
        offsets, sizes = [0] * len(shape), list(shape)
        offsets[dim], sizes[dim] = start, size
        piece = texts.tensor(sizes, "f32")
        cut = f"{source}{offsets} {sizes} {[1] * len(shape)}"
        pieces.append((f"{name}_{start}", piece, f"tensor.extract_slice {cut} : {type} to {piece}"))
    lines = [f"{n} = {op}" for n, _, op in pieces]
    (a, t, _), (b, u, _) = pieces
    return "\n".join([*lines, f"{name} = tensor.concat dim({dim}) {a}, {b} : ({t}, {u}) -> {type}"])


@pytest.mark.parametrize(
    ("shape", "by"),
    [((300, 700), (1, 1)), ((40, 90), (39, 3)), ((5, 64), (2, 63)), ((2000, 70), (7, 1))],
    ids=str,
)
def test_rolled_twice(texts, run_dispatch, runnable_target, shape, by):
    x = array(shape)
    body = rolled(texts, shape, 0, by[0], "%in0", "%q") + "\n" + rolled(texts, shape, 1, by[1], "%q", "%r")
    (result,) = run_dispatch(doubled(texts, shape, shape, body), [x], [(shape, np.float32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, 2 * np.roll(x, by, (0, 1)))


@pytest.mark.parametrize("shape", [(200, 500), (3, 4000), (4000,), (30, 20, 100)], ids=str)
def test_inserted_in_the_middle(texts, run_dispatch, runnable_target, shape):
    x = array(shape)
    inner = [n - 2 for n in shape]
    ones, type, part = [1] * len(shape), texts.tensor(shape, "f32"), texts.tensor(inner, "f32")
    zeros = [0] * len(shape)
    body = (
        f"%p = tensor.extract_slice %in0{zeros} {inner} {ones} : {type} to {part}\n"
        f"%r = tensor.insert_slice %p into %in0{ones} {inner} {ones} : {part} into {type}"
    )
    (result,) = run_dispatch(doubled(texts, shape, shape, body), [x], [(shape, np.float32)], runnable_target.cpu)
    expected = x.copy()
    expected[tuple(slice(1, -1) for _ in shape)] = x[tuple(slice(0, -2) for _ in shape)]
    np.testing.assert_array_equal(result, 2 * expected)


def test_many_pieces(texts, run_dispatch):
    """More pieces than loops are cut into."""
    x = array((37, 300))
    parts = [texts.tensor((37, 10), "f32")] * 30
    names = [f"%p{k}" for k in range(30)]
    lines = [
        f"{n} = tensor.extract_slice %in0[0, {10 * (29 - k)}] [37, 10] [1, 1] : tensor<37x300xf32> to {parts[0]}"
        for k, n in enumerate(names)
    ]
    lines.append(f"%r = tensor.concat dim(1) {', '.join(names)} : ({', '.join(parts)}) -> tensor<37x300xf32>")
    text = doubled(texts, (37, 300), (37, 300), "\n".join(lines))
    (result,) = run_dispatch(text, [x], [((37, 300), np.float32)])
    np.testing.assert_array_equal(result, 2 * x.reshape(37, 30, 10)[:, ::-1].reshape(37, 300))
