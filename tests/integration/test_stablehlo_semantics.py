"""StableHLO programs as text, beside what the specification says of them (its sentences are quoted)."""

import ml_dtypes
import numpy as np
import pytest

SMALL_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E3M4", "f8E4M3")
FOLDS = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or,
}  # fmt: skip


@pytest.fixture
def run_text():
    """A function (arguments' types, body, result type, *arrays) that runs a program with one result."""
    from pyiree.compiler import pipeline
    from pyiree.runtime import session

    def run(given, body, made, *arrays):
        names = ", ".join(f"%{name}: {type}" for name, type in zip("abcde", given))
        text = f"func.func @main({names}) -> {made} {{\n{body}\n  return %r : {made}\n}}"
        with session.load(pipeline.compile(text).vmfb) as module:
            return np.array(module["main"](*arrays))

    return run


def _small(name):
    return np.dtype(getattr(ml_dtypes, "float8_" + name[2:].lower()))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("name", "element", "start"), [
    ("maximum", "f32", 0.5), ("minimum", "i32", -1), ("add", "i32", 3), ("add", "f32", 0.25), ("multiply", "i32", 2),
    ("and", "i32", 5), ("or", "i32", 8), ("add", "f32", 0.0), ("maximum", "f32", -np.inf),
])  # fmt: skip
def test_running_windows_meet_the_initial_value(run_text, name, element, start, backwards):
    """reduce_window: "padded_inputs = pad(inputs..., init_values..., …)": the padding holds the initial value."""
    dtype = np.dtype(np.float32 if element == "f32" else np.int32)
    x = np.array([[3, -2, 0, 1, -4], [-1, -1, 7, -9, 2], [-0.0, -0.0, 4, -0.0, 1]]).astype(dtype)
    pads = "[[0, 0], [0, 4]]" if backwards else "[[0, 0], [4, 0]]"
    body = f"""  %i = stablehlo.constant dense<{"0xFF800000" if start == -np.inf else start}> : tensor<{element}>
  %r = "stablehlo.reduce_window"(%a, %i) ({{
  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
    %z = stablehlo.{name} %x, %y : tensor<{element}>
    stablehlo.return %z : tensor<{element}>
  }}) {{window_dimensions = array<i64: 1, 5>, padding = dense<{pads}> : tensor<2x2xi64>}}
    : (tensor<3x5x{element}>, tensor<{element}>) -> tensor<3x5x{element}>"""
    got = run_text([f"tensor<3x5x{element}>"], body, f"tensor<3x5x{element}>", x)
    filling = np.full((3, 4), start, dtype)
    padded = np.concatenate([x, filling] if backwards else [filling, x], 1)
    wanted = np.empty_like(x)
    for j in range(5):
        wanted[:, j] = start
        for k in range(5):
            wanted[:, j] = FOLDS[name](wanted[:, j], padded[:, j + k])
    assert got.tobytes() == wanted.tobytes()


def test_running_windows_of_a_body_of_several_ops(run_text):
    """a + b + a*b is associative; 1 is not neutral for it."""
    body = """  %i = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %p = stablehlo.multiply %x, %y : tensor<i32>
    %s = stablehlo.add %x, %y : tensor<i32>
    %z = stablehlo.add %p, %s : tensor<i32>
    stablehlo.return %z : tensor<i32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}
    : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>"""
    got = run_text(["tensor<4xi32>"], body, "tensor<4xi32>", np.array([1, 2, -4, 3], np.int32))
    # One more than the result is the product of all that is one more: 2**(number of ones) * (1 + x) * …
    assert got.tolist() == [2**4 * 2 - 1, 2**3 * 2 * 3 - 1, 2**2 * 2 * 3 * -3 - 1, 2 * 2 * 3 * -3 * 4 - 1]


def test_a_convolution_without_spatial_dims(run_text):
    body = """  %r = stablehlo.convolution(%a, %b) dim_numbers = [f, b]x[i, o]->[f, b], window = {}
    {feature_group_count = 2 : i64, batch_group_count = 1 : i64}
    : (tensor<2x3xf64>, tensor<1x6xf64>) -> tensor<6x3xf64>"""
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(1, 6) - 2
    got = run_text(["tensor<2x3xf64>", "tensor<1x6xf64>"], body, "tensor<6x3xf64>", x, y)
    np.testing.assert_array_equal(got, np.repeat(x, 3, 0) * y.T)


def test_a_convolution_of_padding_alone(run_text):
    """convolution: "padded_lhs = pad(lhs, 0, …)", which is multiplied like any other number: 0 * inf is NaN."""
    body = """  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[1, 1]], lhs_dilate = [3]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
    : (tensor<2x0x1xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>"""
    kernel = np.array([[[1, np.inf, 2]], [[3, 4, np.nan]]], np.float32)
    given = ["tensor<2x0x1xf32>", "tensor<2x1x3xf32>"]
    got = run_text(given, body, "tensor<2x1x3xf32>", np.zeros((2, 0, 1), np.float32), kernel)
    np.testing.assert_array_equal(got, np.broadcast_to(np.array([0, np.nan, np.nan], np.float32), (2, 1, 3)))


@pytest.mark.parametrize("target", ["bf16", "f16"])
@pytest.mark.parametrize("source", SMALL_FLOATS)
def test_small_floats_become_wider_ones(run_text, source, target):
    """convert: "if the source value can be exactly represented …, the result value is that exact representation"."""
    dtype = np.dtype(ml_dtypes.bfloat16) if target == "bf16" else np.dtype(f"float{target[1:]}")
    codes = np.arange(256, dtype=np.uint8).view(_small(source))
    body = f"  %r = stablehlo.convert %a : (tensor<256x{source}>) -> tensor<256x{target}>"
    got = run_text([f"tensor<256x{source}>"], body, f"tensor<256x{target}>", codes)
    wanted = codes.astype(np.float64)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(np.float64), wanted)
    number = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(got.astype(np.float64))[number], np.signbit(wanted)[number])


@pytest.mark.parametrize("target", [*SMALL_FLOATS, "bf16", "f16"])
def test_doubles_are_rounded_once(run_text, target):
    """Numbers next to the middle of two, so near that f32 would take them for the middle itself."""
    dtype = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}.get(target) or _small(target)
    codes = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        finite = codes.astype(np.float64)
    finite = np.unique(np.abs(finite[np.isfinite(finite)]))
    low = finite[:-1]
    middle = (low + finite[1:]) / 2
    x = np.concatenate([np.nextafter(middle, np.inf), np.nextafter(middle, 0)])
    wanted = np.concatenate([finite[1:], low])
    x, wanted = np.concatenate([x, -x]), np.concatenate([wanted, -wanted])
    kind = f"{len(x)}x"
    body = f"  %r = stablehlo.convert %a : (tensor<{kind}f64>) -> tensor<{kind}{target}>"
    got = run_text([f"tensor<{kind}f64>"], body, f"tensor<{kind}{target}>", x)
    np.testing.assert_array_equal(got.astype(np.float64), wanted)


@pytest.mark.parametrize(("exponent", "mantissa"), [(8, 0), (5, 0), (1, 0), (5, 2), (11, 52)])
def test_reduced_precision_of_nan(run_text, exponent, mantissa):
    """NaN stays; a format without mantissa has none, and the reference interpreter gives infinity."""
    x = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    body = f"  %r = stablehlo.reduce_precision %a, format = e{exponent}m{mantissa} : tensor<6xf32>"
    got = run_text(["tensor<6xf32>"], body, "tensor<6xf32>", x)
    wanted = x if mantissa else np.array([np.inf, np.inf, *x[2:]], np.float32)
    np.testing.assert_array_equal(got, wanted)
    assert np.signbit(got[2:]).tolist() == [False, True, False, True]


def test_starts_of_slices_are_clamped_as_unsigned_numbers(run_text):
    """dynamic_slice: "adjusted_start_indices = clamp(0, start_indices, shape(operand) - slice_sizes)"."""
    body = """  %r = stablehlo.dynamic_update_slice %a, %b, %c
    : (tensor<9xi32>, tensor<2xi32>, tensor<ui8>) -> tensor<9xi32>"""
    given = ["tensor<9xi32>", "tensor<2xi32>", "tensor<ui8>"]
    x, y = np.arange(9, dtype=np.int32), np.array([77, 88], np.int32)
    got = run_text(given, body, "tensor<9xi32>", x, y, np.uint8(254))
    assert got.tolist() == [0, 1, 2, 3, 4, 5, 6, 77, 88]


@pytest.mark.parametrize("element", [*SMALL_FLOATS, "bf16", "f16"])
def test_is_finite_of_every_narrow_float(run_text, element):
    """is_finite: "(i.e. is neither +Inf, -Inf, nor NaN)", where the type has no infinities as well."""
    dtype = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}.get(element) or _small(element)
    codes = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    kind = f"tensor<{len(codes)}x"
    body = f"  %r = stablehlo.is_finite %a : ({kind}{element}>) -> {kind}i1>"
    got = run_text([f"{kind}{element}>"], body, f"{kind}i1>", codes)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.isfinite(codes))


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "bf16", "f16", "f32"])
def test_logistic_keeps_its_precision_far_below_zero(run_text, element):
    """exp(-x) alone is too large for a narrow type there, or rounded; the result is neither."""
    dtype = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}
    dtype = dtype.get(element) or _small(element)
    x = np.concatenate([-np.geomspace(0.01, 102, 200), np.linspace(0, 20, 55), [np.nan]]).astype(dtype)
    kind = f"tensor<256x{element}>"
    got = run_text([kind], f"  %r = stablehlo.logistic %a : {kind}", kind, x)
    with np.errstate(over="ignore", under="ignore"):
        wanted = (1 / (1 + np.exp(-x.astype(np.float64)))).astype(dtype).astype(np.float64)
    info = ml_dtypes.finfo(dtype)
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=2 * info.eps, atol=float(info.smallest_subnormal))


SCATTER = """  %r, %s = "stablehlo.scatter"(%a, %b, %c, %d, %e) ({
  ^bb0(%p: tensor<i32>, %q: tensor<f32>, %u: tensor<i32>, %v: tensor<f32>):
    %x = stablehlo.add %p, %u : tensor<i32>
    %y = stablehlo.maximum %v, %q : tensor<f32>
    stablehlo.return %x, %y : tensor<i32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}
    : (tensor<4xi32>, tensor<4xf32>, tensor<5x1xi32>, tensor<5xi32>, tensor<5xf32>) -> (tensor<4xi32>, tensor<4xf32>)"""
SCATTERED = ["tensor<4xi32>", "tensor<4xf32>", "tensor<5x1xi32>", "tensor<5xi32>", "tensor<5xf32>"]


def test_scatters_into_several_operands(run_text):
    """scatter: "results...[result_index] = update_computation(results...[result_index], updates...[update_index])"."""
    places = np.array([[2], [0], [2], [7], [-1]], np.int32)
    given = np.arange(4, dtype=np.int32), np.array([5, -1, -9, 0.5], np.float32)
    updates = np.array([10, 20, 30, 40, 50], np.int32), np.array([-3, 4, -2, 99, 99], np.float32)
    got = run_text(SCATTERED, SCATTER, SCATTERED[0], *given, places, *updates)
    assert got.tolist() == [20, 1, 42, 3]
    got = run_text(SCATTERED, SCATTER.replace("%r, %s", "%s, %r"), SCATTERED[1], *given, places, *updates)
    assert got.tolist() == [5, -1, -2, 0.5]


def test_scatters_whose_operands_are_read_together(run_text):
    both = "%w = stablehlo.convert %v : (tensor<f32>) -> tensor<i32>\n    %x = stablehlo.add %p, %w"
    body = SCATTER.replace("%x = stablehlo.add %p, %u", both)
    places = np.array([[2], [0], [2], [7], [-1]], np.int32)
    given = np.arange(4, dtype=np.int32), np.array([5, -1, -9, 0.5], np.float32)
    updates = np.zeros(5, np.int32), np.array([-3, 4, -2, 99, 99], np.float32)
    assert run_text(SCATTERED, body, SCATTERED[0], *given, places, *updates).tolist() == [4, 1, -3, 3]
