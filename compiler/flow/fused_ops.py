"""Questions about an op beside those that it may be fused with, whatever their group.

Enters: tensor ops. Leaves: what each reads and where its results are, what it only passes on, whether it is worth
computing more than once.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.tensor_slices import ConcatOp
from pyiree.compiler.flow.fused_indices import Indices
from pyiree.compiler.flow.op_kinds import (
    ELEMENTWISE,
    RESHAPES,
    VIEW,
    VIEWS,
    captured_tensors,
    cost_of,
    elements_of,
    keeps_runs,
    kind_of,
    moves_only,
    shows_windows,
)
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.types import TensorType

#: Arithmetic that takes about as long as loading the result again would.
CHEAP = 8.0
#: Columns that a kernel turns round in registers.
_FEW_COLUMNS = 12


def is_worth_copying(op: Operation) -> bool:
    """Whether computing a value where it is read costs less than writing it and reading it again."""
    if kind_of(op) not in (ELEMENTWISE, VIEW) or cost_of(op) > CHEAP:
        return False
    outputs = getattr(op, "outputs", ())
    read = sum([elements_of(v) for v in op.operands if isinstance(v.type, TensorType) and v not in outputs])
    return read <= elements_of(op.results[0]) // 4 or (op.name in VIEWS and cost_of(op) == 0.0)


def makes_columns(op: Operation) -> bool:
    """Whether the pieces are so few and thin that a kernel computes all of them for a vector of rows."""
    if not isinstance(op, ConcatOp):
        return False
    extent = op.results[0].type.shape[op.properties["dim"].value]  # type: ignore[attr-defined]
    return extent is not None and extent <= _FEW_COLUMNS


def is_turned_round(value: Value) -> bool:
    """Whether a contraction reads a tensor as the transposition of another one, whose blocks it turns round."""
    while value.defining_op is not None and value.defining_op.name in RESHAPES:
        value = value.defining_op.operands[0]
    op = value.defining_op
    return op is not None and moves_only(op) and keeps_runs(op, 2) and not keeps_runs(op, 1)


def reads_windows(op: Operation) -> bool:
    """Whether an op reads what windows see of a tensor."""
    makers = [value.defining_op for value in op.operands]
    return any(maker is not None and shows_windows(maker) for maker in makers)


def users_of(op: Operation) -> list[Operation]:
    """The ops that read a result, each once for each."""
    return [user for result in op.results for user in result.users]


def tensor_inputs(op: Operation) -> list[Value]:
    """The tensors that an op reads, without those that it only starts from."""
    values = op.inputs if isinstance(op, LinalgOp) else op.operands
    return [v for v in (*values, *captured_tensors(op)) if isinstance(v.type, TensorType)]


def is_plain_output(op: LinalgOp, number: int) -> bool:
    """Whether each dim of a result is a loop of its own."""
    positions = op.maps()[len(op.inputs) + number].dim_positions()
    return None not in positions and len(set(positions)) == len(positions)


def result_indices(op: Operation, indices: Indices) -> Iterator[tuple[Value, Indices]]:
    """Where the results of an op are, when the first is at `indices`."""
    if not isinstance(op, LinalgOp):
        for result in op.results:
            yield result, indices
        return
    outputs = op.maps()[len(op.inputs) :]
    loops = dict(zip(outputs[0].dim_positions(), indices))
    for result, output in zip(op.results, outputs):
        yield result, tuple([loops.get(d, ("loop", op, d)) for d in output.dim_positions()])


def is_made_by(op: Operation, wanted: str) -> bool:
    """Whether an op only goes on with what an op of some kind has found, element for element."""
    count = elements_of(op.results[0])
    pending, seen = [op], {op}
    while pending and len(seen) < 40:
        for value in pending.pop().operands:
            producer = value.defining_op
            if producer is None or producer in seen or elements_of(value) != count:
                continue
            kind = kind_of(producer)
            if kind == wanted:
                return True
            if kind == ELEMENTWISE or producer.name in RESHAPES:
                seen.add(producer)
                pending.append(producer)
    return False
