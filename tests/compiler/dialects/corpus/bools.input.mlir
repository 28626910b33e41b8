module @jit_bools {
  util.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<i32>, tensor<i1>) {
    %false = arith.constant false
    %c0_i32 = arith.constant 0 : i32
    %true = arith.constant true
    %0 = tensor.empty() : tensor<4xi1>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi1>, tensor<4xi1>) outs(%0 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %12 = arith.andi %in, %in_0 : i1
      linalg.yield %12 : i1
    } -> tensor<4xi1>
    %2 = tensor.empty() : tensor<4xi1>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi1>) outs(%2 : tensor<4xi1>) {
    ^bb0(%in: i1, %out: i1):
      %12 = arith.xori %in, %true : i1
      linalg.yield %12 : i1
    } -> tensor<4xi1>
    %4 = tensor.empty() : tensor<4xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi1>) outs(%4 : tensor<4xi32>) {
    ^bb0(%in: i1, %out: i32):
      %12 = arith.extui %in : i1 to i32
      linalg.yield %12 : i32
    } -> tensor<4xi32>
    %6 = tensor.empty() : tensor<i32>
    %7 = linalg.fill ins(%c0_i32 : i32) outs(%6 : tensor<i32>) -> tensor<i32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%5 : tensor<4xi32>) outs(%7 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %12 = arith.addi %out, %in : i32
      linalg.yield %12 : i32
    } -> tensor<i32>
    %9 = tensor.empty() : tensor<i1>
    %10 = linalg.fill ins(%false : i1) outs(%9 : tensor<i1>) -> tensor<i1>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg1 : tensor<4xi1>) outs(%10 : tensor<i1>) {
    ^bb0(%in: i1, %out: i1):
      %12 = arith.ori %out, %in : i1
      linalg.yield %12 : i1
    } -> tensor<i1>
    util.return %1, %3, %8, %11 : tensor<4xi1>, tensor<4xi1>, tensor<i32>, tensor<i1>
  }
}