module @jit_fft {
  util.func public @main(%arg0: tensor<8xf32>) -> tensor<5xcomplex<f32>> {
    %cst = arith.constant dense<[-0.000000e+00, -0.707106769, -1.000000e+00, -0.707106769]> : tensor<4xf32>
    %cst_0 = arith.constant dense<[1.000000e+00, 0.707106769, 6.12323426E-17, -0.707106769]> : tensor<4xf32>
    %c3 = arith.constant 3 : index
    %cst_1 = arith.constant dense<[-0.000000e+00, -1.000000e+00]> : tensor<2xf32>
    %cst_2 = arith.constant dense<[1.000000e+00, 6.12323426E-17]> : tensor<2xf32>
    %c2 = arith.constant 2 : index
    %cst_3 = arith.constant dense<-0.000000e+00> : tensor<1xf32>
    %cst_4 = arith.constant dense<1.000000e+00> : tensor<1xf32>
    %c1 = arith.constant 1 : index
    %cst_5 = arith.constant dense<[0, 4, 2, 6, 1, 5, 3, 7]> : tensor<8xi64>
    %cst_6 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<8xf32>
    %1 = tensor.empty() : tensor<8xf32>
    %2:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%cst_5 : tensor<8xi64>) outs(%0, %1 : tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%in: i64, %out: f32, %out_8: f32):
      %8 = arith.index_cast %in : i64 to index
      %extracted = tensor.extract %arg0[%8] : tensor<8xf32>
      linalg.yield %extracted, %cst_6 : f32, f32
    } -> (tensor<8xf32>, tensor<8xf32>)
    %3:2 = iree_linalg_ext.fft ins(%c1, %cst_4, %cst_3 : index, tensor<1xf32>, tensor<1xf32>) outs(%2#0, %2#1 : tensor<8xf32>, tensor<8xf32>) : tensor<8xf32>, tensor<8xf32>
    %4:2 = iree_linalg_ext.fft ins(%c2, %cst_2, %cst_1 : index, tensor<2xf32>, tensor<2xf32>) outs(%3#0, %3#1 : tensor<8xf32>, tensor<8xf32>) : tensor<8xf32>, tensor<8xf32>
    %5:2 = iree_linalg_ext.fft ins(%c3, %cst_0, %cst : index, tensor<4xf32>, tensor<4xf32>) outs(%4#0, %4#1 : tensor<8xf32>, tensor<8xf32>) : tensor<8xf32>, tensor<8xf32>
    %extracted_slice = tensor.extract_slice %5#0[0] [5] [1] : tensor<8xf32> to tensor<5xf32>
    %extracted_slice_7 = tensor.extract_slice %5#1[0] [5] [1] : tensor<8xf32> to tensor<5xf32>
    %6 = tensor.empty() : tensor<5xcomplex<f32>>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%extracted_slice, %extracted_slice_7 : tensor<5xf32>, tensor<5xf32>) outs(%6 : tensor<5xcomplex<f32>>) {
    ^bb0(%in: f32, %in_8: f32, %out: complex<f32>):
      %8 = complex.create %in, %in_8 : complex<f32>
      linalg.yield %8 : complex<f32>
    } -> tensor<5xcomplex<f32>>
    util.return %7 : tensor<5xcomplex<f32>>
  }
}