"""Numbers divided by one that a loop does not change: every quotient is the one that a division gives."""

import numpy as np
import pytest

COLUMNS = 3000


def divided(texts, rows, element):
    """x / d, one d for each row."""
    type, column = texts.tensor((rows, COLUMNS), element), texts.tensor((rows,), element)
    body = f"%e = tensor.empty() : {type}\n" + texts.generic(
        "%out0", [("%in0", type), ("%in1", column)], [("%e", type)],
        ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        f"%r = arith.divf %a0, %a1 : {element}", "%r",
    )  # fmt: skip
    return texts.dispatch([type, column], [type], body)


def check(texts, run_dispatch, cpu, x, d):
    element = texts.element(x.dtype)
    (found,) = run_dispatch(divided(texts, len(x), element), [x, d], [(x.shape, x.dtype)], cpu)
    with np.errstate(all="ignore"):
        exact = x / d[:, None]
    kind = np.uint32 if element == "f32" else np.uint64
    same = (found.view(kind) == exact.view(kind)) | (np.isnan(found) & np.isnan(exact))
    assert same.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_usual_size(texts, run_dispatch, runnable_target, dtype):
    """Mantissas of every kind, near powers of two too, where rounding is closest to going wrong."""
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (300, COLUMNS)).astype(dtype)
    d = rng.uniform(1, 2, 300).astype(dtype)
    d[:6] = [1, np.nextafter(dtype(2), dtype(1)), np.nextafter(dtype(1), dtype(2)), 1.5, 3, -7]
    x[:, :40] = np.nextafter(dtype(2), dtype(1)) - np.arange(40, dtype=dtype) * np.finfo(dtype).eps
    x[::2] *= dtype(-(2.0**-20))
    check(texts, run_dispatch, runnable_target.cpu, x, d)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_bits(texts, run_dispatch, runnable_target, dtype):
    """Subnormal numbers, infinities, NaNs and zeros, above and below."""
    rng = np.random.default_rng(1)
    kind = np.uint32 if dtype == np.float32 else np.uint64
    x = rng.integers(0, np.iinfo(kind).max, (200, COLUMNS), kind, endpoint=True).view(dtype)
    d = rng.integers(0, np.iinfo(kind).max, 200, kind, endpoint=True).view(dtype)
    d[:8] = [0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny, np.finfo(dtype).max, 3]
    x[:, :100] = rng.choice(np.array([0, -0.0, np.inf, np.nan, 1e-30, 1e30, 5], dtype), (200, 100))
    check(texts, run_dispatch, runnable_target.cpu, x, d)


def test_numbers_at_the_edge_of_the_range(texts, run_dispatch, runnable_target):
    rng = np.random.default_rng(2)
    x = (rng.uniform(1, 2, (100, COLUMNS)) * 2.0 ** rng.integers(-63, 63, (100, COLUMNS))).astype(np.float32)
    d = (rng.uniform(1, 2, 100) * 2.0 ** rng.integers(-63, 63, 100)).astype(np.float32)
    check(texts, run_dispatch, runnable_target.cpu, x, d)
