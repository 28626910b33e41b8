module @jit_bf16 {
  util.func public @main(%arg0: tensor<4x8xbf16>, %arg1: tensor<8x4xbf16>) -> (tensor<4x4xbf16>, tensor<4x8xf32>) {
    %cst = arith.constant 1.000000e+00 : bf16
    %cst_0 = arith.constant 0.000000e+00 : bf16
    %0 = tensor.empty() : tensor<4x4xbf16>
    %1 = linalg.fill ins(%cst_0 : bf16) outs(%0 : tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%1 : tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %3 = tensor.empty() : tensor<4x8xbf16>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<4x8xbf16>) outs(%3 : tensor<4x8xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %7 = arith.addf %in, %cst : bf16
      linalg.yield %7 : bf16
    } -> tensor<4x8xbf16>
    %5 = tensor.empty() : tensor<4x8xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<4x8xbf16>) outs(%5 : tensor<4x8xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %7 = arith.extf %in : bf16 to f32
      linalg.yield %7 : f32
    } -> tensor<4x8xf32>
    util.return %2, %6 : tensor<4x4xbf16>, tensor<4x8xf32>
  }
}