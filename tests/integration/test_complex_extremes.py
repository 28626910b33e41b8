"""Quotients and roots of complex numbers near the ends of their types' ranges, beside exact rational arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

PARTS = {"f32": (np.float32, np.complex64), "f64": (np.float64, np.complex128)}


def _numbers(part):
    info = np.finfo(part)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    return [0.0, 1.0, -3.0, least, -7 * least, tiny, 0.7 * tiny, float(info.max), -0.6 * float(info.max),
            float(info.max) ** 0.5, -(tiny**0.5)]  # fmt: skip


def _computed(name, element, *arrays):
    import pyiree

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
