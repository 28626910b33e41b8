"""The device function of a counted loop.

Enters: a loop in blocks: a header that compares, and a body of arithmetic and commands. Leaves: an executable with one
function:

    func.func @loop(%lower: …, %upper: …, %a: !stream.binding, %b: !stream.binding) {
      scf.for %i = %lower to %upper step %c1 iter_args(%x = %a, %y = %b) -> (!stream.binding, !stream.binding) {
        func.call @f(%x, %offset, %y, %offset)
        scf.yield %y, %x
      }
    }
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.cf import BranchOp
from pyiree.compiler.dialects.scf import ForOp, YieldOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Value
from pyiree.compiler.stream.loop_function import LoopFunction
from pyiree.compiler.stream.pack_dispatch_operands import from_words


class CountedFunction(LoopFunction):
    """The function of one loop; a dispatch of it has to be given the lower and the upper bound first."""

    def __init__(self, header: Block, body: Block, counter: int, time: int, step: int, name: str) -> None:
        super().__init__((header, body), name)
        self.body, self.counter, self.time, self.step = body, counter, time, step

    def edges(self) -> Iterable[tuple[BlockArgument, Value]]:
        latch: BranchOp = self.body.terminator  # type: ignore[assignment]
        return zip(self.header.arguments, latch.dest_operands)

    def build(self) -> None:
        """Makes the function and its executable."""
        header = self.header
        type = header.arguments[self.counter].type
        lower, upper = (from_words(self._top, self.function.entry_block, type) for _ in range(2))
        step = self._top.insert(ConstantOp(IntegerAttr(self.step, type))).result
        carried, starts = self._begin((self.counter, self.time))
        inner = Block([type, *[v.type for v in starts]])
        self._values[header.arguments[self.counter]] = inner.arguments[0]
        self._values.update(zip(carried, inner.arguments[1:]))
        builder = Builder.at_end(inner, self.function.location)
        self._do((*header.ops, *self.body.ops), builder)
        handed_on = dict(self.edges())
        builder.insert(YieldOp([self._value(handed_on[a]) for a in carried]))
        self._top.insert(ForOp(lower, upper, step, starts, None, inner))
        self._finish()
