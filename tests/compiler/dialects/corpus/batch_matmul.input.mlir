module @jit_batch_matmul {
  util.func public @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x8x16xf32>) -> tensor<2x4x16xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x16xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %2 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<2x4x8xf32>, tensor<2x8x16xf32>) outs(%1 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    util.return %2 : tensor<2x4x16xf32>
  }
}