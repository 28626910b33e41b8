"""pyiree-flow-split-conditions: what the host knows of a condition stays with the host.

Before: %t = linalg.generic ins(%x, %number)  … arith.andi      (a bit of the device and one of the host)
        %c = tensor.extract %t[] : tensor<i1>
After:  %e = tensor.extract %x[] : tensor<i1>
        %c = arith.andi %e, %number

The dispatch needs no number, and later phases see what bounds a loop: `while` loops mostly say that there were not yet
too many iterations, besides what they look for.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AndIOp, OrIOp
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.tensor import ExtractOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, i1


@register_pass("pyiree-flow-split-conditions", on="util.func")
def split_conditions(func: Operation, context: PassContext) -> None:
    """Splits what is extracted, and then what is extracted instead."""
    pending = [op for op in func.walk() if isinstance(op, ExtractOp) and op.result.type is i1]
    while pending:
        extract = pending.pop()
        parts = _parts(extract)
        if parts is None:
            continue
        join, values = parts
        builder = Builder.before(extract)
        numbers = []
        for value in values:
            number = _number(value)
            if number is None:
                read = builder.insert(ExtractOp(value, ()))
                pending.append(read)
                number = read.result
            numbers.append(number)
        extract.result.replace_all_uses_with(builder.insert(join(*numbers, location=extract.location)).result)
        whole = extract.tensor.defining_op
        extract.erase()
        whole.erase()


def _parts(extract: ExtractOp) -> tuple[type, list[Value]] | None:
    """The op that joins two bits to the one that is read, and these; None unless the host knows one of them."""
    generic = extract.tensor.defining_op
    if not isinstance(generic, GenericOp) or not generic.results[0].has_one_use or len(generic.results) != 1:
        return None
    join, *others = generic.body.entry.ops
    if len(others) != 1 or not isinstance(join, AndIOp | OrIOp) or others[0].operands != (join.result,):
        return None
    inputs = generic.inputs
    if not all(isinstance(v, BlockArgument) and v.index < len(inputs) for v in join.operands):
        return None
    values = [inputs[v.index] for v in join.operands]
    return (type(join), values) if any(_number(v) is not None for v in values) else None


def _number(value: Value) -> Value | None:
    """The number of the host that an operand of rank 0 is."""
    if not isinstance(value.type, TensorType):
        return value
    fill = value.defining_op
    return fill.inputs[0] if isinstance(fill, FillOp) else None
