"""pyiree-stream-form-loop-dispatches: loops of little work run on the device.

Before: the host counts, and has the device do the commands of every iteration.
After:  one dispatch does all iterations: a function that calls the kernels of the commands one after the other.

    ^bb1(%i: i64, %a: !stream.resource<transient>, %b: …, %t: !stream.timepoint):
      %c = arith.cmpi slt, %i, %n
      cf.cond_br %c, ^bb2, ^bb3
    ^bb2:
      %t1 = stream.cmd.execute await(%t) => with(%a as %x, %b as %y) { stream.cmd.dispatch @f::@f { ro %x, wo %y } }
      cf.br ^bb1(%i + 1, %b, %a, %t1)
    →
    %t1 = stream.cmd.execute await(%t) => with(%a as %x, %b as %y) { stream.cmd.dispatch @loop::@loop(…) { %x, %y } }

The function is `counted_function`'s. Buffers that swap places do so in it as well; afterwards each is where so many
iterations bring it, which is known where their number is. A loop that would keep the device for long is done some
iterations at a time, so that a program can be interrupted. Inner loops go first: what they become is a command of the
outer one. Work of many microseconds stays as it is, since several cores share it.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, CmpIOp, ConstantOp, MinUIOp, SubIOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.integer_ranges import range_of
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.buffer_rounds import Round, buffer_round
from pyiree.compiler.stream.command_costs import Costs, commands_nanoseconds, entry_costs, iterations_of_dispatch
from pyiree.compiler.stream.counted_function import CountedFunction
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.fuse_dispatch_bindings import MAX_BINDINGS
from pyiree.compiler.stream.loop_function import commands_of, is_host_arithmetic
from pyiree.compiler.stream.pack_dispatch_operands import words_of
from pyiree.compiler.stream.types import ResourceAccessAttr, is_resource, timepoint
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@register_pass("pyiree-stream-form-loop-dispatches")
def form_loop_dispatches(module: ModuleOp, context: PassContext) -> None:
    """Replaces the loops of every host function, inner ones first."""
    symbols = SymbolTable(module)
    costs = entry_costs(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp) and not func.is_declaration:
            number = 0
            while (found := _next_loop(func, costs)) is not None:
                _Replacement(*found, func, symbols, costs, f"{func.sym_name}_loop_{number}").run()
                number += 1
                canonicalize(func, context)


@dataclass
class _Loop:
    """A counted loop in blocks: `header` compares, `body` does an iteration, `exit` comes after it."""

    header: Block
    body: Block
    entry: BranchOp
    counter: int
    time: int
    step: int
    bound: Value
    waits: list[Value]
    """Timepoints from before the loop that its commands wait for."""

    @property
    def end(self) -> BranchOp:
        return self.body.terminator  # type: ignore[return-value]

    @property
    def resources(self) -> list[int]:
        """The numbers of the carried resources."""
        return [a.index for a in self.header.arguments if is_resource(a.type)]

    @property
    def scalars(self) -> list[int]:
        """The numbers of the carried numbers, the counter aside."""
        known = {self.counter, self.time, *self.resources}
        return [a.index for a in self.header.arguments if a.index not in known]

    def is_inside(self, value: Value) -> bool:
        block = value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr]
        return block is self.header or block is self.body


def _next_loop(func: FuncOp, costs: Costs) -> tuple[_Loop, Round, int] | None:
    """The first loop that can be replaced, how its buffers change places, and the iterations of a dispatch."""
    for header in func.body.blocks:
        loop = _loop_at(header)
        if loop is None:
            continue
        around = buffer_round(loop.header, loop.end.dest_operands)
        most = iterations_of_dispatch(commands_nanoseconds(loop.body.ops, costs))
        if around is None or most is None:
            continue
        most -= most % around.length if most > around.length else 0
        if _can_bind_all(loop) and _fits(loop, around, most):
            return loop, around, most
    return None


def _loop_at(header: Block) -> _Loop | None:
    """The loop that a block begins, if it is one that counts and whose iterations are straight."""
    end = header.terminator
    before = header.predecessors
    if not isinstance(end, CondBranchOp) or len(before) != 2 or end.true_operands:
        return None
    body = end.true_dest
    compare = end.condition.defining_op
    if body is header or body not in before or body.predecessors != [header] or not isinstance(compare, CmpIOp):
        return None
    (outside,) = [b for b in before if b is not body]
    entry, latch = outside.terminator, body.terminator
    if not isinstance(entry, BranchOp) or not isinstance(latch, BranchOp) or compare.predicate != "slt":
        return None
    counter = compare.lhs
    if not isinstance(counter, BlockArgument) or counter.block is not header:
        return None
    step = _counter_step(latch.dest_operands[counter.index], counter)
    times = [a.index for a in header.arguments if a.type is timepoint]
    if step is None or len(times) != 1:
        return None
    loop = _Loop(header, body, entry, counter.index, times[0], step, compare.rhs, [])
    if loop.is_inside(loop.bound) or not _is_straight(loop):
        return None
    return loop


def _is_straight(loop: _Loop) -> bool:
    """Whether an iteration is arithmetic and commands that wait for each other only, and only buffers are used behind.

    The commands may run in the order in which they stand, whichever of those before them each one waits for.
    """
    times: set[Value] = {loop.header.arguments[loop.time]}
    for op in (*loop.header.ops, *loop.body.ops):
        if op is loop.header.terminator or op is loop.end or is_host_arithmetic(op):
            continue
        if isinstance(op, ops.TimepointJoinOp):
            awaited = list(op.await_timepoints)
        elif isinstance(op, ops.CmdExecuteOp) and op.await_timepoint is not None and commands_of(op) is not None:
            awaited = [op.await_timepoint]
            if any(constant_value(size) is None and loop.is_inside(size) for size in op.resource_operand_sizes):
                return False
        else:
            return False
        loop.waits += [t for t in awaited if t not in times and t not in loop.waits]
        times.add(op.result_timepoint)
    if len(times) == 1 or loop.end.dest_operands[loop.time] not in times or any(map(loop.is_inside, loop.waits)):
        return False
    for number in (loop.counter, *loop.scalars):
        if any(not _is_within(user, loop) for user in loop.header.arguments[number].users):
            return False
        if any(v is loop.header.arguments[number] for v in loop.header.terminator.false_operands):  # type: ignore[attr-defined]
            return False
    for op in (*loop.header.ops, *loop.body.ops):
        for result in op.results:
            if any(not _is_within(user, loop) for user in result.users):
                return False
    return True


def _is_within(user: Operation, loop: _Loop) -> bool:
    top = user
    while top.block is not loop.header and top.block is not loop.body:
        parent = top.parent_op
        if parent is None:
            return False
        top = parent
    return True


def _counter_step(following: Value, counter: Value) -> int | None:
    """By how much a counter grows in an iteration that hands on `following`; None if it may not."""
    add = following.defining_op
    if not isinstance(add, AddIOp) or add.lhs is not counter:
        return None
    step = constant_value(add.rhs)
    return step if step is not None and step > 0 else None


def _trips(loop: _Loop) -> tuple[int | None, int | None]:
    """The number of iterations, and the most that there may be, as far as they are known."""
    first = loop.entry.dest_operands[loop.counter]
    lower, upper = constant_value(first), constant_value(loop.bound)
    if lower is not None and upper is not None:
        trips = max(0, -(-(upper - lower) // loop.step))
        return trips, trips
    low, high = range_of(first), range_of(loop.bound)
    if low is None or high is None:
        return None, None
    return None, max(0, -(-(high[1] - low[0]) // loop.step))


def _fits(loop: _Loop, around: Round, most: int) -> bool:
    """Whether it is known where the buffers are in the end, and numbers are not carried from dispatch to dispatch."""
    trips, limit = _trips(loop)
    if trips is None and (around.start > 0 or around.length > 1):
        return False
    return (limit is not None and limit <= most) or (not loop.scalars and most >= around.length)


def _can_bind_all(loop: _Loop) -> bool:
    """Whether one dispatch can bind all that the loop carries and that its commands use from before it."""
    used = {loop.header.arguments[number] for number in loop.resources}
    for op in loop.body.ops:
        if isinstance(op, ops.CmdExecuteOp):
            used.update(v for v in op.resource_operands if not loop.is_inside(v))
    return len(used) <= MAX_BINDINGS


class _Replacement:
    """One loop on its way into a dispatch."""

    def __init__(
        self, loop: _Loop, around: Round, most: int, func: FuncOp, symbols: SymbolTable, costs: Costs, name: str
    ) -> None:
        self.loop, self.around, self.most = loop, around, most
        self.func, self.symbols, self.costs, self.name = func, symbols, costs, name

    def run(self) -> None:
        loop = self.loop
        trips, limit = _trips(loop)
        cost = commands_nanoseconds(loop.body.ops, self.costs)
        made = CountedFunction(loop.header, loop.body, loop.counter, loop.time, loop.step, self.name)
        made.build()
        self.made, self.written = made, made.written()
        self.symbols.insert(made.executable, before=self.func)
        self.entry_point = ArrayAttr([SymbolRefAttr(made.executable.sym_name, self.name)])
        whole = limit is not None and limit <= self.most
        self.costs[made.executable.sym_name, self.name] = (cost or 0.0) * (limit or self.most)
        if whole:
            self._at_once(trips)
        else:
            self._in_pieces(trips)

    def _uses_behind(self) -> list[tuple[Operation, int, int]]:
        """The uses of carried resources and of the time behind the loop."""
        loop = self.loop
        found = []
        for number in (*loop.resources, loop.time):
            for use in loop.header.arguments[number].uses:
                if not _is_within(use.owner, loop) or use.owner is loop.header.terminator:
                    found.append((use.owner, use.index, number))
        return found

    def _execute(self, builder: Builder, lower: Value, upper: Value, given: dict[int, Value]) -> Value:
        """The dispatch of some iterations, for carried values as they are there; its timepoint."""
        loop, made = self.loop, self.made

        def there(value: Value) -> Value:
            if isinstance(value, BlockArgument) and value.block is loop.header:
                return given[value.index]
            return value

        words = [w for v in (lower, upper, *[there(v) for v in made.numbers]) for w in words_of(builder, v)]
        resources = [there(v) for v in made.resources]
        sizes = [_visible(builder, v) for v in made.sizes]
        body = Block([v.type for v in resources])
        inner = Builder.at_end(body, loop.body.terminator.location)
        zeros = [builder.insert(ConstantOp(IntegerAttr(0, sizes[0].type))).result] * len(sizes)
        inner.insert(
            ops.CmdDispatchOp(
                (), words, list(body.arguments), sizes, zeros, sizes, self.entry_point,
                ArrayAttr([ResourceAccessAttr("rw" if v in self.written else "ro") for v in made.resources]),
            )
        )  # fmt: skip
        inner.insert(ops.YieldOp((), ()))
        time = given[loop.time]
        if loop.waits:
            time = builder.insert(ops.TimepointJoinOp([time, *loop.waits], result_timepoint=timepoint)).result_timepoint
        execute = ops.CmdExecuteOp(resources, sizes, time, None, made.affinity, body=body, result_timepoint=timepoint)
        return builder.insert(execute).result_timepoint

    def _at_once(self, trips: int | None) -> None:
        """All iterations in one dispatch."""
        loop = self.loop
        behind = self._uses_behind()
        end: CondBranchOp = loop.header.terminator  # type: ignore[assignment]
        given: dict[int, Value] = {a.index: a for a in loop.header.arguments}
        time = self._execute(Builder.before(end), given[loop.counter], loop.bound, given)
        places = self.around.after(trips or 0)
        for owner, index, number in behind:
            value = time if number == loop.time else loop.header.arguments[places[number]]
            owner.set_operand(index, value)
        Builder.before(end).insert(BranchOp(list(end.false_operands), end.false_dest))
        end.erase()
        for op in list(loop.body.reversed_ops):
            op.erase()
        loop.body.erase()

    def _in_pieces(self, trips: int | None) -> None:
        """Some iterations in a dispatch; first those that are too many for whole rounds of the buffers."""
        loop = self.loop
        if trips is not None and (before := self.around.fewest(trips)):
            self._first(before)
        end = loop.end
        given: dict[int, Value] = {a.index: a for a in loop.header.arguments}
        end.dest_operands = list(given.values())
        for op in list(loop.body.reversed_ops):
            if op is not end:
                op.erase()
        builder = Builder.before(end)
        counter = given[loop.counter]
        piece = IntegerAttr(min(self.most * loop.step, (1 << 30) // loop.step * loop.step), counter.type)
        # As unsigned numbers: what is left may be more than the largest signed one.
        left = builder.insert(SubIOp(loop.bound, counter)).result
        length = builder.insert(MinUIOp(left, builder.insert(ConstantOp(piece)).result)).result
        upper = builder.insert(AddIOp(counter, length)).result
        time = self._execute(builder, counter, upper, given)
        given.update({loop.counter: upper, loop.time: time})
        end.dest_operands = [given[a.index] for a in loop.header.arguments]

    def _first(self, iterations: int) -> None:
        loop = self.loop
        builder = Builder.before(loop.entry)
        given = dict(enumerate(loop.entry.dest_operands))
        lower = given[loop.counter]
        by = builder.insert(ConstantOp(IntegerAttr(iterations * loop.step, lower.type))).result
        upper = builder.insert(AddIOp(lower, by)).result
        time = self._execute(builder, lower, upper, given)
        places = self.around.after(iterations)
        moved = {number: given[place] for number, place in places.items()}
        given.update({**moved, loop.counter: upper, loop.time: time})
        loop.entry.dest_operands = [given[a.index] for a in loop.header.arguments]


def _visible(builder: Builder, value: Value) -> Value:
    """A size of the body where the dispatch stands: constants are made again."""
    op = value.defining_op
    return builder.insert(op.clone()).results[0] if isinstance(op, ConstantOp) else value
