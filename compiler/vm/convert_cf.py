"""cf → vm: branches.

Enters: cf ops. Leaves: `vm.br`, `vm.cond_br`, `vm.br_table`; a switch over numbers that are no places in a table
becomes a chain of comparisons.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block
from pyiree.compiler.ir.types import i32
from pyiree.compiler.vm.conversion import Converter, converts
from pyiree.compiler.vm.ops import BranchOp, BranchTableOp, CondBranchOp

#: The status of an assertion that does not hold.
_FAILED_PRECONDITION = 9


@converts("cf.br")
def _branch(conv: Converter, op: Any) -> None:
    conv.insert(BranchOp(conv.values(op.dest_operands), conv.blocks[op.dest]))


@converts("cf.cond_br")
def _cond_branch(conv: Converter, op: Any) -> None:
    conv.insert(
        CondBranchOp(
            conv.value(op.condition),
            conv.values(op.true_operands),
            conv.values(op.false_operands),
            conv.blocks[op.true_dest],
            conv.blocks[op.false_dest],
        )
    )


@converts("cf.switch")
def _switch(conv: Converter, op: Any) -> None:
    flag, type = conv.value(op.flag), op.flag.type
    cases = [
        (value, conv.blocks[block], conv.values(op.operands_of_case(i)))
        for i, (value, block) in enumerate(zip(op.values, op.dests[1:]))
    ]
    default, default_operands = conv.blocks[op.dests[0]], conv.values(op.default_operands)
    if [value for value, _, _ in cases] == list(range(len(cases))) and flag.type is i32:
        operands = [v for _, _, values in cases for v in values]
        sizes = [len(values) for _, _, values in cases]
        dests = [default, *[block for _, block, _ in cases]]
        conv.insert(BranchTableOp(conv.signed(flag, type), default_operands, operands, sizes, dests))
        return
    flag = conv.signed(flag, type)
    for value, block, operands in cases:
        following = Block()
        region = conv.builder.block.region
        region.insert(region.blocks.index(conv.builder.block) + 1, following)
        equal = conv.emit(f"cmp.eq.{flag.type}", flag, conv.constant(value, flag.type))
        conv.insert(CondBranchOp(equal, operands, [], block, following))
        conv.builder.move_to_end(following)
    conv.insert(BranchOp(default_operands, default))


@converts("cf.assert")
def _assert(conv: Converter, op: Any) -> None:
    failed = conv.emit("xor.i32", conv.value(op.arg), conv.constant(1, i32))
    conv.fail_if(failed, conv.constant(_FAILED_PRECONDITION, i32), op.msg)
