"""Every function stays within 2.5 ulp, and within what docs/math.md says, at every level that runs here."""

import re

import numpy as np
import pytest

BOUND = 2.5
UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
BINARY = ("atan2", "powf")
DTYPES = (np.float32, np.float64)


def _documented(project_root, name, dtype):
    """The largest error that docs/math.md gives for a function and type."""
    text = (project_root / "docs" / "math.md").read_text()
    row = re.search(rf"^\| {name} \| ([\d.]+) \| ([\d.]+) \|", text, re.MULTILINE)
    assert row, f"docs/math.md has no row for {name}"
    return float(row[1 if dtype == np.float32 else 2])


def _check(name, target, args, want, math_kernel, ulp_errors, bound):
    got = math_kernel(f"math.{name}", target, *args)
    errors = ulp_errors(got, want)
    worst = int(np.argmax(errors))
    where = ", ".join(repr(a[worst]) for a in args)
    assert errors[worst] <= bound, (
        f"{name}({where}) is {got[worst]!r}, not {want[worst]!r}: {errors[worst]:.3f} ulp"
    )


def _count(name, dtype, count):
    """mpmath is slow: fewer points where it is the reference."""
    return count // 16 if name in ("erf", "erfc") and dtype == np.float64 else count


@pytest.mark.each_pair
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype, runnable_target, samples, reference, math_kernel, ulp_errors):
    x = samples(dtype, _count(name, dtype, 1200))
    _check(name, runnable_target, [x], reference(name, x), math_kernel, ulp_errors, BOUND)


@pytest.mark.each_pair
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype, runnable_target, pairs, reference, math_kernel, ulp_errors):
    x, y = pairs(dtype, 900)
    _check(name, runnable_target, [x, y], reference(name, x, y), math_kernel, ulp_errors, BOUND)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary_at_millions(
    name, dtype, runnable_target, samples, reference, math_kernel, ulp_errors, project_root
):
    x = samples(dtype, _count(name, dtype, 120_000), seed=7)
    bound = _documented(project_root, name, dtype)
    _check(name, runnable_target, [x], reference(name, x), math_kernel, ulp_errors, bound)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary_at_millions(
    name, dtype, runnable_target, pairs, reference, math_kernel, ulp_errors, project_root
):
    x, y = pairs(dtype, 100_000, seed=7)
    bound = _documented(project_root, name, dtype)
    _check(name, runnable_target, [x, y], reference(name, x, y), math_kernel, ulp_errors, bound)


@pytest.mark.each_pair
@pytest.mark.parametrize("lanes", (1, 3, 8, 32))
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_any_lane_count(name, lanes, runnable_target, pairs, math_kernel):
    """A lane's result does not depend on how many there are, bit for bit."""
    dtype = np.float64 if lanes == 3 else np.float32
    arguments = pairs(dtype, 30)[: 2 if name in BINARY else 1]
    whole = math_kernel(f"math.{name}", runnable_target, *arguments)
    got = math_kernel(f"math.{name}", runnable_target, *arguments, lanes=lanes)
    np.testing.assert_array_equal(got, whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_integer_powers_of_floats(dtype, runnable_target, math_kernel, ulp_errors):
    rng = np.random.default_rng(3)
    n = rng.integers(-40, 40, 4000).astype(np.int32)
    x = np.concatenate([rng.uniform(-3, 3, 3000), [0.0, -0.0, np.inf, -np.inf, np.nan] * 200]).astype(dtype)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), n.astype(np.longdouble))
    got = math_kernel("math.fpowi", runnable_target, x, n)
    assert ulp_errors(got, want).max() <= BOUND
    large = np.array([2**31 - 1, -(2**31), 2**31 - 2], np.int32)
    base = np.array([-1, -1, -1], dtype)
    np.testing.assert_array_equal(
        math_kernel("math.fpowi", runnable_target, np.resize(base, 48), np.resize(large, 48))[:3], [-1, 1, 1]
    )
