"""iree-loop-invariant-code-motion: what a loop would compute again in every iteration is computed once, before it.

Before: %r = scf.for … iter_args(%x = %0) -> (tensor<64x64xf32>) {
          %p = linalg.matmul ins(%c, %c) outs(%zeros)
          %b = linalg.generic ins(%v : tensor<64xf32>) …         (broadcast)
          %n = linalg.generic ins(%p, %x, %b) … arith.addf
          scf.yield %n }
After:  %p = linalg.matmul ins(%c, %c) outs(%zeros)
        %r = scf.for … iter_args(%x = %0) -> (tensor<64x64xf32>) {
          %b = linalg.generic ins(%v : tensor<64xf32>) …
          %n = linalg.generic ins(%p, %x, %b) … arith.addf
          scf.yield %n }

Only pure tensor ops move, out of all loops at once in which they are the same, and not out of branches. What moves is
worth it: for each element that iterations read instead, much is computed, and much in all. All that is computed for it
alone goes along. Cheap ops stay, as they are fused with what reads them and memory would be read in their place; where
they are needed at both places, they are at both. Loops that run inside a kernel stay as they are: it computes once
what is the same in all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.scf import ForOp, WhileOp
from pyiree.compiler.flow.form_loop_regions import points_in_a_kernel
from pyiree.compiler.flow.op_kinds import CONTRACTION, WHOLE, cost_of, element_count, elements_of, is_copied, kind_of
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Instructions in all from which on they are worth a dispatch of their own.
_MUCH = 4096.0
#: Instructions for each element that is read instead: what a transcendental function counts as.
_DEAR = 16.0
#: The same for a result that needs much memory: more elements than these, and times those that it is computed from.
_VERY_DEAR = 64.0
_MANY_ELEMENTS, _LARGER = 1 << 24, 4
#: Instructions for a product of a contraction, which mostly is a dispatch of its own in the loop.
_PRODUCT_COST = 8.0
#: Instructions for an element of what is computed as a whole: sorts, scans, transforms, scatters.
_WHOLE_COST = 16.0
_PARTS = frozenset({"tensor.empty", "tensor.dim", "tensor.cast", "tensor.splat", "linalg.fill"})
#: Numbers may be divided by zero before a loop that does not run.
_DIVISIONS = frozenset({
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui",
    "arith.floordivsi",
})  # fmt: skip


@register_pass("iree-loop-invariant-code-motion", on=("util.func", "util.initializer"))
def move_loop_invariants(func: Operation, context: PassContext) -> None:
    """Moves what is worth it out of loops, outer ones first."""
    for region in func.regions:
        for block in region.blocks:
            for loop in list(_loops(block)):
                _Motion(loop).run()


def _loops(block: Block) -> Iterator[Operation]:
    """The loops of the host, each before those inside of it."""
    for op in block.ops:
        if op.regions and op.name.startswith("scf."):
            if isinstance(op, (ForOp, WhileOp)):
                yield op
            for region in op.regions:
                for inner in region.blocks:
                    yield from _loops(inner)


def _is_movable(op: Operation) -> bool:
    """Whether an op computes a tensor, or a number that one may need, and does nothing else."""
    if kind_of(op) is not None or is_copied(op) or op.name in _PARTS:
        return is_pure(op)
    return op.name.startswith("arith.") and op.name not in _DIVISIONS


def _read_by(op: Operation) -> Iterator[Value]:
    """What an op reads from outside of it, in its regions too."""
    yield from op.operands
    for nested in op.nested_ops() if op.regions else ():
        for value in nested.operands:
            if not _is_inside(value, op):
                yield value


def _is_inside(value: Value, op: Operation) -> bool:
    """Whether a value is made inside of an op."""
    owner = value.defining_op
    if owner is None:
        owner = value.block.parent_op  # type: ignore[attr-defined]
    elif owner is op:
        return False
    return owner is not None and op.is_ancestor_of(owner)


def _work(op: Operation) -> float:
    """Rough instructions of an op."""
    kind = kind_of(op)
    if kind == WHOLE:
        return _WHOLE_COST * sum(map(elements_of, op.results))
    if isinstance(op, LinalgOp):
        least = _PRODUCT_COST if kind == CONTRACTION else 0.0
        return max(least, cost_of(op)) * element_count(op.loop_ranges())
    return cost_of(op) * sum(map(elements_of, op.results))


@dataclass
class _Effort:
    """What it takes to compute the results of an op in the loop: elements that it finds and instructions, those of the
    ops that lead there included."""

    sources: float
    work: float
    readers: list[Operation | None]
    """The ops that could move too; None for others."""
    is_worth_it: bool
    """Whether to read the results takes less."""


class _Motion:
    """One loop, with what is the same in all its iterations."""

    def __init__(self, loop: Operation) -> None:
        self.loop = loop
        #: The ops that could move, in order, with the values from elsewhere that each reads.
        self.invariant: dict[Operation, list[Value]] = {}
        self.efforts: dict[Operation, _Effort] = {}
        #: Those with a place before the loop, and those with one in it.
        self.goes: set[Operation] = set()
        self.remains: set[Operation] = set()

    def run(self) -> None:
        self._find(self.loop)
        for op in self.invariant:
            self.efforts[op] = self._effort(op)
        if not any(effort.is_worth_it for effort in self.efforts.values()):
            return
        for op in reversed(self.invariant):
            self._decide(op)
        if self.goes and not (isinstance(self.loop, ForOp) and points_in_a_kernel(self.loop) is not None):
            self._move()

    def _find(self, loop: Operation) -> None:
        for region in loop.regions:
            for block in region.blocks:
                for op in block.ops:
                    if isinstance(op, (ForOp, WhileOp)):
                        self._find(op)
                    elif _is_movable(op) and all(map(self._is_the_same, _read_by(op))):
                        self.invariant[op] = list(_read_by(op))

    def _is_the_same(self, value: Value) -> bool:
        return value.defining_op in self.invariant or not _is_inside(value, self.loop)

    def _effort(self, op: Operation) -> _Effort:
        sources, work = 0.0, _work(op)
        for value in self.invariant[op]:
            owner = value.defining_op
            before = self.efforts.get(owner)  # type: ignore[arg-type]
            if before is None or (before.is_worth_it and None in before.readers):
                # It is there before the loop anyway.
                if isinstance(value.type, TensorType) and (owner is None or not is_copied(owner)):
                    sources += elements_of(value)
            else:
                # What several ops read is for each of them in part.
                sources += before.sources / len(before.readers)
                work += before.work / len(before.readers)
        readers = [self._reader(use.owner) for result in op.results for use in result.uses]
        results = sum(map(elements_of, op.results))
        is_large = results > max(_MANY_ELEMENTS, _LARGER * sources)
        least = max(_MUCH, results * (_VERY_DEAR if is_large else _DEAR))
        return _Effort(sources, work, readers, work >= least)

    def _reader(self, user: Operation) -> Operation | None:
        """The op that a use is for, if it could move."""
        op: Operation | None = user
        while op is not None and op is not self.loop:
            if op in self.invariant:
                return op
            op = op.parent_op
        return None

    def _decide(self, op: Operation) -> None:
        """Says where an op is needed, after those that read it."""
        effort = self.efforts[op]
        is_read_before = any(reader in self.goes for reader in effort.readers)
        is_read_inside = any(reader is None or reader in self.remains for reader in effort.readers)
        if is_read_before or (is_read_inside and effort.is_worth_it):
            self.goes.add(op)
            # Where constants are is no matter.
            if not is_read_inside or effort.is_worth_it or is_copied(op) or isinstance(op, ConstantOp):
                return
        self.remains.add(op)

    def _move(self) -> None:
        builder = Builder.before(self.loop)
        copies: dict[Value, Value] = {}
        for op, read in self.invariant.items():
            if op not in self.goes:
                continue
            if op in self.remains:
                builder.insert(op.clone(copies))
                continue
            op.move_before(self.loop)
            if any(value in copies for value in read):
                for reader in (op, *op.nested_ops()):
                    reader.set_operands([copies.get(value, value) for value in reader.operands])
