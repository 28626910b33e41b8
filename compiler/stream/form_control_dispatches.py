"""pyiree-stream-form-control-dispatches: loops of little work run on the device, whatever their blocks do.

Before: the host goes through the blocks of a loop, waits for conditions, reads them, and has the device do the work of
one block after the other.
After:  one dispatch goes through the blocks until the loop is left, or there was much work.

    ^bb0:
      cf.br ^bb1(%n, %a, %t)
    ^bb1(%i: i32, %x: !stream.resource<…>, %u: !stream.timepoint):
      %t1 = stream.cmd.execute await(%u) => with(…) { … condition … }
      …
      cf.cond_br %holds, ^bb2, ^bb7
    ^bb2 …:                            inner loops, branches
    ^bb7:
      … %x …
    →
    ^bb0:
      cf.br ^bb1(%c1, %t)
    ^bb1(%first: i64, %u: !stream.timepoint):
      %t1 = stream.cmd.execute await(%u) => with(%a as …, %b as …, %state as …) { stream.cmd.dispatch @loop::@loop }
      %s = stream.timepoint.await %t1 => %state
      %at, %place = stream.resource.load %s[0], %s[8]
      %y = arith.select (%place is 0), %a, %b
      cf.cond_br (%at is the exit), ^bb7, ^bb1(%c0, %t1)
    ^bb7:
      … %y …

The function is `control_function`'s. A dispatch ends after some milliseconds, so that a program can be interrupted. It
also ends where the loop comes to a block that only the host can do, such as the call of a Python function; the block
then goes back to ^bb1, with the number of the way by which the loop is entered again.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.dialects.arith import CmpIOp, ConstantOp, IndexCastOp, SelectOp, TruncIOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp, SwitchOp
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import TensorType, Type, i32, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.branch_allocations import remove_deallocations
from pyiree.compiler.stream.command_costs import (
    Costs,
    commands_nanoseconds,
    entry_costs,
    is_little,
    nanoseconds_of_dispatch,
)
from pyiree.compiler.stream.control_function import WORD, ControlFunction, is_choice, is_staged
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.fuse_dispatch_bindings import MAX_BINDINGS
from pyiree.compiler.stream.loop_function import commands_of, is_host_arithmetic
from pyiree.compiler.stream.loop_region import LoopRegion, block_of, edges_of, loops_of
from pyiree.compiler.stream.pack_dispatch_operands import words_of
from pyiree.compiler.stream.types import STAGING, TRANSIENT, ResourceAccessAttr, ResourceType, is_resource, timepoint

#: Numbers from before a loop that a dispatch can be given, of up to two words each.
_MOST_NUMBERS = 20


@register_pass("pyiree-stream-form-control-dispatches")
def form_control_dispatches(module: ModuleOp, context: PassContext) -> None:
    """Replaces the loops of every host function, outer ones first."""
    symbols = SymbolTable(module)
    costs = entry_costs(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp) and not func.is_declaration:
            number = 0
            while (made := _next_function(func, costs, f"{func.sym_name}_control_{number}")) is not None:
                _Replacement(*made, func, symbols).run()
                number += 1
            if number:
                canonicalize(func, context)


def _next_function(func: FuncOp, costs: Costs, name: str) -> tuple[ControlFunction, _DeviceLoop] | None:
    """The function of the first loop that can be replaced, and what is known of that."""
    known: dict[Block, bool] = {}

    def can_do(block: Block) -> bool:
        if block not in known:
            known[block] = _can_do(block, costs)
        return known[block]

    for loop in loops_of(func.body.blocks, can_do):
        device = _DeviceLoop(loop, costs)
        if not device.is_possible():
            continue
        made = ControlFunction(loop, device.work, name)
        if made.build(MAX_BINDINGS) and len(made.numbers) <= _MOST_NUMBERS:
            return made, device
    return None


class _DeviceLoop:
    """Whether the device can do a loop, and what the work of its blocks is."""

    def __init__(self, loop: LoopRegion, costs: Costs) -> None:
        self.loop, self.costs = loop, costs
        #: Timepoints from before the loop that its commands wait for.
        self.waits: list[Value] = []
        #: Where blocks of the host wait for others of theirs that the device has waited for in between: ops and places
        #: among their operands.
        self.waited: list[tuple[Operation, int]] = []
        #: The nanoseconds of each block.
        self.work: dict[Block, int] = {}

    def is_possible(self) -> bool:
        """Whether the host would be asked in between, and knows the sizes of what the commands use: counted loops of
        commands alone are another pass's."""
        blocks = self.loop.blocks
        listed = [op for block in blocks for op in block.ops if op is not block.terminator]
        executes = [op for op in listed if isinstance(op, ops.CmdExecuteOp)]
        # One device does it all; work without a device is done where the rest is.
        if not executes or len({op.affinity for op in executes} - {None}) > 1:
            return False
        if not any(isinstance(op, ops.ResourceLoadOp) for op in listed) and all(map(_only_counts, blocks)):
            return False
        for block in blocks:
            self.work[block] = max(1, round(commands_nanoseconds(block.ops, self.costs) or 0))
        self._wait_for(v for v in self.loop.entries[0].operands if v.type is timepoint)
        if not all(map(self._has_known_sizes, executes)):
            return False
        for op in listed:
            self._wait_for(v for v in op.operands if v.type is timepoint)
        return self._is_apart_from_the_host()

    def _is_apart_from_the_host(self) -> bool:
        """Whether the device, and the host where it comes to a block from the device, needs nothing of what the host
        makes in its own blocks, but the times at which it is done, of which the block knows that goes back to the
        device."""
        loop = self.loop
        for block in loop.hosted:
            goes_back = all(edge.dest in loop.blocks for edge in edges_of(block))
            for value in (*block.arguments, *[result for op in block.ops for result in op.results]):
                outside = any(loop.block_around(user) is not None for user in value.users)
                handed_on = any(value in edge.operands for edge in loop.entries[1:])
                later = [(use.owner, use.index) for use in value.uses if self._is_later(use.owner, block)]
                if (outside or handed_on or later) and not (value.type is timepoint and goes_back):
                    return False
                self.waited += later
        return True

    def _is_later(self, user: Operation, block: Block) -> bool:
        """Whether an op is in a block of the host that it comes to from the device, after another of its blocks."""
        around = self.loop.host_around(user)
        return around is not None and around is not block and not self.loop.stays_with_host(block, around)

    def _wait_for(self, times: Iterable[Value]) -> None:
        hosted = self.loop.hosted
        for time in times:
            made_by_host = block_of(time) in hosted
            if not self.loop.is_inside(time) and not made_by_host and time not in self.waits:
                self.waits.append(time)

    def _has_known_sizes(self, execute: ops.CmdExecuteOp) -> bool:
        for resource, size in zip(execute.resource_operands, execute.resource_operand_sizes):
            is_constant = isinstance(size.defining_op, ConstantOp)
            if not is_constant and (self.loop.is_inside(size) or is_staged(resource)):
                return False
        return True


def _can_do(block: Block, costs: Costs) -> bool:
    """Whether the device can do a block: arithmetic, commands of little work, numbers read, then a branch."""
    work = commands_nanoseconds(block.ops, costs)
    if work is None or not is_little(work) or not isinstance(block.terminator, BranchOp | CondBranchOp | SwitchOp):
        return False
    if any(is_staged(argument) or argument.type.is_float for argument in block.arguments):
        return False
    return all(_is_known(op) for op in block.ops if op is not block.terminator)


def _is_known(op: Operation) -> bool:
    """Whether the device can do an op."""
    if isinstance(op, ops.CmdExecuteOp):
        return commands_of(op) is not None
    if isinstance(op, ops.TimepointJoinOp | ops.TimepointImmediateOp | ops.TimepointAwaitOp):
        return True
    if isinstance(op, ops.ResourceLoadOp):
        return not op.result.type.is_float
    chooses_time = isinstance(op, SelectOp) and op.result.type is timepoint
    return is_host_arithmetic(op) or is_choice(op) or chooses_time


def _only_counts(block: Block) -> bool:
    """Whether a block goes one way, or asks how far a number of its own has come."""
    end = block.terminator
    if isinstance(end, BranchOp):
        return True
    if not isinstance(end, CondBranchOp) or not isinstance(end.condition.defining_op, CmpIOp):
        return False
    counter = end.condition.defining_op.lhs
    return isinstance(counter, BlockArgument) and counter.block is block


class _Replacement:
    """One loop on its way into a dispatch."""

    def __init__(self, made: ControlFunction, device: _DeviceLoop, func: FuncOp, symbols: SymbolTable) -> None:
        self.made, self.device, self.func, self.symbols = made, device, func, symbols
        self.loop = made.loop
        self.location = self.loop.entries[0].source.terminator.location

    def run(self) -> None:
        made, loop = self.made, self.loop
        self.symbols.insert(made.executable, before=self.func)
        region = self.func.body
        block = Block([i64, timepoint])
        region.insert(region.blocks.index(loop.header), block)
        first, time = block.arguments
        written = made.written()
        entry, *_ = [self._enter(number, block) for number in range(len(loop.entries))]
        allocated = self._allocate(entry)
        self._lend(entry, allocated)
        self.builder = Builder.at_end(block, self.location)
        done = self._execute(first, time, allocated, written)
        at, *words = self._words(done)
        behind = {v: self._read(v, word) for v, word in zip(made.outgoing, words)}
        behind.update({alias: behind.get(source, source) for alias, source in made.aliases.items()})
        taken_back, back = self._take_back([r for r in made.lent if r in written], done)
        for inside in loop.blocks:
            values = [*inside.arguments, *[result for op in inside.ops for result in op.results]]
            behind.update({v: back for v in values if v.type is timepoint})
        for op, place in self.device.waited:
            op.set_operand(place, back)
        for value, found in behind.items():
            for use in list(value.uses):
                if loop.block_around(use.owner) is None and use.owner.block is not block:
                    use.owner.set_operand(use.index, found)
        self._leave(at, behind, [self.builder.insert(ConstantOp(IntegerAttr(0, i64))).result, done], block, taken_back)
        self._clear()

    def _lend(self, entry: Operation, allocated: list[Value]) -> None:
        """Copies what the function takes into its own memory, before the loop."""
        if self.made.lent:
            state, size = self.memory[0]
            pairs = [(r, 0, state, self.made.own[r]) for r in self.made.lent]
            time = self._copies(Builder.before(entry), pairs, [entry.operands[1], allocated[0]], state, size)
            entry.set_operand(1, time)

    def _take_back(self, lent: list[Value], done: Value) -> tuple[Block | None, Value]:
        """A block behind the loop that copies back what it has written, and when that is done."""
        if not lent:
            return None, done
        block, region = Block(), self.func.body
        region.insert(region.blocks.index(self.builder.block) + 1, block)
        state, size = self.memory[0]
        pairs = [(state, self.made.own[r], r, 0) for r in lent]
        return block, self._copies(Builder.at_end(block, self.location), pairs, [done], state, size)

    def _copies(
        self, builder: Builder, pairs: list[tuple[Value, int, Value, int]], times: list[Value], state: Value,
        state_size: Value,
    ) -> Value:  # fmt: skip
        """Copies between the function's memory and resources (from, offset, to, offset); when that is done."""
        made = self.made

        def number(n: int) -> Value:
            return builder.insert(ConstantOp(IntegerAttr(n, index))).result

        resources = [state, *[a if b is state else b for a, _, b, _ in pairs]]
        sizes = [number(constant_value(state_size))]  # type: ignore[arg-type]
        sizes += [number(constant_value(made.size_of(r))) for r in resources[1:]]  # type: ignore[arg-type]
        body = Block([r.type for r in resources])
        given = dict(zip(resources, zip(body.arguments, sizes)))
        copies = []
        for source, start, target, end in pairs:
            length = given[target if source is state else source][1]
            copies.append(ops.CmdCopyOp(*given[source], number(start), *given[target], number(end), length))
        inner = Builder.at_end(body, self.location)
        for op in copies:
            inner.insert(op)
        inner.insert(ops.YieldOp((), ()))
        time = builder.insert(ops.TimepointJoinOp(times, result_timepoint=timepoint)).result_timepoint
        execute = ops.CmdExecuteOp(resources, sizes, time, None, made.affinity, body=body, result_timepoint=timepoint)
        return builder.insert(execute).result_timepoint

    def _leave(
        self, at: Value, behind: dict[Value, Value], again: list[Value], block: Block, taken_back: Block | None
    ) -> None:
        """Goes where the loop goes to from where it stopped, or on with it."""
        exits, left = self.loop.exits, self.made.left
        if taken_back is not None:
            number = self.builder.insert(ConstantOp(IntegerAttr(left, i64))).result
            is_left = self.builder.insert(CmpIOp(at, number, "eq")).result
            self.builder.insert(CondBranchOp(is_left, [], again, None, taken_back, block))
            given = [behind.get(v, v) for v in exits[0].operands]
            Builder.at_end(taken_back, self.location).insert(BranchOp(given, exits[0].dest))
            return
        ways = [[behind.get(v, v) for v in edge.operands] for edge in exits]
        if len(exits) == 1:
            number = self.builder.insert(ConstantOp(IntegerAttr(left, i64))).result
            is_left = self.builder.insert(CmpIOp(at, number, "eq")).result
            self.builder.insert(CondBranchOp(is_left, ways[0], again, None, exits[0].dest, block))
            return
        flag = self.builder.insert(TruncIOp(at, out=i32)).result
        values = DenseElementsAttr.from_values(TensorType((len(exits),), i32), [left + n for n in range(len(exits))])
        flat, sizes = [v for way in ways for v in way], [len(way) for way in ways]
        dests = [block, *[edge.dest for edge in exits]]
        self.builder.insert(SwitchOp(flag, again, flat, values, sizes, dests, location=self.location))

    def _enter(self, number: int, block: Block) -> Operation:
        """Lets an edge that enters the loop go to the block instead; the branch that does."""
        edge = self.loop.entries[number]
        waits = list(self.device.waits) if number == 0 else self._times_of(edge.source)
        end = edge.source.terminator
        if not isinstance(end, BranchOp):
            # One of several ways: a block of its own.
            way = Block()
            region = self.func.body
            region.insert(region.blocks.index(block), way)
            _redirect(end, edge.number, way)
            builder = Builder.at_end(way, self.location)
        else:
            builder = Builder.before(end)
        first = builder.insert(ConstantOp(IntegerAttr(1 + number, i64))).result
        if len(waits) == 1:
            (time,) = waits
        elif waits:
            time = builder.insert(ops.TimepointJoinOp(waits, result_timepoint=timepoint)).result_timepoint
        else:
            time = builder.insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
        branch = builder.insert(BranchOp([first, time], block))
        if isinstance(end, BranchOp):
            end.erase()
        return branch

    @staticmethod
    def _times_of(block: Block) -> list[Value]:
        """When the work of a block is done."""
        values = [*block.arguments, *[result for op in block.ops for result in op.results]]
        return [value for value in values if value.type is timepoint]

    def _clear(self) -> None:
        """Takes the loop away."""
        blocks = self.loop.blocks
        for block in blocks:
            for op in block.ops:
                op.drop_all_references()
        for block in blocks:
            for op in list(block.reversed_ops):
                op.detach()
        for block in blocks:
            block.erase()
        for resource in self.made.own:
            remove_deallocations(resource)
            _drop_unused(resource.defining_op)

    def _allocate(self, entry: Operation) -> list[Value]:
        """Allocates memory for what the host reads, before the loop; the times from which on it may be used."""
        builder = Builder.before(entry)
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

    def _execute(self, first: Value, time: Value, allocated: list[Value], written: set[Value]) -> Value:
        """The dispatch, and the copy of what it says to the host; its timepoint."""
        builder, made = self.builder, self.made
        (state, state_size), (staging, staging_size) = self.memory
        limit = builder.insert(ConstantOp(IntegerAttr(nanoseconds_of_dispatch(), i64))).result
        words = [w for v in (limit, first, *made.numbers) for w in words_of(builder, v)]
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
        time = builder.insert(ops.TimepointJoinOp([time, *allocated], result_timepoint=timepoint)).result_timepoint
        execute = ops.CmdExecuteOp(resources, sizes, time, None, made.affinity, body=body, result_timepoint=timepoint)
        return builder.insert(execute).result_timepoint

    def _visible(self, value: Value) -> Value:
        """A size of the loop where the dispatch stands: constants are made again."""
        op = value.defining_op
        return self.builder.insert(op.clone()).results[0] if isinstance(op, ConstantOp) else value

    def _words(self, time: Value) -> list[Value]:
        """What the dispatch says: where it stopped, numbers, and the places of buffers."""
        builder = self.builder
        _, (staging, size) = self.memory
        (memory,) = builder.insert(ops.TimepointAwaitOp([staging], [size], time)).results
        words = []
        for number in range(self.made.words):
            offset = builder.insert(ConstantOp(IntegerAttr(number * WORD, index))).result
            words.append(builder.insert(ops.ResourceLoadOp(memory, size, offset, result=i64)).result)
        return words

    def _read(self, value: Value, word: Value) -> Value:
        """What a value of the loop is behind it."""
        if not is_resource(value.type):
            return self._number(word, value.type)
        *numbers, last = self.made.choices[value]
        found = self.made.places[last]
        for number in numbers:
            constant = self.builder.insert(ConstantOp(IntegerAttr(number, i64))).result
            is_here = self.builder.insert(CmpIOp(word, constant, "eq")).result
            found = self.builder.insert(SelectOp(is_here, self.made.places[number], found)).result
        return found

    def _number(self, word: Value, type: Type) -> Value:
        if type is i64:
            return word
        cast = IndexCastOp if type.is_index else TruncIOp
        return self.builder.insert(cast(word, out=type)).result


def _redirect(end: Operation, number: int, dest: Block) -> None:
    """Lets one way of a branch go to a block without arguments."""
    if isinstance(end, CondBranchOp):
        ways = [(end.true_dest, list(end.true_operands)), (end.false_dest, list(end.false_operands))]
        ways[number] = (dest, [])
        (true_dest, true_operands), (false_dest, false_operands) = ways
        new: Operation = CondBranchOp(
            end.condition, true_operands, false_operands, None, true_dest, false_dest, location=end.location
        )
    else:
        groups = [list(end.operands_of_case(n)) for n in range(len(end.values))]  # type: ignore[attr-defined]
        dests, defaults = list(end.dests), list(end.default_operands)  # type: ignore[attr-defined]
        dests[number] = dest
        if number:
            groups[number - 1] = []
        else:
            defaults = []
        flat = [v for group in groups for v in group]
        sizes = [len(group) for group in groups]
        new = SwitchOp(end.flag, defaults, flat, end.case_values, sizes, dests, location=end.location)  # type: ignore[attr-defined]
    Builder.before(end).insert(new)
    end.erase()


def _drop_unused(op: Operation | None) -> None:
    """Takes an allocation away that nothing uses any more."""
    if isinstance(op, ops.ResourceAllocaOp) and not op.results[0].has_uses:
        time = op.await_timepoint
        if time is None:
            time = Builder.before(op).insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
        op.result_timepoint.replace_all_uses_with(time)
        op.erase()
