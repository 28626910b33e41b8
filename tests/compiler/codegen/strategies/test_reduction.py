"""Reductions against NumPy in higher precision: which dims, which operations, NaN, accuracy of long sums, argmax."""

import math

import ml_dtypes
import numpy as np
import pytest


def reduction(texts, shape, dims, op, init, element="f32"):
    """out0 = the reduction of in0 over dims."""
    kept = [d for d in range(len(shape)) if d not in dims]
    result = texts.tensor([shape[d] for d in kept], element)
    source = texts.tensor(shape, element)
    every = ", ".join(f"d{d}" for d in range(len(shape)))
    rows = ", ".join(f"d{d}" for d in kept)
    kinds = ["reduction" if d in dims else "parallel" for d in range(len(shape))]
    body = f"%cst = arith.constant {init} : {element}\n%e = tensor.empty() : {result}\n"
    body += f"%f = linalg.fill ins(%cst : {element}) outs(%e : {result}) -> {result}\n"
    body += texts.generic(
        "%out0", [("%in0", source)], [("%f", result)], [f"({every}) -> ({every})", f"({every}) -> ({rows})"], kinds,
        f"%r = {op} %c0, %a0 : {element}", "%r",
    )  # fmt: skip
    return texts.dispatch([source], [result], body)


def kept_shape(shape, dims):
    return tuple(n for d, n in enumerate(shape) if d not in dims)


CASES = [
    ((37, 100), (1,)), ((37, 100), (0,)), ((4, 5, 300), (1,)), ((4, 5, 300), (0, 2)), ((5000,), (0,)), ((100, 7), (1,)),
    ((7, 100), (0,)), ((3, 10000), (1,)), ((4, 1), (1,)), ((1, 4), (0,)), ((65, 67), (0, 1)), ((2, 3, 4, 5), (1, 3)),
    ((1,), (0,)), ((1000, 1), (0,)), ((3, 0), (1,)), ((0, 3), (1,)), ((17, 16), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
def test_sum_and_maximum(texts, run_dispatch, shape, dims):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    out = [(kept_shape(shape, dims), np.float32)]
    (result,) = run_dispatch(reduction(texts, shape, dims, "arith.addf", "0.0"), [x], out)
    exact = x.astype(np.float64).sum(dims)
    scale = np.abs(x.astype(np.float64)).sum(dims)
    assert np.all(np.abs(result - exact) <= 4e-7 * np.maximum(scale, 1e-30))
    (result,) = run_dispatch(reduction(texts, shape, dims, "arith.maximumf", "0xFF800000"), [x], out)
    np.testing.assert_array_equal(result, x.max(dims, initial=-np.inf))


_ZEROS = [((9, 77), (1,)), ((77, 9), (0,)), ((3, 9000), (1,)), ((4, 5, 30), (0, 2)), ((5, 2), (1,))]


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("others", [(), (-1.0, -2.0), (1.0, np.inf), (np.nan,)], ids=str)
@pytest.mark.parametrize(("shape", "dims"), _ZEROS, ids=str)
def test_zeros_are_ordered(texts, run_dispatch, shape, dims, others, element):
    """As IEEE 754-2019's minimum and maximum do: -0.0 is less than 0.0."""
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[element])
    values = np.array([0.0, -0.0, *others], dtype)
    x = np.random.default_rng(2).choice(values, shape, p=[0.04, 0.96] if not others else None)
    signs = np.signbit(x)
    infinity = {"f32": "0x7F800000", "f64": "0x7FF0000000000000"}[element]
    for op, first, found, negative in (
        ("arith.maximumf", infinity.replace("0x7", "0xF"), x.max(dims), signs.all(dims)),
        ("arith.minimumf", infinity, x.min(dims), signs.any(dims)),
    ):
        (result,) = run_dispatch(reduction(texts, shape, dims, op, first, element), [x], [(found.shape, dtype)])
        np.testing.assert_array_equal(result, found)
        np.testing.assert_array_equal(np.signbit(result)[found == 0], negative[found == 0])


@pytest.mark.parametrize(("shape", "dims"), [((9, 77), (1,)), ((77, 9), (0,)), ((40, 5), (1,))], ids=str)
def test_levels(texts, run_dispatch, runnable_target, shape, dims):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    out = [(kept_shape(shape, dims), np.float32)]
    (result,) = run_dispatch(reduction(texts, shape, dims, "arith.addf", "0.0"), [x], out, runnable_target.cpu)
    np.testing.assert_allclose(result, x.astype(np.float64).sum(dims), rtol=1e-5, atol=1e-5)
    (result,) = run_dispatch(
        reduction(texts, shape, dims, "arith.minimumf", "0x7F800000"), [x], out, runnable_target.cpu
    )
    np.testing.assert_array_equal(result, x.min(dims))


@pytest.mark.parametrize(("shape", "dims"), [((5, 40), (1,)), ((40, 5), (0,)), ((3, 7), (1,))], ids=str)
def test_nan_passes_through_maximum(texts, run_dispatch, shape, dims):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(shape).astype(np.float32)
    x.ravel()[rng.integers(0, x.size, 3)] = np.nan
    x[0, 0] = -np.inf
    for op, init, reference in (("maximumf", "0xFF800000", np.max), ("minimumf", "0x7F800000", np.min)):
        text = reduction(texts, shape, dims, f"arith.{op}", init)
        (result,) = run_dispatch(text, [x], [(kept_shape(shape, dims), np.float32)])
        np.testing.assert_array_equal(result, reference(x, dims))


INTEGER = {
    "arith.addi": ("0", np.sum), "arith.muli": ("1", np.prod), "arith.maxsi": (None, np.max),
    "arith.minsi": (None, np.min),
    "arith.andi": ("-1", np.bitwise_and.reduce), "arith.ori": ("0", np.bitwise_or.reduce),
    "arith.xori": ("0", np.bitwise_xor.reduce),
}  # fmt: skip


@pytest.mark.each_pair
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", INTEGER)
@pytest.mark.parametrize("dim", [0, 1])
def test_integers(texts, run_dispatch, element, op, dim):
    dtype = texts.numpy[element]
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(info.min, info.max, (19, 70), dtype, endpoint=True)
    init, reference = INTEGER[op]
    if init is None:
        init = str(info.min if op == "arith.maxsi" else info.max)
    (result,) = run_dispatch(reduction(texts, x.shape, (dim,), op, init, element), [x], [((x.shape[1 - dim],), dtype)])
    expected = reference(x, dim, dtype=dtype) if op in ("arith.addi", "arith.muli") else reference(x, dim)
    np.testing.assert_array_equal(result, expected)


def test_bools(texts, run_dispatch):
    x = np.random.default_rng(4).integers(0, 8, (23, 45)) > 0
    for op, init, reference in (("arith.andi", "true", np.all), ("arith.ori", "false", np.any)):
        text = reduction(texts, x.shape, (1,), op, init, "i1").replace(f"{init} : i1", init)
        (result,) = run_dispatch(text, [x], [((23,), np.bool_)])
        np.testing.assert_array_equal(result, reference(x, 1))


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_other_floats(texts, run_dispatch, element):
    dtype = ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]
    x = np.random.default_rng(5).standard_normal((11, 333)).astype(dtype)
    (result,) = run_dispatch(reduction(texts, x.shape, (1,), "arith.addf", "0.0", element), [x], [((11,), dtype)])
    exact = np.array([math.fsum(row) for row in x.astype(np.float64)])
    spacing = np.spacing(np.abs(exact.astype(dtype))).astype(np.float64)
    assert np.all(np.abs(result.astype(np.float64) - exact) <= np.maximum(spacing, 1e-13))
    init = {"f16": "0xFC00", "bf16": "0xFF80", "f64": "0xFFF0000000000000"}[element]
    (result,) = run_dispatch(reduction(texts, x.shape, (1,), "arith.maximumf", init, element), [x], [((11,), dtype)])
    np.testing.assert_array_equal(result, x.max(1))


@pytest.mark.parametrize("size", [1000, 4096, 100000, 1000000])
def test_long_sums_are_at_least_as_exact_as_numpy(texts, run_dispatch, size):
    worst_ours = worst_numpy = 0.0
    for seed in range(4):
        x = np.random.default_rng(seed).random(size).astype(np.float32)
        (result,) = run_dispatch(reduction(texts, (size,), (0,), "arith.addf", "0.0"), [x], [((), np.float32)])
        exact = math.fsum(x.astype(np.float64))
        worst_ours = max(worst_ours, abs(float(result) - exact) / exact)
        worst_numpy = max(worst_numpy, abs(float(x.sum()) - exact) / exact)
    assert worst_ours <= max(worst_numpy, 1.2e-7)


def test_sum_with_infinities(texts, run_dispatch):
    x = np.ones(100000, np.float32)
    text = reduction(texts, x.shape, (0,), "arith.addf", "0.0")
    x[77777] = np.inf
    assert run_dispatch(text, [x], [((), np.float32)])[0] == np.inf
    x[5] = -np.inf
    assert np.isnan(run_dispatch(text, [x], [((), np.float32)])[0])


def argmax(texts, shape, dim, greater="ogt", index="i32"):
    """JAX's argmax: NaN wins, ties go to the first."""
    kept = [d for d in range(len(shape)) if d != dim]
    every = ", ".join(f"d{d}" for d in range(len(shape)))
    rows = ", ".join(f"d{d}" for d in kept)
    source = texts.tensor(shape, "f32")
    values, places = (texts.tensor([shape[d] for d in kept], e) for e in ("f32", index))
    init = "0xFF800000" if greater == "ogt" else "0x7F800000"
    body = f"%cst = arith.constant {init} : f32\n%zero = arith.constant 0 : {index}\n"
    body += f"%ev = tensor.empty() : {values}\n%ep = tensor.empty() : {places}\n"
    body += f"%fv = linalg.fill ins(%cst : f32) outs(%ev : {values}) -> {values}\n"
    body += f"%fp = linalg.fill ins(%zero : {index}) outs(%ep : {places}) -> {places}\n"
    body += texts.generic(
        "%g", [("%in0", source)], [("%fv", values), ("%fp", places)],
        [f"({every}) -> ({every})", f"({every}) -> ({rows})", f"({every}) -> ({rows})"],
        ["reduction" if d == dim else "parallel" for d in range(len(shape))],
        f"%i = linalg.index {dim} : index\n%p = arith.index_cast %i : index to {index}\n"
        f"%0 = arith.cmpf {greater}, %c0, %a0 : f32\n%1 = arith.cmpf une, %c0, %c0 : f32\n%2 = arith.ori %0, %1 : i1\n"
        f"%3 = arith.cmpf oeq, %c0, %a0 : f32\n%4 = arith.cmpi slt, %c1, %p : {index}\n%5 = arith.andi %3, %4 : i1\n"
        f"%6 = arith.ori %2, %5 : i1\n%v = arith.select %2, %c0, %a0 : f32\n%q = arith.select %6, %c1, %p : {index}",
        "%v, %q",
    )  # fmt: skip
    return texts.dispatch([source], [places], body).replace("%out0,", "%g#1,")


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((37, 100), 1), ((100, 37), 0), ((5, 3), 1), ((3, 4, 50), 1), ((3, 1), 1), ((5000,), 0), ((2, 129), 1)],
    ids=str,
)
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_argmax_and_argmin(texts, run_dispatch, shape, dim, index):
    rng = np.random.default_rng(6)
    dtype = texts.numpy[index]
    rows = kept_shape(shape, (dim,))
    ties = rng.integers(-2, 3, shape).astype(np.float32)
    with_nan = rng.standard_normal(shape).astype(np.float32)
    with_nan.ravel()[:: max(1, with_nan.size // 9)] = np.nan
    for x in (ties, with_nan, np.full(shape, -np.inf, np.float32), np.full(shape, np.inf, np.float32)):
        (result,) = run_dispatch(argmax(texts, shape, dim, "ogt", index), [x], [(rows, dtype)])
        np.testing.assert_array_equal(result, np.argmax(x, dim))
        (result,) = run_dispatch(argmax(texts, shape, dim, "olt", index), [x], [(rows, dtype)])
        np.testing.assert_array_equal(result, np.argmin(x, dim))


def test_argmax_levels(texts, run_dispatch, runnable_target):
    x = np.random.default_rng(7).integers(-2, 3, (5, 77)).astype(np.float32)
    (result,) = run_dispatch(argmax(texts, x.shape, 1), [x], [((5,), np.int32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, np.argmax(x, 1))


@pytest.mark.parametrize(("shape", "dim"), [((11, 50), 1), ((50, 11), 0)], ids=str)
def test_a_body_whose_order_matters_runs_in_order(texts, run_dispatch, shape, dim):
    """result = (result * 3 + x) wrapped: neither associative nor commutative."""
    x = np.random.default_rng(8).integers(-100, 100, shape).astype(np.int32)
    text = reduction(texts, shape, (dim,), "arith.addi", "1", "i32").replace(
        "%r = arith.addi %c0, %a0 : i32",
        "%three = arith.constant 3 : i32\n%m = arith.muli %c0, %three : i32\n%r = arith.addi %m, %a0 : i32",
    )
    (result,) = run_dispatch(text, [x], [(kept_shape(shape, (dim,)), np.int32)])
    expected = np.ones(kept_shape(shape, (dim,)), np.int32)
    for k in range(shape[dim]):
        expected = (expected * np.int32(3) + x.take(k, dim)).astype(np.int32)
    np.testing.assert_array_equal(result, expected)


def test_init_that_is_a_tensor(texts, run_dispatch):
    rng = np.random.default_rng(9)
    x, start = rng.standard_normal((7, 60)).astype(np.float32), rng.standard_normal(7).astype(np.float32)
    source, result = texts.tensor((7, 60), "f32"), texts.tensor((7,), "f32")
    for op, expected in (
        ("addf", x.astype(np.float64).sum(1) + start),
        ("maximumf", np.maximum(x.max(1), start * 10)),
    ):
        body = texts.generic(
            "%out0", [("%in0", source)], [("%in1", result)], ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"],
            ["parallel", "reduction"], f"%r = arith.{op} %a0, %c0 : f32", "%r",
        )  # fmt: skip
        second = start if op == "addf" else start * 10
        (got,) = run_dispatch(texts.dispatch([source, result], [result], body), [x, second], [((7,), np.float32)])
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_siblings_share_the_loop(texts, build_kernel, run_dispatch):
    x = np.random.default_rng(10).standard_normal((9, 100)).astype(np.float32)
    source, result = texts.tensor(x.shape, "f32"), texts.tensor((9,), "f32")
    maps = ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"]
    body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty() : {result}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {result}) -> {result}\n"
    for k, step in enumerate(
        ("%s = arith.addf %a0, %c0 : f32", "%q = arith.mulf %a0, %a0 : f32\n%s = arith.addf %q, %c0 : f32")
    ):
        body += (
            texts.generic(f"%out{k}", [("%in0", source)], [("%f", result)], maps, ["parallel", "reduction"], step, "%s")
            + "\n"
        )
    text = texts.dispatch([source], [result, result], body)
    total, squares = run_dispatch(text, [x], [((9,), np.float32)] * 2)
    np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(squares, (x.astype(np.float64) ** 2).sum(1), rtol=1e-6)
    printed = build_kernel(text).kernel.text("kernel")
    assert printed.count("load %in0") <= 6
