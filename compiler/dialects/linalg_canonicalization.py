"""Simplifications of `linalg.generic`: copies that copy nothing, inputs that are read twice or not at all, results that
begin with what is not read."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.tensor import EmptyOp
from pyiree.compiler.ir.affine import AffineDim, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.core import BlockArgument
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern


class ForwardCopies(RewritePattern):
    """A generic that only yields its inputs, element for element, is its inputs."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        block = op.body_block
        if len(block) != 1 or any(kind != "parallel" for kind in op.iterators()):
            return False
        maps, values = op.maps(), []
        for number, yielded in enumerate(block.terminator.operands):
            if not isinstance(yielded, BlockArgument) or yielded.block is not block:
                return False
            if yielded.index >= len(op.inputs):
                return False
            value = op.inputs[yielded.index]
            if maps[yielded.index] is not maps[len(op.inputs) + number]:
                return False
            if value.type is not op.results[number].type or not maps[yielded.index].is_permutation:
                return False
            values.append(value)
        rewriter.replace_op(op, values)
        return True


class DropInputs(RewritePattern):
    """Inputs that are read twice by one map become one; inputs that the body doesn't use go."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        maps, block = op.maps(), op.body_block
        seen: dict[Any, int] = {}
        kept: list[int] = []
        merged: dict[int, int] = {}
        for number, value in enumerate(op.inputs):
            first = seen.setdefault((value, maps[number]), number)
            if first != number:
                merged[number] = first
            else:
                kept.append(number)
        for number in list(kept):
            used = block.arguments[number].has_uses or number in merged.values()
            if not used and _others_tell_the_ranges(op, maps, [k for k in kept if k != number]):
                kept.remove(number)
        if len(kept) == len(op.inputs):
            return False
        for number, first in merged.items():
            rewriter.replace_value(block.arguments[number], block.arguments[first])
        for number in reversed(range(len(op.inputs))):
            if number not in kept:
                block.erase_argument(number)
        outputs = maps[len(op.inputs) :]
        op.indexing_maps = ArrayAttr([*[maps[k] for k in kept], *outputs])
        op.inputs = [op.inputs[k] for k in kept]
        rewriter.modified(op)
        return True


def _others_tell_the_ranges(op: Any, maps: tuple[AffineMap, ...], kept: list[int]) -> bool:
    """Whether every loop is a dimension of some operand that stays."""
    remaining = [maps[k] for k in kept] + list(maps[len(op.inputs) :])
    told = {r.position for m in remaining for r in m.results if isinstance(r, AffineDim)}
    return len(told) == len(op.iterators())


class DropInitialValues(RewritePattern):
    """Computed tensors whose elements the body does not begin with become empty ones."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        outputs, count = list(op.outputs), len(op.inputs)
        unread = [
            number
            for number, value in enumerate(outputs)
            if isinstance(value.defining_op, LinalgOp)
            and None not in value.type.shape
            and not op.body_block.arguments[count + number].has_uses
        ]
        for number in unread:
            outputs[number] = rewriter.insert(EmptyOp([], result=outputs[number].type)).result
        if unread:
            op.outputs = outputs
            rewriter.modified(op)
        return bool(unread)


GENERIC_PATTERNS = (ForwardCopies, DropInputs, DropInitialValues)
