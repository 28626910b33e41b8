"""The device function of a loop that goes on as long as a condition holds, and of the loops inside of it.

Enters: a loop in blocks, whose iterations are arithmetic, commands, waits for them, numbers read that they wrote, and
inner loops of the same kind. Leaves: an executable with one function, which does iterations until the condition no
longer holds or there was much work, and then writes what the host has to know: whether the condition still holds, the
numbers that are carried, and the places of those buffers that may be one or another.

    func.func @loop(%limit: …, %a: !stream.binding, %b: !stream.binding, %state: !stream.binding) {
      %r:5 = scf.while (%work = %c0, %x = %a, %place = %c0, %y = %b, …) : … {
        func.call @condition(%x, %offset, %flag, %offset)
        %f = func.call @load_i8(%flag, %offset)
        %holds = arith.trunci %f : i8 to i1
        %more = arith.cmpi slt, %work, %limit
        %go = arith.andi %holds, %more
        scf.condition(%go) %holds, %work, %x, %place, …
      } do { … scf.yield %work + %cost, %y, …, %x, … }
      func.call @fill_64(%r#0, %state, %c0, %c8)
      …
    }

Work is counted in nanoseconds, as they are estimated. A buffer goes together with its place, the number of the
dispatch's resource that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyiree.compiler.dialects.arith import AddIOp, AndIOp, CmpIOp, ConstantOp, ExtSIOp, ExtUIOp, IndexCastOp
from pyiree.compiler.dialects.func import CallOp
from pyiree.compiler.dialects.scf import ConditionOp, WhileOp, YieldOp
from pyiree.compiler.ir.attributes import IntegerAttr, StringAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.types import Type, bit_width, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.loop_function import COMMAND, LoopFunction, is_host_arithmetic
from pyiree.compiler.stream.loop_nest import LoopNest
from pyiree.compiler.stream.pack_dispatch_operands import from_words
from pyiree.compiler.stream.types import STAGING, BindingType, is_resource, timepoint

#: Bytes of a number that the host reads afterwards: whether the condition holds, then the others.
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
    """The function of one loop. A dispatch of it has to be given: the most work, then `numbers`, then `resources` of
    `sizes`, and last memory of `state_bytes`, which begins with a word, one for each of `scalars`, and one for each of
    `moved`: the carried resources that may be one of several."""

    def __init__(self, nest: LoopNest, costs: dict[Block, int], name: str) -> None:
        super().__init__(nest.blocks(), name)
        self.nest, self._costs = nest, costs
        self.scalars: list[BlockArgument] = []
        self.moved: list[BlockArgument] = []
        #: For a resource in the loop, the numbers of those in `resources` that it may be.
        self.choices: dict[Value, list[int]] = {}
        self.state_bytes = 0
        #: Where in it those resources lie that the host reads in every iteration, which dispatches can't write.
        self.staged: dict[Value, int] = {}
        self._places: dict[Value, Value] = {}
        self._waited: dict[Value, Value] = {}

    def edges(self) -> Iterable[tuple[BlockArgument, Value]]:
        return self.nest.edges()

    @property
    def is_known(self) -> bool:
        """Whether it is known, once it is built, where all carried resources are afterwards."""
        return all(
            self._is_needed(a) or v is a
            for a, v in zip(self.header.arguments, self.nest.handed_on)
            if is_resource(a.type)
        )

    @property
    def words(self) -> int:
        """How many numbers the host reads afterwards."""
        return 1 + len(self.scalars) + len(self.moved)

    def build(self) -> None:
        """Makes the function and its executable."""
        limit = from_words(self._top, self.function.entry_block, i64)
        carried, starts = self._begin((self.nest.time,))
        for _, value in self.edges():
            if is_resource(value.type) and not self._is_inside(value) and value in self._sizes_by_resource:
                self._binding(value)
        self._find_choices(carried)
        self.scalars = [a for a in carried if not is_resource(a.type)]
        self.moved = [a for a in carried if is_resource(a.type) and self.choices[a] != [self.resources.index(a)]]
        state = self._state = self.function.entry_block.add_argument(BindingType())
        self._lay_out_state()
        self._values.update(zip(carried, starts))
        zero = self._top.insert(ConstantOp(IntegerAttr(0, i64))).result
        _, holds = self._loop(self.nest, self._top, zero, limit, [self._there(a) for a in carried])
        words = [holds, *map(self._value, self.scalars), *map(self._place, self.moved)]
        for number, value in enumerate(words):
            self._store(value, state, number)
        self._finish()

    def _find_choices(self, carried: Sequence[BlockArgument]) -> None:
        found: dict[Value, set[int]] = {v: {n} for n, v in enumerate(self.resources)}
        edges = [(a, v) for a, v in self.edges() if is_resource(a.type)]
        changed = True
        while changed:
            changed = False
            for argument, value in edges:
                known, more = found.setdefault(argument, set()), found.get(value, set())
                changed |= not more <= known
                known |= more
        self.choices = {value: sorted(numbers) for value, numbers in found.items()}

    def _lay_out_state(self) -> None:
        self.state_bytes = WORD * self.words
        for execute in self._executes():
            for resource, size in zip(execute.resource_operands, execute.resource_operand_sizes):
                if self._is_own(resource) and resource not in self.staged:
                    self.staged[resource] = self.state_bytes
                    self.state_bytes += -(-size.defining_op.value.value // WORD) * WORD  # type: ignore[union-attr]

    # Loops.

    def _loop(
        self, nest: LoopNest, builder: Builder, work: Value, limit: Value | None, starts: Sequence[list[Value]]
    ) -> tuple[Value, Value]:
        """A loop that begins with these values; afterwards its arguments stand for what they are in the end. Returns
        the work that was done until then, and whether the condition holds; it may with a limit only."""
        carried = [a for a in nest.header.arguments if a.type is not timepoint and self._is_needed(a)]
        inits = [work, *[v for values in starts for v in values]]
        types = [v.type for v in inits]
        before = Block(types)
        self._take(carried, before.arguments[1:])
        header = Builder.at_end(before, self.function.location)
        self._do(nest.header.ops, header)
        holds = go = self._value(nest.end.condition)
        if limit is not None:
            more = header.insert(CmpIOp(before.arguments[0], limit, "slt")).result
            go = header.insert(AndIOp(holds, more)).result
        header.insert(ConditionOp(go, [holds, *before.arguments]))
        after = Block([holds.type, *types])
        self._take(carried, after.arguments[2:])
        body = Builder.at_end(after, self.function.location)
        # Numbers of the header are computed again, from what is carried here.
        self._do(numbers_of(nest.header), body)
        own = body.insert(ConstantOp(IntegerAttr(self._costs[nest.header], i64))).result
        done = body.insert(AddIOp(after.arguments[1], own)).result
        for part in nest.parts:
            if isinstance(part, LoopNest):
                done = self._inner(part, nest, body, done)
            else:
                self._do(part.ops, body)
        handed_on = dict(zip(nest.header.arguments, nest.handed_on))
        columns = [v for a in carried for v in self._there(a, handed_on[a])]
        body.insert(YieldOp([done, *columns]))
        loop = WhileOp(inits, Region(before), Region(after), results=[holds.type, *types])
        builder.insert(loop)
        self._take(carried, loop.results[2:])
        return loop.results[1], loop.results[0]

    def _inner(self, nest: LoopNest, around: LoopNest, builder: Builder, work: Value) -> Value:
        """A loop inside of `around`; returns the work that was done until then."""
        begins = dict(zip(nest.header.arguments, nest.starts))
        carried = [a for a in nest.header.arguments if a.type is not timepoint and self._is_needed(a)]
        work, _ = self._loop(nest, builder, work, None, [self._there(a, begins[a]) for a in carried])
        behind = nest.end.false_dest
        if behind is not around.header:  # else these are what `around` hands on
            for argument, value in zip(behind.arguments, nest.end.false_operands):
                if argument.type is not timepoint and self._is_needed(argument):
                    self._take([argument], self._there(argument, value))
        return work

    def _there(self, argument: BlockArgument, value: Value | None = None) -> list[Value]:
        """What an argument is given as: a number, or a buffer and its place."""
        value = argument if value is None else value
        return [self._value(value), self._place(value)] if is_resource(argument.type) else [self._value(value)]

    def _take(self, arguments: Sequence[BlockArgument], values: Iterable[Value]) -> None:
        """Lets arguments stand for what they are given."""
        given = iter(values)
        for argument in arguments:
            self._values[argument] = next(given)
            if is_resource(argument.type):
                self._places[argument] = next(given)

    def _place(self, resource: Value) -> Value:
        found = self._places.get(resource)
        if found is None:
            number = IntegerAttr(self.resources.index(resource), i64)
            found = self._places[resource] = self._top.insert(ConstantOp(number)).result
        return found

    # What is in blocks.

    def _do(self, host_ops: Iterable[Operation], builder: Builder) -> None:
        for op in host_ops:
            if isinstance(op, ops.TimepointAwaitOp):
                for result, resource in zip(op.results, op.resource_operands):
                    self._waited[result] = resource
            elif isinstance(op, ops.ResourceLoadOp):
                operands = self._memory(self._waited.get(op.source, op.source), op.source_offset, builder)
                type: Type = op.result.type
                callee = self._declared(f"load_{type}", COMMAND, StringAttr("load"), operands, (type,))
                call = builder.insert(CallOp(callee=callee, operands=operands, results=[type]))
                self._values[op.result] = call.results[0]
            else:
                super()._do([op], builder)

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
