"""Marked transforms against NumPy's in higher precision: along memory, across it, and turned on the way."""

import numpy as np
import pytest

ELEMENTS = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def transform(texts, element, shape, axis, sign=-1, scale=1.0, swapped=False, real=False):
    """A transform along a dim; `swapped` with the last two dims of the result the other way around."""
    rank = len(shape)
    rows = [d for d in range(rank) if d != axis]
    loops = [rank if d == axis else rows.index(d) for d in range(rank)]
    along = [rank - 1 if d == axis else loops[d] for d in range(rank)]
    result = list(shape)
    if swapped:
        along[-2:], result[-2:] = along[:-3:-1], result[:-3:-1]
    part = element[len("complex<") : -1]
    source, target = texts.tensor(shape, part if real else element), texts.tensor(result, element)
    names = ", ".join(f"d{d}" for d in range(rank + 1))
    maps = [f"affine_map<({names}) -> ({', '.join(f'd{d}' for d in dims)})>" for dims in (loops, along)]
    iterators = ", ".join(['"parallel"'] * rank + ['"reduction"'])
    # What the attribute says is what code generation goes by.
    body = (
        f"%e = tensor.empty() : {target}\n"
        f"%out0 = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} "
        f"ins(%in0 : {source}) outs(%e : {target}) attrs = {{pyiree.fourier = [{sign}, {scale!r}]}} {{\n"
        f"^bb0(%x: {part if real else element}, %sum: {element}):\nlinalg.yield %sum : {element}\n}} -> {target}"
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


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("length", [*range(2, 34), 36, 49, 60, 64, 77, 100, 128, 169, 240, 256, 961, 1000, 2048, 4096])
def test_lengths(texts, run_dispatch, element, length):
    x = numbers((2, length) if length < 100 else (length,), ELEMENTS[element])
    if any(length % p == 0 for p in range(32, length + 1) if all(p % d for d in range(2, p))):
        pytest.skip("kernels leave long primes to the input phase")
    text = transform(texts, element, x.shape, x.ndim - 1)
    (found,) = run_dispatch(text, [x], [(x.shape, x.dtype)])
    assert_near(found, expected(x, -1))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5,), 0), ((3, 48), 1), ((48, 3), 0), ((60, 33), 0), ((2, 30, 5), 1), ((2, 3, 64), 1), ((4, 128, 2), 1)],
    ids=str,
)
def test_levels(texts, run_dispatch, runnable_target, element, sign, shape, axis):
    x = numbers(shape, ELEMENTS[element])
    text = transform(texts, element, shape, axis, sign, 0.25)
    (found,) = run_dispatch(text, [x], [(shape, x.dtype)], runnable_target.cpu)
    assert_near(found, expected(x, axis, sign, 0.25))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(16, 16), (3, 30), (17, 64), (40, 7), (2, 20, 36), (1, 24), (24, 1, 8)], ids=str)
def test_results_turned(texts, run_dispatch, runnable_target, element, shape):
    x = numbers(shape, ELEMENTS[element])
    turned = (*shape[:-2], shape[-1], shape[-2])
    text = transform(texts, element, shape, len(shape) - 1, swapped=True)
    (found,) = run_dispatch(text, [x], [(turned, x.dtype)], runnable_target.cpu)
    assert_near(found, expected(x, -1, swapped=True))


@pytest.mark.parametrize("shape", [(9,), (45,), (4, 64)], ids=str)
def test_real_operand(texts, run_dispatch, shape):
    x = numbers(shape, np.float32)
    text = transform(texts, "complex<f32>", shape, len(shape) - 1, real=True)
    (found,) = run_dispatch(text, [x], [(shape, np.complex64)])
    assert_near(found, expected(x, -1))


def test_no_rows(texts, run_dispatch):
    text = transform(texts, "complex<f32>", (0, 8), 1)
    (found,) = run_dispatch(text, [np.zeros((0, 8), np.complex64)], [((0, 8), np.complex64)])
    assert found.shape == (0, 8)
