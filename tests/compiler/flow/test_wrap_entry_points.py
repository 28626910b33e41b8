"""Public functions take and return buffer views."""

PASS = "iree-abi-wrap-entry-points"


def test_arguments_and_results(run_passes, in_order):
    text = run_passes(
        """
        util.func public @main(%a: tensor<4xf32>, %n: i32) -> tensor<4xf32> { util.return %a : tensor<4xf32> }
        """,
        PASS,
    )
    in_order(
        text,
        "util.func public @main(%arg0: !hal.buffer_view, %arg1: i32) -> !hal.buffer_view",
        "iree.abi.stub",
        'iree.abi.declaration = "sync func @main(%input0: tensor<4xf32>, %input1: i32) -> (%output0: tensor<4xf32>)"',
        'hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<4xf32>',
        'hal.tensor.export %0 "output0" : tensor<4xf32> -> !hal.buffer_view',
        "util.return",
    )


def test_dynamic_dims_are_asked_of_the_view(run_passes, in_order):
    text = run_passes(
        "util.func public @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> { util.return %a : tensor<?x4xf32> }", PASS
    )
    in_order(
        text,
        "hal.buffer_view.dim<%arg0 : !hal.buffer_view>[0] : index",
        'hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<?x4xf32>{%0}',
        'hal.tensor.export %1 "output0" : tensor<?x4xf32>{%dim}',
    )


def test_unsigned_elements_are_seen_outside(run_passes, in_order):
    text = run_passes(
        """
        util.func public @main(%a: tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}) -> tensor<4xi8> {
          util.return %a : tensor<4xi8>
        }
        """,
        PASS,
    )
    in_order(text, "hal.tensor.import", "-> tensor<4xui8> as tensor<4xi8>")


def test_what_is_wrapped_or_private_stays(run_passes):
    text = run_passes(
        """
        util.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> { util.return %a : tensor<4xf32> }
        util.func public @done(%a: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
          util.return %a : !hal.buffer_view
        }
        """,
        PASS,
    )
    assert "hal.tensor" not in text
