"""Compile-time arithmetic on scalar attributes, with the semantics of the machine.

Enters: attributes of operands. Leaves: the attribute of the result, or None where the value is not defined or not
exact (a division by zero, an integer beyond the float's reach): such an op stays in the program.

Sums, products, quotients and roots of f16, bf16 and f32 are computed in double precision and rounded once more,
which is exact for these (the double has more than twice the bits and two to spare).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.types import Type

_FOLDABLE_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})


def unsigned(value: int, type: Type) -> int:
    """The bits of an integer as an unsigned number."""
    return value & ((1 << type.width) - 1)


def signed(value: int, type: Type) -> int:
    """The bits of an integer as a signed number (an i1 is 0 or -1)."""
    bits = unsigned(value, type)
    return bits - (1 << type.width) if bits >> (type.width - 1) else bits


def is_integer(attribute: Attribute | None, value: int) -> bool:
    """Whether the attribute is that integer constant."""
    return isinstance(attribute, IntegerAttr) and signed(attribute.value, attribute.type) == value


def is_zero(attribute: Attribute | None) -> bool:
    """Whether the attribute is the integer 0."""
    return isinstance(attribute, IntegerAttr) and attribute.value == 0


def is_one(attribute: Attribute | None) -> bool:
    """Whether the attribute is the integer 1 (true, for an i1)."""
    return isinstance(attribute, IntegerAttr) and unsigned(attribute.value, attribute.type) == 1


def is_all_ones(attribute: Attribute | None) -> bool:
    """Whether every bit of the integer attribute is set."""
    return is_integer(attribute, -1)


def is_float(attribute: Attribute | None, value: float) -> bool:
    """Whether the attribute is that float, the sign of zero included."""
    if not isinstance(attribute, FloatAttr):
        return False
    found = attribute.value
    return found == value and math.copysign(1.0, found) == math.copysign(1.0, value)


def fold_signed(
    function: Callable[[int, int], int | None], lhs: Attribute | None, rhs: Attribute | None
) -> IntegerAttr | None:
    """Applies `function` to the signed values of two integer constants."""
    if not (isinstance(lhs, IntegerAttr) and isinstance(rhs, IntegerAttr)):
        return None
    value = function(signed(lhs.value, lhs.type), signed(rhs.value, rhs.type))
    return None if value is None else IntegerAttr(value, lhs.type)


def fold_unsigned(
    function: Callable[[int, int], int | None], lhs: Attribute | None, rhs: Attribute | None
) -> IntegerAttr | None:
    """Applies `function` to the unsigned values of two integer constants."""
    if not (isinstance(lhs, IntegerAttr) and isinstance(rhs, IntegerAttr)):
        return None
    value = function(unsigned(lhs.value, lhs.type), unsigned(rhs.value, rhs.type))
    return None if value is None else IntegerAttr(value, lhs.type)


def fold_float(
    function: Callable[..., float | None], *operands: Attribute | None
) -> FloatAttr | None:
    """Applies `function` to float constants of one type and rounds to that type."""
    if not all(isinstance(a, FloatAttr) and a.type.name in _FOLDABLE_FLOATS for a in operands):
        return None
    value = function(*[a.value for a in operands])
    return None if value is None else FloatAttr(value, operands[0].type)


def divide_towards_zero(lhs: int, rhs: int) -> int | None:
    """Signed division as the machine does it; None by zero."""
    if rhs == 0:
        return None
    quotient = abs(lhs) // abs(rhs)
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


def remainder_towards_zero(lhs: int, rhs: int) -> int | None:
    """The remainder with the sign of the dividend; None by zero."""
    quotient = divide_towards_zero(lhs, rhs)
    return None if quotient is None else lhs - quotient * rhs


def divide_float(lhs: float, rhs: float) -> float:
    """IEEE division."""
    if rhs != 0.0:
        return lhs / rhs
    if lhs == 0.0 or math.isnan(lhs) or math.isnan(rhs):
        return math.nan
    return math.copysign(math.inf, lhs) * math.copysign(1.0, rhs)


def maximum_float(lhs: float, rhs: float) -> float:
    """The larger one; NaN wins, and 0.0 is larger than -0.0."""
    if math.isnan(lhs) or math.isnan(rhs):
        return math.nan
    if lhs == rhs:
        return rhs if math.copysign(1.0, lhs) < 0 else lhs
    return max(lhs, rhs)


def minimum_float(lhs: float, rhs: float) -> float:
    """The smaller one; NaN wins, and -0.0 is smaller than 0.0."""
    return -maximum_float(-lhs, -rhs)


def integer_to_float(value: int, type: Type) -> FloatAttr | None:
    """An integer as a float, if the double in between is exact."""
    if type.name not in _FOLDABLE_FLOATS or abs(value) > 1 << 53:
        return None
    return FloatAttr(float(value), type)


def float_to_integer(attribute: FloatAttr, type: Type, is_signed: bool) -> IntegerAttr | None:
    """A float towards zero, if it fits the type."""
    value = attribute.value
    if not math.isfinite(value):
        return None
    whole = math.trunc(value)
    low, high = (-(1 << (type.width - 1)), 1 << (type.width - 1)) if is_signed else (0, 1 << type.width)
    return IntegerAttr(whole, type) if low <= whole < high else None
