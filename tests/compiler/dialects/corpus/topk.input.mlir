module @jit_topk {
  util.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>) {
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<8x2xf32>
    %1 = tensor.empty() : tensor<8x2xi32>
    %2 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x2xf32>) -> tensor<8x2xf32>
    %3 = linalg.fill ins(%c2147483647_i32 : i32) outs(%1 : tensor<8x2xi32>) -> tensor<8x2xi32>
    %4:2 = iree_linalg_ext.topk dimension(1) ins(%arg0 : tensor<8x4xf32>) outs(%2, %3 : tensor<8x2xf32>, tensor<8x2xi32>) {
    ^bb0(%arg1: f32, %arg2: f32):
      %5 = arith.cmpf ogt, %arg1, %arg2 : f32
      iree_linalg_ext.yield %5 : i1
    } -> tensor<8x2xf32>, tensor<8x2xi32>
    util.return %4#0, %4#1 : tensor<8x2xf32>, tensor<8x2xi32>
  }
}