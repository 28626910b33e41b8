"""What has no elements is not computed."""

PASS = "iree-global-opt-remove-zero-extent-tensors"

SLICES = """
util.func private @f(%a: tensor<3x0xf32>, %b: tensor<?x0xf32>, %x: tensor<3x8xf32>)
    -> (tensor<3x0xf32>, tensor<?x0xf32>, tensor<3x8xf32>) {
  %0 = math.tanh %a : tensor<3x0xf32>
  %1 = math.tanh %b : tensor<?x0xf32>
  %2 = tensor.insert_slice %0 into %x[0, 4] [3, 0] [1, 1] : tensor<3x0xf32> into tensor<3x8xf32>
  util.return %0, %1, %2 : tensor<3x0xf32>, tensor<?x0xf32>, tensor<3x8xf32>
}
"""


def test_computed_tensors_without_elements_are_empty(run_passes, in_order):
    text = run_passes(SLICES, PASS)
    in_order(text, "tensor.empty() : tensor<3x0xf32>", "tensor.dim %arg1", "tensor.empty(%", "tensor<?x0xf32>")
    assert "math.tanh" not in text and "insert_slice" not in text
    in_order(text, "util.return", "%arg2")


def test_sums_of_nothing_stay(run_passes, in_order):
    source = """
    util.func private @f(%a: tensor<3x0xf32>, %i: tensor<3xf32>) -> tensor<3xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]} ins(%a : tensor<3x0xf32>) outs(%i : tensor<3xf32>) {
      ^bb0(%x: f32, %acc: f32):
        %s = arith.addf %acc, %x : f32
        linalg.yield %s : f32
      } -> tensor<3xf32>
      util.return %0 : tensor<3xf32>
    }
    """
    in_order(run_passes(source, PASS), "linalg.generic", "arith.addf")
