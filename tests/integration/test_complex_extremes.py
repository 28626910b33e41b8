"""Functions of complex numbers near the ends of their types' ranges, of zeros, infinities and NaN, and where a part is
small beside the other: beside exact arithmetic, mpmath and jax.jit."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pyiree
import pytest

PARTS = {"f32": (np.float32, np.complex64), "f64": (np.float64, np.complex128)}


def _numbers(part):
    info = np.finfo(part)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    return [0.0, 1.0, -3.0, least, -7 * least, tiny, 0.7 * tiny, float(info.max), -0.6 * float(info.max),
            float(info.max) ** 0.5, -(tiny**0.5)]  # fmt: skip


def _computed(name, element, *arrays):
    kind = f"tensor<{len(arrays[0])}xcomplex<{element}>>"
    names = ["%x", "%y"][: len(arrays)]
    given, types = ", ".join(f"{n}: {kind}" for n in names), ", ".join([kind] * len(arrays))
    return pyiree.compile(
        f'func.func @main({given}) -> {kind} {{\n  %r = "stablehlo.{name}"({", ".join(names)}) : ({types}) -> {kind}\n'
        f"  return %r : {kind}\n}}"
    ).main(*arrays)


def _exact(number):
    return Fraction(float(number.real)), Fraction(float(number.imag))


@pytest.mark.parametrize("element", PARTS)
def test_division(element):
    """Within three units in the last place of the larger part, wherever the quotient is a finite number."""
    part, whole = PARTS[element]
    values = [complex(a, b) for a, b in itertools.product(_numbers(part), repeat=2)]
    pairs = [(x, y) for x, y in itertools.product(values[::3], values[::4]) if y]
    x, y = (np.array(side, whole) for side in zip(*pairs))
    info = np.finfo(part)
    checked = 0
    for a, b, got in zip(x, y, _computed("divide", element, x, y)):
        (ar, ai), (br, bi) = _exact(a), _exact(b)
        norm = br * br + bi * bi
        wanted = (ar * br + ai * bi) / norm, (ai * br - ar * bi) / norm
        larger = max(map(abs, wanted))
        if larger < Fraction(float(info.max)):
            allowed = 3 * max(larger * Fraction(float(info.eps)), Fraction(float(info.smallest_subnormal)))
            assert np.isfinite(got), (a, b, got)
            assert all(abs(g - w) <= allowed for g, w in zip(_exact(got), wanted)), (a, b, got)
            checked += 1
    assert checked > 500


@pytest.mark.parametrize("element", PARTS)
def test_square_root(element):
    """Its square is the number, but for four units in the last place."""
    part, whole = PARTS[element]
    values = np.array([complex(a, b) for a, b in itertools.product(_numbers(part), repeat=2)], whole)
    eps = Fraction(float(np.finfo(part).eps))
    for x, got in zip(values, _computed("sqrt", element, values)):
        (xr, xi), (gr, gi) = _exact(x), _exact(got)
        assert gr >= 0
        allowed = 4 * eps * max(abs(xr), abs(xi))
        assert abs(gr * gr - gi * gi - xr) <= allowed, (x, got)
        assert abs(2 * gr * gi - xi) <= allowed, (x, got)


@pytest.mark.parametrize("element", PARTS)
def test_reciprocal_square_root(element):
    """Its square times the number is one."""
    part, whole = PARTS[element]
    values = [complex(a, b) for a, b in itertools.product(_numbers(part), repeat=2)]
    values = np.array([v for v in values if v], whole)
    eps = Fraction(float(np.finfo(part).eps))
    for x, got in zip(values, _computed("rsqrt", element, values)):
        (xr, xi), (gr, gi) = _exact(x), _exact(got)
        sr, si = gr * gr - gi * gi, 2 * gr * gi
        assert abs(sr * xr - si * xi - 1) <= 8 * eps, (x, got)
        assert abs(sr * xi + si * xr) <= 8 * eps, (x, got)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def _grid(values, whole):
    """All numbers with these parts, an array."""
    grid = np.empty(len(values) ** 2, whole)
    grid.real, grid.imag = np.repeat(values, len(values)), np.tile(values, len(values))
    return grid


def _assert_same(got, wanted, *operands):
    """The same numbers with the same signs, zeros included; NaN for NaN."""
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(wanted, part)
        same = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
        assert same.all(), [(*[x[i] for x in operands], got[i], wanted[i]) for i in np.flatnonzero(~same)[:5]]


def _of_special_pairs(function, element):
    """All pairs of special numbers, and what jax.jit makes of each."""
    numbers = _grid(SPECIAL, PARTS[element][1])
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    with jax.enable_x64(True):
        return x, y, np.asarray(jax.jit(function)(x, y))


@pytest.mark.parametrize("element", PARTS)
def test_division_of_special_numbers(element):
    x, y, wanted = _of_special_pairs(jnp.divide, element)
    _assert_same(_computed("divide", element, x, y), wanted, x, y)


@pytest.mark.parametrize("element", PARTS)
def test_reciprocal_square_root_is_on_the_other_side_of_the_axis(element):
    x = _grid([0.0, -0.0, 1.0, -2.0, 1e30, -np.inf], PARTS[element][1])
    got = _computed("rsqrt", element, x)
    assert np.array_equal(np.signbit(got.imag), ~np.signbit(x.imag)), got


def _assert_near(got, wanted, allowed, x):
    """Each part within so many units in its last place of an mpmath number."""
    info = np.finfo(got.dtype)
    for part in ("real", "imag"):
        for g, w, z in zip(getattr(got, part), [getattr(w, part) for w in wanted], x):
            if abs(w) <= float(info.max):
                unit = max(abs(w) * float(info.eps), mpmath.mpf(float(info.smallest_subnormal)))
                assert abs(mpmath.mpf(float(g)) - w) <= allowed * unit, (z, g, w)


@pytest.mark.parametrize("element", PARTS)
@pytest.mark.parametrize("name", ["tan", "tanh"])
def test_tangents(element, name):
    """Both parts keep their digits, however small they are beside the other."""
    whole = PARTS[element][1]
    parts = [0.0, 1e-30, 1e-3, 0.5, -1.5, 1.5707963, 3.0, -7.3, 10.0, 19.0, -44.0, 46.0, 1e4, 3e5]
    x = _grid(parts, whole)
    with mpmath.workprec(3000):
        wanted = [getattr(mpmath, name)(mpmath.mpc(float(z.real), float(z.imag))) for z in x]
        _assert_near(_computed(name, element, x), wanted, 5, x)


@pytest.mark.parametrize("element", PARTS)
def test_tangent_of_special_numbers(element):
    """As jax.jit has them, which drops the sign of a zero here."""
    x = _grid([0.0, np.inf, -np.inf, np.nan], PARTS[element][1])
    with jax.enable_x64(True):
        wanted = np.asarray(jax.jit(jnp.tan)(x))
    _assert_same(_computed("tan", element, x) + 0.0, wanted + 0.0, x)
    (zero,) = _computed("tan", element, np.array([complex(-0.0, -0.0)], PARTS[element][1]))
    assert np.signbit(zero.real) and np.signbit(zero.imag)


@pytest.mark.parametrize("whole", [np.complex64, np.complex128])
def test_squares(whole):
    """The difference of two squares keeps its digits, and is no NaN where both are out of range."""
    info = np.finfo(whole)
    most = float(info.max)
    parts = [1.0, -1 - 4 * float(info.eps), 3.3, most, -most, -0.6 * most, most**0.5, 2 * most**0.5, float(info.tiny)]
    x = _grid(parts, whole)
    with jax.enable_x64(True):
        got = np.asarray(pyiree.jit(jnp.square)(x))
    _assert_near(got, [mpmath.mpc(float(z.real), float(z.imag)) ** 2 for z in x], 2, x)
    for z, g in zip(x, got):
        (re, im), limit = _exact(z), Fraction(most)
        for value, part in ((re * re - im * im, g.real), (2 * re * im, g.imag)):
            beyond = np.inf if value > 0 else -np.inf
            assert part == beyond if abs(value) > limit else np.isfinite(part), (z, g)


@pytest.mark.parametrize("element", PARTS)
def test_power_of_special_numbers(element):
    x, y, wanted = _of_special_pairs(jnp.power, element)
    got = _computed("power", element, x, y)
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(wanted, part), 4e-6, 1e-5 if element == "f32" else 1e-14)


@pytest.mark.parametrize("element", PARTS)
@pytest.mark.parametrize("exponent", [0.5, -0.5, 0.3, 1j, -0.25 + 0.125j])
def test_power(element, exponent):
    """Within ten units in the last place of the whole, and what rounding turns it, wherever the magnitude is finite."""
    part, whole = PARTS[element]
    info = np.finfo(part)
    most, power = float(info.max), mpmath.mpc(exponent)
    x = _grid([1.0, -3.0, 1e-30, 1e28, float(info.tiny), 0.6 * most, -(most**0.5)], whole)
    for z, g in zip(x, _computed("power", element, x, np.full_like(x, exponent))):
        base, got = [mpmath.mpc(float(n.real), float(n.imag)) for n in (z, g)]
        wanted = base**power
        units = 10 + abs(power.imag * mpmath.log(abs(base)))
        assert abs(got - wanted) <= units * float(info.eps) * abs(wanted), (z, g, wanted)


@pytest.mark.parametrize("exponent", [-1, 1, 2, 3])
def test_power_of_a_whole_number(exponent):
    """Quotient and products, as jax.jit has them."""
    x = _grid([0.0, 1.0, -1.0, 3.0, 1e5, np.inf, np.nan], np.complex64)
    got, wanted = [
        np.asarray(jit(lambda z: jax.lax.pow(z, jnp.full_like(z, exponent)))(x)) for jit in (pyiree.jit, jax.jit)
    ]
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(wanted, part), 1e-6)


FUNCTIONS = {"sinh": jnp.sinh, "cosh": jnp.cosh, "expm1": jnp.expm1, "exp": jnp.exp}


@pytest.mark.parametrize("element", PARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_growing_functions_of_special_numbers(element, name):
    """As jax.jit has them, which drops the signs of some zeros."""
    x = _grid([0.0, 1.0, -1.0, 1e4, -1e4, np.inf, -np.inf, np.nan], PARTS[element][1])
    with jax.enable_x64(True):
        got, wanted = [np.asarray(jit(FUNCTIONS[name])(x)) for jit in (pyiree.jit, jax.jit)]
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(wanted, part), 1e-4, 1e-30)


@pytest.mark.parametrize("element", PARTS)
@pytest.mark.parametrize("name", ["sin", "cos", "sinh", "cosh", "expm1", "exp"])
def test_growing_functions(element, name):
    """A small factor beside one that is out of range alone."""
    whole = PARTS[element][1]
    edge = float(np.log(np.finfo(whole).max))
    large = np.array([edge - 1, edge + 0.5, edge + 2, 1.05 * edge, -edge - 2])
    small = np.array([1e-30, -1e-7, 0.0, 3.0, -2e-30])
    x = np.empty(25, whole)
    x.real, x.imag = np.repeat(large, 5), np.tile(small, 5)
    if name in ("sin", "cos"):  # jax writes these out, in functions of real numbers
        x = x.imag + 1j * x.real
        got = _computed({"sin": "sine", "cos": "cosine"}[name], element, x)
    else:
        with jax.enable_x64(True):
            got = np.asarray(pyiree.jit(FUNCTIONS[name])(x))
    with mpmath.workprec(300):
        wanted = [getattr(mpmath, name)(mpmath.mpc(float(z.real), float(z.imag))) for z in x]
    _assert_near(got, wanted, 5, x)
