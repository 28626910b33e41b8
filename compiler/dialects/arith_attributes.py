"""Attributes of the arith dialect, which the math and complex dialects use too: flags and comparison predicates."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.parametrized import BitEnumAttr, int_enum
from pyiree.compiler.ir.types import i64


class FastMathFlagsAttr(BitEnumAttr, name="arith.fastmath"):
    """Which liberties a float op may take; ours takes none."""

    cases = ("none", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast")


class IntegerOverflowFlagsAttr(BitEnumAttr, name="arith.overflow"):
    """Which overflows of an integer op are ruled out."""

    cases = ("none", "nsw", "nuw")


#: The comparison that each integer predicate makes of signed (`s…`) or unsigned (`u…`) numbers.
INTEGER_PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "ult": operator.lt,
    "ule": operator.le,
    "ugt": operator.gt,
    "uge": operator.ge,
}


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    return lambda a, b: not (math.isnan(a) or math.isnan(b)) and compare(a, b)


def _unordered(compare: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    return lambda a, b: math.isnan(a) or math.isnan(b) or compare(a, b)


#: Each float predicate: `o…` is false, `u…` is true where an operand is NaN.
FLOAT_PREDICATES: dict[str, Callable[[float, float], bool]] = {
    "false": lambda a, b: False,
    "oeq": _ordered(operator.eq),
    "ogt": _ordered(operator.gt),
    "oge": _ordered(operator.ge),
    "olt": _ordered(operator.lt),
    "ole": _ordered(operator.le),
    "one": _ordered(operator.ne),
    "ord": _ordered(lambda a, b: True),
    "ueq": _unordered(operator.eq),
    "ugt": _unordered(operator.gt),
    "uge": _unordered(operator.ge),
    "ult": _unordered(operator.lt),
    "ule": _unordered(operator.le),
    "une": _unordered(operator.ne),
    "uno": _unordered(lambda a, b: False),
    "true": lambda a, b: True,
}


def _numbered(predicates: dict[str, Any]) -> dict[str, int]:
    return {name: number for number, name in enumerate(predicates)}


CmpIPredicate = int_enum("integer predicate", _numbered(INTEGER_PREDICATES), i64)
CmpFPredicate = int_enum("float predicate", _numbered(FLOAT_PREDICATES), i64)
