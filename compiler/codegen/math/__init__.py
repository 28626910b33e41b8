"""Vector math written inline as LLVM IR: no libm, no libc, nothing left to link.

`emit_math(fn, op_name, operands, target)` appends the instructions of one `math.*` op to a function body and
gives its result. Operands are float or double (half and bfloat callers extend, and round once), scalars or
vectors of any lane count; integer ops take any integer type. Large bodies become internal functions of the
module, emitted once.

Every function is within 2.5 ulp over its whole range in both types, keeps subnormals, signed zeros,
infinities and NaN; docs/math.md has the measured errors and the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..llvm.values import Value
from . import elementary, error_function, exponential, inverse_trigonometric, logarithm, power, trigonometric
from .lanes import Lanes

FLOAT_OPS: dict[str, Callable[..., Value]] = {
    "math.absf": elementary.absf,
    "math.acosh": logarithm.acosh,
    "math.acos": inverse_trigonometric.acos,
    "math.asin": inverse_trigonometric.asin,
    "math.asinh": logarithm.asinh,
    "math.atan": inverse_trigonometric.atan,
    "math.atan2": inverse_trigonometric.atan2,
    "math.atanh": logarithm.atanh,
    "math.cbrt": power.cbrt,
    "math.ceil": elementary.ceil,
    "math.copysign": elementary.copysign,
    "math.cos": trigonometric.cos,
    "math.cosh": exponential.cosh,
    "math.erf": error_function.erf,
    "math.erfc": error_function.erfc,
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.floor": elementary.floor,
    "math.fma": elementary.fma,
    "math.fpowi": power.fpowi,
    "math.isfinite": elementary.isfinite,
    "math.isinf": elementary.isinf,
    "math.isnan": elementary.isnan,
    "math.isnormal": elementary.isnormal,
    "math.log": logarithm.log,
    "math.log10": logarithm.log10,
    "math.log1p": logarithm.log1p,
    "math.log2": logarithm.log2,
    "math.powf": power.powf,
    "math.round": elementary.round_away,
    "math.roundeven": elementary.roundeven,
    "math.rsqrt": elementary.rsqrt,
    "math.sin": trigonometric.sin,
    "math.sinh": exponential.sinh,
    "math.sqrt": elementary.sqrt,
    "math.tan": trigonometric.tan,
    "math.tanh": exponential.tanh,
    "math.trunc": elementary.trunc,
}

INTEGER_OPS: dict[str, Callable[..., Value]] = {
    "math.absi": elementary.absi,
    "math.ctlz": elementary.ctlz,
    "math.ctpop": elementary.ctpop,
    "math.cttz": elementary.cttz,
    "math.ipowi": power.ipowi,
}


def emit_math(fn, op_name: str, operands: Sequence[Value], target) -> Value:
    """Appends `op_name` ("math.exp", …) on `operands` to `fn` and gives its value."""
    if op_name in FLOAT_OPS:
        return FLOAT_OPS[op_name](Lanes(fn, operands[0].ty, target), *operands)
    if op_name in INTEGER_OPS:
        return INTEGER_OPS[op_name](fn, *operands)
    raise NotImplementedError(f"code generation has no {op_name}: it needs an entry in codegen/math")
