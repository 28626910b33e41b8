"""Named linalg ops as the generics that they stand for.

Enters: any `LinalgOp` but `linalg.softmax`. Leaves: a `linalg.generic` of the same operands, maps and results, not
yet in a block. Contractions widen their operands to the element type of the output before they multiply.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import arith
from pyiree.compiler.dialects.linalg import GenericOp, MapOp, ReduceOp, SoftmaxOp, YieldOp
from pyiree.compiler.dialects.linalg_interface import IteratorTypeAttr, LinalgOp
from pyiree.compiler.dialects.linalg_named import NamedOp
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import Type


def generalize(op: LinalgOp) -> GenericOp:
    """The generic of a named or structured op; `op` itself stays as it is (its body, if any, is copied)."""
    if isinstance(op, GenericOp):
        return op.clone()
    if isinstance(op, SoftmaxOp):
        raise ValueError("linalg.softmax is several generics: decompose it first")
    operands = (*op.inputs, *op.outputs)
    if isinstance(op, MapOp | ReduceOp):
        body = Region()
        op.body.clone_into(body, {})
    else:
        block = Block([getattr(v.type, "element_type", v.type) for v in operands])
        builder = Builder.at_end(block, op.location)
        builder.insert(YieldOp([_combine(op, builder, block)]))
        body = Region(block)
    return GenericOp(
        op.inputs,
        op.outputs,
        ArrayAttr(op.maps()),
        ArrayAttr([IteratorTypeAttr(kind) for kind in op.iterators()]),
        body=body,
        result_types=op.result_types,
        attributes=dict(op.attributes),
        location=op.location,
    )


def _combine(op: LinalgOp, builder: Builder, block: Block) -> Value:
    arguments = block.arguments
    kind = op.combine if isinstance(op, NamedOp) else "copy"
    target = arguments[-1].type
    unsigned = _is_unsigned(op) or kind.endswith("_unsigned")
    first = widen(builder, arguments[0], target, unsigned)
    if kind == "copy":
        return first
    if kind != "multiply_add":
        return _reduce(builder, kind.removesuffix("_unsigned"), unsigned, arguments[-1], first)
    second = widen(builder, arguments[1], target, unsigned)
    multiply, add = (arith.MulFOp, arith.AddFOp) if target.is_float else (arith.MulIOp, arith.AddIOp)
    product = builder.insert(multiply(first, second)).result
    return builder.insert(add(arguments[-1], product)).result


def _is_unsigned(op: LinalgOp) -> bool:
    cast: Any = op.properties.get("cast")
    return cast is not None and cast.value == "cast_unsigned"


def _reduce(builder: Builder, kind: str, unsigned: bool, so_far: Value, value: Value) -> Value:
    is_float = so_far.type.is_float
    classes: dict[str, Any] = {
        "sum": arith.AddFOp if is_float else arith.AddIOp,
        "max": arith.MaximumFOp if is_float else arith.MaxUIOp if unsigned else arith.MaxSIOp,
        "min": arith.MinimumFOp if is_float else arith.MinUIOp if unsigned else arith.MinSIOp,
    }
    return builder.insert(classes[kind](so_far, value)).result


def widen(builder: Builder, value: Value, target: Type, unsigned: bool = False) -> Value:
    """A scalar in another element type, as named ops convert their operands."""
    source: Any = value.type
    if source is target:
        return value
    if source.is_float and target.is_float:
        cls: Any = arith.ExtFOp if source.width < target.width else arith.TruncFOp  # type: ignore[attr-defined]
    elif source.is_float:
        cls = arith.FPToUIOp if unsigned else arith.FPToSIOp
    elif target.is_float:
        cls = arith.UIToFPOp if unsigned else arith.SIToFPOp
    elif source.width > target.width:  # type: ignore[attr-defined]
        cls = arith.TruncIOp
    else:
        cls = arith.ExtUIOp if unsigned else arith.ExtSIOp
    return builder.insert(cls(value, out=target)).result
