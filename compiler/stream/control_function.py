"""The device function of a loop of any shape: it goes from block to block as the host would.

Enters: a loop whose blocks are arithmetic, commands, waits for them and numbers read that they wrote. Leaves: an
executable with one function, which does blocks until the loop is left or there was much work. What a block hands on to
another one is kept in memory of the function's own, so that it can go on where it stopped; so are, for the host, the
values that are used behind the loop.

    func.func @loop(%limit: …, %first: …, %n: …, %a: !stream.binding, %b: !stream.binding, %state: !stream.binding) {
      %saved = func.call @load_i64(%state, %c0)
      %start = arith.select %first, %entry, %saved
      %r:2 = scf.while (%work = %c0, %at = %start) : … {
        %more = … %work < %limit and %at is no exit
        scf.condition(%more) %work, %at
      } do {
        %next, %cost = scf.index_switch %at -> index, i64
        case 0 {
          %x = func.call @load_i64(%state, %c16)
          func.call @condition(…)
          …
          scf.yield %next, %cost
        } …
        scf.yield %work + %cost, %next
      }
      func.call @fill_64(%r#1, %state, %c0, %c8)
    }

Work is counted in nanoseconds, as they are estimated. A buffer is kept as its place, the number of the resource that it
is. Resources that nothing but the loop uses lie in the function's own memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.dialects.arith import (
    AddIOp,
    AndIOp,
    CmpIOp,
    ConstantOp,
    ExtSIOp,
    ExtUIOp,
    IndexCastOp,
    SelectOp,
    TruncIOp,
)
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.func import CallOp
from pyiree.compiler.dialects.scf import ConditionOp, IndexSwitchOp, WhileOp, YieldOp
from pyiree.compiler.ir.attributes import DenseArrayAttr, IntegerAttr, StringAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.types import IntegerType, Type, bit_width, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.loop_function import COMMAND, LoopFunction, is_host_arithmetic
from pyiree.compiler.stream.loop_region import Edge, LoopRegion, edges_of
from pyiree.compiler.stream.pack_dispatch_operands import from_words
from pyiree.compiler.stream.types import STAGING, BindingType, is_resource, timepoint

#: Bytes of a number in the state.
WORD = 8
#: So many bytes are copied before and behind a loop.
_MOST_LENT = 1 << 16
#: Kernels may count on memory that begins at multiples of so many bytes.
ALIGNMENT = 64


def is_staged(resource: Value) -> bool:
    """Whether the host reads a resource."""
    return is_resource(resource.type) and resource.type.lifetime == STAGING  # type: ignore[attr-defined]


def is_choice(op: Operation) -> bool:
    """Whether an op gives one of two resources."""
    return isinstance(op, SelectOp) and is_resource(op.result.type)


class ControlFunction(LoopFunction):
    """The function of one loop. A dispatch of it has to be given: the most work, whether it goes on (0), or by which of
    the loop's entries it begins (from 1), then `numbers`, then `resources` of `sizes`, and last memory of
    `state_bytes`, which begins with `words` for the host: where the function stopped (from `left` on at one of the
    loop's exits), and each of `outgoing`."""

    def __init__(self, loop: LoopRegion, costs: dict[Block, int], name: str) -> None:
        super().__init__(loop.blocks, name)
        self.loop, self._costs = loop, costs
        #: The values of the loop that are used behind it: numbers, and buffers as their places.
        self.outgoing: list[Value] = []
        #: The resources from before the loop that buffers of it may be.
        self.places: list[Value] = []
        #: For a buffer of the loop, the numbers of those in `places` that it may be.
        self.choices: dict[Value, list[int]] = {}
        self.state_bytes = 0
        #: Where in the state resources lie that are no bindings: what only the loop uses, and what the host reads,
        #: which dispatches can't write.
        self.own: dict[Value, int] = {}
        #: Those of them that have to be copied there before the loop, and back behind it if the loop writes them.
        self.lent: list[Value] = []
        self._slots: dict[Value, int] = {}
        #: What is known of buffers in a block: their places, and where they lie.
        self._chosen: dict[Value, Value] = {}
        self._located: dict[Value, tuple[Value, Value | None]] = {}
        #: Other names of resources, by which they go when they have been waited for.
        self.aliases: dict[Value, Value] = {}
        #: Edges that are cases of their own, since what they hand on must not be written when others are taken.
        self._apart: list[Edge] = []

    def edges(self) -> Iterable[tuple[Any, Value]]:
        for edge in (*self.loop.entries, *self.loop.edges()):
            yield from edge.assignments
        for block in self.blocks:
            for op in block.ops:
                if is_choice(op):
                    yield from ((op.results[0], value) for value in op.operands[1:])
                elif isinstance(op, ops.TimepointAwaitOp):
                    yield from zip(op.results, op.resource_operands)

    @property
    def words(self) -> int:
        """How many numbers the host reads afterwards."""
        return 1 + len(self.outgoing)

    @property
    def left(self) -> int:
        """What the first word is when the loop has been left by its first exit; others follow."""
        return self._first_entry + len(self.loop.entries)

    @property
    def _first_entry(self) -> int:
        """The number of the case that does the first way in."""
        return len(self.blocks) + len(self._apart)

    def size_of(self, resource: Value) -> Value:
        """The size of a resource from before the loop."""
        return self._sizes_by_resource[resource]

    def build(self, most_bindings: int) -> bool:
        """Makes the function and its executable; False if there would be more bindings, or if the host would not know
        where its buffers are afterwards."""
        entry_block = self.function.entry_block
        limit = from_words(self._top, entry_block, i64)
        first = from_words(self._top, entry_block, i64)
        self._sizes_by_resource = self._known_sizes()
        self._find_places()
        self._find_choices()
        self._apart = [e for e in self.loop.edges() if self._assigned(e) and not self._is_alone(e)]
        if not self._lay_out() or not self._lend(most_bindings - 1):
            return False
        self._outer_numbers()
        for _, value in self.edges():
            if not is_resource(value.type) and value.type is not timepoint and not self._is_inside(value):
                self._value(value)
        for resource in self.places:
            if resource not in self.own:
                self._binding(resource)
        self._state = entry_block.add_argument(BindingType())
        saved = self._load_word(0, self._top)
        before_entries = self._top.insert(ConstantOp(IntegerAttr(self._first_entry - 1, i64))).result
        entering = self._top.insert(AddIOp(first, before_entries)).result
        zero = self._top.insert(ConstantOp(IntegerAttr(0, i64))).result
        begins = self._top.insert(CmpIOp(first, zero, "ne")).result
        start = self._top.insert(SelectOp(begins, entering, saved)).result
        at = self._run(limit, zero, self._top.insert(IndexCastOp(start, out=index)).result)
        self._store_word(self._top.insert(IndexCastOp(at, out=i64)).result, 0, self._top)
        self._finish()
        return True

    # What there is.

    def _find_places(self) -> None:
        used = [
            value
            for _, value in self.edges()
            if is_resource(value.type) and value in self._sizes_by_resource and not is_staged(value)
        ]
        for execute in self._executes():
            self.affinity = self.affinity or execute.affinity
            used += [resource for resource in execute.resource_operands if not is_staged(resource)]
        self.places = list(dict.fromkeys(value for value in used if not self._is_inside(value)))
        for block in self.blocks:
            for op in block.ops:
                if isinstance(op, ops.TimepointAwaitOp):
                    self.aliases.update(zip(op.results, op.resource_operands))

    def _find_choices(self) -> None:
        found: dict[Value, set[int]] = {v: {n} for n, v in enumerate(self.places)}
        edges = [(a, v) for a, v in self.edges() if is_resource(a.type)]
        changed = True
        while changed:
            changed = False
            for argument, value in edges:
                known, more = found.setdefault(argument, set()), found.get(value, set())
                changed |= not more <= known
                known |= more
        self.choices = {value: sorted(numbers) for value, numbers in found.items()}

    def _assigned(self, edge: Edge) -> list[tuple[BlockArgument, Value]]:
        """What an edge hands on that the function has to know."""
        return [(a, v) for a, v in edge.assignments if a.type is not timepoint and self._is_needed(a)]

    @staticmethod
    def _is_alone(edge: Edge) -> bool:
        """Whether nothing is lost if what an edge hands on is written before it is known that it is taken."""
        if isinstance(edge.source.terminator, BranchOp):
            return True
        only_way = sum(other.dest is edge.dest for other in edges_of(edge.source)) == 1
        return only_way and edge.dest.predecessors == [edge.source]

    def _lay_out(self) -> bool:
        """Gives places in the state to what the host has to know, then to what other blocks have to."""
        behind, kept = [], []
        aliased = {source for alias, source in self.aliases.items() if self._is_used_behind(alias)}
        for block in self.blocks:
            results = [result for op in block.ops for result in op.results]
            for value in (*block.arguments, *results):
                around = {self.loop.block_around(user) for user in value.users}
                if value.type is timepoint or not around or value in self.aliases:
                    continue
                if value in aliased or self._is_used_behind(value):
                    behind.append(value)
                elif isinstance(value.defining_op, ConstantOp):
                    continue
                elif isinstance(value, BlockArgument) or around != {block} or self._is_handed_on_apart(value):
                    kept.append(value)
        if not all(map(self._is_known, behind)) or any(map(is_staged, aliased)):
            return False
        self.outgoing = behind
        for value in (*behind, *filter(self._is_known, kept)):
            self._slots[value] = WORD * (1 + len(self._slots))
        self.state_bytes = WORD * (1 + len(self._slots))
        kept_outside = {self.places[n] for value in behind if is_resource(value.type) for n in self.choices[value]}
        kept_outside |= aliased
        for resource in self.places:
            if resource not in kept_outside and self._is_only_here(resource):
                self._own_memory(resource, self._sizes_by_resource[resource])
        for execute in self._executes():
            for resource, size in zip(execute.resource_operands, execute.resource_operand_sizes):
                if is_staged(resource) and resource not in self.own:
                    self._own_memory(resource, size)
        return True

    def _lend(self, most: int) -> bool:
        """Takes small resources into the function's memory until so many are left; False if it can't."""
        bound = [resource for resource in self.places if resource not in self.own]
        extra = len(bound) - most
        if extra <= 0:
            return True
        sizes = {r: constant_value(self._sizes_by_resource[r]) for r in bound}
        known = sorted([(size, n) for n, size in enumerate(sizes.values()) if size is not None])[:extra]
        # What the host's own blocks use stays where it is.
        if self.loop.hosted or len(known) < extra or sum(size for size, _ in known) > _MOST_LENT:
            return False
        self.lent = [bound[n] for _, n in known]
        for resource in self.lent:
            self._own_memory(resource, self._sizes_by_resource[resource])
        return True

    def _is_used_behind(self, value: Value) -> bool:
        """Whether a value is used when the loop is left."""
        leaves = any(value in edge.operands for edge in self.loop.exits)
        return leaves or any(self.loop.block_around(user) is None for user in value.users)

    def _own_memory(self, resource: Value, size: Value) -> None:
        self.own[resource] = start = -(-self.state_bytes // ALIGNMENT) * ALIGNMENT
        self.state_bytes = start + size.defining_op.value.value  # type: ignore[union-attr]

    def _is_only_here(self, resource: Value) -> bool:
        """Whether a resource is a transient of known size that is for the loop alone."""
        made = resource.defining_op
        if not isinstance(made, ops.ResourceAllocaOp) or not isinstance(made.storage_size.defining_op, ConstantOp):
            return False
        enters = self.loop.entries[0].source.terminator
        return isinstance(self._sizes_by_resource[resource].defining_op, ConstantOp) and all(
            self.loop.block_around(user) is not None
            or isinstance(user, ops.ResourceDeallocaOp)
            or (user is enters and isinstance(enters, BranchOp))
            for user in resource.users
        )

    def _is_known(self, value: Value) -> bool:
        """Whether a value can be kept: a number, or a buffer that is one of the dispatch's."""
        if is_resource(value.type):
            return bool(self.choices.get(value))
        return value.type.is_index or isinstance(value.type, IntegerType)

    def _is_handed_on_apart(self, value: Value) -> bool:
        return any(value is v for edge in self._apart for _, v in self._assigned(edge))

    # The loop over blocks.

    def _run(self, limit: Value, zero: Value, start: Value) -> Value:
        """Where the function stops."""
        types = [i64, index]
        before = Block(types)
        header = Builder.at_end(before, self.function.location)
        work, at = before.arguments
        left = header.insert(ConstantOp(IntegerAttr(self.left, index))).result
        goes = header.insert(CmpIOp(at, left, "slt")).result
        more = header.insert(CmpIOp(work, limit, "slt")).result
        header.insert(ConditionOp(header.insert(AndIOp(more, goes)).result, [work, at]))
        after = Block(types)
        body = Builder.at_end(after, self.function.location)
        work, at = after.arguments
        cases = [*map(self._block_case, self.blocks), *map(self._edge_case, (*self._apart, *self.loop.entries))]
        numbers = DenseArrayAttr(i64, list(range(len(cases) - 1)))
        switch = IndexSwitchOp(at, numbers, [cases[-1], *cases[:-1]], results=[index, i64])
        following, cost = body.insert(switch).results
        body.insert(YieldOp([body.insert(AddIOp(work, cost)).result, following]))
        loop = WhileOp([zero, start], Region(before), Region(after), results=types)
        return self._top.insert(loop).results[1]

    def _block_case(self, block: Block) -> Region:
        builder = self._begin_case()
        self._do(block.ops, builder)
        for op in block.ops:
            for result in op.results:
                if result in self._slots:
                    self._keep(result, self._as_word(result, builder), builder)
        return self._end_case(builder, self._next(block, builder), self._costs[block])

    def _edge_case(self, edge: Edge) -> Region:
        builder = self._begin_case()
        self._hand_on([edge], builder)
        return self._end_case(builder, self._constant(self._number_of(edge.dest), index, builder), 0)

    def _begin_case(self) -> Builder:
        self._values = {v: x for v, x in self._values.items() if not self._is_inside(v)}
        self._chosen, self._located = {}, {}
        self._here = Builder.at_end(Block(), self.function.location)
        return self._here

    def _end_case(self, builder: Builder, following: Value, cost: int) -> Region:
        builder.insert(YieldOp([following, self._constant(cost, i64, builder)]))
        return Region(following.defining_op.block)  # type: ignore[union-attr]

    def _next(self, block: Block, builder: Builder) -> Value:
        """The number of the case that comes after a block."""
        edges = edges_of(block)
        self._hand_on([e for e in edges if e not in self.loop.exits and e not in self._apart], builder)
        numbers = [self._constant(self._number_after(edge), index, builder) for edge in edges]
        end = block.terminator
        if isinstance(end, BranchOp):
            return numbers[0]
        if isinstance(end, CondBranchOp):
            return builder.insert(SelectOp(self._value(end.condition), *numbers)).result
        found = numbers[0]
        for value, number in zip(end.values, numbers[1:]):  # type: ignore[union-attr]
            case = self._constant(value, end.flag.type, builder)  # type: ignore[union-attr]
            is_it = builder.insert(CmpIOp(self._value(end.flag), case, "eq")).result  # type: ignore[union-attr]
            found = builder.insert(SelectOp(is_it, number, found)).result
        return found

    def _number_after(self, edge: Edge) -> int:
        if edge in self.loop.exits:
            return self.left + self.loop.exits.index(edge)
        return len(self.blocks) + self._apart.index(edge) if edge in self._apart else self._number_of(edge.dest)

    def _number_of(self, block: Block) -> int:
        return self.blocks.index(block)

    def _hand_on(self, edges: Sequence[Edge], builder: Builder) -> None:
        """Writes what edges hand on, all of which is read before."""
        given = [pair for edge in edges for pair in self._assigned(edge)]
        words = [(a, self._as_word(v, builder)) for a, v in given if a in self._slots]
        for argument, word in words:
            self._keep(argument, word, builder)

    # Values.

    def _value(self, value: Value) -> Value:
        found = self._values.get(value)
        if found is not None or not self._is_inside(value):
            return found if found is not None else super()._value(value)
        if isinstance(value.defining_op, ConstantOp):
            found = self._values[value] = self._here.insert(value.defining_op.clone()).results[0]
            return found
        found = self._from_word(self._load_word(self._slots[value], self._here), value.type)
        self._values[value] = found
        return found

    def _location(self, resource: Value) -> tuple[Value, Value | None]:
        """The binding that a resource lies in, and where it begins there if not at the beginning."""
        resource = self.aliases.get(resource, resource)
        found = self._located.get(resource)
        if found is None:
            if not self._is_inside(resource):
                found = self._fixed_location(resource, resource in self.own)
            else:
                place = self._place(resource)
                choices = [self.places[number] for number in self.choices[resource]]
                is_own = any(choice in self.own for choice in choices)
                found = self._fixed_location(choices[-1], is_own)
                for number, choice in zip(self.choices[resource][:-1], choices):
                    is_here = self._here.insert(CmpIOp(place, self._constant(number, i64, self._here), "eq")).result
                    pairs = zip(self._fixed_location(choice, is_own), found)
                    found = tuple([a if a is b else self._select(is_here, a, b) for a, b in pairs])
            self._located[resource] = found
        return found

    def _place(self, resource: Value) -> Value:
        """The number of a buffer."""
        resource = self.aliases.get(resource, resource)
        if not self._is_inside(resource):
            return self._constant(self.places.index(resource), i64, self._here)
        if resource not in self._chosen:
            self._chosen[resource] = self._load_word(self._slots[resource], self._here)
        return self._chosen[resource]

    def _fixed_location(self, resource: Value, has_start: bool) -> tuple[Value, Value | None]:
        binding = self._state if resource in self.own else self._bindings[resource]
        return binding, self._constant(self.own.get(resource, 0), index, self._here) if has_start else None

    def _select(self, condition: Value, x: Value, y: Value) -> Value:
        return self._here.insert(SelectOp(condition, x, y)).result

    def _as_word(self, value: Value, builder: Builder) -> Value:
        if is_resource(value.type):
            return self._place(value)
        number = self._value(value)
        if number.type.is_index:
            return builder.insert(IndexCastOp(number, out=i64)).result
        width = bit_width(number.type)
        if width == 64:
            return number
        return builder.insert((ExtUIOp if width == 1 else ExtSIOp)(number, out=i64)).result

    def _from_word(self, word: Value, type: Type) -> Value:
        if type is i64:
            return word
        return self._here.insert((IndexCastOp if type.is_index else TruncIOp)(word, out=type)).result

    def _keep(self, value: Value, word: Value, builder: Builder) -> None:
        self._store_word(word, self._slots[value], builder)

    @staticmethod
    def _constant(number: int, type: Type, builder: Builder) -> Value:
        return builder.insert(ConstantOp(IntegerAttr(number, type))).result

    def _load_word(self, offset: int, builder: Builder) -> Value:
        operands = [self._state, self._constant(offset, index, builder)]
        callee = self._declared("load_i64", COMMAND, StringAttr("load"), operands, (i64,))
        return builder.insert(CallOp(callee=callee, operands=operands, results=[i64])).results[0]

    def _store_word(self, word: Value, offset: int, builder: Builder) -> None:
        operands = [word, self._state, *(self._constant(n, index, builder) for n in (offset, WORD))]
        callee = self._declared("fill_64", COMMAND, StringAttr("fill"), operands)
        builder.insert(CallOp(callee=callee, operands=operands, results=()))

    # What is in blocks.

    def _do(self, host_ops: Iterable[Operation], builder: Builder) -> None:
        for op in host_ops:
            if isinstance(op, ops.ResourceLoadOp):
                operands = self._memory(op.source, op.source_offset, builder)
                type: Type = op.result.type
                callee = self._declared(f"load_{type}", COMMAND, StringAttr("load"), operands, (type,))
                call = builder.insert(CallOp(callee=callee, operands=operands, results=[type]))
                self._values[op.result] = call.results[0]
            elif is_choice(op):
                condition, *ways = op.operands
                self._chosen[op.results[0]] = self._select(self._value(condition), *map(self._place, ways))
            else:
                if is_host_arithmetic(op):
                    for operand in op.operands:
                        self._value(operand)
                super()._do([op], builder)

    def _memory(self, resource: Value, offset: Value, builder: Builder) -> list[Value]:
        binding, start = self._location(resource)
        place = self._value(offset)
        return [binding, place if start is None else builder.insert(AddIOp(place, start)).result]
