"""Random StableHLO programs as a hypothesis strategy."""

from hypothesis import strategies as st

from . import control_ops, elementwise_ops, shape_ops, structured_ops
from .program import Choices, Program, Scope

_PLAIN = {**elementwise_ops.OPS, **shape_ops.OPS, **structured_ops.OPS}
_WEIGHTED = [op for op, weight in _PLAIN.items() for _ in range(weight)]
_CONTROL = [op for op, weight in control_ops.OPS.items() for _ in range(weight)]


def _grow(scope, depth=0):
    """Adds one op, or a few, of any kind."""
    c = scope.choices
    if depth < 2 and c.chance(7):
        c.pick(_CONTROL)(scope, lambda inner: _grow(inner, depth + 1))
    else:
        c.pick(_WEIGHTED)(scope)


@st.composite
def programs(draw, ops=14):
    """Programs of up to so many random ops, some of whose values are results."""
    c = Choices(draw)
    scope = Scope(c, [0])
    for _ in range(c.integer(1, 2)):
        scope.argument(c.element(), c.shape())
    for _ in range(c.integer(1, ops)):
        _grow(scope)
    made = [v for v in scope.values if v not in scope.arguments]
    results = [made[-1] if made else scope.values[-1]]
    for v in reversed(made[:-1]):
        if len(results) < 6 and c.chance(30):
            results.append(v)
    if c.chance(5):
        results.append(c.pick(scope.arguments))
    return Program(scope.arguments, scope.ops, results, scope.data)
