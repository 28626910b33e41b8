"""Partitioning into execution regions, hazards and concurrency, timepoints, long fill patterns."""

import pytest

EXECUTE = "iree-stream-schedule-execution"
CONCURRENCY = "iree-stream-schedule-concurrency"
PROPAGATE = "iree-stream-propagate-timepoints"

T, X, S = "!stream.resource<transient>", "!stream.resource<external>", "!stream.resource<staging>"


def program(body, results="", returned=""):
    return f"""
util.global private @a : !hal.device
util.global private @b : !hal.device
stream.executable private @e {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f(%0: !stream.binding, %1: !stream.binding) {{ return }}
  }}
}}
util.func public @main(%x: {X}, %n: index, %d: index, %p: i1, %v: i32) {results} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
  util.return {returned}
}}"""


def dispatch(result, source, type=T, on="a", source_type=T):
    return (
        f"{result} = stream.async.dispatch on(#hal.device.affinity<@{on}>) @e::@f({source}[%c0 to %n for %n])"
        f" : ({source_type}{{%n}}) -> {type}{{%n}}"
    )


def stage(result, source):
    return f"{result} = stream.async.transfer {source} : {T}{{%n}} -> {S}{{%n}}"


def partitions(body):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.stream.analysis.partitioning import Partitioning

    module = parse(f"module {{{program(body)}}}")
    main = next(op for op in module.walk() if op.name == "util.func")
    text = str(Partitioning(main.entry_block)).replace("#hal.device.affinity", "")
    return [line.partition(" on ")[2] for line in text.splitlines()]


def test_one_device_is_one_region(run_passes, in_order, accepted):
    body = "\n".join([dispatch("%0", "%x", source_type=X), dispatch("%1", "%0"), dispatch("%2", "%0", X)])
    text = run_passes(program(body, f"-> {X}", f"%2 : {X}"), EXECUTE)
    in_order(
        text,
        "stream.async.execute on(#hal.device.affinity<@a>) with(%arg0 as %arg5: !stream.resource<external>{%arg1})",
        "-> !stream.resource<external>{%arg1} {",
        "stream.async.dispatch @e::@f(",
        "stream.yield",
        "stream.timepoint.await %result_timepoint => %results",
        "util.return",
    )
    assert text.count("stream.async.execute") == 1
    accepted(text)


def test_the_host_parts_work_only_where_it_must():
    body = "\n".join(
        [
            dispatch("%0", "%x", source_type=X),
            stage("%s", "%0"),
            f"%l = stream.async.load %s[%c0] : {S}{{%n}} -> i32",
            dispatch("%1", "%0"),
            f"%2 = stream.async.splat on(#hal.device.affinity<@a>) %l : i32 -> {T}{{%n}}",
            dispatch("%3", "%2"),
        ]
    ).replace(f"%0 : {T}{{%n}} -> {S}", f"%0 : {T}{{%n}} from(#hal.device.affinity<@a>) -> {S}")
    # What does not depend on the number is not held up by it.
    assert partitions(body) == ["<@a>: dispatch, transfer, dispatch", "<@a>: splat, dispatch"]


def test_devices_have_regions_of_their_own():
    body = "\n".join(
        [
            dispatch("%0", "%x", source_type=X),
            dispatch("%1", "%x", on="b", source_type=X),
            dispatch("%2", "%0", on="b"),
            dispatch("%3", "%2", on="a"),
            dispatch("%4", "%1", on="b"),
        ]
    )
    assert partitions(body) == ["<@a>: dispatch", "<@b>: dispatch, dispatch, dispatch", "<@a>: dispatch"]


def test_a_writer_comes_after_the_readers_of_what_it_overwrites():
    body = "\n".join(
        [
            f"%0 = stream.async.splat on(#hal.device.affinity<@a>) %v : i32 -> {T}{{%n}}",
            stage("%s", "%0").replace(" -> ", " from(#hal.device.affinity<@a>) -> "),
            f"%l = stream.async.load %s[%c0] : {S}{{%n}} -> i32",
            "%k = arith.index_cast %l : i32 to index",
            f"%r = stream.async.dispatch on(#hal.device.affinity<@a>) @e::@f[%k](%0[%c0 to %n for %n])"
            f" : ({T}{{%n}}) -> {T}{{%n}}",
            f"%w = stream.async.fill on(#hal.device.affinity<@a>) %v, %0[%c0 to %n for %n] : i32 -> %0 as {T}{{%n}}",
        ]
    )  # fmt: skip
    # The fill depends on no host value, but the dispatch before it reads the old contents.
    assert partitions(body) == ["<@a>: splat, transfer", "<@a>: dispatch, fill"]


def concurrent(body):
    return program(
        f"%r, %t = stream.async.execute on(#hal.device.affinity<@a>) with(%x as %y: {X}{{%n}}) -> {X}{{%n}} {{\n"
        f"{body}\n}} => !stream.timepoint"
    )


def in_region(result, source, type=T, source_type=T):
    return dispatch(result, source, type, source_type=source_type).replace(" on(#hal.device.affinity<@a>)", "")


def test_waves(run_passes, in_order, accepted):
    body = [
        in_region("%0", "%y", source_type=X),
        in_region("%1", "%y", source_type=X),
        in_region("%2", "%0"),
        in_region("%3", "%1", X),
        f"stream.yield %3 : {X}{{%n}}",
    ]
    text = run_passes(concurrent("\n".join(body)), CONCURRENCY)
    assert text.count("stream.async.concurrent") == 2
    wave = ("stream.async.concurrent", "dispatch", "dispatch", "stream.yield")
    in_order(text, *wave, *wave)
    accepted(text)


def hazards(body):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.stream.analysis.resource_hazards import ResourceHazardAnalysis

    module = parse(f"module {{{concurrent(body)}}}")
    execute = next(op for op in module.walk() if op.name == "stream.async.execute")
    return str(ResourceHazardAnalysis(execute.body.entry)).replace("stream.async.", "").splitlines()[:-1]


def test_pieces_of_one_resource_do_not_wait_for_each_other():
    fill = "%{} = stream.async.fill %v, %{}[{} for %n] : i32 -> %{} as " + T + "{{%n}}"
    body = [
        f"%0 = stream.async.alloca : {T}{{%n}}",
        fill.format("1", "0", "%c0 to %d", "0"),
        fill.format("2", "1", "%d to %n", "1"),
        fill.format("3", "2", "%c0 to %n", "2"),
        in_region("%4", "%3", X),
        f"stream.yield %4 : {X}{{%n}}",
    ]
    assert hazards("\n".join(body)) == [
        "#0 alloca",
        "#1 fill",
        "#2 fill",
        "#3 fill after #1, #2",
        "#4 dispatch after #3",
    ]


def test_a_reader_of_other_bytes_is_no_earlier_than_the_maker_of_its_operand(run_passes):
    body = [
        in_region("%0", "%y", source_type=X),
        f"%1 = stream.async.fill %v, %0[%c0 to %c1 for %c1] : i32 -> %0 as {T}{{%n}}",
        f"%2 = stream.async.dispatch @e::@f(%1[%c1 to %n for %n]) : ({T}{{%n}}) -> {X}{{%n}}",
        f"stream.yield %2 : {X}{{%n}}",
    ]
    text = run_passes(concurrent("\n".join(body)), CONCURRENCY)
    assert text.index("stream.async.fill") < text.index("@f(%", text.index("stream.async.fill"))


def test_readers_wait_for_writers_and_writers_for_readers():
    body = [
        f"%0 = stream.async.splat %v : i32 -> {T}{{%n}}",
        in_region("%1", "%0"),
        f"%2 = stream.async.fill %v, %0[%c0 to %d for %d] : i32 -> %0 as {T}{{%n}}",
        in_region("%3", "%2", X),
        f"stream.yield %3 : {X}{{%n}}",
    ]
    assert hazards("\n".join(body)) == [
        "#0 splat",
        "#1 dispatch after #0",
        "#2 fill after #0, #1",
        "#3 dispatch after #0, #2",
    ]


def test_regions_wait_on_the_device(run_passes, in_order, accepted):
    body = "\n".join([dispatch("%0", "%x", source_type=X), dispatch("%1", "%0", X, on="b")])
    text = run_passes(program(body, f"-> {X}", f"%1 : {X}"), EXECUTE, PROPAGATE)
    in_order(
        text,
        "%results, %result_timepoint = stream.async.execute on(#hal.device.affinity<@a>) with(",
        "stream.async.execute on(#hal.device.affinity<@b>) await(%result_timepoint) => with(%results as",
        "stream.timepoint.await",
        "util.return",
    )
    assert text.count("timepoint.await") == 1
    accepted(text)


def test_loops_carry_a_timepoint(run_passes, in_order, accepted):
    body = "\n".join(
        [
            f"%l = scf.for %i = %c0 to %d step %c1 iter_args(%y = %x) -> ({X}) {{",
            dispatch("%0", "%y", X, source_type=X),
            f"scf.yield %0 : {X}\n}}",
        ]
    )
    text = run_passes(program(body, f"-> {X}", f"%l : {X}"), EXECUTE, PROPAGATE)
    in_order(
        text,
        "stream.timepoint.immediate",
        "scf.for",
        "-> (!stream.resource<external>, !stream.timepoint)",
        "stream.async.execute on(#hal.device.affinity<@a>) await(%arg",
        "scf.yield %results, %result_timepoint",
        "stream.timepoint.await",
    )
    assert text.count("timepoint.await") == 1
    accepted(text)


def test_while_loops_and_branches_carry_a_timepoint(run_passes, in_order, accepted):
    body = "\n".join(
        [
            f"%l = scf.while (%y = %x) : ({X}) -> {X} {{",
            dispatch("%0", "%y", X, source_type=X),
            f"scf.condition(%p) %0 : {X}\n}} do {{\n^bb0(%z: {X}):",
            f"%q = scf.if %p -> ({X}) {{",
            dispatch("%1", "%z", X, source_type=X),
            f"scf.yield %1 : {X}\n}} else {{\nscf.yield %z : {X}\n}}",
            f"scf.yield %q : {X}\n}}",
        ]
    )
    text = run_passes(program(body, f"-> {X}", f"%l : {X}"), EXECUTE, PROPAGATE)
    in_order(text, "scf.while", "await(%arg", "scf.condition(%arg3)", "scf.if", "await(%arg", "else", "scf.yield")
    assert text.count("timepoint.await") == 1
    accepted(text)


def test_initializers_wait_themselves(run_passes, in_order):
    text = run_passes(
        """
util.global private @w : !stream.resource<constant>
util.initializer {
  %n = arith.constant 4 : index
  %0 = stream.async.constant : !stream.resource<constant>{%n} = dense<[1]> : tensor<1xi32>
  util.global.store %0, @w : !stream.resource<constant>
  util.return
}""",
        EXECUTE, "iree-stream-sync-initializers", PROPAGATE,
    )  # fmt: skip
    in_order(text, "stream.async.execute", "stream.timepoint.await sync %result_timepoint", "util.global.store")


@pytest.mark.parametrize(("type", "dispatches"), [("i8", 0), ("i32", 0), ("i64", 1)])
def test_long_patterns_are_dispatches(type, dispatches, run_passes, in_order, accepted):
    text = run_passes(
        f"""
util.global private @a : !hal.device
util.func public @main(%n: index, %d: index, %v: {type}) -> !stream.timepoint {{
  %c0 = arith.constant 0 : index
  %r, %t = stream.async.execute on(#hal.device.affinity<@a>) with() -> {T}{{%n}} {{
    %0 = stream.async.splat %v : {type} -> {T}{{%n}}
    %1 = stream.async.fill %v, %0[%c0 to %d for %d] : {type} -> %0 as {T}{{%n}}
    stream.yield %1 : {T}{{%n}}
  }} => !stream.timepoint
  util.return %t : !stream.timepoint
}}""",
        "iree-stream-materialize-builtins",
    )
    assert text.count("stream.async.dispatch") == 2 * dispatches
    if dispatches:
        in_order(
            text, "stream.executable private @__builtin_fill_i64", "arith.divui %arg0, %c8", "stream.async.execute",
            "(%arg2, %", "(i64, index) -> !stream.resource<transient>{%arg0}", "-> %",
        )  # fmt: skip
    accepted(text)
