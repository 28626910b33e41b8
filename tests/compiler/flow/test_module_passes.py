"""Equal executables are one, constants are the module's."""

DEDUPLICATE = "iree-flow-deduplicate-executables"

EXECUTABLE = """
flow.executable private @{name} {{
  flow.executable.export public @{name}_entry workgroups() -> (index, index, index) {{
    %c1 = arith.constant 1 : index
    flow.return %c1, %c1, %c1 : index, index, index
  }}
  builtin.module {{
    func.func @{name}_entry(%arg0: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>) {{
      %cst = arith.constant {value} : f32
      %0 = tensor.splat %cst : tensor<4xf32>
      iree_tensor_ext.dispatch.tensor.store %0, %arg0, offsets = [0], sizes = [4], strides = [1]
        : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>
      return
    }}
  }}
}}
"""
USER = """
util.func private @f() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = flow.dispatch @a::@a_entry() : () -> tensor<4xf32>
  %1 = flow.dispatch @b::@b_entry() : () -> tensor<4xf32>
  %2 = flow.dispatch @c::@c_entry() : () -> tensor<4xf32>
  util.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""


def test_equal_executables(run_passes):
    parts = [EXECUTABLE.format(name=n, value=v) for n, v in (("a", "1.0"), ("b", "2.0"), ("c", "1.0"))]
    text = run_passes("\n".join(parts) + USER, DEDUPLICATE)
    assert text.count("flow.executable private") == 2
    assert text.count("flow.dispatch @a::@a_entry") == 2 and text.count("flow.dispatch @b::@b_entry") == 1


OUTLINE = "iree-util-outline-constants"


def test_constants_share_a_global(run_passes, in_order):
    text = run_passes(
        """
        util.func private @f() -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) {
          %0 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
          %1 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
          %2 = arith.constant dense<[1, 2, 4]> : tensor<3xi32>
          %3 = arith.constant dense<7> : tensor<3xi32>
          util.return %0, %1, %2, %3 : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>
        }
        """,
        OUTLINE,
    )
    in_order(
        text,
        "util.global private @__constant_0 = dense<[1, 2, 3]> : tensor<3xi32>",
        "util.global private @__constant_1 = dense<[1, 2, 4]> : tensor<3xi32>",
        "util.global.load immutable @__constant_0",
        "util.global.load immutable @__constant_0",
        "util.global.load immutable @__constant_1",
        "arith.constant dense<7>",
    )
