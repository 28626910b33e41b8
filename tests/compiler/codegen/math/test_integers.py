"""Integer ops: bits counted, absolute values, powers with StableHLO's rule for negative exponents."""

import numpy as np
import pytest

WIDTHS = (np.int8, np.int16, np.int32, np.int64)


def _values(dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    edges = np.array([0, 1, -1, 2, info.min, info.max, info.min + 1], dtype)
    return np.concatenate([edges, rng.integers(info.min, info.max, 300, dtype, endpoint=True)])


@pytest.mark.parametrize("dtype", WIDTHS)
def test_bit_counts(dtype, runnable_target, math_kernel):
    x = _values(dtype)
    width = np.iinfo(dtype).bits
    patterns = [int(v) & ((1 << width) - 1) for v in x]
    expected = {
        "ctpop": [p.bit_count() for p in patterns],
        "ctlz": [width - p.bit_length() for p in patterns],
        "cttz": [(p & -p).bit_length() - 1 if p else width for p in patterns],
    }
    for name, want in expected.items():
        np.testing.assert_array_equal(math_kernel(f"math.{name}", runnable_target, x), want, err_msg=name)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(math_kernel("math.absi", runnable_target, x), np.abs(x))


def _power(base, exponent, width):
    if exponent < 0:
        return {1: 1, -1: -1 if exponent & 1 else 1}.get(base, 0)
    value = pow(base, exponent, 1 << width)
    return value - (1 << width) if value >> (width - 1) else value


@pytest.mark.parametrize("dtype", WIDTHS)
def test_integer_powers(dtype, runnable_target, math_kernel):
    rng = np.random.default_rng(2)
    base = np.concatenate([_values(dtype), rng.integers(-5, 6, 300).astype(dtype)])
    exponent = np.concatenate(
        [rng.permutation(_values(dtype)), rng.integers(-3, 40, 280).astype(dtype), np.zeros(20, dtype)]
    )
    want = [_power(int(b), int(e), np.iinfo(dtype).bits) for b, e in zip(base, exponent)]
    np.testing.assert_array_equal(math_kernel("math.ipowi", runnable_target, base, exponent), want)
