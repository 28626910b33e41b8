"""Between which bounds an integer of the host lies, as far as constants and the counters of loops tell.

Enters: a value of a host function in blocks and branches. Leaves: its least and greatest value, or None.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import BlockArgument, Operation, Value
from pyiree.compiler.ir.types import bit_width

Range = tuple[int, int]

_CASTS = frozenset({"arith.extsi", "arith.trunci", "arith.index_cast"})
_UNSIGNED_CASTS = frozenset({"arith.extui", "arith.index_castui"})
_MAX_DEPTH = 16


def range_of(value: Value, depth: int = 0) -> Range | None:
    """The bounds of a value, both included."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, BlockArgument):
        return _counter(value, depth)
    op = value.defining_op
    if isinstance(op, ConstantOp):
        return (op.value.value, op.value.value) if isinstance(op.value, IntegerAttr) else None
    found = _computed(op, depth)  # type: ignore[arg-type]
    width = 64 if value.type.is_index else bit_width(value.type)
    if found is None or found[0] < -(1 << (width - 1)) or found[1] >= 1 << (width - 1):
        return None
    return found


def _computed(op: Operation, depth: int) -> Range | None:
    name = op.name
    if name == "arith.select":
        found = [range_of(v, depth + 1) for v in op.operands[1:]]
        return None if None in found else (min(r[0] for r in found), max(r[1] for r in found))  # type: ignore[index]
    if name in _CASTS or name in _UNSIGNED_CASTS:
        known = range_of(op.operands[0], depth + 1)
        return None if known is None or (name in _UNSIGNED_CASTS and known[0] < 0) else known
    if name not in ("arith.addi", "arith.subi", "arith.muli", "arith.minsi", "arith.maxsi"):
        return None
    x, y = (range_of(v, depth + 1) for v in op.operands)
    if name in ("arith.minsi", "arith.maxsi") and None in (x, y):
        return None
    if x is None or y is None:
        return None
    if name == "arith.addi":
        return x[0] + y[0], x[1] + y[1]
    if name == "arith.subi":
        return x[0] - y[1], x[1] - y[0]
    if name == "arith.muli":
        corners = [a * b for a in x for b in y]
        return min(corners), max(corners)
    choose = min if name == "arith.minsi" else max
    return choose(x[0], y[0]), choose(x[1], y[1])


def _counter(value: BlockArgument, depth: int) -> Range | None:
    """The bounds of a loop's counter inside the loop: it starts where it starts, and is less than what it is compared
    with; it only grows."""
    block = value.block
    end = block.terminator
    compare = end.condition.defining_op if isinstance(end, CondBranchOp) else None
    if not isinstance(compare, CmpIOp) or compare.predicate != "slt" or compare.lhs is not value:
        return None
    starts: list[Range] = []
    for before in block.predecessors:
        branch = before.terminator
        if not isinstance(branch, BranchOp):
            return None
        given = branch.dest_operands[value.index]
        if _grows(given, value):
            continue
        known = range_of(given, depth + 1)
        if known is None:
            return None
        starts.append(known)
    limit = range_of(compare.rhs, depth + 1)
    if not starts or limit is None:
        return None
    low = min(r[0] for r in starts)
    return low, max(low, limit[1] - 1)


def _grows(given: Value, counter: Value) -> bool:
    add = given.defining_op
    if add is None or add.name != "arith.addi" or add.operands[0] is not counter:
        return False
    step = range_of(add.operands[1], 1)
    return step is not None and step[0] > 0
