"""Sorts by numbers that elements can be told from, alone or with their places, against NumPy's stable sort, to the
last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
TURNED = """%b{s} = arith.bitcast %{v} : {f} to {i}
%m{s} = arith.constant {most} : {i}
%z{s} = arith.constant 0 : {i}
%x{s} = arith.xori %b{s}, %m{s} : {i}
%c{s} = arith.cmpi slt, %b{s}, %z{s} : {i}
%k{s} = arith.select %c{s}, %x{s}, %b{s} : {i}
"""
NUMBER = """%f{s} = arith.constant 0.0 : {f}
%q{s} = arith.constant {nan} : {f}
%d{s} = arith.cmpf oeq, %{s}0, %f{s} : {f}
%e{s} = arith.select %d{s}, %f{s}, %{s}0 : {f}
%g{s} = arith.cmpf une, %{s}0, %{s}0 : {f}
%h{s} = arith.select %g{s}, %q{s}, %e{s} : {f}
"""
NANS = {"f16": "0x7E00", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}


def sort(texts, shape, dim, element, body, others=()):
    """Sorts a tensor, and `others` with it."""
    elements = [element, *others]
    types = [texts.tensor(shape, e) for e in elements]
    arguments = ", ".join(f"%l{k}: {e}, %r{k}: {e}" for k, e in enumerate(elements))
    names = ", ".join(f"%in{k}" for k in range(len(elements)))
    text = (
        f"%v:{len(types)} = iree_linalg_ext.sort dimension({dim}) outs({names} : {', '.join(types)}) {{\n"
        f"^bb0({arguments}):\n{body}\niree_linalg_ext.yield %s : i1\n}} -> {', '.join(types)}"
    )
    text = texts.dispatch(types, types, text)
    for k in range(len(elements)):
        text = text.replace(f"%out{k},", f"%v#{k},")
    return text


def float_order(element, predicate, numbers):
    """Compares floats by their bits, or as numbers of which zeros are equal and NaNs the last."""
    bits = int(element[1:])
    fields = {"f": element, "i": f"i{bits}", "most": (1 << (bits - 1)) - 1, "nan": NANS[element]}
    body = ""
    for s in "lr":
        body += NUMBER.format(s=s, **fields) if numbers else ""
        body += TURNED.format(s=s, v=f"h{s}" if numbers else f"{s}0", **fields)
    return body + f"%s = arith.cmpi {predicate}, %kl, %kr : i{bits}"


def bits_of(x):
    return x.view(f"u{x.dtype.itemsize}")


def total_order(x):
    """An integer that rises with the bits of a float, those of negative ones turned over."""
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def special_floats(rng, shape, dtype):
    """Zeros and NaNs of either sign among numbers, and NaNs that differ."""
    x = rng.standard_normal(shape).astype(dtype)
    kinds = rng.integers(0, 12, shape)
    x[kinds < 2], x[kinds == 2], x[kinds == 3], x[kinds == 4] = 0.0, -0.0, np.inf, -np.inf
    bits = bits_of(x)
    size = 8 * x.dtype.itemsize
    infinity = bits_of(np.array(np.inf, dtype))
    odd = infinity | rng.integers(1, 9, shape).astype(bits.dtype)
    bits[kinds == 5] = odd[kinds == 5]
    bits[kinds == 6] = odd[kinds == 6] | bits.dtype.type(1 << (size - 1))
    return x


def stable_order(x, dim, falls):
    """The order of floats in which zeros are equal, and NaNs are and come last, or first where it falls."""
    is_nan = np.isnan(x)
    with np.errstate(invalid="ignore"):
        number = np.where(is_nan, 0, x.astype(np.float64))
    return np.lexsort((-number, ~is_nan), dim) if falls else np.lexsort((number, is_nan), dim)


@pytest.mark.each_pair
@pytest.mark.parametrize("shape", [(3, 17), (2, 1000), (45, 24)], ids=str)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("falls", [False, True])
def test_numbers(texts, run_dispatch, runnable_target, element, shape, falls):
    x = special_floats(np.random.default_rng(9), shape, FLOATS[element])
    text = sort(texts, shape, len(shape) - 1, element, float_order(element, "sgt" if falls else "slt", True))
    (result,) = run_dispatch(text, [x], [(shape, x.dtype)], runnable_target.cpu)
    order = stable_order(x, -1, falls)
    np.testing.assert_array_equal(bits_of(result), np.take_along_axis(bits_of(x), order, -1))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("falls", [False, True])
def test_bits_of_floats(texts, run_dispatch, element, falls):
    x = special_floats(np.random.default_rng(0), (700,), FLOATS[element])
    text = sort(texts, x.shape, 0, element, float_order(element, "sgt" if falls else "slt", False))
    (result,) = run_dispatch(text, [x], [(x.shape, x.dtype)])
    expected = x[np.argsort(total_order(x), kind="stable")]
    np.testing.assert_array_equal(bits_of(result), bits_of(expected[::-1] if falls else expected))


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("falls", [False, True])
def test_integers(texts, run_dispatch, runnable_target, dtype, falls):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, (2, 900), dtype, endpoint=True)
    x[0, :300], x[0, 300:310], x[0, 310:320] = 7, info.min, info.max
    predicate = ("u" if info.min == 0 else "s") + ("gt" if falls else "lt")
    element = f"i{info.bits}"
    text = sort(texts, x.shape, 1, element, f"%s = arith.cmpi {predicate}, %l0, %r0 : {element}")
    (result,) = run_dispatch(text, [x], [(x.shape, dtype)], runnable_target.cpu)
    expected = np.sort(x, 1)
    np.testing.assert_array_equal(result, expected[:, ::-1] if falls else expected)


PAIRED = [((300,), 0, "f16", True), ((5000,), 0, "f32", True), ((20, 9), 1, "f32", False), ((33, 70), 0, "f16", False)]


@pytest.mark.each_value
@pytest.mark.parametrize("shape, dim, element, falls", PAIRED, ids=str)
def test_floats_with_others(texts, run_dispatch, runnable_target, element, shape, dim, falls):
    x = special_floats(np.random.default_rng(6), shape, FLOATS[element])
    places = np.arange(x.size, dtype=np.int64).reshape(shape)
    y = places[..., ::-1].astype(np.float32)
    body = float_order(element, "sgt" if falls else "slt", True)
    text = sort(texts, shape, dim, element, body, ["i64", "f32"])
    outputs = [(shape, x.dtype), (shape, np.int64), (shape, np.float32)]
    results = run_dispatch(text, [x, places, y], outputs, runnable_target.cpu)
    order = stable_order(x, dim, falls)
    for result, values in zip(results, (x, places, y), strict=True):
        np.testing.assert_array_equal(bits_of(result), np.take_along_axis(bits_of(values), order, dim))


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize("shape", [(900,), (40, 77)], ids=str)
def test_integers_with_others(texts, run_dispatch, dtype, shape, falls):
    info = np.iinfo(dtype)
    x = np.random.default_rng(7).integers(info.min, info.max, shape, dtype, endpoint=True)
    x[..., ::3] = x[..., :1]
    places = np.broadcast_to(np.arange(shape[-1], dtype=np.int16), shape)
    element = f"i{info.bits}"
    predicate = ("u" if info.min == 0 else "s") + ("gt" if falls else "lt")
    body = f"%s = arith.cmpi {predicate}, %l0, %r0 : {element}"
    text = sort(texts, shape, len(shape) - 1, element, body, ["i16"])
    values, order = run_dispatch(text, [x, places], [(shape, dtype), (shape, np.int16)])
    number = -x.astype(np.int64) if falls else x
    expected = np.argsort(number, -1, kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


def test_a_number_that_elements_are_not_told_from(texts, run_dispatch):
    """Sorted by what is left of a division: the elements are read from where they came from."""
    x = np.random.default_rng(8).integers(0, 10000, 2000).astype(np.int32)
    body = "".join(f"%c{s} = arith.constant 7 : i32\n%k{s} = arith.remui %{s}0, %c{s} : i32\n" for s in "lr")
    text = sort(texts, x.shape, 0, "i32", body + "%s = arith.cmpi ult, %kl, %kr : i32")
    (result,) = run_dispatch(text, [x], [(x.shape, np.int32)])
    np.testing.assert_array_equal(result, x[np.argsort(x % 7, kind="stable")])


DIMS = [((40, 3), 0), ((3, 70, 5), 1), ((6, 1, 33), 2), ((19, 7), 1), ((50, 256), 1), ((70, 37), 0)]


@pytest.mark.each_value
@pytest.mark.parametrize("shape, dim", DIMS, ids=str)
def test_any_dim(texts, run_dispatch, runnable_target, shape, dim):
    x = np.random.default_rng(2).integers(-99, 99, shape).astype(np.int32)
    text = sort(texts, shape, dim, "i32", "%s = arith.cmpi slt, %l0, %r0 : i32")
    (result,) = run_dispatch(text, [x], [(shape, np.int32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, np.sort(x, dim))


ANY = given(
    length=st.integers(2, 5000),
    element=st.sampled_from(["i8", "i16", "i32", "i64"]),
    kind=st.sampled_from(["random", "few", "sorted", "reversed", "equal", "halves"]),
    seed=st.integers(0, 1 << 30),
)


@settings(max_examples=8, deadline=None)
@ANY
def test_lengths_and_orders(texts, run_dispatch, length, element, kind, seed):
    _check_order(texts, run_dispatch, length, element, kind, seed)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@ANY
def test_many_lengths_and_orders(texts, run_dispatch, length, element, kind, seed):
    _check_order(texts, run_dispatch, length, element, kind, seed)


def _check_order(texts, run_dispatch, length, element, kind, seed):
    dtype = texts.numpy[element]
    info = np.iinfo(dtype)
    x = np.random.default_rng(seed).integers(info.min, info.max, length, dtype, endpoint=True)
    if kind == "few":
        x %= 3
    elif kind == "equal":
        x[:] = info.max
    elif kind != "random":
        x.sort()
        x = {"sorted": x, "reversed": x[::-1], "halves": np.concatenate([x[1::2], x[::2]])}[kind].copy()
    text = sort(texts, x.shape, 0, element, f"%s = arith.cmpi slt, %l0, %r0 : {element}")
    (result,) = run_dispatch(text, [x], [(x.shape, dtype)])
    np.testing.assert_array_equal(result, np.sort(x))
