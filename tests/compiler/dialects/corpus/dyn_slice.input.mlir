module @jit_dyn_slice {
  util.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<i32>, %arg2: tensor<2x2xf32>) -> (tensor<2x3xf32>, tensor<8x8xf32>) {
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<i1>
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %15 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %15 : i1
    } -> tensor<i1>
    %2 = tensor.empty() : tensor<i32>
    %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%2 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %15 = arith.addi %in, %c8_i32 : i32
      linalg.yield %15 : i32
    } -> tensor<i32>
    %4 = tensor.empty() : tensor<i32>
    %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1, %3, %arg1 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%4 : tensor<i32>) {
    ^bb0(%in: i1, %in_2: i32, %in_3: i32, %out: i32):
      %15 = arith.select %in, %in_2, %in_3 : i32
      linalg.yield %15 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %5[] : tensor<i32>
    %6 = arith.index_cast %extracted : i32 to index
    %7 = arith.maxsi %6, %c0 : index
    %8 = arith.minsi %7, %c6 : index
    %extracted_0 = tensor.extract %5[] : tensor<i32>
    %9 = arith.index_cast %extracted_0 : i32 to index
    %10 = arith.maxsi %9, %c0 : index
    %11 = arith.minsi %10, %c5 : index
    %extracted_slice = tensor.extract_slice %arg0[%8, %11] [2, 3] [1, 1] : tensor<8x8xf32> to tensor<2x3xf32>
    %extracted_1 = tensor.extract %5[] : tensor<i32>
    %12 = arith.index_cast %extracted_1 : i32 to index
    %13 = arith.maxsi %12, %c0 : index
    %14 = arith.minsi %13, %c6 : index
    %inserted_slice = tensor.insert_slice %arg2 into %arg0[%14, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<8x8xf32>
    util.return %extracted_slice, %inserted_slice : tensor<2x3xf32>, tensor<8x8xf32>
  }
}