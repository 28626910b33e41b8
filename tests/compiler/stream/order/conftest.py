"""A simulator of host programs at the end of the stream phase that finds races.

It runs the host program and notes every access of the device with the work that it comes after, as timepoints say and
no other way. Two accesses of one byte of which one writes must be in an order; memory is used between its allocation
and its deallocation only; what is read was written; what belongs to the outside is not written. What a dispatch writes
is a digest of what it reads, so two versions of a program can be compared by what they export.
"""

import hashlib
import random
from types import SimpleNamespace

import numpy as np
import pytest


class Race(AssertionError):
    """Something is not in order."""


class Memory:
    def __init__(self, size, kind, made):
        self.size, self.kind, self.made = size, kind, made
        self.freed = False
        self.accesses = []
        self.content = np.zeros(size, np.uint64)
        self.known = np.full(size, kind != "new")


def digest(*parts):
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


class Simulator:
    def __init__(self, module, loads=(), dim=4):
        self.globals, self.functions, self.initializers = {}, {}, []
        for op in module.regions[0].ops:
            if op.name == "util.func":
                self.functions[op.sym_name] = op
            elif op.name == "util.initializer":
                self.initializers.append(op)
            elif op.name == "util.global":
                self.globals[op.sym_name] = op.initial_value
        self.loads, self.dim = iter(loads), dim
        self.events, self.steps, self.allocations = 0, 0, 0
        self.host_knows = frozenset()

    def run(self, name, *arguments):
        """The digests of what a function exports."""
        self.exports = []
        for op in self.initializers:
            self.call(op, ())
        self.call(self.functions[name], arguments)
        return self.exports

    # The host.

    def call(self, function, arguments):
        region = function.regions[0]
        block, values = region.blocks[0], dict(zip(region.blocks[0].arguments, arguments))
        while True:
            for op in block.ops:
                self.steps += 1
                assert self.steps < 20000, "the program does not end"
                if op.name in ("util.return", "cf.br", "cf.cond_br", "cf.switch"):
                    break
                self.step(op, values)
            if op.name == "util.return":
                return
            block, passed = self.branch(op, values)
            values.update(zip(block.arguments, [values[v] for v in passed]))

    def branch(self, op, values):
        if op.name == "cf.br":
            return op.dest, op.dest_operands
        if op.name == "cf.cond_br":
            taken = self.number(values[op.condition])
            return (op.true_dest, op.true_operands) if taken else (op.false_dest, op.false_operands)
        flag = self.number(values[op.flag])
        if flag in op.values:
            at = op.values.index(flag)
            return op.dests[1 + at], op.operands_of_case(at)
        return op.dests[0], op.default_operands

    @staticmethod
    def number(attribute):
        return attribute.value

    def step(self, op, values):
        method = getattr(self, op.name.replace(".", "_"), None)
        operands = [values[v] for v in op.operands]
        if method is not None:
            made = method(op, values)
        elif op.name == "arith.constant":
            made = [op.value]
        elif op.name.startswith(("arith.", "util.align")):
            made = op.fold(operands)
            made = [values.get(r, r) for r in made]
        else:
            raise NotImplementedError(op.name)
        values.update(zip(op.results, made or ()))

    def index(self, n):
        from pyiree.compiler.ir.attributes import IntegerAttr
        from pyiree.compiler.ir.types import index

        return IntegerAttr(n, index)

    def hal_buffer_view_dim(self, op, values):
        return [self.index(self.dim)]

    def hal_buffer_view_assert(self, op, values):
        return []

    hal_element_type = hal_encoding_type = lambda self, op, values: [None]

    def util_global_load(self, op, values):
        return [self.globals[op.global_.leaf]]

    def util_global_store(self, op, values):
        self.globals[op.global_.leaf] = values[op.value]

    def util_buffer_constant(self, op, values):
        return [op.value]

    def arith_select(self, op, values):
        return [values[op.true_value if self.number(values[op.condition]) else op.false_value]]

    # Memory.

    def allocate(self, size, kind, made=frozenset()):
        self.allocations += kind == "new"
        memory = Memory(self.number(size), kind, made)
        if kind != "new":
            memory.content[:] = [digest(kind, self.allocations, self.events, i) for i in range(memory.size)]
        return (memory, 0)

    def stream_tensor_import(self, op, values):
        return [self.allocate(values[op.result_size], "outside")]

    def stream_resource_try_map(self, op, values):
        from pyiree.compiler.ir.attributes import bool_attr

        return [bool_attr(True), self.allocate(values[op.result_size], "constant")]

    def stream_resource_alloc(self, op, values):
        return [self.allocate(values[op.storage_size], "new")]

    def stream_resource_alloca(self, op, values):
        done = self.event(self.start(op, values))
        return [self.allocate(values[op.storage_size], "new", done), done]

    def stream_resource_dealloca(self, op, values):
        start = self.start(op, values)
        memory, _ = values[op.operand]
        if memory.freed:
            raise Race("memory is freed twice")
        for _, _, _, event in memory.accesses:
            if event not in start:
                raise Race("memory is freed while it may be in use")
        memory.freed = True
        return [self.event(start)]

    def stream_resource_subview(self, op, values):
        memory, base = values[op.source]
        return [(memory, base + self.number(values[op.source_offset]))]

    def stream_resource_size(self, op, values):
        return [self.index(values[op.operand][0].size)]

    # Time.

    def event(self, start):
        self.events += 1
        return start | {self.events}

    def start(self, op, values):
        before = frozenset() if op.await_timepoint is None else values[op.await_timepoint]
        return before | self.host_knows

    def stream_timepoint_immediate(self, op, values):
        return [frozenset()]

    def stream_timepoint_join(self, op, values):
        return [frozenset().union(*[values[t] for t in op.await_timepoints])]

    def stream_timepoint_await(self, op, values):
        self.host_knows |= values[op.await_timepoint]
        return [values[v] for v in op.resource_operands]

    # Accesses.

    def access(self, place, offset, length, writes, event, start, siblings=()):
        memory, base = place
        first = base + offset
        last = first + length
        if last > memory.size or offset < 0:
            raise Race(f"bytes {first} to {last} of {memory.size}")
        if memory.freed:
            raise Race("memory is used after it was freed")
        if not memory.made <= start:
            raise Race("memory is used before it is allocated")
        if writes and memory.kind != "new":
            raise Race(f"memory of the {memory.kind} is written")
        for a, b, written, other in memory.accesses:
            clash = (writes or written) and a < last and first < b
            if clash and other != event and other not in start:
                raise Race(f"bytes {first} to {last} are accessed by work in no order")
        for other, a, b, written in siblings:
            if other is memory and (writes or written) and a < last and first < b:
                raise Race("concurrent commands touch the same bytes")
        if event is not None:
            # The host itself is done with an access when it goes on.
            memory.accesses.append((first, last, writes, event))
        return memory, first, last

    def read(self, place, offset, length, *rest):
        memory, first, last = self.access(place, offset, length, False, *rest)
        if not memory.known[first:last].all():
            raise Race("bytes are read that nothing has written")
        return memory.content[first:last].copy()

    def write(self, place, offset, length, content, *rest):
        memory, first, last = self.access(place, offset, length, True, *rest)
        memory.content[first:last] = content
        memory.known[first:last] = True

    def stream_resource_load(self, op, values):
        from pyiree.compiler.ir.attributes import IntegerAttr, bool_attr
        from pyiree.compiler.ir.types import IntegerType

        self.read(values[op.source], self.number(values[op.source_offset]), 1, None, self.host_knows)
        value = next(self.loads, 0)
        type = op.result.type
        if isinstance(type, IntegerType):
            return [bool_attr(bool(value)) if type.width == 1 else IntegerAttr(value, type)]
        from pyiree.compiler.ir.attributes import FloatAttr

        return [FloatAttr(float(value), type)]

    def stream_tensor_export(self, op, values):
        place, size = values[op.source], self.number(values[op.source_size])
        self.exports.append(digest(self.read(place, 0, size, None, self.host_knows).tobytes()))
        return [None]

    def stream_cmd_execute(self, op, values):
        start = self.start(op, values)
        done = self.event(start)
        inner = dict(values)
        inner.update(zip(op.body.entry.arguments, [values[v] for v in op.resource_operands]))
        state = SimpleNamespace(values=inner, event=self.events, start=start)
        for command in op.body.entry.ops:
            self.command(command, state, [])
        return [done]

    def command(self, op, state, siblings):
        """Runs a command, and gives what it touched."""
        name = op.name.rpartition(".")[2]
        if name in ("concurrent", "serial"):
            touched = []
            for inner in op.body.entry.ops:
                apart = siblings + touched if name == "concurrent" else siblings
                touched += self.command(inner, state, apart)
            return touched
        if name in ("yield", "flush", "invalidate", "discard"):
            return []
        number = lambda v: self.number(state.values[v])  # noqa: E731
        rest = (state.event, state.start, siblings)
        touched = []

        def note(place, offset, length, writes):
            touched.append((place[0], place[1] + offset, place[1] + offset + length, writes))

        if name == "copy":
            source, target = state.values[op.source], state.values[op.target]
            length = number(op.length)
            content = self.read(source, number(op.source_offset), length, *rest)
            self.write(target, number(op.target_offset), length, content, *rest)
            note(source, number(op.source_offset), length, False)
            note(target, number(op.target_offset), length, True)
        elif name == "fill":
            target, length = state.values[op.target], number(op.target_length)
            self.write(target, number(op.target_offset), length, digest(str(state.values[op.value])), *rest)
            note(target, number(op.target_offset), length, True)
        else:
            assert name == "dispatch", name
            ranges = [
                (state.values[r], number(o), number(n), a.value)
                for r, o, n, a in zip(op.resources, op.resource_offsets, op.resource_lengths, op.resource_accesses)
            ]
            seen = [str(op.entry_points), *[str(state.values[v]) for v in op.uniform_operands]]
            for place, offset, length, how in ranges:
                if how == "ro":
                    seen.append(self.read(place, offset, length, *rest).tobytes())
            for i, (place, offset, length, how) in enumerate(ranges):
                if how != "ro":
                    self.write(place, offset, length, digest(i, *seen), *rest)
                note(place, offset, length, how != "ro")
        return touched


@pytest.fixture
def simulate():
    """A function (text, name, arguments, loads) that runs a host program: what it exports, and its allocations."""
    from pyiree.compiler.ir.attributes import IntegerAttr
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.types import i32

    def run(text, name="main", numbers=(), loads=()):
        simulator = Simulator(parse_module(text), loads)
        entry = simulator.functions[name].regions[0].blocks[0]
        given = iter(numbers)
        arguments = [IntegerAttr(next(given), i32) if a.type is i32 else None for a in entry.arguments]
        return simulator.run(name, *arguments), simulator.allocations

    return run


@pytest.fixture
def race():
    return Race


@pytest.fixture
def random_loads():
    """A function (seed) that gives numbers for what the host reads: now and then 0, and 0 in the end."""

    def make(seed):
        source = random.Random(seed)
        return [source.randint(0, 3) for _ in range(12)]

    return make
