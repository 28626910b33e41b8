"""Elementwise dispatches: numbers against NumPy over shapes with tails, element types, maps and target levels."""

import ml_dtypes
import numpy as np
import pytest

SHAPES = [(), (1,), (5,), (16,), (67,), (3, 1), (1, 5), (4, 16), (37, 53), (2, 3, 7), (130, 7), (0,), (4, 0, 3)]


def identity(rank):
    dims = ", ".join(f"d{k}" for k in range(rank))
    return f"({dims}) -> ({dims})"


def unary(texts, shape, source, result, body):
    """out0 = body(in0) with %a0 as input and %r as result."""
    out = texts.tensor(shape, result)
    text = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in0", texts.tensor(shape, source))], [("%e", out)], [identity(len(shape))] * 2,
        ["parallel"] * len(shape), body, "%r",
    )  # fmt: skip
    return texts.dispatch([texts.tensor(shape, source)], [out], text)


def binary(texts, shape, element, op, result=None):
    out = texts.tensor(shape, result or element)
    inp = texts.tensor(shape, element)
    text = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in0", inp), ("%in1", inp)], [("%e", out)], [identity(len(shape))] * 3,
        ["parallel"] * len(shape), f"%r = {op} %a0, %a1 : {element}", "%r",
    )  # fmt: skip
    return texts.dispatch([inp, inp], [out], text)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(texts, run_dispatch, shape):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *shape)).astype(np.float32)
    (result,) = run_dispatch(binary(texts, shape, "f32", "arith.addf"), [x, y], [(shape, np.float32)])
    np.testing.assert_array_equal(result, x + y)


@pytest.mark.each_value
@pytest.mark.parametrize("size", [1, 15, 16, 17, 63, 64, 65, 128, 1000, 70001])
def test_sizes_and_levels(texts, run_dispatch, runnable_target, size):
    rng = np.random.default_rng(size)
    x, y = rng.standard_normal((2, size)).astype(np.float32)
    text = binary(texts, (size,), "f32", "arith.mulf")
    (result,) = run_dispatch(text, [x, y], [((size,), np.float32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, x * y)


INTEGER_OPS = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
}  # fmt: skip


@pytest.mark.each_pair
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("op", INTEGER_OPS)
def test_integers_wrap(texts, run_dispatch, element, op):
    dtype = texts.numpy[element]
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    x, y = rng.integers(info.min, info.max, (2, 5, 27), dtype, endpoint=True)
    (result,) = run_dispatch(binary(texts, x.shape, element, op), [x, y], [(x.shape, dtype)])
    np.testing.assert_array_equal(result, INTEGER_OPS[op](x, y))


@pytest.mark.each_pair
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
def test_division_never_traps_on_missing_lanes(texts, run_dispatch, element, runnable_target):
    dtype = texts.numpy[element]
    unsigned = np.dtype(dtype.__name__.replace("int", "uint"))
    rng = np.random.default_rng(2)
    x, y = rng.integers(1, 100, (2, 37), dtype)
    for op, reference in (("arith.divsi", np.floor_divide), ("arith.remsi", np.remainder)):
        (result,) = run_dispatch(binary(texts, x.shape, element, op), [x, y], [(x.shape, dtype)], runnable_target.cpu)
        np.testing.assert_array_equal(result, reference(x, y))
    x = -x
    (result,) = run_dispatch(binary(texts, x.shape, element, "arith.divui"), [x, y], [(x.shape, dtype)])
    np.testing.assert_array_equal(result.view(unsigned), x.view(unsigned) // y.view(unsigned))


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("op", ["arith.addf", "arith.mulf", "arith.divf", "arith.subf"])
def test_floats_round_once(texts, run_dispatch, element, op):
    dtype = ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((2, 3, 45)) * 10).astype(dtype)
    operation = {"addf": np.add, "mulf": np.multiply, "divf": np.divide, "subf": np.subtract}[op[6:]]
    wide = np.float64 if element == "f64" else np.float32
    (result,) = run_dispatch(binary(texts, x.shape, element, op), [x, y], [(x.shape, dtype)])
    np.testing.assert_array_equal(result, operation(x.astype(wide), y.astype(wide)).astype(dtype))


def test_multiply_and_add_stay_two_operations(texts, run_dispatch):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(999).astype(np.float32)
    text = unary(texts, x.shape, "f32", "f32", "%p = arith.mulf %a0, %a0 : f32\n%r = arith.addf %p, %a0 : f32")
    (result,) = run_dispatch(text, [x], [(x.shape, np.float32)])
    np.testing.assert_array_equal(result, x * x + x)


def test_maximum_keeps_nan_and_orders_zeros(texts, run_dispatch):
    special = np.array([np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], np.float32)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    for op, pick in (("maximumf", np.maximum), ("minimumf", np.minimum)):
        (result,) = run_dispatch(binary(texts, x.shape, "f32", f"arith.{op}"), [x, y], [(x.shape, np.float32)])
        expected = pick(x, y)
        np.testing.assert_array_equal(result, expected)
        zeros = (x == 0) & (y == 0)
        sign = np.signbit(x) & np.signbit(y) if op == "maximumf" else np.signbit(x) | np.signbit(y)
        np.testing.assert_array_equal(np.signbit(result)[zeros], sign[zeros])


@pytest.mark.parametrize("constant", ["0.0", "-0.0", "2.0"])
def test_maximum_with_a_constant(texts, run_dispatch, constant):
    x = np.array([np.nan, 0.0, -0.0, 1.0, 3.0, -5.0, np.inf, -np.inf] * 3, np.float32)
    c = np.float32(constant)
    for op, pick in (("maximumf", np.maximum), ("minimumf", np.minimum)):
        text = unary(
            texts, x.shape, "f32", "f32", f"%c = arith.constant {constant} : f32\n%r = arith.{op} %a0, %c : f32"
        )
        (result,) = run_dispatch(text, [x], [(x.shape, np.float32)])
        np.testing.assert_array_equal(result, pick(x, c))
        zeros = (x == 0) & (c == 0)
        sign = np.signbit(x) & np.signbit(c) if op == "maximumf" else np.signbit(x) | np.signbit(c)
        np.testing.assert_array_equal(np.signbit(result)[zeros], sign[zeros])


CONVERSIONS = [
    ("f32", "f64", "arith.extf"), ("f64", "f32", "arith.truncf"), ("f32", "f16", "arith.truncf"),
    ("f32", "bf16", "arith.truncf"), ("bf16", "f32", "arith.extf"), ("f16", "f32", "arith.extf"),
    ("f16", "f64", "arith.extf"), ("bf16", "f64", "arith.extf"), ("i8", "i32", "arith.extsi"),
    ("i8", "i64", "arith.extsi"), ("i64", "i8", "arith.trunci"), ("i32", "f32", "arith.sitofp"),
    ("i64", "f32", "arith.sitofp"), ("i64", "f64", "arith.sitofp"), ("i32", "f16", "arith.sitofp"),
    ("i32", "bf16", "arith.sitofp"), ("i64", "bf16", "arith.sitofp"), ("i8", "f32", "arith.sitofp"),
    ("i1", "i32", "arith.extui"), ("i1", "f32", "arith.uitofp"), ("f32", "i32", "arith.fptosi"),
    ("f64", "i64", "arith.fptosi"),
]  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize(("source", "result", "op"), CONVERSIONS)
def test_conversions(texts, run_dispatch, source, result, op, runnable_target):
    def dtype(element):
        return ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]

    rng = np.random.default_rng(5)
    if source == "i1":
        x = rng.integers(0, 2, 77).astype(np.bool_)
    elif source.startswith("i"):
        info = np.iinfo(dtype(source))
        x = rng.integers(info.min, info.max, 77, dtype(source), endpoint=True)
        if result == "f16":
            x = (x >> 15).astype(dtype(source))
    else:
        x = (rng.standard_normal(77) * 50).astype(dtype(source))
    text = unary(texts, x.shape, source, result, f"%r = {op} %a0 : {source} to {result}")
    (got,) = run_dispatch(text, [x], [(x.shape, dtype(result))], runnable_target.cpu)
    if op == "arith.sitofp" and result in ("bf16", "f16"):
        expected = np.array([_rounded(int(v), dtype(result)) for v in x], dtype(result))
    else:
        expected = x.astype(dtype(result))
    np.testing.assert_array_equal(got, expected)


def _rounded(value, dtype):
    """The nearest number of a type to an integer, ties to even, in exact arithmetic."""
    near = dtype(float(value))
    candidates = [near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))]
    finite = [c for c in candidates if np.isfinite(np.float64(c))]
    return min(finite, key=lambda c: (abs(int(float(c)) - value), np.asarray(c).view(np.uint16) & 1))


def test_comparison_and_select(texts, run_dispatch):
    rng = np.random.default_rng(6)
    x, y = rng.integers(-3, 3, (2, 4, 37)).astype(np.float32)
    x[0, 0] = np.nan
    for predicate, compare in (("ogt", np.greater), ("oeq", np.equal), ("une", np.not_equal), ("ole", np.less_equal)):
        text = binary(texts, x.shape, "f32", f"arith.cmpf {predicate},", "i1")
        (result,) = run_dispatch(text, [x, y], [(x.shape, np.bool_)])
        np.testing.assert_array_equal(result, compare(x, y))
        assert set(np.unique(result.view(np.uint8))) <= {0, 1}


def test_logic_on_bools(texts, run_dispatch):
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 2, (2, 5, 23)).astype(np.bool_)
    for op, reference in (("andi", np.logical_and), ("ori", np.logical_or), ("xori", np.logical_xor)):
        (result,) = run_dispatch(binary(texts, x.shape, "i1", f"arith.{op}"), [x, y], [(x.shape, np.bool_)])
        np.testing.assert_array_equal(result, reference(x, y))


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("shape", "maps"),
    [
        ((37, 53), ("(d0, d1)", "(d1)")),
        ((37, 53), ("(d0, d1)", "(d0)")),
        ((37, 53), ("(d1, d0)", "(d0, d1)")),
        ((37, 53), ("(d0)", "(d1)")),
        ((33, 7), ("(d0, d1)", "(d1)")),
        ((1000, 3), ("(d0)", "(d0, d1)")),
        ((5, 6, 7), ("(d2, d0)", "(d1)")),
        ((5, 6, 7), ("(d0, d1, d2)", "(d1, d2)")),
        ((5, 6, 32), ("(d2, d1, d0)", "(d0, d2)")),
        ((5, 1, 32), ("(d0, d1, d2)", "(d1, d2)")),
        ((64, 64), ("(d1, d0)", "(d1, d0)")),
    ],
    ids=str,
)
def test_maps(texts, run_dispatch, runnable_target, shape, maps):
    rng = np.random.default_rng(8)
    rank = len(shape)
    dims = [[int(d.strip()[1:]) for d in m[1:-1].split(",")] for m in maps]
    arrays = [rng.standard_normal([shape[d] for d in ds]).astype(np.float32) for ds in dims]
    types = [texts.tensor(a.shape, "f32") for a in arrays]
    out = texts.tensor(shape, "f32")
    prefix = "(" + ", ".join(f"d{k}" for k in range(rank)) + ")"
    body = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in0", types[0]), ("%in1", types[1])], [("%e", out)],
        [f"{prefix} -> {m}" for m in (*maps, prefix)], ["parallel"] * rank, "%r = arith.subf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch(types, [out], body), arrays, [(shape, np.float32)], runnable_target.cpu)
    letters = "abcdef"
    spread = []
    for a, ds in zip(arrays, dims, strict=True):
        ordered = np.einsum(f"{''.join(letters[d] for d in ds)}->{''.join(letters[d] for d in sorted(ds))}", a)
        spread.append(ordered.reshape([shape[d] if d in ds else 1 for d in range(rank)]))
    np.testing.assert_array_equal(result, np.broadcast_to(spread[0] - spread[1], shape))


def test_several_results_and_a_permuted_one(texts, run_dispatch):
    x = np.random.default_rng(9).standard_normal((19, 33)).astype(np.float32)
    t = texts.tensor(x.shape, "f32")
    body = f"%e = tensor.empty() : {t}\n" + texts.generic(
        "%g", [("%in0", t)], [("%e", t), ("%e", t)], [identity(2)] * 3, ["parallel"] * 2,
        "%p = arith.addf %a0, %a0 : f32\n%q = arith.mulf %p, %a0 : f32", "%p, %q",
    ).replace("linalg.yield %p, %q : f32, f32", "linalg.yield %p, %q : f32, f32")  # fmt: skip
    text = texts.dispatch([t], [t, t], body).replace("%out0,", "%g#0,").replace("%out1,", "%g#1,")
    first, second = run_dispatch(text, [x], [(x.shape, np.float32)] * 2)
    np.testing.assert_array_equal(first, x + x)
    np.testing.assert_array_equal(second, (x + x) * x)


def test_permuted_output_map(texts, run_dispatch):
    x = np.random.default_rng(10).standard_normal((19, 33)).astype(np.float32)
    t, out = texts.tensor((19, 33), "f32"), texts.tensor((33, 19), "f32")
    body = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in0", t)], [("%e", out)], [identity(2), "(d0, d1) -> (d1, d0)"], ["parallel"] * 2,
        "%r = arith.addf %a0, %a0 : f32", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch([t], [out], body), [x], [((33, 19), np.float32)])
    np.testing.assert_array_equal(result, (x + x).T)


def test_linalg_index(texts, run_dispatch):
    t = texts.tensor((9, 21), "i32")
    body = f"%e = tensor.empty() : {t}\n" + texts.generic(
        "%out0", [], [("%e", t)], [identity(2)], ["parallel"] * 2,
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%x = arith.index_cast %i : index to i32\n"
        "%y = arith.index_cast %j : index to i32\n%c = arith.constant 100 : i32\n%m = arith.muli %x, %c : i32\n"
        "%r = arith.addi %m, %y : i32", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch([], [t], body), [], [((9, 21), np.int32)])
    np.testing.assert_array_equal(result, np.arange(9)[:, None] * 100 + np.arange(21))


def test_scalar_arguments(texts, run_dispatch):
    x = np.random.default_rng(11).standard_normal(37).astype(np.float32)
    t = texts.tensor((37,), "f32")
    body = f"%e = tensor.empty() : {t}\n" + texts.generic(
        "%out0", [("%in0", t), ("%s0", "f32")], [("%e", t)], ["(d0) -> (d0)", "(d0) -> ()", "(d0) -> (d0)"],
        ["parallel"],
        "%r = arith.mulf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    word = int(np.float32(2.5).view(np.uint32))
    (result,) = run_dispatch(texts.dispatch([t], [t], body, ["f32"]), [x], [((37,), np.float32)], constants=[word])
    np.testing.assert_array_equal(result, x * np.float32(2.5))


def test_a_result_that_another_reads_transposed(texts, run_dispatch):
    """out1 = x + x; out0 = transpose(out1) * 3: both are square, so only the use tells where each is."""
    t = texts.tensor((20, 20), "f32")
    body = f"%e = tensor.empty() : {t}\n%c = arith.constant 3.0 : f32\n" + texts.generic(
        "%out1", [("%in0", t)], [("%e", t)], [identity(2)] * 2, ["parallel"] * 2, "%r = arith.addf %a0, %a0 : f32", "%r"
    ) + "\n" + texts.generic(
        "%out0", [("%out1", t)], [("%e", t)], ["(d0, d1) -> (d1, d0)", identity(2)], ["parallel"] * 2,
        "%r = arith.mulf %a0, %c : f32", "%r",
    )  # fmt: skip
    x = np.random.default_rng(12).standard_normal((20, 20)).astype(np.float32)
    first, second = run_dispatch(texts.dispatch([t], [t, t], body), [x], [((20, 20), np.float32)] * 2)
    np.testing.assert_array_equal(second, x + x)
    np.testing.assert_array_equal(first, (x + x).T * np.float32(3))


def test_two_outputs_of_which_one_is_permuted(texts, run_dispatch):
    t, turned = texts.tensor((19, 33), "f32"), texts.tensor((33, 19), "f32")
    body = f"%e = tensor.empty() : {t}\n%f = tensor.empty() : {turned}\n" + texts.generic(
        "%g", [("%in0", t)], [("%e", t), ("%f", turned)], [identity(2), identity(2), "(d0, d1) -> (d1, d0)"],
        ["parallel"] * 2, "%p = arith.addf %a0, %a0 : f32\n%q = arith.mulf %a0, %a0 : f32", "%p, %q",
    )  # fmt: skip
    text = texts.dispatch([t], [t, turned], body).replace("%out0,", "%g#0,").replace("%out1,", "%g#1,")
    x = np.random.default_rng(13).standard_normal((19, 33)).astype(np.float32)
    first, second = run_dispatch(text, [x], [((19, 33), np.float32), ((33, 19), np.float32)])
    np.testing.assert_array_equal(first, x + x)
    np.testing.assert_array_equal(second, (x * x).T)


def test_results_whose_shapes_differ_by_dims_of_one(texts, run_dispatch):
    scalar, one = texts.tensor((), "i32"), texts.tensor((1,), "i32")
    body = f"%e = tensor.empty() : {scalar}\n" + texts.generic(
        "%out1", [("%in0", scalar)], [("%e", scalar)], ["() -> ()"] * 2, [], "%r = arith.addi %a0, %a0 : i32", "%r"
    ) + f"\n%out0 = tensor.expand_shape %out1 [] output_shape [1] : {scalar} into {one}"  # fmt: skip
    first, second = run_dispatch(
        texts.dispatch([scalar], [one, scalar], body), [np.int32(21)], [((1,), np.int32), ((), np.int32)]
    )
    assert first[0] == second == 42


SMALL_FLOATS = {
    "f8E5M2": "float8_e5m2", "f8E4M3": "float8_e4m3", "f8E3M4": "float8_e3m4", "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E8M0FNU": "float8_e8m0fnu", "f6E2M3FN": "float6_e2m3fn", "f6E3M2FN": "float6_e3m2fn",
    "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("element", SMALL_FLOATS)
def test_small_floats(texts, run_dispatch, runnable_target, element):
    """Every code widened, and everything between neighbours narrowed, as ml_dtypes does it."""
    dtype = getattr(ml_dtypes, SMALL_FLOATS[element])
    count = 1 << ml_dtypes.finfo(dtype).bits
    codes = (np.arange(256) % count).astype(np.uint8).view(dtype)
    widen = unary(texts, (256,), element, "f32", f"%r = arith.extf %a0 : {element} to f32")
    (wide,) = run_dispatch(widen, [codes], [((256,), np.float32)], runnable_target.cpu)
    np.testing.assert_array_equal(wide, codes.astype(np.float32))
    numbers = np.unique(wide[np.isfinite(wide)])
    between = (numbers[1:] + numbers[:-1]) / 2
    x = np.concatenate([
        numbers, between, np.nextafter(between, np.float32(np.inf)), np.nextafter(between, np.float32(-np.inf)),
        numbers * 1.03, np.float32([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e9, -1e9, 1e-30, -1e-30]),
    ]).astype(np.float32)  # fmt: skip
    narrow = unary(texts, x.shape, "f32", element, f"%r = arith.truncf %a0 : f32 to {element}")
    (result,) = run_dispatch(narrow, [x], [(x.shape, dtype)], runnable_target.cpu)
    expected = np.where(np.isnan(x), np.float32(np.nan), x).astype(dtype)  # jax.jit has one code for NaNs of both signs
    if element == "f8E8M0FNU":  # ml_dtypes before 0.7 takes what is above the least power of two for the next one
        least = (x > 0) & (x < 2.0**-126)
        expected[least] = np.where(x[least] < 1.5 * 2.0**-127, 0, 1).astype(np.uint8).view(dtype)
    same = (result.view(np.uint8) == expected.view(np.uint8)) | (
        np.isnan(result.astype(np.float32)) & np.isnan(expected.astype(np.float32))
    )
    assert same.all(), (x[~same], result[~same], expected[~same])
    product = binary(texts, (256,), element, "arith.mulf")
    (result,) = run_dispatch(product, [codes, codes[::-1].copy()], [((256,), dtype)], runnable_target.cpu)
    np.testing.assert_array_equal(
        result.astype(np.float32),
        (codes.astype(np.float32) * codes[::-1].astype(np.float32)).astype(dtype).astype(np.float32),
    )


def test_four_bit_integers_in_bytes(texts, run_dispatch):
    x = np.random.default_rng(14).integers(-8, 8, 77).astype(np.int8)
    body = "%n = arith.trunci %a0 : i8 to i4\n%s = arith.addi %n, %n : i4\n%r = arith.extsi %s : i4 to i8"
    (result,) = run_dispatch(unary(texts, x.shape, "i8", "i8", body), [x], [(x.shape, np.int8)])
    np.testing.assert_array_equal(result, ((2 * x + 8) & 15) - 8)
    (stored,) = run_dispatch(
        unary(texts, x.shape, "i8", "i4", "%r = arith.trunci %a0 : i8 to i4"), [x], [(x.shape, np.int8)]
    )
    np.testing.assert_array_equal(stored, x)


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("source", "result"), [("i32", "i8"), ("i32", "i16"), ("i64", "i8"), ("i64", "i32"), ("i16", "i8")]
)
@pytest.mark.parametrize("size", [9, 33])
def test_narrowing_with_one_element_left_over(texts, run_dispatch, runnable_target, source, result, size):
    x = np.random.default_rng(15).integers(-100, 100, size).astype(texts.numpy[source])
    text = unary(texts, x.shape, source, result, f"%r = arith.trunci %a0 : {source} to {result}")
    (got,) = run_dispatch(text, [x], [(x.shape, texts.numpy[result])], runnable_target.cpu)
    np.testing.assert_array_equal(got, x)


def test_hundreds_of_ops_in_a_row(texts, run_dispatch):
    """More than Python's stack could hold if each asked the one before it."""
    type, count = texts.tensor((67,), "f32"), 300
    lines = [f"%e = tensor.empty() : {type}"]
    for k in range(count):
        name, source = ("%out0" if k == count - 1 else f"%v{k}"), ("%in0" if k == 0 else f"%v{k - 1}")
        line = texts.generic(
            name, [(source, type), ("%in1", type)], [("%e", type)], [identity(1)] * 3, ["parallel"],
            f"%r = {'arith.addf' if k % 2 else 'arith.mulf'} %a0, %a1 : f32", "%r",
        )  # fmt: skip
        lines.append(line)
    x, y = np.random.default_rng(0).uniform(0.5, 0.9, (2, 67)).astype(np.float32)
    (result,) = run_dispatch(texts.dispatch([type, type], [type], "\n".join(lines)), [x, y], [((67,), np.float32)])
    expected = x
    for k in range(count):
        expected = expected + y if k % 2 else expected * y
    np.testing.assert_array_equal(result, expected)
