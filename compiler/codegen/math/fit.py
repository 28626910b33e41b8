"""Fits the polynomials of the vector math functions and writes `coefficients.py`.

Enters: the table `FITS` (a function, an interval, the degree for each type, the weight of an error).
Leaves: `coefficients.py`, exact hexadecimal floats, lowest power first. Run it as
`python -m pyiree.compiler.codegen.math.fit` (needs mpmath; nothing at compile time does).

Each polynomial is a weighted minimax fit by Remez exchange. The low coefficients carry most of the value, so
they are rounded one after the other and the rest is fitted again around each rounded one (not where 0 lies
inside the interval: what is left to fit there has no alternation).
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import NamedTuple

import mpmath as mp

mp.mp.prec = 160
GRID = 400


class Fit(NamedTuple):
    """f(x) on [low, high] by a polynomial, of `degrees[type]` each, where an error e(x) costs weight(x) *
    |e(x)|."""

    function: object
    low: object
    high: object
    degrees: dict[str, int]
    weight: object


def _series(exact, limit, near=1e-18):
    """`exact` where it is well conditioned; its limit at 0 elsewhere."""
    return lambda x: exact(x) if abs(x) > near else mp.mpf(limit)


def _odd(function, order0, limit):
    """(function(r) - order0 * r) / r^3 as a function of z = r^2."""
    return _series(lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - order0) / z, limit)


LN2_HALF = mp.log(2) / 2 * mp.mpf("1.002")
SQRT2 = mp.sqrt(2)
QUARTER_PI_SQUARED = (mp.pi / 4) ** 2 * mp.mpf("1.001")
LOG_Z = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mp.mpf("1.001")
THIRD = mp.mpf(1) / 3


def _erfcx_fit(k, high, degrees):
    """e^(x^2) erfc(x) (1 + 2 x) for x from 0.46 to `high`, as a function of w = (x - k) / (x + k)."""
    low, high = mp.mpf("0.46"), mp.mpf(high)

    def function(w):
        x = k * (1 + w) / (1 - w)
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)

    return Fit(function, (low - k) / (low + k), (high - k) / (high + k), degrees, lambda w: 1)


FITS = {
    # e^r = 1 + r + r^2 EXP(r)
    "EXP": Fit(
        _series(lambda r: (mp.expm1(r) - r) / r**2, 0.5), -LN2_HALF, LN2_HALF, {"f32": 4, "f64": 9}, abs
    ),
    # 2^r = 1 + r EXP2(r)
    "EXP2": Fit(
        _series(lambda r: mp.expm1(r * mp.log(2)) / r, mp.log(2)),
        -mp.mpf("0.5005"), mp.mpf("0.5005"), {"f32": 5, "f64": 10, "f64_for_f32": 6}, abs,
    ),
    # log(1 + t) = t - t^2 / 2 + t^3 LOG(t)
    "LOG": Fit(
        _series(lambda t: (mp.log1p(t) - t + t * t / 2) / t**3, THIRD),
        1 / SQRT2 - 1, SQRT2 - 1, {"f32": 8}, lambda t: t * t,
    ),
    # log((1 + s) / (1 - s)) = 2 s + s z LOG_ODD(z), z = s^2
    "LOG_ODD": Fit(
        _series(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) * 2 / z, 2 * THIRD),
        0, LOG_Z, {"f64": 6, "f64_for_f32": 4}, lambda z: z,
    ),
    # log((1 + s) / (1 - s)) = 2 s (1 + z / 3 + z^2 LOG_TAIL(z))
    "LOG_TAIL": Fit(
        _series(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, 0.2),
        0, LOG_Z, {"f64": 8}, lambda z: z * z,
    ),
    # sin r = r + r z SIN(z); cos r = 1 - z / 2 + z^2 COS(z); z = r^2
    "SIN": Fit(_odd(mp.sin, 1, -THIRD / 2), 0, QUARTER_PI_SQUARED, {"f32": 2, "f64": 5}, lambda z: z),
    "COS": Fit(
        _series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24),
        0, QUARTER_PI_SQUARED, {"f32": 2, "f64": 5}, lambda z: z * z,
    ),
    # tan r = r + r z TAN(z), good to f32 only, evaluated in f64
    "TAN": Fit(_odd(mp.tan, 1, THIRD), 0, QUARTER_PI_SQUARED, {"f64_for_f32": 7}, lambda z: z),
    # sinh x = x + x z SINH(z) up to 1; tanh x = x + x z TANH(z) up to 0.55
    "SINH": Fit(_odd(mp.sinh, 1, THIRD / 2), 0, 1, {"f32": 3, "f64": 6}, lambda z: z),
    "TANH": Fit(_odd(mp.tanh, 1, -THIRD), 0, mp.mpf("0.304"), {"f32": 4, "f64": 9}, lambda z: z),
    # atan r = r + r z ATAN(z) up to tan(1 / 2)
    "ATAN": Fit(_odd(mp.atan, 1, -THIRD), 0, mp.mpf("0.2987"), {"f32": 5, "f64": 12}, lambda z: z),
    # asin r = r + r z ASIN(z) up to 0.55
    "ASIN": Fit(_odd(mp.asin, 1, THIRD / 2), 0, mp.mpf("0.3026"), {"f32": 5, "f64": 13}, lambda z: z),
    # erf x = x + x ERF(x^2) up to 1; erf x = 1 - 2^LOG2_ERFC(x) from there until it rounds to 1
    "ERF": Fit(
        _series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1),
        0, 1, {"f32": 6, "f64": 11}, lambda z: 1,
    ),
    "LOG2_ERFC_F32": Fit(lambda x: mp.log(mp.erfc(x), 2), 1, 4, {"f32": 6}, mp.erfc),
    "LOG2_ERFC_F64": Fit(lambda x: mp.log(mp.erfc(x), 2), 1, 6, {"f64": 18}, mp.erfc),
    # erfc x = e^(-x^2) ERFCX(w) / (1 + 2 x), w = (x - k) / (x + k), x >= 0.46
    "ERFCX_F32": _erfcx_fit(2, "10.6", {"f32": 10}),
    "ERFCX_F64": _erfcx_fit(4, "28", {"f64": 21}),
    # v^(-1 / 3) on [1, 2]: the start of an iteration
    "CBRT": Fit(lambda v: v**-THIRD, 1, 2, {"f32": 5, "f64": 5}, lambda v: 1),
}


def minimax(function, weight, low, high, degree):
    """Remez exchange: coefficients of the polynomial with the least weighted maximum error, and that
    error."""
    low, high = mp.mpf(low), mp.mpf(high)
    half, middle = (high - low) / 2, (high + low) / 2
    grid = [middle - half * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / GRID) for k in range(GRID)]
    values = [function(x) for x in grid]
    weights = [abs(weight(x)) for x in grid]
    picks = [min(GRID - 1, round(GRID * k / (degree + 1))) for k in range(degree + 2)]
    for _ in range(30):
        rows = mp.matrix(degree + 2, degree + 2)
        right = mp.matrix(degree + 2, 1)
        for row, k in enumerate(picks):
            power = mp.mpf(1)
            for column in range(degree + 1):
                rows[row, column] = power
                power *= grid[k]
            rows[row, degree + 1] = (-1) ** row / weights[k]
            right[row] = values[k]
        solution = mp.lu_solve(rows, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        level = abs(solution[degree + 1])
        errors = [(mp.polyval(coefficients[::-1], x) - v) * w for x, v, w in zip(grid, values, weights)]
        picks = _alternations(errors, degree + 2)
        worst = max(abs(e) for e in errors)
        if worst <= level * mp.mpf("1.01"):
            break
    return coefficients, worst


def _alternations(errors, count):
    """Indices of the largest error in each run of equal sign, cut down to `count` from the cheaper end."""
    runs = []
    for k, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < count:
        raise ArithmeticError("the error does not alternate: the degree is too high for this precision")
    return runs


def rounded_to(value, kind):
    """The nearest number of the type, as a Python float."""
    number = float(value)
    return struct.unpack("<f", struct.pack("<f", number))[0] if kind == "f32" else number


def fit(entry: Fit, kind: str):
    """Coefficients rounded to the type, lowest power first, and the weighted error before the last
    rounding."""
    function, weight = entry.function, entry.weight
    fixed: list[float] = []
    degree = entry.degrees[kind]
    for k in range(min(3, degree) if entry.low >= 0 else 0):
        coefficients, _ = minimax(function, weight, entry.low, entry.high, degree - k)
        fixed.append(rounded_to(coefficients[0], kind))
        function, weight = _peel(function, fixed[-1]), _raise(weight)
    coefficients, worst = minimax(function, weight, entry.low, entry.high, degree - len(fixed))
    return fixed + [rounded_to(c, kind) for c in coefficients], worst


def _peel(function, coefficient):
    return lambda x: (function(x) - mp.mpf(coefficient)) / x


def _raise(weight):
    return lambda x: weight(x) * abs(x)


HEADER = '''"""Polynomial coefficients, lowest power first, exact hexadecimal floats (`fit.py` writes it)."""

COEFFICIENTS = {
'''


def main(names):
    here = Path(__file__).with_name("coefficients.py")
    known: dict = {}
    if names and here.exists():
        scope: dict = {}
        exec(here.read_text(), scope)
        known = {k: [c.hex() for c in v] for k, v in scope["COEFFICIENTS"].items()}
    for name in names or FITS:
        for kind in FITS[name].degrees:
            coefficients, worst = fit(FITS[name], kind)
            exponent = float(mp.log(worst, 2))
            print(f"{name:12} {kind:12} degree {len(coefficients) - 1:2}: error 2^{exponent:.1f}")
            known[name, kind] = [c.hex() for c in coefficients]
    lines = []
    for (name, kind), coefficients in known.items():
        lines.append(f'    ("{name}", "{kind}"): (\n')
        lines += [f'        float.fromhex("{c}"),\n' for c in coefficients]
        lines.append("    ),\n")
    here.write_text(HEADER + "".join(lines) + "}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
