"""Workgroup counts as host code: what a kernel says of its count, in terms of the dispatch's workload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.codegen.plan import CountExpression
from pyiree.compiler.dialects.arith import ConstantOp, MulIOp
from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import index


def emit_workgroup_count(
    builder: Builder, factors: Sequence[int | CountExpression], workload: Sequence[Value]
) -> tuple[Value, Value, Value]:
    """The counts along x, y and z; x is the product of the factors."""
    one = _constant(builder, 1)
    known = math.prod([f for f in factors if isinstance(f, int)])
    x = _constant(builder, known)
    for factor in factors:
        if not isinstance(factor, int):
            x = builder.insert(MulIOp(x, _emit(builder, factor, workload))).result
    return x, one, one


def _constant(builder: Builder, value: int) -> Value:
    return builder.insert(ConstantOp(IntegerAttr(value, index))).result


def _emit(builder: Builder, expression: int | CountExpression, workload: Sequence[Value]) -> Value:
    if isinstance(expression, int):
        return _constant(builder, expression)
    if expression.op == "workload":
        return workload[expression.number]
    operands = [_emit(builder, operand, workload) for operand in expression.operands]
    cls: Any = registry.lookup_operation(expression.op)
    return builder.insert(cls(*operands)).result
