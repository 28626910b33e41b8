"""The device function of a loop that goes on as long as a condition holds.

Enters: a loop in blocks: a header that does commands, waits for them and reads numbers that they wrote; and a body of
arithmetic and commands. Leaves: an executable with one function, which does at most so many iterations and then writes
what the host has to know: how many there were, whether the condition still holds, and the numbers that it carries.

    func.func @loop(%limit: …, %a: !stream.binding, %b: !stream.binding, %state: !stream.binding) {
      %r:4 = scf.while (%n = %c0, %x = %a, %y = %b) : … {
        func.call @condition(%x, %offset, %flag, %offset)
        %f = func.call @load_i8(%flag, %offset)
        %holds = arith.trunci %f : i8 to i1
        %more = arith.cmpi slt, %n, %limit
        %go = arith.andi %holds, %more
        scf.condition(%go) %n, %holds, %x, %y
      } do { … scf.yield %n + 1, %y, %x }
      func.call @fill_64(%r#0, %state, %c0, %c8)
      …
    }
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, AndIOp, CmpIOp, ConstantOp, ExtSIOp, ExtUIOp, IndexCastOp
from pyiree.compiler.dialects.cf import CondBranchOp
from pyiree.compiler.dialects.func import CallOp
from pyiree.compiler.dialects.scf import ConditionOp, WhileOp, YieldOp
from pyiree.compiler.ir.attributes import IntegerAttr, StringAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.types import bit_width, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.loop_function import COMMAND, LoopFunction, is_host_arithmetic
from pyiree.compiler.stream.pack_dispatch_operands import from_words
from pyiree.compiler.stream.types import STAGING, BindingType, is_resource

#: Bytes of a number that the host reads afterwards: the iterations, whether the condition holds, then the others.
WORD = 8


def numbers_of(header: Block) -> list[Operation]:
    """The arithmetic of a header that does not depend on what it loads."""
    loaded: set[Value] = set()
    found = []
    for op in header.ops:
        if isinstance(op, ops.ResourceLoadOp) or any(v in loaded for v in op.operands):
            loaded.update(op.results)
        elif is_host_arithmetic(op):
            found.append(op)
    return found


def is_staged(resource: Value) -> bool:
    """Whether the host reads a resource."""
    return is_resource(resource.type) and resource.type.lifetime == STAGING  # type: ignore[attr-defined]


class WhileFunction(LoopFunction):
    """The function of one loop. A dispatch of it has to be given: the most iterations, then `numbers`, then `resources`
    of `sizes`, and last memory of `state_bytes`, which begins with `2 + len(scalars)` words."""

    def __init__(self, header: Block, body: Block, time: int, name: str) -> None:
        super().__init__(header, body, time, time, 1, name)
        self.scalars: list[BlockArgument] = []
        self.state_bytes = 0
        #: Where in it those resources lie that the host reads in every iteration, which dispatches can't write.
        self.staged: dict[Value, int] = {}

    def build(self) -> None:
        """Makes the function and its executable."""
        limit = from_words(self._top, self.function.entry_block, i64)
        zero = self._top.insert(ConstantOp(IntegerAttr(0, i64))).result
        carried, starts = self._begin((self.time,))
        self.scalars = [a for a in carried if not is_resource(a.type)]
        state = self._state = self.function.entry_block.add_argument(BindingType())
        self.state_bytes = WORD * (2 + len(self.scalars))
        for execute in self._executes():
            for resource, size in zip(execute.resource_operands, execute.resource_operand_sizes):
                if self._is_own(resource) and resource not in self.staged:
                    self.staged[resource] = self.state_bytes
                    self.state_bytes += -(-size.defining_op.value.value // WORD) * WORD  # type: ignore[union-attr]
        types = [v.type for v in starts]
        before = Block([i64, *types])
        count, *values = before.arguments
        self._values.update(zip(carried, values))
        builder = Builder.at_end(before, self.function.location)
        self._header(builder)
        end: CondBranchOp = self.header.terminator  # type: ignore[assignment]
        holds = self._value(end.condition)
        more = builder.insert(CmpIOp(count, limit, "slt")).result
        go = builder.insert(AndIOp(holds, more)).result
        builder.insert(ConditionOp(go, [count, holds, *values]))
        after = Block([i64, holds.type, *types])
        done, _, *values = after.arguments
        self._values.update(zip(carried, values))
        # Numbers of the header are computed again, from what is carried here.
        builder = Builder.at_end(after, self.function.location)
        self._do(numbers_of(self.header), builder)
        self._do(self.body.ops, builder)
        one = builder.insert(ConstantOp(IntegerAttr(1, i64))).result
        following = builder.insert(AddIOp(done, one)).result
        builder.insert(YieldOp([following, *self._handed_on(carried)]))
        loop = WhileOp([zero, *starts], Region(before), Region(after), results=[i64, holds.type, *types])
        self._top.insert(loop)
        found = dict(zip(carried, loop.results[2:]))
        for number, value in enumerate((*loop.results[:2], *[found[a] for a in self.scalars])):
            self._store(value, state, number)
        self._finish()

    def _header(self, builder: Builder) -> None:
        """What decides: commands, and loads of what they wrote."""
        memory: dict[Value, Value] = {}
        for op in self.header.ops:
            if isinstance(op, ops.TimepointAwaitOp):
                memory.update(zip(op.results, op.resource_operands))
            elif isinstance(op, ops.ResourceLoadOp):
                operands = self._memory(memory.get(op.source, op.source), op.source_offset, builder)
                type = op.result.type
                callee = self._declared(f"load_{type}", COMMAND, StringAttr("load"), operands, (type,))
                call = builder.insert(CallOp(callee=callee, operands=operands, results=[type]))
                self._values[op.result] = call.results[0]
            else:
                self._do([op], builder)

    def _is_own(self, resource: Value) -> bool:
        return is_staged(resource)

    def _memory(self, resource: Value, offset: Value, builder: Builder) -> list[Value]:
        if resource not in self.staged:
            return super()._memory(resource, offset, builder)
        start = builder.insert(ConstantOp(IntegerAttr(self.staged[resource], index))).result
        return [self._state, builder.insert(AddIOp(self._value(offset), start)).result]

    def _store(self, value: Value, state: Value, number: int) -> None:
        """Writes a word for the host."""
        top = self._top
        if value.type.is_index:
            value = top.insert(IndexCastOp(value, out=i64)).result
        elif bit_width(value.type) == 1:
            value = top.insert(ExtUIOp(value, out=i64)).result
        elif bit_width(value.type) < 64:
            value = top.insert(ExtSIOp(value, out=i64)).result
        offset, length = (top.insert(ConstantOp(IntegerAttr(n, index))).result for n in (number * WORD, WORD))
        operands = [value, state, offset, length]
        callee = self._declared("fill_64", COMMAND, StringAttr("fill"), operands)
        top.insert(CallOp(callee=callee, operands=operands, results=()))
