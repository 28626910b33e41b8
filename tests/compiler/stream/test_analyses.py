"""The analyses alone: where things are, and who owns memory."""

import pytest


def parsed(text):
    from pyiree.compiler.ir.parser import parse

    return parse(text, verify=True)


DEVICES = """
module attributes {stream.affinity.default = #hal.device.affinity<@a>} {
util.global private @a : !hal.device
util.global private @b : !hal.device
util.global private @w {stream.affinity = #hal.device.affinity<@b>} = dense<1.0> : tensor<4xf32>
util.func public @main(%view: !hal.buffer_view, %d: index, %v: f32) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  BODY
}
}"""


def places(body):
    from pyiree.compiler.stream.analysis.affinity import AffinityAnalysis

    analysis = AffinityAnalysis(parsed(DEVICES.replace("BODY", body)))
    return [line.replace("#hal.device.affinity", "").replace("flow.tensor.", "") for line in str(analysis).splitlines()]


def test_everything_is_on_the_default_device():
    body = """%0 = flow.tensor.splat %v : tensor<?xf32>{%d}
  %1 = flow.tensor.clone %0 : tensor<?xf32>{%d}
  %2 = hal.tensor.export %1 : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %2 : !hal.buffer_view"""
    assert places(body) == ["splat: <@a>", "clone: <@a>"]


def test_work_follows_its_operands_and_values_from_nothing_their_uses():
    body = """%0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.tensor.transfer %0 : tensor<?xf32>{%d} to #hal.device.affinity<@b>
  %2 = flow.tensor.clone %1 : tensor<?xf32>{%d}
  %3 = flow.tensor.splat %v : tensor<1xf32>
  %4 = flow.tensor.update %3, %2[%c0] : tensor<1xf32> -> %2 as tensor<?xf32>{%d}
  %5 = util.global.load immutable @w : tensor<4xf32>
  %6 = flow.tensor.clone %5 : tensor<4xf32>
  %7 = hal.tensor.export %4 : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %7 : !hal.buffer_view"""
    assert places(body) == [
        "hal.tensor.import: <@a>",
        "transfer: <@b>",
        "clone: <@b>",
        "splat: <@b>",
        "update: <@b>",
        "util.global.load: <@b>",
        "clone: <@b>",
    ]


def test_loops_keep_values_where_they_start():
    body = """%0 = hal.tensor.import on(#hal.device.affinity<@b>) %view : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = scf.for %i = %c0 to %d step %c1 iter_args(%x = %0) -> (tensor<?xf32>) {
    %2 = flow.tensor.clone %x : tensor<?xf32>{%d}
    %3 = flow.tensor.transfer %2 : tensor<?xf32>{%d} to #hal.device.affinity<@a>
    scf.yield %3 : tensor<?xf32>
  }
  %4 = flow.tensor.clone %1 : tensor<?xf32>{%d}
  %5 = hal.tensor.export %4 : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %5 : !hal.buffer_view"""
    assert places(body) == ["hal.tensor.import: <@b>", "clone: <@b>", "transfer: <@a>", "clone: <@b>"]


R = "!stream.resource<*>"


@pytest.mark.parametrize(
    ("low", "high", "kinds"), [("%c0", "%c4", {"stream.async.splat"}), ("%c0", "%n", {"tensor.import", "async.splat"})]
)
def test_a_loop_that_runs_gives_what_its_iterations_make(low, high, kinds):
    from pyiree.compiler.stream.analysis.ownership import Ownership

    module = parsed(f"""module {{
util.func public @main(%view: !hal.buffer_view, %n: index, %v: i32) -> {R} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = stream.tensor.import %view : !hal.buffer_view -> tensor<?xi32>{{%n}} in {R}{{%n}}
  %1 = scf.for %i = {low} to {high} step %c1 iter_args(%x = %0) -> ({R}) {{
    %2 = stream.async.splat %v : i32 -> {R}{{%n}}
    scf.yield %2 : {R}
  }}
  util.return %1 : {R}
}}}}""")
    returned = next(op for op in module.walk() if op.name == "util.return").operands[0]
    found = {origin.defining_op.name for origin in Ownership().origins(returned)}
    assert len(found) == len(kinds)
    assert all(any(name.endswith(kind) for name in found) for kind in kinds)


@pytest.mark.parametrize(
    ("constant", "splat"),
    [
        ("dense<(0.0,0.0)> : tensor<3xcomplex<f32>>", "0 : i8"),
        ("dense<(1.0,1.0)> : tensor<3xcomplex<f32>>", "1065353216 : i32"),
        ("dense<(1.0,2.0)> : tensor<3xcomplex<f64>>", None),
    ],
)
def test_complex_constants_are_splats_where_a_pattern_is_short_enough(constant, splat, run_passes, accepted):
    text = run_passes(
        DEVICES.replace(
            "BODY",
            f"""%0 = flow.tensor.constant {constant}
  %1 = hal.tensor.export %0 : {constant.rpartition(" : ")[2]} -> !hal.buffer_view
  util.return %1 : !hal.buffer_view""",
        ),
        "iree-stream-conversion",
        "iree-stream-encode-host-tensors",
    )
    assert ("stream.async.splat" in text) == (splat is not None)
    assert splat is None or f"arith.constant {splat}" in text
    accepted(text)
