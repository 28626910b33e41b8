"""Marked transforms against NumPy's in higher precision: along memory, across it, and turned on the way."""

import re

import numpy as np
import pytest

ELEMENTS = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def transform(texts, element, shape, axis, sign=-1, scale=1.0, swapped=False, source=None, result=None):
    """A transform along a dim; `swapped` with the last two dims of the result the other way around. `source` and
    `result` are types other than that of complex elements in this shape."""
    rank = len(shape)
    rows = [d for d in range(rank) if d != axis]
    loops = [rank if d == axis else rows.index(d) for d in range(rank)]
    along = [rank - 1 if d == axis else loops[d] for d in range(rank)]
    turned = list(shape)
    if swapped:
        along[-2:], turned[-2:] = along[:-3:-1], turned[:-3:-1]
    source, target = source or texts.tensor(shape, element), result or texts.tensor(turned, element)
    x, total = (re.fullmatch(r"tensor<(?:\d+x)*(.*)>", type)[1] for type in (source, target))
    names = ", ".join(f"d{d}" for d in range(rank + 1))
    maps = [f"affine_map<({names}) -> ({', '.join(f'd{d}' for d in dims)})>" for dims in (loops, along)]
    iterators = ", ".join(['"parallel"'] * rank + ['"reduction"'])
    # What the attribute says is what code generation goes by.
    body = (
        f"%e = tensor.empty() : {target}\n"
        f"%out0 = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} "
        f"ins(%in0 : {source}) outs(%e : {target}) attrs = {{pyiree.fourier = [{sign}, {scale!r}]}} {{\n"
        f"^bb0(%x: {x}, %sum: {total}):\nlinalg.yield %sum : {total}\n}} -> {target}"
    )
    return texts.dispatch([source], [target], body)


def expected(x, axis, sign=-1, scale=1.0, swapped=False):
    wide = x.astype(np.clongdouble)
    found = np.fft.fft(wide, axis=axis) if sign < 0 else np.fft.ifft(wide, axis=axis) * x.shape[axis]
    found = found * scale
    return found.swapaxes(-1, -2) if swapped else found


def assert_near(found, wanted):
    error = np.linalg.norm((found - wanted).ravel()) / np.linalg.norm(wanted.ravel())
    assert error < (2 + np.log2(wanted.size + 1)) * np.finfo(found.dtype).eps / 4


@pytest.mark.each_value
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    "length", [*range(2, 34), 36, 49, 60, 64, 77, 94, 100, 101, 128, 169, 240, 251, 256, 961, 1000, 2048, 4096]
)
def test_lengths(texts, run_dispatch, element, length):
    x = numbers((2, length) if length < 100 else (length,), ELEMENTS[element])
    text = transform(texts, element, x.shape, x.ndim - 1)
    (found,) = run_dispatch(text, [x], [(x.shape, x.dtype)])
    assert_near(found, expected(x, -1))


@pytest.mark.each_pair
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5,), 0),
        ((3, 48), 1),
        ((48, 3), 0),
        ((60, 33), 0),
        ((2, 30, 5), 1),
        ((2, 3, 64), 1),
        ((4, 128, 2), 1),
        ((2, 41), 1),
        ((37, 3), 0),
    ],
    ids=str,
)
def test_levels(texts, run_dispatch, runnable_target, element, sign, shape, axis):
    x = numbers(shape, ELEMENTS[element])
    text = transform(texts, element, shape, axis, sign, 0.25)
    (found,) = run_dispatch(text, [x], [(shape, x.dtype)], runnable_target.cpu)
    assert_near(found, expected(x, axis, sign, 0.25))


@pytest.mark.each_value
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    "shape", [(16, 16), (3, 30), (17, 64), (40, 7), (2, 20, 36), (3, 43), (1, 24), (24, 1, 8)], ids=str
)
def test_results_turned(texts, run_dispatch, runnable_target, element, shape):
    x = numbers(shape, ELEMENTS[element])
    turned = (*shape[:-2], shape[-1], shape[-2])
    text = transform(texts, element, shape, len(shape) - 1, swapped=True)
    (found,) = run_dispatch(text, [x], [(turned, x.dtype)], runnable_target.cpu)
    assert_near(found, expected(x, -1, swapped=True))


@pytest.mark.parametrize("shape", [(9,), (45,), (4, 64)], ids=str)
def test_real_operand(texts, run_dispatch, shape):
    x = numbers(shape, np.float32)
    text = transform(texts, "complex<f32>", shape, len(shape) - 1, source=texts.tensor(shape, "f32"))
    (found,) = run_dispatch(text, [x], [(shape, np.complex64)])
    assert_near(found, expected(x, -1))


@pytest.mark.each_value
@pytest.mark.parametrize("shape", [(16, 5), (30, 20), (48, 33), (31, 4), (64, 16)], ids=str)
def test_first_half_across_memory(texts, run_dispatch, runnable_target, shape):
    """Of a real operand only the frequencies up to the middle are stored."""
    x, half = numbers(shape, np.float32), (shape[0] // 2 + 1, shape[1])
    source, result = texts.tensor(shape, "f32"), texts.tensor(half, "complex<f32>")
    text = transform(texts, "complex<f32>", shape, 0, source=source, result=result)
    (found,) = run_dispatch(text, [x], [(half, np.complex64)], runnable_target.cpu)
    assert_near(found, expected(x, 0)[: half[0]])


@pytest.mark.each_value
@pytest.mark.parametrize("part", ["f32", "f64"])
@pytest.mark.parametrize("length", [4, 6, 16, 20, 26, 64, 74, 128, 480, 2048])
def test_halves_of_real_rows(texts, run_dispatch, runnable_target, length, part):
    shape, half, element = (3, length), (3, length // 2 + 1), f"complex<{part}>"
    x = numbers(shape, np.float32 if part == "f32" else np.float64)
    real, spectrum = texts.tensor(shape, part), texts.tensor(half, element)
    text = transform(texts, element, shape, 1, source=real, result=spectrum)
    (found,) = run_dispatch(text, [x], [(half, ELEMENTS[element])], runnable_target.cpu)
    assert_near(found, expected(x, 1)[:, : half[1]])
    text = transform(texts, element, shape, 1, 1, 1.0 / length, source=spectrum, result=real)
    (signal,) = run_dispatch(text, [found], [(shape, x.dtype)], runnable_target.cpu)
    assert_near(signal, x)


def test_no_rows(texts, run_dispatch):
    text = transform(texts, "complex<f32>", (0, 8), 1)
    (found,) = run_dispatch(text, [np.zeros((0, 8), np.complex64)], [((0, 8), np.complex64)])
    assert found.shape == (0, 8)
