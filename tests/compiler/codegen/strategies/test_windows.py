"""Convolutions as products that read their windows in place: sums of multiples of loops are positions, no gathers."""

import numpy as np
import pytest


def convolution(texts, image, kernel, strides, dilations):
    """out0 = the product over all windows of in0 (n, h, w, c) with in1 (kh, kw, c, o)."""
    (n, h, w, c), (kh, kw, _, o) = image, kernel
    oh = (h - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (w - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    types = [texts.tensor(shape, "f32") for shape in (image, kernel, (n, oh, ow, o), (n, oh, ow, kh, kw, c))]
    every = ", ".join(f"d{k}" for k in range(6))
    body = f"%e = tensor.empty() : {types[3]}\n"
    window = "\n".join(f"%i{k} = linalg.index {k} : index" for k in range(6))
    for axis, (place, offset) in enumerate(((1, 3), (2, 4))):
        for name, loop, factor in (("p", place, strides[axis]), ("q", offset, dilations[axis])):
            window += f"\n%c{name}{axis} = arith.constant {factor} : index"
            window += f"\n%{name}{axis} = arith.muli %i{loop}, %c{name}{axis} : index"
        window += f"\n%x{axis} = arith.addi %p{axis}, %q{axis} : index"
    window += f"\n%v = tensor.extract %in0[%i0, %x0, %x1, %i5] : {types[0]}"
    body += texts.generic("%w", [], [("%e", types[3])], [f"({every}) -> ({every})"], ["parallel"] * 6, window, "%v")
    body += f"\n%z = arith.constant 0.0 : f32\n%r = tensor.empty() : {types[2]}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%r : {types[2]}) -> {types[2]}\n"
    loops = ", ".join(f"d{k}" for k in range(7))
    maps = [f"({loops}) -> ({dims})" for dims in ("d0, d1, d2, d4, d5, d6", "d4, d5, d6, d3", "d0, d1, d2, d3")]
    body += texts.generic(
        "%out0", [("%w", types[3]), ("%in1", types[1])], [("%f", types[2])], maps, ["parallel"] * 4 + ["reduction"] * 3,
        "%m = arith.mulf %a0, %a1 : f32\n%y = arith.addf %c0, %m : f32", "%y",
    )  # fmt: skip
    return texts.dispatch(types[:2], [types[2]], body), (n, oh, ow, o)


@pytest.mark.parametrize(
    ("image", "kernel", "strides", "dilations"),
    [
        ((2, 9, 11, 16), (3, 3, 16, 20), (1, 1), (1, 1)),
        ((1, 12, 13, 20), (2, 3, 20, 32), (2, 1), (1, 2)),
        ((3, 5, 5, 3), (3, 3, 3, 7), (1, 2), (2, 1)),
        ((1, 4, 30, 64), (1, 5, 64, 8), (1, 3), (1, 1)),
    ],
    ids=str,
)
def test_windows_in_place(texts, run_dispatch, image, kernel, strides, dilations):
    rng = np.random.default_rng(0)
    x, k = rng.standard_normal(image).astype(np.float32), rng.standard_normal(kernel).astype(np.float32)
    text, shape = convolution(texts, image, kernel, strides, dilations)
    (result,) = run_dispatch(text, [x, k], [(shape, np.float32)])
    exact = np.zeros(shape)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = np.arange(shape[1]) * strides[0] + i * dilations[0]
            columns = np.arange(shape[2]) * strides[1] + j * dilations[1]
            exact += x[:, rows][:, :, columns].astype(np.float64) @ k[i, j].astype(np.float64)
    np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-4)


def test_windows_are_read_without_gathers(texts, build_kernel):
    text, _ = convolution(texts, (1, 8, 16, 32), (3, 3, 32, 32), (1, 1), (1, 1))
    assert "gather" not in build_kernel(text).kernel.text("kernel")
