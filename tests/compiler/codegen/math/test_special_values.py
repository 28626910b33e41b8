"""Infinities, NaN, zeros of both signs and subnormals, from C99's annex F, and the small ops exactly."""

import numpy as np
import pytest

INF, NAN = np.inf, np.nan
TINY = 1e-310
PI = np.pi
CASES = {
    "acos": [(1, 0.0), (-1, PI), (0, PI / 2), (1.5, NAN), (INF, NAN)],
    "acosh": [(1, 0.0), (0.5, NAN), (INF, INF), (-INF, NAN)],
    "asin": [(-0.0, -0.0), (1, PI / 2), (-1, -PI / 2), (-1.5, NAN), (TINY, TINY)],
    "asinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (-TINY, -TINY)],
    "atan": [(-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2), (TINY, TINY), (1e308, PI / 2)],
    "atanh": [(-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-INF, NAN), (TINY, TINY)],
    "cbrt": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (-27, -3), (2.0**-1074, 2.0**-358), (8, 2)],
    "cos": [(0, 1), (INF, NAN), (-INF, NAN)],
    "cosh": [(0, 1), (INF, INF), (-INF, INF), (711, INF)],
    "erf": [(-0.0, -0.0), (INF, 1), (-INF, -1), (10, 1)],
    "erfc": [(INF, 0.0), (-INF, 2), (0, 1), (-10, 2), (30, 0.0)],
    "exp": [(-0.0, 1), (INF, INF), (-INF, 0.0), (710, INF), (-746, 0.0), (-745.1, 5e-324)],
    "exp2": [(0, 1), (INF, INF), (-INF, 0.0), (1024, INF), (-1074, 5e-324), (-1076, 0.0), (10, 1024)],
    "expm1": [(-0.0, -0.0), (INF, INF), (-INF, -1), (-800, -1), (TINY, TINY), (-5e-324, -5e-324)],
    "log": [
        (0, -INF),
        (-0.0, -INF),
        (1, 0.0),
        (-1, NAN),
        (INF, INF),
        (-INF, NAN),
        (5e-324, -744.4400719213812),
    ],
    "log10": [(0, -INF), (1, 0.0), (1000, 3), (-1, NAN), (INF, INF)],
    "log1p": [(-0.0, -0.0), (-1, -INF), (-2, NAN), (INF, INF), (-INF, NAN), (TINY, TINY)],
    "log2": [(0, -INF), (1, 0.0), (8, 3), (5e-324, -1074), (-1, NAN), (INF, INF), (2.0**-1022, -1022)],
    "rsqrt": [(0, INF), (-0.0, -INF), (INF, 0.0), (-1, NAN), (4, 0.5)],
    "sin": [(-0.0, -0.0), (0, 0.0), (INF, NAN), (-INF, NAN), (-TINY, -TINY)],
    "sinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (711, INF), (TINY, TINY)],
    "sqrt": [(-0.0, -0.0), (INF, INF), (-1, NAN), (4, 2)],
    "tan": [(-0.0, -0.0), (INF, NAN), (TINY, TINY)],
    "tanh": [(-0.0, -0.0), (INF, 1), (-INF, -1), (30, 1), (-5e-324, -5e-324)],
}
POWERS = [
    (0.0, 3, 0.0), (-0.0, 3, -0.0), (-0.0, 2, 0.0), (0.0, -3, INF), (-0.0, -3, -INF), (-0.0, -2, INF),
    (-0.0, -INF, INF), (0.0, 0.5, 0.0), (-0.0, 0.5, 0.0), (-0.0, -0.5, INF), (-1, INF, 1), (-1, -INF, 1),
    (1, NAN, 1), (1, INF, 1), (NAN, 0, 1), (NAN, -0.0, 1), (INF, 0, 1), (0, 0, 1), (-2.5, 0.5, NAN), (-INF,
    0.5, INF), (-INF, -0.5, 0.0), (0.5, -INF, INF), (0.5, INF, 0.0), (2, INF, INF), (2, -INF, 0.0), (-0.5,
    INF, 0.0), (-2, -INF, 0.0), (-INF, 3, -INF), (-INF, 2, INF), (-INF, -3, -0.0), (-INF, -2, 0.0), (INF, 2,
    INF), (INF, -2, 0.0), (-2, 3, -8), (-2, -3, -0.125), (NAN, 1, NAN), (2, NAN, NAN), (10, 400, INF), (-10,
    401, -INF), (10, -400, 0.0), (-10, -401, -0.0), (2, -1074, 5e-324), (2, 0.5, np.sqrt(2)),
]  # fmt: skip
ANGLES = [
    (0.0, 1, 0.0), (-0.0, 1, -0.0), (0.0, -1, PI), (-0.0, -1, -PI), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0),
    (0.0, -0.0, PI), (-0.0, -0.0, -PI), (1, 0.0, PI / 2), (-1, -0.0, -PI / 2), (INF, INF, PI / 4),
    (INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4), (-INF, -INF, -3 * PI / 4), (INF, 1, PI / 2), (1, INF, 0.0),
    (-1, INF, -0.0), (1, -INF, PI), (NAN, 1, NAN), (1, NAN, NAN), (5e-324, 5e-324, PI / 4), (1e308, 1e308, PI
    / 4), (-1, -1, -3 * PI / 4), (5e-324, 1e308, 0.0), (1e308, 5e-324, PI / 2),
]  # fmt: skip


def _assert_close(got, want):
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_max_ulp(got[~np.isnan(want)], want[~np.isnan(want)], maxulp=1)
    real = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(want[real]))


@pytest.mark.parametrize("name", CASES)
def test_unary_special_values(name, runnable_target, math_kernel):
    x, want = (np.array(v, np.float64) for v in zip(*[*CASES[name], (NAN, NAN)]))
    _assert_close(math_kernel(f"math.{name}", runnable_target, x), want)


@pytest.mark.parametrize("name, cases", (("powf", POWERS), ("atan2", ANGLES)))
def test_binary_special_values(name, cases, runnable_target, math_kernel):
    x, y, want = (np.array(v, np.float64) for v in zip(*cases))
    _assert_close(math_kernel(f"math.{name}", runnable_target, x, y), want)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_huge_angles(dtype, runnable_target, math_kernel, ulp_errors):
    """The doubles closest to a multiple of pi / 2, and the ends of the range, against mpmath."""
    import mpmath

    x = np.array([6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1e22, 1e300, 2.0**1023], np.float64)
    if dtype == np.float32:
        x = np.array([16367173.0 * 2.0**72, 3.4e38, 1e22, 2.0**127, 3.1e4], np.float32)
    with mpmath.workprec(1400):
        for name in ("sin", "cos", "tan"):
            exact = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
            want = np.array([np.longdouble(float(e)) + np.longdouble(float(e - float(e))) for e in exact])
            assert ulp_errors(math_kernel(f"math.{name}", runnable_target, x), want).max() <= 1.6, name


ROUNDING = {
    "ceil": np.ceil,
    "floor": np.floor,
    "roundeven": np.rint,
    "trunc": np.trunc,
    "round": lambda x: np.copysign(np.floor(np.abs(x).astype(np.longdouble) + 0.5), x).astype(x.dtype),
    "absf": np.abs,
}
TESTS = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "isnormal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
}


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_rounding_and_classification(dtype, runnable_target, samples, math_kernel):
    x = np.concatenate([samples(dtype, 300), np.nextafter(dtype(0.5), dtype(0)) * np.array([1, -1], dtype)])
    for name, function in ROUNDING.items():
        got = math_kernel(f"math.{name}", runnable_target, x)
        with np.errstate(invalid="ignore"):  # a signalling NaN among the samples
            want = function(x)
        np.testing.assert_array_equal(got, want, err_msg=name)
        real = ~np.isnan(x)
        np.testing.assert_array_equal(np.signbit(got)[real], np.signbit(want)[real], err_msg=name)
    for name, function in TESTS.items():
        got = math_kernel(f"math.{name}", runnable_target, x, out=np.uint8).astype(bool)
        np.testing.assert_array_equal(got, function(x), err_msg=name)
    y = np.roll(x, 7)
    copied = math_kernel("math.copysign", runnable_target, x, y)
    np.testing.assert_array_equal(np.signbit(copied), np.signbit(y))
    np.testing.assert_array_equal(np.abs(copied), np.abs(x))


def test_fma_rounds_once(runnable_target, math_kernel):
    """Without an instruction it is the soft library's function."""
    x, y, z = (np.full(16, v) for v in (1 + 2.0**-30, 1 - 2.0**-30, -1.0))
    np.testing.assert_array_equal(math_kernel("math.fma", runnable_target, x, y, z), np.full(16, -(2.0**-60)))
