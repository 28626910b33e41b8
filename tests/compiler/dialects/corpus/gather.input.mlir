module @jit_gather {
  util.func public @main(%arg0: tensor<10x3xf32>, %arg1: tensor<5xi32>) -> tensor<5x3xf32> {
    %c10_i32 = arith.constant 10 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<5xi1>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<5xi32>) outs(%0 : tensor<5xi1>) {
    ^bb0(%in: i32, %out: i1):
      %8 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %8 : i1
    } -> tensor<5xi1>
    %2 = tensor.empty() : tensor<5xi32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<5xi32>) outs(%2 : tensor<5xi32>) {
    ^bb0(%in: i32, %out: i32):
      %8 = arith.addi %in, %c10_i32 : i32
      linalg.yield %8 : i32
    } -> tensor<5xi32>
    %4 = tensor.empty() : tensor<5xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %3, %arg1 : tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) outs(%4 : tensor<5xi32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %8 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %8 : i32
    } -> tensor<5xi32>
    %expanded = tensor.expand_shape %5 [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
    %6 = tensor.empty() : tensor<5x1x3xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<5x1xi32>) outs(%6 : tensor<5x1x3xf32>) {
    ^bb0(%in: i32, %out: f32):
      %8 = arith.index_cast %in : i32 to index
      %9 = linalg.index 2 : index
      %extracted = tensor.extract %arg0[%8, %9] : tensor<10x3xf32>
      linalg.yield %extracted : f32
    } -> tensor<5x1x3xf32>
    %collapsed = tensor.collapse_shape %7 [[0], [1, 2]] : tensor<5x1x3xf32> into tensor<5x3xf32>
    util.return %collapsed : tensor<5x3xf32>
  }
}