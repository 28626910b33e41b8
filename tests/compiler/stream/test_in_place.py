"""Property: writing in place changes no result. Random programs are run as values, and as memory after the passes.

The reference gives every op a fresh array. The machine below does what the passed program says: tied ops write into
the array of their operand, captured and carried values are the same array. Arguments must come out untouched, and no
result may share memory with an argument or another result.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

R = "!stream.resource<*>"
X = "!stream.resource<external>"
SIZE = 8
COW_PASSES = (
    "iree-stream-materialize-copy-on-write", "iree-stream-elide-async-copies", "iree-stream-emplace-allocations",
)  # fmt: skip
SCHEDULE_PASSES = (
    "iree-stream-refine-usage", "canonicalize", "iree-stream-verify-async-access-ranges",
    "iree-stream-schedule-execution", "iree-stream-schedule-concurrency", "iree-stream-propagate-timepoints",
    "canonicalize", "cse", "iree-stream-verify-lowering-to-async",
)  # fmt: skip


class Program:
    """Text of a random program; names of resources by nesting."""

    def __init__(self, draw):
        self.draw = draw
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def bounds(self):
        start = self.draw(st.integers(0, SIZE - 1))
        return start, self.draw(st.integers(start + 1, SIZE))

    def block(self, values, depth):
        """Lines of a few ops that use `values`; what they make is added."""
        lines = []
        for _ in range(self.draw(st.integers(1, 4 if depth else 6))):
            kinds = ["fill", "fill", "update", "shift", "clone", "dispatch", "splat", "tied"]
            kind = self.draw(st.sampled_from(kinds + (["for", "if", "while"] if depth < 2 else [])))
            lines += getattr(self, f"make_{kind}")(values, depth)
        return lines

    def pick(self, values):
        return self.draw(st.sampled_from(values))

    def make_splat(self, values, depth):
        name = self.fresh()
        values.append(name)
        return [f"{name} = stream.async.splat %p{self.draw(st.integers(0, 3))} : i8 -> {R}{{%s{SIZE}}}"]

    def make_fill(self, values, depth):
        (start, end), target, name = self.bounds(), self.pick(values), self.fresh()
        values.append(name)
        pattern = f"%p{self.draw(st.integers(0, 3))}"
        return [
            f"{name} = stream.async.fill {pattern}, {target}[%s{start} to %s{end} for %s{end - start}]"
            f" : i8 -> {target} as {R}{{%s{SIZE}}}"
        ]

    def make_clone(self, values, depth):
        source, name = self.pick(values), self.fresh()
        values.append(name)
        return [f"{name} = stream.async.clone {source} : {R}{{%s{SIZE}}} -> {R}{{%s{SIZE}}}"]

    def make_update(self, values, depth):
        (start, end), source, target = self.bounds(), self.pick(values), self.pick(values)
        part, name, n = self.fresh(), self.fresh(), end - start
        values.append(name)
        at = self.draw(st.integers(0, SIZE - n))
        return [
            f"{part} = stream.async.slice {source}[%s{start} to %s{end}] : {R}{{%s{SIZE}}} -> {R}{{%s{n}}}",
            f"{name} = stream.async.update {part}, {target}[%s{at} to %s{at + n}] : {R}{{%s{n}}}"
            f" -> {target} as {R}{{%s{SIZE}}}",
        ]

    make_shift = make_update

    def make_dispatch(self, values, depth):
        (start, end), a, b, name = self.bounds(), self.pick(values), self.pick(values), self.fresh()
        values.append(name)
        return [
            f"{name} = stream.async.dispatch @e::@f({a}[%s{start} to %s{end} for %s{end - start}],"
            f" {b}[%s0 to %s{SIZE} for %s{SIZE}]) : ({R}{{%s{SIZE}}}, {R}{{%s{SIZE}}}) -> {R}{{%s{SIZE}}}"
        ]

    def make_tied(self, values, depth):
        (start, end), a, b, name = self.bounds(), self.pick(values), self.pick(values), self.fresh()
        values.append(name)
        return [
            f"{name} = stream.async.dispatch @e::@f({a}[%s0 to %s{SIZE} for %s{SIZE}],"
            f" {b}[%s{start} to %s{end} for %s{end - start}]) : ({R}{{%s{SIZE}}}, {R}{{%s{SIZE}}}) -> {b}{{%s{SIZE}}}"
        ]

    def carried(self, values):
        inits = [self.pick(values) for _ in range(self.draw(st.integers(1, 2)))]
        arguments = [self.fresh() for _ in inits]
        result = self.fresh()
        results = [f"{result}#{i}" for i in range(len(inits))] if len(inits) > 1 else [result]
        head = f"{result}:{len(inits)}" if len(inits) > 1 else result
        pairs = ", ".join(f"{a} = {i}" for a, i in zip(arguments, inits))
        return arguments, results, head, pairs, ", ".join([R] * len(inits))

    def make_for(self, values, depth):
        arguments, results, head, pairs, types = self.carried(values)
        inner = [*values, *arguments]
        body = self.block(inner, depth + 1)
        yields = ", ".join(self.pick(inner[-4:]) for _ in arguments)
        values += results
        trips = self.draw(st.sampled_from(["%s0", "%s1", "%s3", "%trips"]))
        return [
            f"{head} = scf.for {self.fresh()} = %s0 to {trips} step %s1 iter_args({pairs}) -> ({types}) {{",
            *body,
            f"scf.yield {yields} : {types}",
            "}",
        ]

    def make_if(self, values, depth):
        result = self.fresh()
        branches = []
        for _ in range(2):
            inner = list(values)
            body = self.block(inner, depth + 1)
            branches.append([*body, f"scf.yield {self.pick(inner[-4:])} : {R}"])
        values.append(result)
        condition = f"%c{self.draw(st.integers(0, 1))}"
        return [f"{result} = scf.if {condition} -> ({R}) {{", *branches[0], "} else {", *branches[1], "}"]

    def make_while(self, values, depth):
        """Runs while a counter in the first byte says so."""
        arguments, results, head, pairs, types = self.carried(values)
        before = [*values, *arguments]
        first = self.block(before, depth + 1) if self.draw(st.booleans()) else []
        counter, next_counter, more = self.fresh(), self.fresh(), self.fresh()
        passed = arguments if self.draw(st.booleans()) else [self.pick(before[-4:]) for _ in arguments]
        after = [self.fresh() for _ in arguments]
        inner = [*values, *after]
        body = self.block(inner, depth + 1)
        yields = ", ".join(self.pick(inner[-4:]) for _ in arguments)
        values += results
        header = ", ".join(f"{a}: {R}" for a in after)
        outputs = head if ":" in head else f"{head}:1"
        name = outputs.partition(":")[0]
        count = len(arguments)
        renamed = [f"{name}#{i}" for i in range(count)]
        values[-count:] = renamed
        return [
            f"{name}:{count + 1} = scf.while ({pairs}, {counter} = %s0) : ({types}, index) -> ({types}, index) {{",
            *first,
            f"{more} = arith.cmpi slt, {counter}, %trips : index",
            f"scf.condition({more}) {', '.join(passed)}, {counter} : {types}, index",
            "} do {",
            f"^bb0({header}, {counter}x: index):",
            *body,
            f"{next_counter} = arith.addi {counter}x, %s1 : index",
            f"scf.yield {yields}, {next_counter} : {types}, index",
            "}",
        ]


@st.composite
def programs(draw):
    program = Program(draw)
    values = ["%a0", "%a1", "%w"]
    lines = program.block(values, 0)
    outputs = [draw(st.sampled_from(values[-6:])) for _ in range(3)]
    consume = ["consume " if draw(st.booleans()) else "" for _ in range(2)]
    head = [f"%s{n} = arith.constant {n} : index" for n in range(SIZE + 1)]
    head += [f"%p{n} = arith.constant {17 * (n + 1)} : i8" for n in range(4)]
    for i in range(2):
        head += [
            f"%i{i} = stream.tensor.import {consume[i]}%view{i} : !hal.buffer_view"
            f" -> tensor<{SIZE}xi8> in {X}{{%s{SIZE}}}",
            f"%a{i} = stream.async.cast %i{i} : {X}{{%s{SIZE}}} -> {R}{{%s{SIZE}}}",
        ]
    head += [
        "%g = util.global.load immutable @w : !stream.resource<constant>",
        f"%w = stream.async.transfer %g : !stream.resource<constant>{{%s{SIZE}}} -> {R}{{%s{SIZE}}}",
    ]
    tail = []
    for i, value in enumerate(outputs):
        tail += [
            f"%x{i} = stream.async.cast {value} : {R}{{%s{SIZE}}} -> {X}{{%s{SIZE}}}",
            f"%o{i} = stream.tensor.export %x{i} : tensor<{SIZE}xi8> in {X}{{%s{SIZE}}} -> !hal.buffer_view",
        ]
    body = "\n".join([*head, *lines, *tail])
    return f"""module {{
util.global private @w : !stream.resource<constant>
stream.executable private @e {{
  stream.executable.export public @f
  builtin.module {{ func.func @f(%0: !stream.binding, %1: !stream.binding, %2: !stream.binding) {{ return }} }}
}}
util.func public @main(%view0: !hal.buffer_view, %view1: !hal.buffer_view, %trips: index, %c0: i1, %c1: i1)
    -> (!hal.buffer_view, !hal.buffer_view, !hal.buffer_view) {{
{body}
util.return %o0, %o1, %o2 : !hal.buffer_view, !hal.buffer_view, !hal.buffer_view
}}}}"""


class Machine:
    """Runs a host function. `in_place`: tied ops write into their operand; else every op makes a new array."""

    def __init__(self, constant, in_place):
        self.constant = constant
        self.in_place = in_place
        self.env = {}

    def run(self, function, arguments):
        self.bind(function.entry_block.arguments, arguments)
        return self.block(function.entry_block)

    def bind(self, names, values):
        self.env.update(zip(names, values, strict=True))

    def get(self, values):
        return [self.env[v] for v in values]

    def block(self, block):
        """Runs to the terminator and gives its operands."""
        for op in block.ops:
            if op is block.terminator:
                return self.get(op.resource_operands if op.name == "stream.yield" else op.operands)
            self.bind(op.results, getattr(self, op.name.replace(".", "_"))(op))
        return []

    def target(self, value):
        array = self.env[value]
        return array if self.in_place else array.copy()

    def arith_constant(self, op):
        return [op.value.value]

    def arith_cmpi(self, op):
        return [self.env[op.lhs] < self.env[op.rhs]]

    def arith_addi(self, op):
        return [self.env[op.lhs] + self.env[op.rhs]]

    def util_global_load(self, op):
        return [self.constant]

    def stream_tensor_import(self, op):
        return [self.env[op.source]]

    def stream_tensor_export(self, op):
        return [self.env[op.source]]

    def stream_async_cast(self, op):
        return [self.env[op.source]]

    def stream_async_transfer(self, op):
        return [self.env[op.source].copy()]

    stream_async_clone = stream_async_transfer

    def stream_async_alloca(self, op):
        return [np.full(self.env[op.storage_size], 0xEE, np.uint8)]

    def stream_async_splat(self, op):
        return [np.full(self.env[op.result_size], self.env[op.value] & 255, np.uint8)]

    def stream_async_slice(self, op):
        return [self.env[op.source][self.env[op.source_offset] : self.env[op.source_end]].copy()]

    def stream_async_fill(self, op):
        target = self.target(op.target)
        target[self.env[op.target_offset] : self.env[op.target_end]] = self.env[op.value] & 255
        return [target]

    def stream_async_update(self, op):
        target, update = self.target(op.target), self.env[op.update].copy()
        target[self.env[op.target_offset] : self.env[op.target_end]] = update
        return [target]

    def stream_async_copy(self, op):
        target = self.target(op.target)
        source = self.env[op.source]
        if self.in_place:
            # A copy between overlapping ranges of one array would be wrong on a device.
            a = source[self.env[op.source_offset] : self.env[op.source_end]]
            assert not np.shares_memory(a, target[self.env[op.target_offset] : self.env[op.target_end]])
        part = source[self.env[op.source_offset] : self.env[op.source_end]].copy()
        target[self.env[op.target_offset] : self.env[op.target_end]] = part
        return [target]

    def stream_async_dispatch(self, op):
        """Writes a number for each byte that depends on all that is read; reads and writes must be apart."""
        offsets, ends = self.get(op.resource_operand_offsets), self.get(op.resource_operand_ends)
        ranges = [self.env[v][a:b] for v, a, b in zip(op.resource_operands, offsets, ends)]
        ties = [] if op.tied_operands is None else [t.value for t in op.tied_operands]
        if ties:
            target = self.target(op.resource_operands[ties[0]])
            out = target[offsets[ties[0]] : ends[ties[0]]]
            # What is written may not be read elsewhere in the same dispatch.
            reads = [r for i, r in enumerate(ranges) if i != ties[0]]
            if self.in_place:
                assert not any(np.shares_memory(out, r) for r in reads)
        else:
            out = target = np.zeros(self.env[op.result_sizes[0]], np.uint8)
            reads = ranges
        # Emplaced results are a last, tied operand: only the first two are the dispatch's own.
        own = [r for i, r in enumerate(ranges) if i < 2 and not (ties and i == ties[0] and len(ranges) == 3)]
        total = sum(int(r.sum()) * (i + 1) + len(r) for i, r in enumerate(own))
        out[:] = [(total + k) & 255 for k in range(len(out))]
        return [target]

    def stream_async_execute(self, op):
        self.bind(op.body.entry.arguments, self.get(op.resource_operands))
        return [*self.block(op.body.entry), None]

    def stream_async_concurrent(self, op):
        self.bind(op.body.entry.arguments, self.get(op.resource_operands))
        return self.block(op.body.entry)

    def stream_timepoint_await(self, op):
        return self.get(op.resource_operands)

    def stream_timepoint_immediate(self, op):
        return [None]

    stream_timepoint_join = stream_timepoint_immediate

    def scf_for(self, op):
        carried = self.get(op.init_args)
        for i in range(self.env[op.lower_bound], self.env[op.upper_bound], self.env[op.step]):
            self.bind(op.body_block.arguments, [i, *carried])
            carried = self.block(op.body_block)
        return carried

    def scf_while(self, op):
        carried = self.get(op.inits)
        while True:
            self.bind(op.before_block.arguments, carried)
            more, *passed = self.block(op.before_block)
            if not more:
                return passed
            self.bind(op.after_block.arguments, passed)
            carried = self.block(op.after_block)

    def scf_if(self, op):
        return self.block(op.then_block if self.env[op.condition] else op.else_block)


def run(module, in_place, trips, conditions):
    main = next(op for op in module.walk() if op.name == "util.func")
    consumed = [op.consume for op in module.walk() if op.name == "stream.tensor.import"]
    inputs = [np.arange(SIZE, dtype=np.uint8) + 1, np.arange(SIZE, dtype=np.uint8) * 3 + 5]
    constant = np.arange(SIZE, dtype=np.uint8) * 7
    kept = [*[a.copy() for a in inputs], constant.copy()]
    results = Machine(constant, in_place).run(main, [*inputs, trips, *conditions])
    if in_place:
        outside = [a for a, taken in zip(inputs, consumed) if not taken] + [constant]
        for array, before in zip([*inputs, constant], kept):
            if any(array is o for o in outside):
                np.testing.assert_array_equal(array, before)
        for i, result in enumerate(results):
            assert not any(np.shares_memory(result, other) for other in results[:i])
            assert not any(np.shares_memory(result, o) for o in outside)
    return [r.copy() for r in results]


def _check(passes, text, trips, conditions):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.stream import pipeline  # noqa: F401  (says where the passes are)

    wanted = run(parse(text, verify=True), False, trips, conditions)
    module = parse(text, verify=True)
    PassManager(passes).run(module, PassContext(verify_each=True))
    got = run(module, True, trips, conditions)
    for a, b in zip(got, wanted):
        np.testing.assert_array_equal(a, b, err_msg=str(module))


CHANGES = pytest.mark.parametrize("passes", [COW_PASSES, COW_PASSES + SCHEDULE_PASSES], ids=["copies", "scheduled"])
GIVEN = given(text=programs(), trips=st.integers(0, 3), conditions=st.tuples(st.booleans(), st.booleans()))
SETTINGS = settings(
    deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)  # fmt: skip


@CHANGES
@settings(SETTINGS, max_examples=25)
@GIVEN
def test_in_place_is_by_value(passes, text, trips, conditions):
    _check(passes, text, trips, conditions)


@pytest.mark.slow
@CHANGES
@settings(SETTINGS, max_examples=200)
@GIVEN
def test_in_place_is_by_value_in_many_programs(passes, text, trips, conditions):
    _check(passes, text, trips, conditions)
