"""iree-stream-convert-scf-to-cf: structured control flow of the host becomes blocks and branches.

Before: `scf.for`, `scf.while`, `scf.if` and `scf.index_switch` in host functions.
After:  `cf.br`, `cf.cond_br` and `cf.switch`; what a loop carries are arguments of its first block.

    %r = scf.for %i = %a to %b step %s iter_args(%x = %x0) -> (T) { … scf.yield %y : T }
    →
      cf.br ^bb1(%a, %x0 : index, T)
    ^bb1(%i: index, %x: T):
      %c = arith.cmpi slt, %i, %b : index
      cf.cond_br %c, ^bb2, ^bb3
    ^bb2: …
      %n = arith.addi %i, %s : index
      cf.br ^bb1(%n, %y : index, T)
    ^bb3:  %r is %x

Dispatch functions keep theirs: code generation wants to see loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects import cf, scf
from pyiree.compiler.dialects.arith import AddIOp, CmpIOp
from pyiree.compiler.dialects.arith_casts import IndexCastUIOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, i32


@register_pass("iree-stream-convert-scf-to-cf", on=("util.func", "util.initializer"))
def convert_scf_to_cf(host: Operation, context: PassContext) -> None:
    """Lowers every structured op of a host function, inner ones first."""
    for op in list(host.walk(post_order=True)):
        lower = _LOWERINGS.get(type(op))
        if lower is not None:
            lower(op)


def _split_after(op: Operation) -> tuple[Block, Block]:
    """The block up to an op, which is then its last, and the rest."""
    before = op.block
    assert before is not None and op.next_op is not None
    return before, before.split_before(op.next_op)


def _receive_results(op: Operation, after: Block) -> None:
    """The results of an op are arguments of the block behind it, one way in from each region."""
    for result in op.results:
        result.replace_all_uses_with(after.add_argument(result.type))


def _replace_values(old: Sequence[Value], new: Sequence[Value]) -> None:
    for value, other in zip(old, new):
        value.replace_all_uses_with(other)


def _erase_arguments(block: Block) -> None:
    for argument in reversed(list(block.arguments)):
        block.erase_argument(argument.index)


def _finish(op: Operation, before: Block, terminator: Operation) -> None:
    op.erase()
    before.append(terminator)


def _inline(region: Region, after: Block) -> Block:
    """Moves a region's blocks in front of a block; its first block."""
    entry = region.entry
    region.move_blocks_before(after)
    return entry


def _jump(block_end: Operation, target: Block, values: Sequence[Any]) -> None:
    Builder.before(block_end).insert(cf.BranchOp(list(values), target))
    block_end.erase()


def _end_of(region: Region) -> Operation:
    """The op that ends a structured region."""
    return region.blocks[-1].terminator


def _lower_if(op: scf.IfOp) -> None:
    before, after = _split_after(op)
    _receive_results(op, after)
    condition, location = op.condition, op.location
    ends = []
    targets = []
    for region in (op.then_region, op.else_region):
        if region.is_empty:
            targets.append(after)
        else:
            ends.append(_end_of(region))
            targets.append(_inline(region, after))
    for end in ends:
        _jump(end, after, end.operands)
    _finish(op, before, cf.CondBranchOp(condition, [], [], None, *targets, location=location))


def _lower_for(op: scf.ForOp) -> None:
    before, after = _split_after(op)
    end = _end_of(op.body)
    location = op.location
    bounds = (op.lower_bound, op.upper_bound, op.step)
    inits, predicate = list(op.init_args), "ult" if op.unsignedCmp else "slt"
    body = _inline(op.body, after)
    # The loop's own arguments belong to the block that decides; the body sees them from there.
    head = Block(body.argument_types)
    body.region.insert(body.region.blocks.index(body), head)  # type: ignore[union-attr]
    _replace_values(body.arguments, head.arguments)
    _erase_arguments(body)
    _replace_values(op.results, head.arguments[1:])
    step = Builder.before(end, location).insert(AddIOp(head.arguments[0], bounds[2]))
    _jump(end, head, [step.result, *end.operands])
    at_head = Builder.at_end(head, location)
    more = at_head.insert(CmpIOp(head.arguments[0], bounds[1], predicate)).result
    at_head.insert(cf.CondBranchOp(more, [], [], None, body, after))
    _finish(op, before, cf.BranchOp([bounds[0], *inits], head, location=location))


def _lower_while(op: scf.WhileOp) -> None:
    before, after = _split_after(op)
    location, inits = op.location, list(op.inits)
    condition: Any = _end_of(op.before)
    end = _end_of(op.after)
    head = _inline(op.before, after)
    body = _inline(op.after, after)
    # Both blocks behind the decision are reached from there only: they see its values themselves.
    _replace_values(body.arguments, condition.args)
    _erase_arguments(body)
    _replace_values(op.results, condition.args)
    Builder.before(condition).insert(cf.CondBranchOp(condition.condition, [], [], None, body, after))
    condition.erase()
    _jump(end, head, end.operands)
    _finish(op, before, cf.BranchOp(inits, head, location=location))


def _lower_index_switch(op: scf.IndexSwitchOp) -> None:
    before, after = _split_after(op)
    _receive_results(op, after)
    location, cases = op.location, list(op.cases)
    ends = [_end_of(region) for region in op.regions]
    targets = [_inline(region, after) for region in op.regions]
    for end in ends:
        _jump(end, after, end.operands)
    flag = Builder.before(op).insert(IndexCastUIOp(op.arg, out=i32)).out
    values = DenseElementsAttr.from_values(TensorType((len(cases),), i32), cases) if cases else None
    _finish(op, before, cf.SwitchOp(flag, [], [], values, [0] * len(cases), targets, location=location))


def _lower_execute_region(op: scf.ExecuteRegionOp) -> None:
    before, after = _split_after(op)
    _receive_results(op, after)
    location = op.location
    ends = [b.terminator for b in op.region.blocks if isinstance(b.terminator, scf.YieldOp)]
    entry = _inline(op.region, after)
    for end in ends:
        _jump(end, after, end.operands)
    _finish(op, before, cf.BranchOp([], entry, location=location))


_LOWERINGS: dict[type, Any] = {
    scf.IfOp: _lower_if,
    scf.ForOp: _lower_for,
    scf.WhileOp: _lower_while,
    scf.IndexSwitchOp: _lower_index_switch,
    scf.ExecuteRegionOp: _lower_execute_region,
}
