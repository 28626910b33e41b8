module @jit_pad_concat {
  util.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<2x8xf32>) -> (tensor<7x11xf32>, tensor<6x8xf32>) {
    %cst = arith.constant 2.000000e+00 : f32
    %padded = tensor.pad %arg0 low[1, 0] high[2, 3] {
    ^bb0(%arg2: index, %arg3: index):
      tensor.yield %cst : f32
    } : tensor<4x8xf32> to tensor<7x11xf32>
    %0 = tensor.empty() : tensor<6x8xf32>
    %inserted_slice = tensor.insert_slice %arg0 into %0[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<6x8xf32>
    %inserted_slice_0 = tensor.insert_slice %arg1 into %inserted_slice[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<6x8xf32>
    util.return %padded, %inserted_slice_0 : tensor<7x11xf32>, tensor<6x8xf32>
  }
}