"""Loops without what they need not carry.

Enters: an `scf.for`. Leaves: the same loop, without values that no iteration reads, nor anyone behind it, and without
numbers that count along with its counter.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, SubIOp
from pyiree.compiler.dialects.scf import ForOp, YieldOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Value


def without_counters(loop: ForOp) -> ForOp:
    """The loop without values that no iteration reads, and numbers that count along from another start."""
    step = _constant(loop.step)
    kept = [
        number
        for number, (argument, following) in enumerate(zip(loop.iter_args, loop.yielded))
        if loop.results[number].has_uses or (argument.has_uses and not _counts(argument, following, loop, step))
    ]
    if len(kept) == len(loop.iter_args):
        return loop
    body = Block([loop.induction_var.type, *[loop.init_args[number].type for number in kept]])
    counter, *carried = body.arguments
    mapping: dict[Value, Value] = {loop.induction_var: counter}
    mapping.update({loop.iter_args[number]: value for number, value in zip(kept, carried)})
    at = Builder.at_end(body, loop.location)
    gone = at.insert(SubIOp(counter, loop.lower_bound)).result
    for argument, init in zip(loop.iter_args, loop.init_args):
        if argument not in mapping and argument.has_uses:
            mapping[argument] = at.insert(AddIOp(init, gone)).result
    *ops, end = loop.body_block.ops
    for op in ops:
        at.insert(op.clone(mapping))
    at.insert(YieldOp([mapping.get(end.operands[number], end.operands[number]) for number in kept]))
    inits = [loop.init_args[number] for number in kept]
    new = Builder.before(loop, loop.location).insert(
        ForOp(loop.lower_bound, loop.upper_bound, loop.step, inits, loop.unsignedCmp, body)
    )
    for number, result in zip(kept, new.results):
        loop.results[number].replace_all_uses_with(result)
    loop.erase()
    return new


def _counts(argument: Value, following: Value, loop: ForOp, step: int | None) -> bool:
    """Whether a carried number grows by the loop's step in every iteration."""
    add = following.defining_op
    if argument.type is not loop.induction_var.type or not isinstance(add, AddIOp) or argument not in add.operands:
        return False
    return step is not None and _constant(add.operands[1 - add.operands.index(argument)]) == step


def _constant(value: Value) -> int | None:
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None
