module @jit_consts {
  util.func public @main() -> (tensor<4xf32>, tensor<2xi1>, tensor<3x4xi8>) {
    %cst = arith.constant dense<[1.000000e+00, 2.000000e+00, 0x7FC00000, 0x7F800000]> : tensor<4xf32>
    %cst_0 = arith.constant dense<[true, false]> : tensor<2xi1>
    %0 = tensor.empty() : tensor<12xi8>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<12xi8>) {
    ^bb0(%out: i8):
      %2 = linalg.index 0 : index
      %3 = arith.index_cast %2 : index to i8
      linalg.yield %3 : i8
    } -> tensor<12xi8>
    %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [3, 4] : tensor<12xi8> into tensor<3x4xi8>
    util.return %cst, %cst_0, %expanded : tensor<4xf32>, tensor<2xi1>, tensor<3x4xi8>
  }
}