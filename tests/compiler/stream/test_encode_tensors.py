"""iree-stream-encode-host-tensors and iree-stream-encode-device-tensors: tensors as bytes."""

import pytest

HOST = "iree-stream-encode-host-tensors"


def test_sizes_are_arithmetic_on_dims(run_passes, in_order):
    text = run_passes(
        """
util.func public @main(%d: index) -> (index, index, index, index) {
  %0 = stream.tensor.sizeof tensor<4x8xf32> : index
  %1 = stream.tensor.sizeof tensor<?x8xf64>{%d} : index
  %2 = stream.tensor.sizeof tensor<7xi1> : index
  %3 = stream.tensor.sizeof tensor<?x0xcomplex<f32>>{%d} : index
  util.return %0, %1, %2, %3 : index, index, index, index
}""",
        HOST,
    )
    in_order(text, "arith.constant 128", "arith.muli %arg0, %c64", "arith.constant 7", "arith.constant 0")


def test_boxes_are_ranges(run_passes, in_order, accepted):
    text = run_passes(
        """
util.func public @main(%0: !stream.resource<*>, %d: index, %n: index, %i: index, %v: f16) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant 16 : index
  %1 = stream.tensor.slice %0[%i, %c0 for %c1, %c4] : tensor<?x4xf32>{%d} in !stream.resource<*>{%n} -> tensor<1x4xf32> in !stream.resource<*>{%s}
  %2 = stream.tensor.update %1, %0[%c1, %c0] : tensor<1x4xf32> in !stream.resource<*>{%s} -> tensor<?x4xf32>{%d} in %0 as !stream.resource<*>{%n}
  %3 = stream.tensor.fill %v, %2[%c0, %c0 for %c1, %c4] : f16 -> tensor<?x4xf16>{%d} in %2 as !stream.resource<*>{%n}
  util.return %3 : !stream.resource<*>
}""",  # noqa: E501
        HOST, "canonicalize", "cse",
    )  # fmt: skip
    in_order(
        text,
        "arith.muli %arg3, %c4",
        "arith.muli",
        "stream.async.slice %arg0[",
        "stream.async.update",
        "[%c16 to %c32]",
        "arith.bitcast %arg4 : f16 to i16",
        "stream.async.fill",
        "[%c0 to %c8 for %c8] : i16",
    )
    accepted(text)


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("0.0 : f32", "0 : i8"),
        ("1.0 : f32", "1065353216 : i32"),
        ("-1 : i64", "-1 : i8"),
        ("1 : i64", "1 : i64"),
        ("4294967297 : i64", "1 : i32"),
        ("16843009 : i32", "1 : i8"),
        ("65537 : i32", "1 : i16"),
        ("true", "1 : i8"),
    ],
)
def test_splats_take_the_shortest_pattern(value, pattern, run_passes, in_order):
    type = "i1" if value == "true" else value.split()[-1]
    text = run_passes(
        f"""
util.func public @main(%d: index, %n: index) -> !stream.resource<*> {{
  %v = arith.constant {value}
  %0 = stream.tensor.splat %v : {type} -> tensor<?x{type}>{{%d}} in !stream.resource<*>{{%n}}
  util.return %0 : !stream.resource<*>
}}""",
        HOST,
    )
    in_order(text, f"arith.constant {pattern}", f": {pattern.split()[-1]} -> !stream.resource<*>{{%arg1}}")


def test_bools_take_a_byte_on_both_sides(run_passes, in_order, accepted):
    text = run_passes(
        """
stream.executable private @e {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%in: !stream.binding, %d: index, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xi1>>{%d}
      %1 = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi1>>{%d}
      %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0], sizes = [%d], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xi1>>{%d} -> tensor<?xi1>
      iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [0], sizes = [%d], strides = [1] : tensor<?xi1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi1>>{%d}
      return
    }
  }
}
util.func public @main(%0: !stream.resource<staging>, %n: index) -> (i1, !stream.resource<constant>) {
  %c2 = arith.constant 2 : index
  %1 = stream.tensor.load %0[%c2] : tensor<4xi1> in !stream.resource<staging>{%n} -> i1
  %2 = stream.tensor.constant : tensor<3xi1> in !stream.resource<constant> = dense<[true, false, true]> : tensor<3xi1>
  util.return %1, %2 : i1, !stream.resource<constant>
}""",  # noqa: E501
        HOST, "iree-stream-encode-device-tensors",
    )  # fmt: skip
    in_order(
        text,
        "tensor<?xi8>>{%arg1} -> tensor<?xi8>",
        "arith.trunci",
        ": tensor<?xi8> to tensor<?xi1>",
        "arith.extui",
        ": tensor<?xi1> to tensor<?xi8>",
        "stream.async.load %arg0[%c2",
        "-> i8",
        "arith.trunci",
        "dense<[1, 0, 1]> : tensor<3xi8>",
    )
    accepted(text)


def test_a_box_of_several_pieces_is_refused(run_passes):
    from pyiree.compiler.ir.diagnostics import CompileError

    with pytest.raises(CompileError, match=r"stream\.tensor\.slice.*must be a dispatch"):
        run_passes(
            """
util.func public @main(%0: !stream.resource<*>, %d: index, %n: index, %m: index) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %1 = stream.tensor.slice %0[%c0, %c0 for %c2, %c2] : tensor<?x4xf32>{%d} in !stream.resource<*>{%n} -> tensor<2x2xf32> in !stream.resource<*>{%m}
  util.return %1 : !stream.resource<*>
}""",  # noqa: E501
            HOST,
        )
