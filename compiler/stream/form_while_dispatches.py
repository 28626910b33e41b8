"""pyiree-stream-form-while-dispatches: loops of little work that data steers run on the device.

Before: the host waits for every iteration's condition, reads it, and has the device do the next iteration.
After:  one dispatch does iterations until the condition no longer holds, or there was much work.

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
      %holds, %place = stream.resource.load %s[0], %s[8]
      %x = arith.select (%place is 0), %a, %b
      cf.cond_br %holds, ^bb1(%x, …), ^bb3(%x, …)

The function is `while_function`'s. Inner loops are part of it if they go round so many times at most: a dispatch ends
after some milliseconds, so that a program can be interrupted, and an inner loop can't be left in between. Any other
inner loop is a dispatch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, IndexCastOp, SelectOp, TruncIOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import IntegerType, Type, i1, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.command_costs import (
    Costs,
    commands_nanoseconds,
    entry_costs,
    is_little,
    nanoseconds_of_dispatch,
)
from pyiree.compiler.stream.fuse_dispatch_bindings import MAX_BINDINGS
from pyiree.compiler.stream.loop_function import commands_of, is_host_arithmetic
from pyiree.compiler.stream.loop_nest import LoopNest, most_iterations, nest_at
from pyiree.compiler.stream.pack_dispatch_operands import words_of
from pyiree.compiler.stream.types import STAGING, TRANSIENT, ResourceAccessAttr, ResourceType, is_resource, timepoint
from pyiree.compiler.stream.while_function import WORD, WhileFunction, is_staged, numbers_of
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Inner loops, which can't be interrupted, may take so long in all.
_LONGEST_INNER = 1e9


@register_pass("pyiree-stream-form-while-dispatches")
def form_while_dispatches(module: ModuleOp, context: PassContext) -> None:
    """Replaces the loops of every host function, outer ones first."""
    symbols = SymbolTable(module)
    costs = entry_costs(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp) and not func.is_declaration:
            number = 0
            while (made := _next_function(func, costs, f"{func.sym_name}_while_{number}")) is not None:
                _Replacement(*made, func, symbols).run()
                number += 1
            if number:
                canonicalize(func, context)


def _next_function(func: FuncOp, costs: Costs, name: str) -> tuple[WhileFunction, list[Value]] | None:
    """The function of the first loop that can be replaced, and what it has to wait for."""
    for block in func.body.blocks:
        nest = nest_at(block)
        if nest is None:
            continue
        for inner in nest.nests():
            for op in [op for op in inner.header.ops if isinstance(op, ConstantOp)]:
                op.move_before(nest.entry)
        loop = _DeviceLoop(nest, costs)
        if not loop.is_straight():
            continue
        made = WhileFunction(nest, loop.work, name)
        made.build()
        # One more binding is the function's own memory.
        if made.is_known and len(made.resources) < MAX_BINDINGS:
            return made, loop.waits
    return None


class _DeviceLoop:
    """Whether the device can do a loop, and what the work of its iterations is."""

    def __init__(self, nest: LoopNest, costs: Costs) -> None:
        self.nest, self.costs = nest, costs
        self.blocks = nest.blocks()
        #: Timepoints from before the loop that its commands wait for.
        self.waits: list[Value] = []
        #: The nanoseconds of an iteration of each loop, without inner ones, by its header.
        self.work: dict[Block, int] = {}

    def is_straight(self) -> bool:
        """Whether iterations are arithmetic, commands and numbers read, of little work, and nothing but what is carried
        is used behind."""
        nest = self.nest
        if not self._is_worth_it() or not all(map(self._is_simple, nest.nests())) or self._longest(nest) is None:
            return False
        return all(self._is_known(op) for block in self.blocks for op in block.ops if op is not block.terminator)

    def _is_worth_it(self) -> bool:
        """Whether the host would be asked in between; counted loops of commands alone are another pass's."""
        loads = any(isinstance(op, ops.ResourceLoadOp) for op in self.nest.header.ops)
        executes = any(isinstance(op, ops.CmdExecuteOp) for block in self.blocks for op in block.ops)
        return executes and (loads or bool(self.nest.inner))

    def _longest(self, nest: LoopNest) -> float | None:
        """The nanoseconds of an iteration if inner loops go round as often as they may."""
        straight = [nest.header, *[part for part in nest.parts if isinstance(part, Block)]]
        own = commands_nanoseconds([op for block in straight for op in block.ops], self.costs)
        if own is None or not is_little(own):
            return None
        self.work[nest.header] = max(1, round(own))
        total = own
        for inner in nest.inner:
            each, most = self._longest(inner), most_iterations(inner)
            if each is None or most is None or each * most > _LONGEST_INNER:
                return None
            total += each * most
        return total

    def _is_simple(self, nest: LoopNest) -> bool:
        """Whether a loop carries what a device knows, and nothing of its header is used in other ways than that."""
        for argument in nest.header.arguments:
            type = argument.type
            if not (is_resource(type) or type is timepoint or type.is_index or isinstance(type, IntegerType)):
                return False
        inside, known = nest.blocks(), set(numbers_of(nest.header))
        for op in nest.header.ops:
            for result in op.results:
                for user in result.users:
                    # Iterations may use numbers that don't depend on what is loaded, which they do again.
                    around = _block_around(user, inside)
                    if around is None or (around is not nest.header and op not in known):
                        return False
        return not any(_defined_in(value, nest.header) for value in nest.end.false_operands)

    def _is_known(self, op: Operation) -> bool:
        """Whether the device can do an op."""
        for result in op.results:
            if any(_block_around(user, self.blocks) is None for user in result.users):
                return False
        if isinstance(op, ops.CmdExecuteOp):
            self._wait_for([op.await_timepoint] if op.await_timepoint is not None else [])
            return commands_of(op) is not None and self._has_known_sizes(op)
        if isinstance(op, ops.TimepointJoinOp):
            self._wait_for(op.await_timepoints)
            return True
        if isinstance(op, ops.TimepointAwaitOp):
            self._wait_for([op.await_timepoint])
            return all(isinstance(user, ops.ResourceLoadOp) for result in op.results for user in result.users)
        if isinstance(op, ops.ResourceLoadOp):
            return not op.result.type.is_float
        return is_host_arithmetic(op)

    def _wait_for(self, times: Iterable[Value]) -> None:
        self.waits += [t for t in times if not self._is_inside(t) and t not in self.waits]

    def _has_known_sizes(self, execute: ops.CmdExecuteOp) -> bool:
        for resource, size in zip(execute.resource_operands, execute.resource_operand_sizes):
            is_constant = isinstance(size.defining_op, ConstantOp)
            if not is_constant and (self._is_inside(size) or is_staged(resource)):
                return False
        return True

    def _is_inside(self, value: Value) -> bool:
        block = value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr]
        return block in self.blocks


def _block_around(op: Operation, blocks: Sequence[Block]) -> Block | None:
    """Which of some blocks an op is in."""
    at: Operation | None = op
    while at is not None and at.block not in blocks:
        at = at.parent_op
    return None if at is None else at.block


def _defined_in(value: Value, block: Block) -> bool:
    op = value.defining_op
    return op is not None and op.block is block


class _Replacement:
    """One loop on its way into a dispatch."""

    def __init__(self, made: WhileFunction, waits: Sequence[Value], func: FuncOp, symbols: SymbolTable) -> None:
        self.made, self.waits, self.func, self.symbols = made, waits, func, symbols
        self.nest, self.blocks = made.nest, made.nest.blocks()
        self.location = made.nest.entry.location

    def run(self) -> None:
        made, header = self.made, self.nest.header
        self.symbols.insert(made.executable, before=self.func)
        written, behind = made.written(), self._uses_behind()
        outgoing, target = list(self.nest.end.false_operands), self.nest.end.false_dest
        allocated = self._allocate()
        self._clear()
        for resource in made.staged:
            _drop_unused(resource.defining_op)
        self.builder = Builder.at_end(header, self.location)
        time = self._execute(allocated, written)
        holds, *words = self._words(time)
        values: dict[int, Value] = {a.index: a for a in header.arguments}
        values[self.nest.time] = time
        for argument, word in zip((*made.scalars, *made.moved), words):
            if is_resource(argument.type):
                values[argument.index] = self._chosen(argument, word)
            else:
                values[argument.index] = self._number(word, argument.type)
        condition = self.builder.insert(TruncIOp(holds, out=i1)).result
        leave = self._exit(behind, outgoing, target)
        again = [values[a.index] for a in header.arguments]
        out = [values[number] for number in leave.order]
        self.builder.insert(CondBranchOp(condition, again, out, None, header, leave.block))

    def _uses_behind(self) -> list[tuple[Operation, int, int]]:
        """The uses of carried values behind the loop."""
        return [
            (use.owner, use.index, argument.index)
            for argument in self.nest.header.arguments
            for use in argument.uses
            if _block_around(use.owner, self.blocks) is None
        ]

    def _clear(self) -> None:
        """Takes the ops and all blocks but the first away."""
        for block in self.blocks:
            for op in block.ops:
                op.drop_all_references()
        for block in self.blocks:
            for op in list(block.reversed_ops):
                op.detach()
        for block in self.blocks[1:]:
            block.erase()

    def _allocate(self) -> list[Value]:
        """Allocates memory for what the host reads, before the loop; the times from which on it may be used."""
        builder = Builder.before(self.nest.entry)
        times = []
        self.memory: list[tuple[Value, Value]] = []
        for lifetime, size in ((TRANSIENT, self.made.state_bytes), (STAGING, WORD * self.made.words)):
            bytes_ = builder.insert(ConstantOp(IntegerAttr(size, index))).result
            made = ops.ResourceAllocaOp(
                bytes_, None, None, self.made.affinity, result_=ResourceType(lifetime), result_timepoint=timepoint
            )
            builder.insert(made)
            self.memory.append((made.results[0], bytes_))
            times.append(made.result_timepoint)
        return times

    def _execute(self, allocated: list[Value], written: set[Value]) -> Value:
        """The dispatch, and the copy of what it says to the host; its timepoint."""
        builder, made = self.builder, self.made
        (state, state_size), (staging, staging_size) = self.memory
        limit = builder.insert(ConstantOp(IntegerAttr(nanoseconds_of_dispatch(), i64))).result
        words = [w for v in (limit, *made.numbers) for w in words_of(builder, v)]
        resources = [*made.resources, state, staging]
        sizes = [*[self._visible(v) for v in made.sizes], state_size, staging_size]
        body = Block([v.type for v in resources])
        *given, copied = body.arguments
        inner = Builder.at_end(body, self.location)
        zero = builder.insert(ConstantOp(IntegerAttr(0, index))).result
        accesses = [ResourceAccessAttr("rw" if v in written else "ro") for v in made.resources]
        accesses = ArrayAttr([*accesses, ResourceAccessAttr("rw")])
        point = ArrayAttr([SymbolRefAttr(made.executable.sym_name, made.name)])
        inner.insert(ops.CmdDispatchOp((), words, given, sizes[:-1], [zero] * len(given), sizes[:-1], point, accesses))
        inner.insert(ops.CmdCopyOp(given[-1], state_size, zero, copied, staging_size, zero, staging_size))
        inner.insert(ops.CmdFlushOp(copied, staging_size, zero, staging_size, made.affinity))
        inner.insert(ops.YieldOp((), ()))
        times = [self.nest.header.arguments[self.nest.time], *allocated, *self.waits]
        time = builder.insert(ops.TimepointJoinOp(times, result_timepoint=timepoint)).result_timepoint
        execute = ops.CmdExecuteOp(resources, sizes, time, None, made.affinity, body=body, result_timepoint=timepoint)
        return builder.insert(execute).result_timepoint

    def _visible(self, value: Value) -> Value:
        """A size of the loop where the dispatch stands: constants are made again."""
        op = value.defining_op
        return self.builder.insert(op.clone()).results[0] if isinstance(op, ConstantOp) else value

    def _words(self, time: Value) -> list[Value]:
        """What the dispatch says: whether the condition holds, numbers, and the places of buffers."""
        builder = self.builder
        _, (staging, size) = self.memory
        (memory,) = builder.insert(ops.TimepointAwaitOp([staging], [size], time)).results
        words = []
        for number in range(self.made.words):
            offset = builder.insert(ConstantOp(IntegerAttr(number * WORD, index))).result
            words.append(builder.insert(ops.ResourceLoadOp(memory, size, offset, result=i64)).result)
        return words

    def _number(self, word: Value, type: Type) -> Value:
        if type is i64:
            return word
        cast = IndexCastOp if type.is_index else TruncIOp
        return self.builder.insert(cast(word, out=type)).result

    def _chosen(self, argument: BlockArgument, place: Value) -> Value:
        """The one of the buffers that a carried one may be which it is now."""
        *numbers, last = self.made.choices[argument]
        found = self.made.resources[last]
        for number in numbers:
            constant = self.builder.insert(ConstantOp(IntegerAttr(number, i64))).result
            is_here = self.builder.insert(CmpIOp(place, constant, "eq")).result
            found = self.builder.insert(SelectOp(is_here, self.made.resources[number], found)).result
        return found

    def _exit(self, behind: list[tuple[Operation, int, int]], outgoing: list[Value], target: Block) -> _Exit:
        """A block behind the loop that takes the carried values which are used there."""
        header = self.nest.header
        used = {number for _, _, number in behind}
        used.update([v.index for v in outgoing if isinstance(v, BlockArgument) and v.block is header])
        order = sorted(used)
        block, region = Block([header.arguments[number].type for number in order]), self.func.body
        region.insert(region.blocks.index(header) + 1, block)
        taken = dict(zip(order, block.arguments))
        given = [taken[v.index] if isinstance(v, BlockArgument) and v.block is header else v for v in outgoing]
        Builder.at_end(block, self.location).insert(BranchOp(given, target))
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
