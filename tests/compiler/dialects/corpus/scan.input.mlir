module @jit_scan {
  util.func public @main(%arg0: tensor<16xf32>) -> (tensor<f32>, tensor<16xf32>) {
    %c15 = arith.constant 15 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    %c1_i32 = arith.constant 1 : i32
    %0:2 = scf.for %arg1 = %c0_i32 to %c16_i32 step %c1_i32 iter_args(%arg2 = %cst, %arg3 = %cst_0) -> (tensor<f32>, tensor<16xf32>)  : i32 {
      %1 = arith.index_cast %arg1 : i32 to index
      %2 = arith.maxsi %1, %c0 : index
      %3 = arith.minsi %2, %c15 : index
      %extracted_slice = tensor.extract_slice %arg0[%3] [1] [1] : tensor<16xf32> to tensor<1xf32>
      %collapsed = tensor.collapse_shape %extracted_slice [] : tensor<1xf32> into tensor<f32>
      %4 = tensor.empty() : tensor<f32>
      %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2, %collapsed : tensor<f32>, tensor<f32>) outs(%4 : tensor<f32>) {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %11 = arith.addf %in, %in_1 : f32
        linalg.yield %11 : f32
      } -> tensor<f32>
      %6 = tensor.empty() : tensor<f32>
      %7 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2, %collapsed : tensor<f32>, tensor<f32>) outs(%6 : tensor<f32>) {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %11 = arith.mulf %in, %in_1 : f32
        linalg.yield %11 : f32
      } -> tensor<f32>
      %expanded = tensor.expand_shape %7 [] output_shape [1] : tensor<f32> into tensor<1xf32>
      %8 = arith.index_cast %arg1 : i32 to index
      %9 = arith.maxsi %8, %c0 : index
      %10 = arith.minsi %9, %c15 : index
      %inserted_slice = tensor.insert_slice %expanded into %arg3[%10] [1] [1] : tensor<1xf32> into tensor<16xf32>
      scf.yield %5, %inserted_slice : tensor<f32>, tensor<16xf32>
    }
    util.return %0#0, %0#1 : tensor<f32>, tensor<16xf32>
  }
}