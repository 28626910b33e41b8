"""Between which bounds an integer lies, as far as constants, the counters of loops and sizes tell.

Enters: a value of a host function, of the body of a loop or of a linalg op. Leaves: its least and greatest value, or
None.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.scf import ForOp
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
        parent = value.block.parent_op
        if isinstance(parent, ForOp):
            return _loop_counter(parent, depth) if value is parent.induction_var else None
        if isinstance(parent, GenericOp):
            return _element(parent.operands[value.index], depth) if value.index < len(parent.inputs) else None
        return _counter(value, depth)
    op = value.defining_op
    if isinstance(op, IndexOp):
        size = _rounds(op)
        return (0, max(0, size - 1)) if size is not None else None
    if isinstance(op, ConstantOp):
        return (op.value.value, op.value.value) if isinstance(op.value, IntegerAttr) else None
    found = _computed(op, depth)  # type: ignore[arg-type]
    width = 64 if value.type.is_index else bit_width(value.type)
    if found is None or found[0] < -(1 << (width - 1)) or found[1] >= 1 << (width - 1):
        return None
    return found


def _element(value: Value, depth: int) -> Range | None:
    """The bounds of the elements of a tensor."""
    op = value.defining_op
    if isinstance(op, FillOp):
        return range_of(op.inputs[0], depth + 1)
    if isinstance(op, GenericOp) and all(kind == "parallel" for kind in op.iterators()):
        return range_of(op.body_block.terminator.operands[value.index], depth + 1)
    return None


def _rounds(op: IndexOp) -> int | None:
    """How often the loop runs whose index an op gives."""
    generic = op.parent_op
    return generic.loop_ranges()[op.dim] if isinstance(generic, GenericOp) else None


def _loop_counter(loop: ForOp, depth: int) -> Range | None:
    bounds = [range_of(v, depth + 1) for v in (loop.lower_bound, loop.upper_bound, loop.step)]
    if loop.unsignedCmp or None in bounds or bounds[2][0] <= 0:  # type: ignore[index]
        return None
    (low, _), (_, limit), _ = bounds  # type: ignore[misc]
    return low, max(low, limit - 1)


def _computed(op: Operation, depth: int) -> Range | None:
    name = op.name
    if name == "arith.select":
        decided = range_of(op.operands[0], depth + 1)
        if decided is not None and decided[0] == decided[1]:
            return range_of(op.operands[1 if decided[0] else 2], depth + 1)
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
