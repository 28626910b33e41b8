module @jit_matvec {
  util.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<f32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.matvec ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
    %3 = tensor.empty() : tensor<8xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<8xf32>) -> tensor<8xf32>
    %5 = linalg.vecmat ins(%arg2, %arg0 : tensor<4xf32>, tensor<4x8xf32>) outs(%4 : tensor<8xf32>) -> tensor<8xf32>
    %6 = tensor.empty() : tensor<f32>
    %7 = linalg.fill ins(%cst : f32) outs(%6 : tensor<f32>) -> tensor<f32>
    %8 = linalg.dot ins(%arg1, %arg1 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<f32>) -> tensor<f32>
    util.return %2, %5, %8 : tensor<4xf32>, tensor<8xf32>, tensor<f32>
  }
}