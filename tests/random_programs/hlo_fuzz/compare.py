"""Whether results are right.

Enters: what an oracle gives for a program, what it gives for the program with errors added, our results. Leaves: the
first difference in words, or None.

Where the errors move a result, ours may be as far away, times a few; integers that move are of no interest. Results
that evaluators must agree in have the same bits, but for the payload of NaN.
"""

import numpy as np

from . import element_types as et

TIMES = 8.0


def difference(value, ours, oracle, moved, flushes=False, divides=False, times=TIMES):
    """The first difference in one result, in words; None if there is none. `flushes`: the oracle has no
    denormals, so that its infinities and NaN may be other numbers elsewhere. `divides`: there are quotients of complex
    numbers, which overflow on the way in the oracle and not here."""
    if ours.shape != oracle.shape or ours.dtype != oracle.dtype:
        return f"{ours.dtype}{ours.shape} instead of {oracle.dtype}{oracle.shape}"
    if value.element.startswith("complex"):
        pairs = [(part(ours), part(oracle), part(moved)) for part in (np.real, np.imag)]
        # An error of one part is one of the other too.
        with np.errstate(all="ignore"):
            spread = np.maximum(*[np.abs(b - c) for _, b, c in pairs])
            magnitude = np.maximum(*[np.abs(b) for _, b, _ in pairs])
        open_ = np.isnan(spread) & ~(np.isnan(oracle) & np.isnan(moved))
        found = [
            _floats(value.element[8:-1], *p, value.exact, spread, magnitude, flushes, times) | open_ for p in pairs
        ]
        if not value.exact:
            # The specification doesn't say which parts of an infinite or undefined complex number are NaN.
            found = [f | (~np.isfinite(oracle) & ~np.isfinite(ours)) for f in found]
            found = [f | (divides & np.isnan(oracle) & np.isfinite(ours)) for f in found]
        good = found[0] & found[1]
    elif et.is_float(value.element):
        kind = np.float64
        with np.errstate(all="ignore"):
            spread, magnitude = np.abs(oracle.astype(kind) - moved.astype(kind)), np.abs(oracle.astype(kind))
            good = _floats(value.element, ours, oracle, moved, value.exact, spread, magnitude, flushes, times)
    else:
        moves = oracle != moved
        if not value.exact and value.element in et.INTEGERS and et.width(value.element) < 8 and moves.ndim:
            # Pieces of one number: those that stay the same with an error are not surer than the others.
            moves = moves | moves.any(-1, keepdims=True)
        good = (ours == oracle) | moves
    bad = np.argwhere(~good)
    if not len(bad):
        return None
    at = tuple(bad[0])
    return (
        f"{value.name}{list(map(int, at))} of {value.type} is {ours[at]!r} instead of {oracle[at]!r} "
        f"(moved: {moved[at]!r}), {len(bad)} of {good.size} elements"
    )


def _floats(element, ours, oracle, moved, exact, spread, magnitude, flushes, times):
    if flushes and not (np.isfinite(oracle) & np.isfinite(moved)).all():
        return np.ones(ours.shape, bool)
    nan, open_ = np.isnan(oracle) & np.isnan(moved), np.isnan(oracle) ^ np.isnan(moved)
    word = f"u{ours.dtype.itemsize}"
    same = ours.view(word) == oracle.view(word)
    info = et.ml_dtypes.finfo(ours.dtype)
    if exact:
        if flushes:
            same |= (np.abs(ours) < float(info.tiny)) & (oracle == 0)
        return same | (np.isnan(oracle) & np.isnan(ours))
    with np.errstate(all="ignore"):
        allowed = times * spread + 4 * np.maximum(magnitude * float(info.eps), float(info.smallest_subnormal))
        allowed += 16 * float(info.tiny) * flushes
        gap = np.abs(ours.astype(np.float64) - oracle.astype(np.float64))
        near = (gap <= allowed) | ~np.isfinite(spread)
        # What is too large is infinity, or NaN in a type without that.
        overflows = magnitude + allowed > float(info.max)
        if np.isnan(np.array(np.inf).astype(ours.dtype)):
            near |= np.isnan(ours) & overflows
        else:
            near |= np.isinf(ours) & (np.signbit(ours) == np.signbit(oracle)) & overflows
    near |= ours == oracle
    return np.where(nan, np.isnan(ours), open_ | near)


def failures(program, ours, oracle, moved, flushes=False, times=TIMES):
    """All differences of a program's results, each with the number of the result."""
    found = []
    divides = any('"stablehlo.divide"' in op.text and "complex<" in op.text for op in program.ops)
    for k, value in enumerate(program.results):
        text = difference(value, ours[k], oracle[k], moved[k], flushes, divides, times)
        if text is not None:
            found.append((k, text))
    return found
