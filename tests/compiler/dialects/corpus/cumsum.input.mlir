module @jit_cumsum {
  util.func public @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<4x8xf32>
    %1 = tensor.empty() : tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%cst : tensor<f32>) outs(%1 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4xf32>
    %3:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%arg0 : tensor<4x8xf32>) outs(%0, %2 : tensor<4x8xf32>, tensor<4xf32>) {
    ^bb0(%arg1: f32, %arg2: f32):
      %4 = arith.addf %arg1, %arg2 : f32
      iree_linalg_ext.yield %4 : f32
    } -> tensor<4x8xf32>, tensor<4xf32>
    util.return %3#0 : tensor<4x8xf32>
  }
}