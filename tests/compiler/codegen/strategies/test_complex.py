"""Complex elements: two parts side by side in memory, arithmetic written out on the parts."""

import numpy as np
import pytest

ELEMENTS = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def product(element, x, y, result):
    """The body of a complex product."""
    part = element[len("complex<") : -1]
    return (
        f"%xr = complex.re {x} : {element}\n%xi = complex.im {x} : {element}\n%yr = complex.re {y} : {element}\n"
        f"%yi = complex.im {y} : {element}\n%p = arith.mulf %xr, %yr : {part}\n%q = arith.mulf %xi, %yi : {part}\n"
        f"%s = arith.mulf %xr, %yi : {part}\n%t = arith.mulf %xi, %yr : {part}\n%pr = arith.subf %p, %q : {part}\n"
        f"%pi = arith.addf %s, %t : {part}\n{result} = complex.create %pr, %pi : {element}"
    )


def added(element, x, y, result):
    part = element[len("complex<") : -1]
    return (
        f"%ar = complex.re {x} : {element}\n%ai = complex.im {x} : {element}\n%br = complex.re {y} : {element}\n"
        f"%bi = complex.im {y} : {element}\n%ur = arith.addf %ar, %br : {part}\n%ui = arith.addf %ai, %bi : {part}\n"
        f"{result} = complex.create %ur, %ui : {element}"
    )


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(1,), (100,), (7, 33), (33, 3)], ids=str)
def test_elementwise(texts, run_dispatch, runnable_target, element, shape):
    dtype = ELEMENTS[element]
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    t = texts.tensor(shape, element)
    dims = ", ".join(f"d{k}" for k in range(len(shape)))
    body = f"%e = tensor.empty() : {t}\n" + texts.generic(
        "%out0", [("%in0", t), ("%in1", t)], [("%e", t)], [f"({dims}) -> ({dims})"] * 3, ["parallel"] * len(shape),
        product(element, "%a0", "%a1", "%r"), "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch([t, t], [t], body), [x, y], [(shape, dtype)], runnable_target.cpu)
    np.testing.assert_allclose(result, x * y, rtol=1e-5 if dtype == np.complex64 else 1e-13, atol=1e-6)


def test_transpose_pad_and_select(texts, run_dispatch):
    element = "complex<f32>"
    x = numbers((20, 33), np.complex64)
    t, turned, padded = (texts.tensor(s, element) for s in ((20, 33), (33, 20), (35, 21)))
    body = f"%e = tensor.empty() : {turned}\n" + texts.generic(
        "%t", [("%in0", t)], [("%e", turned)], ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        "%re = complex.re %a0 : complex<f32>\n%z = arith.constant 0.0 : f32\n%g = arith.cmpf ogt, %re, %z : f32\n"
        "%k = complex.constant [2.0 : f32, -3.0 : f32] : complex<f32>\n"
        "%r = arith.select %g, %a0, %k : complex<f32>", "%r",
    )  # fmt: skip
    body += (
        "\n%c = complex.constant [1.0 : f32, 4.0 : f32] : complex<f32>\n%out0 = tensor.pad %t low[1, 0] high[1, 1] {\n"
        f"^bb0(%i: index, %j: index):\ntensor.yield %c : complex<f32>\n}} : {turned} to {padded}"
    )
    (result,) = run_dispatch(texts.dispatch([t], [padded], body), [x], [((35, 21), np.complex64)])
    expected = np.pad(np.where(x.real > 0, x, 2 - 3j).T, ((1, 1), (0, 1)), constant_values=1 + 4j)
    np.testing.assert_array_equal(result, expected.astype(np.complex64))


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("operation", ["sum", "product"])
def test_reductions(texts, run_dispatch, dim, operation):
    element = "complex<f32>"
    x = numbers((9, 40), np.complex64)
    t, rows = texts.tensor(x.shape, element), texts.tensor((x.shape[1 - dim],), element)
    start = "1.0" if operation == "product" else "0.0"
    body = f"%c = complex.constant [{start} : f32, 0.0 : f32] : {element}\n%e = tensor.empty() : {rows}\n"
    body += f"%f = linalg.fill ins(%c : {element}) outs(%e : {rows}) -> {rows}\n"
    step = product if operation == "product" else added
    body += texts.generic(
        "%out0", [("%in0", t)], [("%f", rows)], ["(d0, d1) -> (d0, d1)", f"(d0, d1) -> (d{1 - dim})"],
        ["reduction" if d == dim else "parallel" for d in (0, 1)], step(element, "%c0", "%a0", "%r"), "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch([t], [rows], body), [x], [((x.shape[1 - dim],), np.complex64)])
    wide = x.astype(np.complex128)
    expected = wide.prod(dim) if operation == "product" else wide.sum(dim)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_matrix_product(texts, run_dispatch):
    element = "complex<f32>"
    x, y = numbers((9, 7), np.complex64), numbers((7, 21), np.complex64, 1)
    types = [texts.tensor(s, element) for s in ((9, 7), (7, 21), (9, 21))]
    body = f"%c = complex.constant [0.0 : f32, 0.0 : f32] : {element}\n%e = tensor.empty() : {types[2]}\n"
    body += f"%f = linalg.fill ins(%c : {element}) outs(%e : {types[2]}) -> {types[2]}\n"
    body += texts.generic(
        "%out0", [("%in0", types[0]), ("%in1", types[1])], [("%f", types[2])],
        ["(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"],
        ["parallel", "parallel", "reduction"],
        product(element, "%a0", "%a1", "%m") + "\n" + added(element, "%c0", "%m", "%r"), "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch(types[:2], types[2:], body), [x, y], [((9, 21), np.complex64)])
    np.testing.assert_allclose(result, x.astype(np.complex128) @ y, rtol=1e-4, atol=1e-4)
