module @jit_ui8 {
  util.func public @main(%arg0: tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}, %arg1: tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}) -> (tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}, tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}, tensor<4xi1>, tensor<4xf32>, tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}) {
    %c1_i8 = arith.constant 1 : i8
    %c0_i8 = arith.constant 0 : i8
    %c-1_i8 = arith.constant -1 : i8
    %0 = tensor.empty() : tensor<4xi8>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi8>, tensor<4xi8>) outs(%0 : tensor<4xi8>) {
    ^bb0(%in: i8, %in_0: i8, %out: i8):
      %10 = arith.addi %in, %in_0 : i8
      linalg.yield %10 : i8
    } -> tensor<4xi8>
    %2 = tensor.empty() : tensor<4xi8>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi8>, tensor<4xi8>) outs(%2 : tensor<4xi8>) {
    ^bb0(%in: i8, %in_0: i8, %out: i8):
      %10 = arith.cmpi eq, %in_0, %c0_i8 : i8
      %11 = arith.select %10, %c1_i8, %in_0 : i8
      %12 = arith.divui %in, %11 : i8
      %13 = arith.select %10, %c-1_i8, %12 : i8
      linalg.yield %13 : i8
    } -> tensor<4xi8>
    %4 = tensor.empty() : tensor<4xi1>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi8>, tensor<4xi8>) outs(%4 : tensor<4xi1>) {
    ^bb0(%in: i8, %in_0: i8, %out: i1):
      %10 = arith.cmpi ugt, %in, %in_0 : i8
      linalg.yield %10 : i1
    } -> tensor<4xi1>
    %6 = tensor.empty() : tensor<4xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi8>) outs(%6 : tensor<4xf32>) {
    ^bb0(%in: i8, %out: f32):
      %10 = arith.uitofp %in : i8 to f32
      linalg.yield %10 : f32
    } -> tensor<4xf32>
    %8 = tensor.empty() : tensor<4xi8>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi8>) outs(%8 : tensor<4xi8>) {
    ^bb0(%in: i8, %out: i8):
      %10 = arith.shrui %in, %c1_i8 : i8
      linalg.yield %10 : i8
    } -> tensor<4xi8>
    util.return %1, %3, %5, %7, %9 : tensor<4xi8>, tensor<4xi8>, tensor<4xi1>, tensor<4xf32>, tensor<4xi8>
  }
}