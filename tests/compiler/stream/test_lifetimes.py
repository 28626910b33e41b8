"""iree-stream-refine-usage with its analysis, access ranges, and the checks that close the levels."""

import pytest

R = "!stream.resource<*>"
REFINE = "iree-stream-refine-usage"


def test_uses_decide_lifetimes(run_passes, in_order, accepted):
    text = run_passes(
        f"""
util.global private @d : !hal.device
util.global private @w : !stream.resource<constant>
stream.executable private @e {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f(%0: !stream.binding, %1: !stream.binding) {{ return }}
  }}
}}
util.func public @main(%x: !hal.buffer_view, %n: index, %d: index) -> (!hal.buffer_view, i32) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = stream.tensor.import %x : !hal.buffer_view -> tensor<?xi32>{{%d}} in !stream.resource<external>{{%n}}
  %0 = stream.async.cast %i : !stream.resource<external>{{%n}} -> {R}{{%n}}
  %w = util.global.load immutable @w : !stream.resource<constant>
  %1 = stream.async.transfer %w : !stream.resource<constant>{{%n}} -> {R}{{%n}}
  %2 = stream.async.dispatch @e::@f(%0[%c0 to %n for %n], %1[%c0 to %n for %n]) : ({R}{{%n}}, {R}{{%n}}) -> {R}{{%n}}
  %3 = stream.async.slice %2[%c0 to %c4] : {R}{{%n}} -> {R}{{%c4}}
  %4 = stream.async.transfer %3 : {R}{{%c4}} -> !stream.resource<staging>{{%c4}}
  %v = stream.async.load %4[%c0] : !stream.resource<staging>{{%c4}} -> i32
  %5 = stream.async.dispatch @e::@f(%2[%c0 to %n for %n]) : ({R}{{%n}}) -> {R}{{%n}}
  %6 = stream.async.cast %5 : {R}{{%n}} -> !stream.resource<external>{{%n}}
  %7 = stream.tensor.export %6 : tensor<?xi32>{{%d}} in !stream.resource<external>{{%n}} -> !hal.buffer_view
  util.return %7, %v : !hal.buffer_view, i32
}}""",
        REFINE,
    )
    in_order(
        text,
        "%w = util.global.load immutable @w",
        "stream.async.dispatch",
        "(!stream.resource<external>{%arg1}, !stream.resource<constant>{%arg1}) -> !stream.resource<transient>{%arg1}",
        "stream.async.slice",
        "!stream.resource<transient>{%c4}",
        "stream.async.transfer",
        "!stream.resource<staging>{%c4}",
        "(!stream.resource<transient>{%arg1}) -> !stream.resource<external>{%arg1}",
        "stream.tensor.export",
    )
    assert "<*>" not in text
    assert "async.cast" not in text
    accepted(text)


def test_loops_share_a_lifetime(run_passes, in_order):
    text = run_passes(
        f"""
util.global private @w : !stream.resource<constant>
util.func public @main(%n: index, %k: index, %v: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = util.global.load immutable @w : !stream.resource<constant>
  %0 = stream.async.transfer %w : !stream.resource<constant>{{%n}} -> {R}{{%n}}
  %1 = scf.for %i = %c0 to %k step %c1 iter_args(%x = %0) -> ({R}) {{
    %2 = stream.async.splat %v : i32 -> {R}{{%n}}
    scf.yield %2 : {R}
  }}
  util.return
}}""",
        REFINE,
    )
    # The loop makes memory of its own, so the constant must be copied into it.
    transient = "!stream.resource<transient>"
    in_order(text, "stream.async.transfer", f"-> {transient}", "iter_args", f"({transient})")


def test_a_slice_into_another_lifetime_is_a_copy(run_passes, in_order, accepted):
    text = run_passes(
        f"""
util.global private @d : !hal.device
util.func public @main(%x: !hal.buffer_view, %n: index, %a: index) -> !hal.buffer_view {{
  %c0 = arith.constant 0 : index
  %0 = stream.async.splat %c0 : index -> {R}{{%n}}
  %1 = stream.async.slice %0[%c0 to %a] : {R}{{%n}} -> {R}{{%a}}
  %2 = stream.async.cast %1 : {R}{{%a}} -> !stream.resource<external>{{%a}}
  %3 = stream.tensor.export %2 : tensor<?xi8>{{%a}} in !stream.resource<external>{{%a}} -> !hal.buffer_view
  util.return %3 : !hal.buffer_view
}}""".replace("%c0 : index -> !stream", "%v : i32 -> !stream").replace("%a: index)", "%a: index, %v: i32)"),
        REFINE,
    )
    in_order(text, "stream.async.alloca : !stream.resource<external>", "stream.async.copy %0[")
    accepted(text)


def test_the_analysis_prints_itself():
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.stream.analysis.resource_usage import ResourceUsageAnalysis

    module = parse(f"""module {{
util.func public @main(%n: index, %v: i32) {{
  %0 = stream.async.splat %v : i32 -> {R}{{%n}}
  %1 = stream.async.transfer %0 : {R}{{%n}} -> !stream.resource<staging>{{%n}}
  util.return
}}}}""")
    assert str(ResourceUsageAnalysis(module)) == "stream.async.splat: transient\nstream.async.transfer: staging"


@pytest.mark.parametrize(
    ("start", "end", "message"), [(4, 8, None), (4, 20, "up to byte 20 of a resource of 16"), (8, 4, "ends before")]
)
def test_ranges(start, end, message, run_passes):
    from pyiree.compiler.ir.diagnostics import CompileError

    text = f"""
util.func public @main(%0: {R}, %n: index, %v: i32) -> {R} {{
  %a = arith.constant {start} : index
  %b = arith.constant {end} : index
  %s = arith.constant 16 : index
  %1 = stream.async.fill %v, %0[%a to %b for %n] : i32 -> %0 as {R}{{%s}}
  util.return %1 : {R}
}}"""
    if message is None:
        run_passes(text, "iree-stream-verify-async-access-ranges")
    else:
        with pytest.raises(CompileError, match=message):
            run_passes(text, "iree-stream-verify-async-access-ranges")


@pytest.mark.parametrize(
    ("level", "body", "message"),
    [
        ("tensors", "%0 = flow.tensor.empty : tensor<?xf32>{%n}", r"flow\.tensor\.empty.*not converted"),
        ("tensors", "%0 = tensor.empty(%n) : tensor<?xf32>", r"tensor\.empty.*tensor<\?xf32> on the host"),
        (
            "async-resources",
            f"%0 = stream.tensor.empty : tensor<?xf32>{{%n}} in {R}{{%n}}",
            r"stream\.tensor\.empty.*not encoded",
        ),
        ("async", f"%0 = stream.async.alloca : {R}{{%n}}", "in no execution region"),
        (
            "async",
            f"%0, %t = stream.resource.alloca uninitialized : {R}{{%n}} => !stream.timepoint",
            "unknown lifetime",
        ),
    ],
)
def test_each_level_is_closed(level, body, message, run_passes):
    from pyiree.compiler.ir.diagnostics import CompileError

    with pytest.raises(CompileError, match=message):
        main = f"util.func public @main(%n: index) {{ {body}\n util.return }}"
        run_passes(main, f"iree-stream-verify-lowering-to-{level}")
