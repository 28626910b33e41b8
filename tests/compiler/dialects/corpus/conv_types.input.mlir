module @jit_conv_types {
  util.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi8>) -> (tensor<4xi32>, tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}, tensor<4xf16>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>) {
    %c-2147483648_i32 = arith.constant -2147483648 : i32
    %c939524096_i32 = arith.constant 939524096 : i32
    %c1191182336_i32 = arith.constant 1191182336 : i32
    %c-8192_i32 = arith.constant -8192 : i32
    %c4095_i32 = arith.constant 4095 : i32
    %c8192_i32 = arith.constant 8192 : i32
    %c13_i32 = arith.constant 13 : i32
    %c2139095040_i32 = arith.constant 2139095040 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xi32>) {
    ^bb0(%in: f32, %out: i32):
      %12 = arith.fptosi %in : f32 to i32
      linalg.yield %12 : i32
    } -> tensor<4xi32>
    %2 = tensor.empty() : tensor<4xi8>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%2 : tensor<4xi8>) {
    ^bb0(%in: f32, %out: i8):
      %12 = arith.fptoui %in : f32 to i8
      linalg.yield %12 : i8
    } -> tensor<4xi8>
    %4 = tensor.empty() : tensor<4xf16>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xi8>) outs(%4 : tensor<4xf16>) {
    ^bb0(%in: i8, %out: f16):
      %12 = arith.sitofp %in : i8 to f16
      linalg.yield %12 : f16
    } -> tensor<4xf16>
    %6 = tensor.empty() : tensor<4xi32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%6 : tensor<4xi32>) {
    ^bb0(%in: f32, %out: i32):
      %12 = arith.bitcast %in : f32 to i32
      linalg.yield %12 : i32
    } -> tensor<4xi32>
    %8 = tensor.empty() : tensor<4xi1>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%8 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %12 = arith.cmpf une, %in, %cst : f32
      linalg.yield %12 : i1
    } -> tensor<4xi1>
    %10 = tensor.empty() : tensor<4xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%10 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %12 = arith.bitcast %in : f32 to i32
      %13 = arith.andi %12, %c2147483647_i32 : i32
      %14 = arith.cmpi ugt, %13, %c2139095040_i32 : i32
      %15 = arith.andi %12, %c8192_i32 : i32
      %16 = arith.shrui %15, %c13_i32 : i32
      %17 = arith.addi %16, %c4095_i32 : i32
      %18 = arith.addi %12, %17 : i32
      %19 = arith.andi %18, %c-8192_i32 : i32
      %20 = arith.andi %18, %c2139095040_i32 : i32
      %21 = arith.cmpi ugt, %20, %c1191182336_i32 : i32
      %22 = arith.cmpi ule, %20, %c939524096_i32 : i32
      %23 = arith.andi %18, %c-2147483648_i32 : i32
      %24 = arith.ori %23, %c2139095040_i32 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.select %22, %23, %25 : i32
      %27 = arith.bitcast %26 : i32 to f32
      %28 = arith.select %14, %in, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<4xf32>
    util.return %1, %3, %5, %7, %9, %11 : tensor<4xi32>, tensor<4xi8>, tensor<4xf16>, tensor<4xi32>, tensor<4xi1>, tensor<4xf32>
  }
}