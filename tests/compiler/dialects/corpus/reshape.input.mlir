module @jit_reshape {
  util.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<8x2x2xf32>, tensor<16xf32>, tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<5xi32>) {
    %c7 = arith.constant 7 : index
    %expanded = tensor.expand_shape %arg0 [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
    %0 = tensor.empty() : tensor<8x2x2xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x8xf32>) outs(%0 : tensor<8x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x2x2xf32>
    %collapsed = tensor.collapse_shape %arg0 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
    %extracted_slice = tensor.extract_slice %collapsed[0] [16] [2] : tensor<32xf32> to tensor<16xf32>
    %2 = tensor.empty() : tensor<4x8xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%2 : tensor<4x8xf32>) {
    ^bb0(%out: f32):
      %8 = linalg.index 0 : index
      %9 = linalg.index 1 : index
      %10 = arith.subi %c7, %9 : index
      %extracted = tensor.extract %arg0[%8, %10] : tensor<4x8xf32>
      linalg.yield %extracted : f32
    } -> tensor<4x8xf32>
    %4 = tensor.empty() : tensor<3x4x8xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<4x8xf32>) outs(%4 : tensor<3x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x4x8xf32>
    %6 = tensor.empty() : tensor<5xi32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%6 : tensor<5xi32>) {
    ^bb0(%out: i32):
      %8 = linalg.index 0 : index
      %9 = arith.index_cast %8 : index to i32
      linalg.yield %9 : i32
    } -> tensor<5xi32>
    util.return %1, %extracted_slice, %3, %5, %7 : tensor<8x2x2xf32>, tensor<16xf32>, tensor<4x8xf32>, tensor<3x4x8xf32>, tensor<5xi32>
  }
}