"""The dispatch's types and scalar ops in terms of loop IR.

Enters: types, constants and arith/math ops of our IR. Leaves: loop IR element names, types and values. Index is a
64-bit integer; signless, signed and unsigned integers are one kind, the ops say how they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.attributes import FloatAttr, IntegerAttr
from ..ir.core import Operation
from ..ir.diagnostics import CompileError
from .loops import ELEMENT_BITS, KernelBuilder, Value, vector


def unsupported(op: Operation, why: str) -> CompileError:
    return CompileError(f"code generation cannot take {op.name}: {why}", op.location)


def element_name(type) -> str:
    """The loop IR element of a scalar type, or of a tensor's elements."""
    type = getattr(type, "element_type", type)
    if type.is_index:
        return "i64"
    name = type.name if type.is_float else f"i{getattr(type, 'width', '?')}"
    if name not in ELEMENT_BITS or not (type.is_float or type.is_integer):
        raise CompileError(f"code generation has no element type {type}")
    return name


def constant_number(op: Operation) -> int | float | complex:
    """The number of a constant that is a scalar or the same everywhere."""
    attribute = op.get_attr("value")
    if op.name == "complex.constant":
        re, im = attribute
        return complex(re.value, im.value)
    if getattr(attribute, "is_splat", False):
        if attribute.data.dtype.kind == "c":
            return complex(attribute.data[0])
        attribute = attribute.splat_value()
    if isinstance(attribute, (IntegerAttr, FloatAttr)):
        return attribute.value
    raise unsupported(op, "only scalars and splats are constants inside a kernel")


def emit_element_op(
    builder: KernelBuilder, op: Operation, operands: Sequence[Value], mask: Value | None = None
) -> Value:
    """One arith or math op on scalars, or on vectors where one operand is a vector.

    `mask` says which lanes count: a divisor in another lane may be anything, so it is made 1.
    """
    lanes = max(v.lanes for v in operands)
    if lanes > 1:
        operands = [builder.splat(v, lanes) for v in operands]
    name = op.name
    type = vector(element_name(op.results[0].type), lanes)
    if name in _DIVISIONS and mask is not None and lanes > 1:
        divisor = builder.select(mask, operands[1], builder.const(1, operands[1].type))
        operands = [operands[0], divisor]
    attrs = op.predicate if name in ("arith.cmpf", "arith.cmpi") else None
    if name == "arith.select" and operands[0].const is not None:
        return operands[1] if operands[0].const else operands[2]
    return builder.op(name, operands, type, attrs)


_DIVISIONS = frozenset({
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
    "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi",
})  # fmt: skip
