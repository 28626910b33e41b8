"""pyiree-stream-form-while-dispatches: loops of little work that data steers run on the device.

Before: the host waits for every iteration's condition, reads it, and has the device do the next iteration.
After:  one dispatch does iterations until the condition no longer holds, or there were many.

    ^bb1(%a: !stream.resource<external>, %b: …, %t: !stream.timepoint):
      %t1 = stream.cmd.execute await(%t) => with(%a as %x, %flag as %f) { … condition … }
      %f = stream.timepoint.await %t1 => %flag
      %v = stream.resource.load %f[%c0] : … -> i8
      cf.cond_br (trunci %v), ^bb2, ^bb3
    ^bb2:
      %t2 = stream.cmd.execute => with(%a as %x, %b as %y) { … an iteration … }
      cf.br ^bb1(%b, %a, %t2)
    →
    ^bb1(%a, %b, %t):
      %t1 = stream.cmd.execute await(%t) => with(%a as …, %b as …, %state as …) { stream.cmd.dispatch @loop::@loop }
      %s = stream.timepoint.await %t1 => %state
      %n, %holds = stream.resource.load %s[0], %s[8]
      … where the buffers are after so many iterations …
      cf.cond_br %holds, ^bb1(…), ^bb3(…)

The function is `while_function`'s. Buffers that swap places do so in it as well: the number of iterations tells which
of the first ones each is. A dispatch ends after some milliseconds, so that a program can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyiree.compiler.dialects.arith import AddIOp, CmpIOp, ConstantOp, IndexCastOp, RemUIOp, SelectOp, SubIOp, TruncIOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import Type, i1, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.buffer_rounds import Round, buffer_round
from pyiree.compiler.stream.command_costs import commands_nanoseconds, entry_costs, iterations_of_dispatch
from pyiree.compiler.stream.loop_function import commands_of, is_host_arithmetic
from pyiree.compiler.stream.pack_dispatch_operands import words_of
from pyiree.compiler.stream.types import STAGING, TRANSIENT, ResourceAccessAttr, ResourceType, timepoint
from pyiree.compiler.stream.while_function import WORD, WhileFunction, is_staged, numbers_of

#: Buffers may be in so many places.
_MOST_PLACES = 12


@register_pass("pyiree-stream-form-while-dispatches")
def form_while_dispatches(module: ModuleOp, context: PassContext) -> None:
    """Replaces the loops of every host function."""
    symbols = SymbolTable(module)
    costs = entry_costs(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp) and not func.is_declaration:
            loops = [loop for block in func.body.blocks if (loop := _loop_at(block)) is not None]
            for number, loop in enumerate(loops):
                most = iterations_of_dispatch(commands_nanoseconds((*loop.header.ops, *loop.body.ops), costs))
                if most is not None:
                    _Replacement(loop, most, func, symbols, f"{func.sym_name}_while_{number}").run()
            if loops:
                canonicalize(func, context)


@dataclass
class _Loop:
    """A loop in blocks: `header` has the device decide, and reads what it says; `body` does an iteration."""

    header: Block
    body: Block
    entry: Operation
    time: int
    """The number of the timepoint that it carries, or of none."""
    around: Round
    waits: list[Value]

    @property
    def end(self) -> CondBranchOp:
        return self.header.terminator  # type: ignore[return-value]

    def is_inside(self, op: Operation) -> bool:
        """Whether an op is part of the loop."""
        while op.block is not self.header and op.block is not self.body:
            parent = op.parent_op
            if parent is None:
                return False
            op = parent
        return True


def _loop_at(header: Block) -> _Loop | None:
    """The loop that a block begins, if its condition is read from the device."""
    end, before = header.terminator, header.predecessors
    if not isinstance(end, CondBranchOp) or len(before) != 2 or end.true_operands:
        return None
    body = end.true_dest
    if body is header or body is end.false_dest or body not in before or body.predecessors != [header]:
        return None
    latch = body.terminator
    times = [a.index for a in header.arguments if a.type is timepoint]
    if not isinstance(latch, BranchOp) or len(times) != 1:
        return None
    (outside,) = [b for b in before if b is not body]
    around = buffer_round(header, latch.dest_operands)
    if around is None or around.start + around.length > _MOST_PLACES:
        return None
    loop = _Loop(header, body, outside.terminator, times[0], around, [])
    for op in list(header.ops):
        if isinstance(op, ConstantOp):
            op.move_before(loop.entry)
    return loop if _is_straight(loop) else None


def _is_straight(loop: _Loop) -> bool:
    """Whether iterations are arithmetic and commands, the host reads in the header alone, and only what is carried is
    used behind."""
    header, body = loop.header, loop.body
    times: set[Value] = {header.arguments[loop.time]}
    loads = executes = 0
    known = set(numbers_of(header))
    for op in (*header.ops, *body.ops):
        if op is loop.end or op is body.terminator:
            continue
        if isinstance(op, ops.CmdExecuteOp) and commands_of(op) is not None:
            awaited = [op.await_timepoint] if op.await_timepoint is not None else []
            times.add(op.result_timepoint)
            executes += 1
        elif isinstance(op, ops.TimepointJoinOp):
            awaited = list(op.await_timepoints)
            times.add(op.result_timepoint)
        elif isinstance(op, ops.TimepointAwaitOp) and op.block is header:
            awaited = [op.await_timepoint]
        elif isinstance(op, ops.ResourceLoadOp) and op.block is header and not op.result.type.is_float:
            awaited = []
            loads += 1
        elif is_host_arithmetic(op):
            awaited = []
        else:
            return False
        loop.waits += [t for t in awaited if t not in times and t not in loop.waits]
        for result in op.results:
            for user in result.users:
                # An iteration may use numbers of the header that don't depend on what it loads, which it does again.
                if not loop.is_inside(user) or (op.block is header and user.block is not header and op not in known):
                    return False
    handed_on = body.terminator.dest_operands[loop.time]  # type: ignore[attr-defined]
    return loads > 0 and executes > 0 and handed_on in times and _are_known(loop)


def _are_known(loop: _Loop) -> bool:
    """Whether sizes and waits are known before the loop."""
    blocks = (loop.header, loop.body)
    for wait in loop.waits:
        if (wait.block if isinstance(wait, BlockArgument) else wait.defining_op.block) in blocks:  # type: ignore[union-attr]
            return False
    for block in blocks:
        for op in block.ops:
            if not isinstance(op, ops.CmdExecuteOp):
                continue
            for resource, size in zip(op.resource_operands, op.resource_operand_sizes):
                maker = size.defining_op
                varies = not isinstance(maker, ConstantOp) and (maker is None or loop.is_inside(maker))
                if varies or (is_staged(resource) and not isinstance(maker, ConstantOp)):
                    return False
    return True


class _Replacement:
    """One loop on its way into a dispatch."""

    def __init__(self, loop: _Loop, most: int, func: FuncOp, symbols: SymbolTable, name: str) -> None:
        self.loop, self.most, self.func, self.symbols, self.name = loop, most, func, symbols, name

    def run(self) -> None:
        loop = self.loop
        made = self.made = WhileFunction(loop.header, loop.body, loop.time, self.name)
        made.build()
        self.symbols.insert(made.executable, before=self.func)
        behind = self._uses_behind()
        outgoing, target = list(loop.end.false_operands), loop.end.false_dest
        allocated = self._allocate()
        for op in (*loop.body.reversed_ops, *loop.header.reversed_ops):
            op.drop_all_references()
        for block in (loop.body, loop.header):
            for op in list(block.reversed_ops):
                op.detach()
        loop.body.erase()
        for resource in made.staged:
            _drop_unused(resource.defining_op)
        self.builder = Builder.at_end(loop.header, loop.entry.location)
        time = self._execute(allocated)
        words = self._words(time)
        values: dict[int, Value] = {a.index: a for a in loop.header.arguments}
        values[loop.time] = time
        values.update({a.index: self._number(word, a.type) for a, word in zip(made.scalars, words[2:])})
        place = self._place(words[0])
        holds = self.builder.insert(TruncIOp(words[1], out=i1)).result
        leave = self._exit(behind, outgoing, target)
        numbers = [a.index for a in loop.header.arguments]

        def go_on(places: dict[int, int]) -> list[Value]:
            return [values[places.get(number, number)] for number in numbers]

        def go_out(places: dict[int, int]) -> list[Value]:
            return [values[places.get(number, number)] for number in leave.order]

        again, out = self._chain(place, loop.header, go_on), self._chain(place, leave.block, go_out)
        self.builder.insert(CondBranchOp(holds, again[1], out[1], None, again[0], out[0]))

    def _uses_behind(self) -> list[tuple[Operation, int, int]]:
        """The uses of carried values behind the loop."""
        loop = self.loop
        return [
            (use.owner, use.index, argument.index)
            for argument in loop.header.arguments
            for use in argument.uses
            if not loop.is_inside(use.owner)
        ]

    def _allocate(self) -> list[Value]:
        """Allocates memory for what the host reads, before the loop; the times from which on it may be used."""
        builder = Builder.before(self.loop.entry)
        times = []
        self.memory: list[tuple[Value, Value]] = []
        for lifetime, size in ((TRANSIENT, self.made.state_bytes), (STAGING, WORD * (2 + len(self.made.scalars)))):
            bytes_ = builder.insert(ConstantOp(IntegerAttr(size, index))).result
            made = ops.ResourceAllocaOp(
                bytes_, None, None, self.made.affinity, result_=ResourceType(lifetime), result_timepoint=timepoint
            )
            builder.insert(made)
            self.memory.append((made.results[0], bytes_))
            times.append(made.result_timepoint)
        return times

    def _execute(self, allocated: list[Value]) -> Value:
        """The dispatch, and the copy of what it says to the host; its timepoint."""
        builder, made, loop = self.builder, self.made, self.loop
        (state, state_size), (staging, staging_size) = self.memory
        limit = builder.insert(ConstantOp(IntegerAttr(self.most, i64))).result
        words = [w for v in (limit, *made.numbers) for w in words_of(builder, v)]
        resources = [*made.resources, state, staging]
        sizes = [*[self._visible(v) for v in made.sizes], state_size, staging_size]
        body = Block([v.type for v in resources])
        *given, copied = body.arguments
        inner = Builder.at_end(body, loop.entry.location)
        zero = builder.insert(ConstantOp(IntegerAttr(0, index))).result
        written = made.written(loop.around)
        accesses = [ResourceAccessAttr("rw" if v in written else "ro") for v in made.resources]
        accesses = ArrayAttr([*accesses, ResourceAccessAttr("rw")])
        point = ArrayAttr([SymbolRefAttr(made.executable.sym_name, self.name)])
        inner.insert(ops.CmdDispatchOp((), words, given, sizes[:-1], [zero] * len(given), sizes[:-1], point, accesses))
        inner.insert(ops.CmdCopyOp(given[-1], state_size, zero, copied, staging_size, zero, staging_size))
        inner.insert(ops.CmdFlushOp(copied, staging_size, zero, staging_size, made.affinity))
        inner.insert(ops.YieldOp((), ()))
        times = [loop.header.arguments[loop.time], *allocated, *loop.waits]
        time = builder.insert(ops.TimepointJoinOp(times, result_timepoint=timepoint)).result_timepoint
        execute = ops.CmdExecuteOp(resources, sizes, time, None, made.affinity, body=body, result_timepoint=timepoint)
        return builder.insert(execute).result_timepoint

    def _visible(self, value: Value) -> Value:
        """A size of the loop where the dispatch stands: constants are made again."""
        op = value.defining_op
        return self.builder.insert(op.clone()).results[0] if isinstance(op, ConstantOp) else value

    def _words(self, time: Value) -> list[Value]:
        """What the dispatch says: iterations, whether the condition holds, and numbers."""
        builder = self.builder
        _, (staging, size) = self.memory
        (memory,) = builder.insert(ops.TimepointAwaitOp([staging], [size], time)).results
        words = []
        for number in range(2 + len(self.made.scalars)):
            offset = builder.insert(ConstantOp(IntegerAttr(number * WORD, index))).result
            words.append(builder.insert(ops.ResourceLoadOp(memory, size, offset, result=i64)).result)
        return words

    def _number(self, word: Value, type: Type) -> Value:
        if type is i64:
            return word
        cast = IndexCastOp if type.is_index else TruncIOp
        return self.builder.insert(cast(word, out=type)).result

    def _place(self, count: Value) -> Value:
        """Where the buffers are: the fewest iterations after which they are there."""
        around, builder = self.loop.around, self.builder
        start, length = (builder.insert(ConstantOp(IntegerAttr(n, i64))).result for n in (around.start, around.length))
        beyond = builder.insert(SubIOp(count, start)).result
        in_round = builder.insert(AddIOp(start, builder.insert(RemUIOp(beyond, length)).result)).result
        is_before = builder.insert(CmpIOp(count, start, "slt")).result
        return builder.insert(SelectOp(is_before, count, in_round)).result

    def _chain(
        self, place: Value, target: Block, operands: Callable[[dict[int, int]], list[Value]]
    ) -> tuple[Block, list[Value]]:
        """A block from which the host goes to `target`, with what belongs to each place; and what it gets."""
        around = self.loop.around
        *firsts, last = [(number, operands(around.after(number))) for number in range(around.start + around.length)]
        found: tuple[Block, list[Value]] = target, last[1]
        region = self.func.body
        for number, values in reversed(firsts):
            block = Block()
            region.insert(region.blocks.index(self.loop.header) + 1, block)
            builder = Builder.at_end(block, self.loop.entry.location)
            constant = builder.insert(ConstantOp(IntegerAttr(number, i64))).result
            is_here = builder.insert(CmpIOp(place, constant, "eq")).result
            builder.insert(CondBranchOp(is_here, values, found[1], None, target, found[0]))
            found = block, []
        return found

    def _exit(self, behind: list[tuple[Operation, int, int]], outgoing: list[Value], target: Block) -> _Exit:
        """A block behind the loop that takes the carried values which are used there."""
        arguments = self.loop.header.arguments
        used = {number for _, _, number in behind}
        used.update([v.index for v in outgoing if isinstance(v, BlockArgument) and v.block is self.loop.header])
        order = sorted(used)
        block = Block([arguments[number].type for number in order])
        taken = dict(zip(order, block.arguments))
        region = self.func.body
        region.insert(region.blocks.index(self.loop.header) + 1, block)
        given = [
            taken[v.index] if isinstance(v, BlockArgument) and v.block is self.loop.header else v for v in outgoing
        ]
        Builder.at_end(block, self.loop.entry.location).insert(BranchOp(given, target))
        for owner, at, number in behind:
            owner.set_operand(at, taken[number])
        return _Exit(block, order)


def _drop_unused(op: Operation | None) -> None:
    """Takes an allocation away that nothing uses any more."""
    if isinstance(op, ops.ResourceAllocaOp) and not op.results[0].has_uses:
        time = op.await_timepoint
        if time is None:
            time = Builder.before(op).insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
        op.result_timepoint.replace_all_uses_with(time)
        op.erase()


@dataclass
class _Exit:
    """A block, and the numbers of the carried values that it takes."""

    block: Block
    order: list[int]
