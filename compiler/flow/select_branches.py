"""pyiree-flow-select-branches: of two small branches on a condition from the device, both are done.

Before: %c = tensor.extract %t[] : tensor<i1>            After: %a = linalg.generic … math.sin
        %r = scf.if %c -> (tensor<8xf32>) {                     %b = linalg.generic … math.cos
          %a = linalg.generic … math.sin                        %r = linalg.generic … ins(%t, %a, %b) …
          scf.yield %a                               →                 arith.select
        } else {
          %b = linalg.generic … math.cos
          scf.yield %b
        }

The host needs not wait for the condition, so that a loop around may run on the device, and dispatches are formed across
the branches. It would take longer to read the condition than to do both.
"""

from __future__ import annotations

import math

from pyiree.compiler.dialects.arith import ConstantOp, SelectOp
from pyiree.compiler.dialects.linalg import GenericOp, YieldOp
from pyiree.compiler.dialects.linalg_interface import IteratorTypeAttr, LinalgOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.scf import IfOp
from pyiree.compiler.dialects.tensor import EmptyOp, ExtractOp
from pyiree.compiler.flow.op_kinds import WHOLE, cost_of, elements_of, is_copied, kind_of
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, i1

#: Instructions for elements, of both branches: some microseconds on one core.
_LITTLE = 50_000.0
#: Ops of the host between what is read and the condition.
_MAX_STEPS = 16


@register_pass("pyiree-flow-select-branches", on="util.func")
def select_branches(func: Operation, context: PassContext) -> None:
    """Replaces branches, inner ones first."""
    changed = False
    for branch in [op for op in func.walk(post_order=True) if isinstance(op, IfOp)]:
        read = _numbers_read(branch.condition)
        if read and _is_small(branch):
            _do_both(branch, read)
            changed = True
    if changed:
        canonicalize(func, context)


def _numbers_read(condition: Value) -> list[Operation] | None:
    """The ops that a condition is computed by, in order, if it depends on numbers read from the device."""
    found: list[Operation] = []
    reads = False

    def visit(value: Value) -> bool:
        nonlocal reads
        op = value.defining_op
        if op is None:
            return not value.type.is_index
        if op in found:
            return True
        if isinstance(op, ExtractOp) and not op.indices:
            reads = True
        elif isinstance(op, ConstantOp):
            pass
        elif op.name.startswith("arith.") and is_pure(op) and len(found) < _MAX_STEPS:
            if not all(map(visit, op.operands)):
                return False
        else:
            return not value.type.is_index
        found.append(op)
        return True

    return found if visit(condition) and reads else None


def _is_small(branch: IfOp) -> bool:
    """Whether both branches are little work on tensors, without effects."""
    if branch.else_block is None or not branch.results:
        return False
    if any(not isinstance(r.type, TensorType) or not r.type.has_static_shape for r in branch.results):
        return False
    total = float(sum(map(elements_of, branch.results)))
    for block in (branch.then_block, branch.else_block):
        for op in block.ops:
            if op is block.terminator or is_copied(op):
                continue
            kind = kind_of(op)
            if op.name.startswith("arith.") and not any(isinstance(r.type, TensorType) for r in op.results):
                continue
            if kind in (None, WHOLE) or not is_pure(op):
                return False
            sizes = op.loop_ranges() if isinstance(op, LinalgOp) else op.results[0].type.shape  # type: ignore[attr-defined]
            if None in sizes:
                return False
            total += math.prod(sizes) * max(1.0, cost_of(op))
    return total <= _LITTLE


def _do_both(branch: IfOp, steps: list[Operation]) -> None:
    builder = Builder.before(branch)
    condition = _condition(branch.condition, steps, builder)
    ends = []
    for block in (branch.then_block, branch.else_block):
        mapping: dict[Value, Value] = {}
        end = block.terminator  # type: ignore[union-attr]
        for op in block.ops:  # type: ignore[union-attr]
            if op is not end:
                builder.insert(op.clone(mapping))
        ends.append([mapping.get(v, v) for v in end.operands])
    branch.replace_all_uses_with([_selected(condition, *pair, builder) for pair in zip(*ends)])
    branch.erase()


def _condition(condition: Value, steps: list[Operation], builder: Builder) -> Value:
    """The condition as a tensor of the device."""
    if isinstance(op := condition.defining_op, ExtractOp):
        return op.tensor
    inputs: list[Value] = []
    block = Block()
    body = Builder.at_end(block, builder.location)
    mapping: dict[Value, Value] = {}
    inside = {r for op in steps for r in op.results}
    for op in steps:
        if isinstance(op, ExtractOp):
            mapping[op.result] = block.add_argument(op.result.type)
            inputs.append(op.tensor)
            continue
        for value in op.operands:
            if value not in inside and value not in mapping:
                mapping[value] = block.add_argument(value.type)
                empty = builder.insert(EmptyOp([], result=TensorType((), value.type))).result
                inputs.append(builder.insert(FillOp([value], [empty])).results[0])
        body.insert(op.clone(mapping))
    block.add_argument(i1)
    body.insert(YieldOp([mapping[condition]]))
    return _pointwise(inputs, [()] * len(inputs), TensorType((), i1), block, builder)


def _selected(condition: Value, then: Value, otherwise: Value, builder: Builder) -> Value:
    if then is otherwise:
        return then
    type: TensorType = then.type  # type: ignore[assignment]
    block = Block([i1, *[type.element_type] * 3])
    body = Builder.at_end(block, builder.location)
    chosen = body.insert(SelectOp(*block.arguments[:3])).result
    body.insert(YieldOp([chosen]))
    every = tuple(range(len(type.shape)))
    return _pointwise([condition, then, otherwise], [(), every, every], type, block, builder)


def _pointwise(inputs: list[Value], dims: list[tuple], type: TensorType, block: Block, builder: Builder) -> Value:
    """An elementwise op; `dims` are the loops that index each input."""
    rank = len(type.shape)
    identity = AffineMap.identity(rank)
    maps = ArrayAttr([AffineMap(rank, 0, [identity.results[d] for d in at]) for at in (*dims, range(rank))])
    kinds = ArrayAttr([IteratorTypeAttr("parallel")] * rank)
    empty = builder.insert(EmptyOp([], result=type)).result
    made = GenericOp(inputs, [empty], maps, kinds, body=Region(block), result_types=[type])
    return builder.insert(made).results[0]
