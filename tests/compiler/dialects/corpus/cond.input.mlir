module @jit_cond {
  util.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %cst = arith.constant 2.000000e+00 : f32
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<i32>
    %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg0 : tensor<i1>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i1, %out: i32):
      %5 = arith.extui %in : i1 to i32
      linalg.yield %5 : i32
    } -> tensor<i32>
    %2 = tensor.empty() : tensor<i1>
    %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%1 : tensor<i32>) outs(%2 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %5 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %5 : i1
    } -> tensor<i1>
    %extracted = tensor.extract %3[] : tensor<i1>
    %4 = scf.if %extracted -> (tensor<4xf32>) {
      %5 = tensor.empty() : tensor<4xf32>
      %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xf32>) outs(%5 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %7 = arith.mulf %in, %cst : f32
        linalg.yield %7 : f32
      } -> tensor<4xf32>
      scf.yield %6 : tensor<4xf32>
    } else {
      %5 = tensor.empty() : tensor<4xf32>
      %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xf32>) outs(%5 : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %7 = math.sin %in : f32
        linalg.yield %7 : f32
      } -> tensor<4xf32>
      scf.yield %6 : tensor<4xf32>
    }
    util.return %4 : tensor<4xf32>
  }
}