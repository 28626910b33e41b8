"""The order of ops in a block: values come before their uses, otherwise things stay as they were."""

from __future__ import annotations

import heapq

from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.effects import is_pure


def sort_block(block: Block) -> None:
    """Orders the ops of a block so that values come before their uses; otherwise as they were."""
    ops = list(block.ops)
    position = {op: i for i, op in enumerate(ops)}
    waiting: dict[Operation, int] = {}
    followers: dict[Operation, list[Operation]] = {op: [] for op in ops}
    effect: Operation | None = None
    for op in ops:
        needed = {o for o in _producers(op, block) if o is not op}
        if not is_pure(op):
            if effect is not None:
                needed.add(effect)
            effect = op
        waiting[op] = len(needed)
        for producer in needed:
            followers[producer].append(op)
    last = ops[-1]
    ready = [position[op] for op in ops if waiting[op] == 0 and op is not last]
    heapq.heapify(ready)
    ordered: list[Operation] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        ordered.append(op)
        for follower in followers[op]:
            waiting[follower] -= 1
            if waiting[follower] == 0 and follower is not last:
                heapq.heappush(ready, position[follower])
    if len(ordered) + 1 != len(ops):
        stuck = next(op for op in ops if waiting[op] > 0 and op is not last)
        raise CompileError("dispatch regions wait for each other; this is a bug of the compiler", stuck.location)
    for op in (*ordered, last):
        op.move_to_end(block)


def _producers(op: Operation, block: Block) -> set[Operation]:
    found: set[Operation] = set()
    for inner in op.walk() if op.regions else (op,):
        for operand in inner.operands:
            producer = operand.defining_op
            if producer is not None and producer.block is block:
                found.add(producer)
    return found
