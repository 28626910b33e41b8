"""Moving ops into a region that captures resources: what it takes, what it gives, what is tied.

Enters: async ops of one block. Leaves: an execution or concurrency region with those ops inside; resources from
outside are block arguments, results that others use are yielded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyiree.compiler.dialects.tied_results import UNTIED, tied_operands_attr
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.stream.interfaces import result_size, sized_operands, tied_operand
from pyiree.compiler.stream.ops import YieldOp
from pyiree.compiler.stream.types import is_resource

#: Makes the op around the region: captured resources, their sizes, result sizes, ties, the body, the result types.
MakeRegionOp = Callable[
    [list[Value], list[Value], list[Value], ArrayAttr | None, Block, list[Any]], Any
]


def move_into_region(members: Sequence[Operation], anchor: Operation, make: MakeRegionOp) -> Any:
    """Builds a region op before `anchor` around the members; uses outside still read the members' own results."""
    inside = set(members)
    captured = list(
        dict.fromkeys(v for op in members for v in op.operands if is_resource(v.type) and v.defining_op not in inside)
    )
    escaping: list[Value] = [
        r for op in members for r in op.results if is_resource(r.type) and any(u not in inside for u in r.users)
    ]
    position = {value: i for i, value in enumerate(captured)}
    ties = tied_operands_attr([_tied_capture(value, position) for value in escaping])
    body = Block([v.type for v in captured])
    result_sizes = _result_sizes(escaping)
    around = make(captured, _captured_sizes(members, captured), result_sizes, ties, body, [v.type for v in escaping])
    Builder.before(anchor, members[0].location).insert(around)
    for op in members:
        op.move_to_end(body)
    argument_of = dict(zip(captured, body.arguments))
    for op in members:
        for i, value in enumerate(op.operands):
            if value in argument_of:
                op.set_operand(i, argument_of[value])
    for value, result in zip(escaping, around.results):
        value.replace_uses_if(result, lambda use: use.owner not in inside)
    body.append(YieldOp(escaping, result_sizes, location=around.location))
    return around


def _captured_sizes(members: Sequence[Operation], captured: Sequence[Value]) -> list[Value]:
    """The size of each captured resource, as a member that uses it says."""
    said = {value: size for op in members for value, size in sized_operands(op)}
    return [said[value] for value in captured]


def _result_sizes(values: Sequence[Value]) -> list[Value]:
    sizes = [result_size(value) for value in values]  # type: ignore[arg-type]
    for value, size in zip(values, sizes):
        if size is None:
            raise CompileError("a resource of unknown size leaves a region of work", value.defining_op.location)  # type: ignore[union-attr]
    return sizes  # type: ignore[return-value]


def _tied_capture(value: Value, position: dict[Value, int]) -> int:
    """The position of the captured value that a result is stored in, or -1."""
    back: Value | None = value
    while back is not None:
        if back in position:
            return position[back]
        back = tied_operand(back)
    return UNTIED
