"""Sorts of one tensor by keys that elements can be told from, against NumPy's stable sort, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LENGTHS = [2, 17, 257, 1000]
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


def sort(texts, shape, dim, element, body):
    type = texts.tensor(shape, element)
    text = (
        f"%out0 = iree_linalg_ext.sort dimension({dim}) outs(%in0 : {type}) {{\n^bb0(%l0: {element}, %r0: {element}):\n"
        f"{body}\niree_linalg_ext.yield %s : i1\n}} -> {type}"
    )
    return texts.dispatch([type], [type], text)


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


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("falls", [False, True])
def test_numbers(texts, run_dispatch, runnable_target, element, length, falls):
    x = special_floats(np.random.default_rng(length), (3, length), FLOATS[element])
    text = sort(texts, x.shape, 1, element, float_order(element, "sgt" if falls else "slt", True))
    (result,) = run_dispatch(text, [x], [(x.shape, x.dtype)], runnable_target.cpu)
    with np.errstate(invalid="ignore"):
        rank = np.where(np.isnan(x), np.inf, x.astype(np.float64))
    order = np.lexsort((np.isnan(x), rank)) if not falls else np.lexsort((~np.isnan(x), -rank))
    np.testing.assert_array_equal(bits_of(result), np.take_along_axis(bits_of(x), order, 1))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("falls", [False, True])
def test_bits_of_floats(texts, run_dispatch, element, falls):
    x = special_floats(np.random.default_rng(0), (700,), FLOATS[element])
    text = sort(texts, x.shape, 0, element, float_order(element, "sgt" if falls else "slt", False))
    (result,) = run_dispatch(text, [x], [(x.shape, x.dtype)])
    expected = x[np.argsort(total_order(x), kind="stable")]
    np.testing.assert_array_equal(bits_of(result), bits_of(expected[::-1] if falls else expected))


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
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


@pytest.mark.parametrize("shape, dim", [((40, 3), 0), ((3, 70, 5), 1), ((6, 1, 33), 2), ((1000, 2), 0)], ids=str)
def test_any_dim(texts, run_dispatch, runnable_target, shape, dim):
    x = np.random.default_rng(2).integers(-99, 99, shape).astype(np.int32)
    text = sort(texts, shape, dim, "i32", "%s = arith.cmpi slt, %l0, %r0 : i32")
    (result,) = run_dispatch(text, [x], [(shape, np.int32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, np.sort(x, dim))


@settings(max_examples=15, deadline=None)
@given(
    length=st.integers(2, 5000),
    element=st.sampled_from(["i16", "i32", "i64"]),
    kind=st.sampled_from(["random", "few", "sorted", "reversed", "equal", "halves"]),
    seed=st.integers(0, 1 << 30),
)
def test_lengths_and_orders(texts, run_dispatch, length, element, kind, seed):
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
