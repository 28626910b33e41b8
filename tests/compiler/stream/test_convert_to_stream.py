"""iree-stream-conversion: from flow on tensors to stream.tensor on resources."""

import pytest

EXECUTABLE = """
flow.executable private @e {
  flow.executable.export public @f workgroups(%w: index) -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
    flow.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @f(%in: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %d: index, %out: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) {
      %0 = iree_tensor_ext.dispatch.tensor.load %in, offsets = [0], sizes = [%d], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%d} -> tensor<?xf32>
      iree_tensor_ext.dispatch.tensor.store %0, %out, offsets = [0], sizes = [%d], strides = [1] : tensor<?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%d}
      return
    }
  }
}
"""  # noqa: E501


def module(body, executable=EXECUTABLE):
    return f"""
module attributes {{stream.affinity.default = #hal.device.affinity<@a>}} {{
util.global private @a : !hal.device
util.global private @b : !hal.device
{executable}
{body}
}}"""


@pytest.fixture
def convert(run_passes):
    def run(body, *more):
        return run_passes(module(body), "iree-stream-conversion", "iree-stream-verify-lowering-to-tensors", *more)

    return run


DISPATCH = """
util.func public @main(%view: !hal.buffer_view, %d: index) -> !hal.buffer_view {
  %0 = hal.tensor.import %view "input0" : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.dispatch @e::@f[%d](%0, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %2 = hal.tensor.export %1 "output0" : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}"""


def test_dispatch_between_import_and_export(convert, in_order, accepted):
    text = convert(DISPATCH)
    in_order(
        text,
        'hal.buffer_view.assert<%arg0 : !hal.buffer_view> message("input0") shape([%arg1])',
        "stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<?xf32>{%arg1} : index",
        "stream.tensor.import on(#hal.device.affinity<@a>) %arg0",
        "stream.async.cast",
        "stream.tensor.dispatch on(#hal.device.affinity<@a>) @e::@f[%arg1](",
        "(tensor<?xf32>{%arg1} in !stream.resource<*>{",
        "stream.async.cast",
        "stream.tensor.export on(#hal.device.affinity<@a>)",
    )
    accepted(text)


def test_executables_take_bindings(convert, in_order):
    in_order(
        convert(DISPATCH),
        "stream.executable private @e",
        "stream.executable.export public @f workgroups(",
        "stream.return",
        "func.func @f(%arg0: !stream.binding, %arg1: index, %arg2: !stream.binding)",
        "stream.binding.subspan %arg0[%c0] : !stream.binding",
        "{%arg1}",
        "stream.binding.subspan %arg2[%c0] : !stream.binding",
    )


def test_globals_get_initializers(convert, in_order, accepted):
    text = convert("""
util.global private @w = dense<[1.0, 2.0]> : tensor<2xf32>
util.global private mutable @n = dense<[3, 4]> : tensor<2xi32>
util.func public @main() -> !hal.buffer_view {
  %0 = util.global.load immutable @w : tensor<2xf32>
  %1 = hal.tensor.export %0 : tensor<2xf32> -> !hal.buffer_view
  %2 = util.global.load @n : tensor<2xi32>
  util.global.store %2, @n : tensor<2xi32>
  util.return %1 : !hal.buffer_view
}""")
    in_order(
        text,
        "util.global private @w : !stream.resource<constant>",
        "util.initializer {",
        "stream.tensor.constant on(#hal.device.affinity<@a>) : tensor<2xf32> in !stream.resource<constant>",
        "util.global.store",
        "util.global private mutable @n : !stream.resource<variable>",
        "util.global.load immutable @w : !stream.resource<constant>",
        "stream.async.transfer",
        "util.global.load @n : !stream.resource<variable>",
        "-> to(#hal.device.affinity<@a>) !stream.resource<variable>",
        "util.global.store",
    )
    accepted(text)


def test_loops_carry_sizes_only_where_shapes_do_not_tell(convert, in_order, accepted):
    text = convert("""
util.func public @main(%view: !hal.buffer_view, %d: index, %n: index) -> !hal.buffer_view {
  %c1 = arith.constant 1 : index
  %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?xf32>{%d}
  %s = arith.constant dense<0> : tensor<i32>
  %r:2 = scf.for %i = %c1 to %n step %c1 iter_args(%x = %0, %y = %s) -> (tensor<?xf32>, tensor<i32>) {
    %1 = flow.dispatch @e::@f[%d](%x, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
    scf.yield %1, %y : tensor<?xf32>, tensor<i32>
  }
  %2 = hal.tensor.export %r#0 : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %2 : !hal.buffer_view
}""")
    carried = "-> (!stream.resource<*>, index, !stream.resource<*>)"
    in_order(text, "scf.for", carried, "stream.tensor.dispatch", "scf.yield")
    accepted(text)


def test_host_numbers_pass_through_staging_memory(convert, in_order, accepted):
    text = convert("""
util.func public @main(%view: !hal.buffer_view, %d: index) -> f32 {
  %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?xf32>{%d}
  %c3 = arith.constant 3 : index
  %1 = flow.tensor.load %0[%c3] : tensor<?xf32>{%d}
  util.return %1 : f32
}""")
    in_order(
        text,
        "stream.tensor.slice",
        "stream.async.transfer",
        "!stream.resource<staging>",
        "stream.tensor.load",
        ": tensor<1xf32> in !stream.resource<staging>",
    )
    accepted(text)


def test_devices(convert, in_order, accepted):
    text = convert("""
util.func public @main(%view: !hal.buffer_view, %d: index) -> !hal.buffer_view {
  %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.tensor.transfer %0 : tensor<?xf32>{%d} to #hal.device.affinity<@b>
  %2 = flow.dispatch @e::@f[%d](%1, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %3 = hal.tensor.export %2 : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %3 : !hal.buffer_view
}""")
    in_order(
        text,
        "stream.tensor.import on(#hal.device.affinity<@a>)",
        "from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>)",
        "stream.tensor.dispatch on(#hal.device.affinity<@b>)",
        "from(#hal.device.affinity<@b>) -> to(#hal.device.affinity<@a>)",
        "stream.tensor.export on(#hal.device.affinity<@a>)",
    )
    accepted(text)


def test_what_cannot_be_converted_is_named(convert):
    from pyiree.compiler.ir.diagnostics import CompileError

    with pytest.raises(CompileError, match=r"flow\.tensor\.trace.*not supported"):
        convert("""
util.func public @main(%view: !hal.buffer_view, %d: index) {
  %0 = hal.tensor.import %view : !hal.buffer_view -> tensor<?xf32>{%d}
  flow.tensor.trace "x" = [%0 : tensor<?xf32>{%d}]
  util.return
}""")
