"""Equal calls of the host's pure functions become one."""

NAME = "pyiree-flow-merge-host-calls"
PROGRAM = """
util.func private @pyiree_lapack.sgetrf(!hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view) attributes {nosideeffects}
util.func private @other.log(!hal.buffer_view) -> !hal.buffer_view
util.func public @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, !hal.buffer_view, !hal.buffer_view) {
  %0 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
  %1:2 = util.call @pyiree_lapack.sgetrf(%0) : (!hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view)
  %2 = hal.tensor.import %1#0 : !hal.buffer_view -> tensor<8x8xf32>
  %3 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
  %4:2 = util.call @pyiree_lapack.sgetrf(%3) : (!hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view)
  %5 = hal.tensor.import %4#0 : !hal.buffer_view -> tensor<8x8xf32>
  %6 = hal.tensor.export %b : tensor<8x8xf32> -> !hal.buffer_view
  %7:2 = util.call @pyiree_lapack.sgetrf(%6) : (!hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view)
  %8 = hal.tensor.import %7#0 : !hal.buffer_view -> tensor<8x8xf32>
  %9 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
  %10 = util.call @other.log(%9) : (!hal.buffer_view) -> !hal.buffer_view
  %11 = util.call @other.log(%9) : (!hal.buffer_view) -> !hal.buffer_view
  %12 = hal.tensor.import %11 : !hal.buffer_view -> tensor<8x8xf32>
  %13 = hal.tensor.export %2 : tensor<8x8xf32> -> !hal.buffer_view
  %14 = hal.tensor.export %2 : tensor<8x8xf32> -> !hal.buffer_view
  util.return %2, %5, %8, %12, %13, %14 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
    !hal.buffer_view, !hal.buffer_view
}
"""  # noqa: E501


def test_equal_calls_are_one(run_passes):
    text = run_passes(PROGRAM, NAME)
    # One of the two on %a is left beside that on %b, and both of the function that may have effects.
    assert text.count("util.call @pyiree_lapack.sgetrf") == 2 and text.count("util.call @other.log") == 2
    returned = next(line for line in text.splitlines() if "util.return" in line).split("return ")[1].split(", ")
    assert returned[0] == returned[1] != returned[2]
    # Views that leave the program stay apart.
    assert returned[4] != returned[5].split(" ")[0]


def test_calls_in_other_blocks_stay(run_passes):
    text = run_passes(
        """
util.func private @pyiree_lapack.sgetrf(!hal.buffer_view) -> !hal.buffer_view attributes {nosideeffects}
util.func public @main(%a: tensor<8x8xf32>, %p: i1) -> tensor<8x8xf32> {
  %r = scf.if %p -> (tensor<8x8xf32>) {
    %0 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
    %1 = util.call @pyiree_lapack.sgetrf(%0) : (!hal.buffer_view) -> !hal.buffer_view
    %2 = hal.tensor.import %1 : !hal.buffer_view -> tensor<8x8xf32>
    scf.yield %2 : tensor<8x8xf32>
  } else {
    %0 = hal.tensor.export %a : tensor<8x8xf32> -> !hal.buffer_view
    %1 = util.call @pyiree_lapack.sgetrf(%0) : (!hal.buffer_view) -> !hal.buffer_view
    %2 = hal.tensor.import %1 : !hal.buffer_view -> tensor<8x8xf32>
    scf.yield %2 : tensor<8x8xf32>
  }
  util.return %r : tensor<8x8xf32>
}
""",
        NAME,
    )
    assert text.count("util.call @pyiree_lapack.sgetrf") == 2
