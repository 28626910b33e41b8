"""Compile-time values of vm ops: integer arithmetic, comparisons and conversions with the VM's semantics.

Enters: an op of `ops_values` and the constants among its operands. Leaves: the constant or operand that it folds to,
or None. Floats are left to the phases before, where all of their folding is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.types import IntegerType, i32


def _unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def _sign_extend(value: int, width: int) -> int:
    bits = _unsigned(value, width)
    return bits - (1 << width) if bits >> (width - 1) else bits


def _divide(lhs: int, rhs: int, width: int) -> int | None:
    """Truncates toward zero; no value where the VM traps."""
    if rhs == 0 or (rhs == -1 and lhs == -(1 << (width - 1))):
        return None
    return abs(lhs) // abs(rhs) * (1 if (lhs < 0) == (rhs < 0) else -1)


def _remainder(lhs: int, rhs: int, width: int) -> int | None:
    quotient = _divide(lhs, rhs, width)
    return None if quotient is None else lhs - quotient * rhs


def _unsigned_division(function: Callable[[int, int], int]) -> Callable[[int, int, int], int | None]:
    return lambda a, b, w: None if b == 0 else function(_unsigned(a, w), _unsigned(b, w))


#: By operation and the sign after the type; functions of the signed operands and the width in bits.
_INTEGER: dict[str, Callable[..., int | None]] = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "div.s": _divide,
    "div.u": _unsigned_division(lambda a, b: a // b),
    "rem.s": _remainder,
    "rem.u": _unsigned_division(lambda a, b: a % b),
    "min.s": lambda a, b, w: min(a, b),
    "min.u": lambda a, b, w: min(_unsigned(a, w), _unsigned(b, w)),
    "max.s": lambda a, b, w: max(a, b),
    "max.u": lambda a, b, w: max(_unsigned(a, w), _unsigned(b, w)),
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "shl": lambda a, b, w: a << (b & (w - 1)),
    "shr.s": lambda a, b, w: a >> (b & (w - 1)),
    "shr.u": lambda a, b, w: _unsigned(a, w) >> (b & (w - 1)),
    "not": lambda a, w: ~a,
    "abs": lambda a, w: abs(a),
    "ctlz": lambda a, w: w - _unsigned(a, w).bit_length(),
    "cmp.eq": lambda a, b, w: int(a == b),
    "cmp.ne": lambda a, b, w: int(a != b),
    "cmp.lt.s": lambda a, b, w: int(a < b),
    "cmp.lt.u": lambda a, b, w: int(_unsigned(a, w) < _unsigned(b, w)),
    "cmp.nz": lambda a, w: int(a != 0),
}
#: Operations where a constant on the right leaves the left operand as it is.
_NEUTRAL_RIGHT = {"add": 0, "sub": 0, "mul": 1, "div.s": 1, "div.u": 1, "or": 0, "xor": 0, "and": -1,
                  "shl": 0, "shr.s": 0, "shr.u": 0}  # fmt: skip
_CONVERSIONS: dict[str, Callable[[int], int]] = {
    "trunc.i32.i8": lambda a: _unsigned(a, 8),
    "trunc.i32.i16": lambda a: _unsigned(a, 16),
    "trunc.i64.i32": lambda a: a,
    "ext.i8.i32.s": lambda a: _sign_extend(a, 8),
    "ext.i8.i32.u": lambda a: _unsigned(a, 8),
    "ext.i16.i32.s": lambda a: _sign_extend(a, 16),
    "ext.i16.i32.u": lambda a: _unsigned(a, 16),
    "ext.i32.i64.s": lambda a: a,
    "ext.i32.i64.u": lambda a: _unsigned(a, 32),
}


def _parts(mnemonic: str) -> tuple[str, Any] | None:
    """The operation without its integer type, and that type: `div.s` and i32 for `div.i32.s`."""
    parts = mnemonic.split(".")
    name = next((p for p in parts if p in ("i32", "i64")), None)
    if name is None:
        return None
    parts.remove(name)
    return ".".join(parts), IntegerType(int(name[1:]))


_parsed: dict[str, tuple[str, Any] | None] = {}


def fold_value(op: Any, constants: list[Attribute | None]) -> list[Any] | None:
    """The `fold` of the families in `ops_values`."""
    values = [c.value for c in constants if isinstance(c, IntegerAttr)]
    if not values:
        return None
    mnemonic = op.name[3:]
    convert = _CONVERSIONS.get(mnemonic)
    if convert is not None:
        return [IntegerAttr(convert(values[0]), op.result.type)]
    if mnemonic not in _parsed:
        _parsed[mnemonic] = _parts(mnemonic)
    found = _parsed[mnemonic]
    if found is None:
        return None
    operation, type = found
    if len(values) == len(constants):
        compute = _INTEGER.get(operation)
        result = None if compute is None else compute(*values, type.width)
        if result is not None:
            return [IntegerAttr(result, i32 if operation.startswith("cmp") else type)]
        return None
    # One of two operands is constant.
    if isinstance(constants[-1], IntegerAttr) and _NEUTRAL_RIGHT.get(operation) == values[0]:
        return [op.operands[0]]
    if (operation in ("add", "or", "xor") and values[0] == 0) or (operation == "mul" and values[0] == 1):
        return [op.operands[1]]
    return None
