module @jit_while_loop {
  util.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> tensor<8xf32> {
    %cst = arith.constant 5.000000e-01 : f32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %0:2 = scf.while (%arg2 = %cst_0, %arg3 = %arg0) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>) {
      %1 = tensor.empty() : tensor<i1>
      %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2, %arg1 : tensor<i32>, tensor<i32>) outs(%1 : tensor<i1>) {
      ^bb0(%in: i32, %in_1: i32, %out: i1):
        %3 = arith.cmpi slt, %in, %in_1 : i32
        linalg.yield %3 : i1
      } -> tensor<i1>
      %extracted = tensor.extract %2[] : tensor<i1>
      scf.condition(%extracted) %arg2, %arg3 : tensor<i32>, tensor<8xf32>
    } do {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<8xf32>):
      %1 = tensor.empty() : tensor<i32>
      %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2 : tensor<i32>) outs(%1 : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %11 = arith.addi %in, %c1_i32 : i32
        linalg.yield %11 : i32
      } -> tensor<i32>
      %3 = tensor.empty() : tensor<8xf32>
      %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg3 : tensor<8xf32>) outs(%3 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %11 = arith.mulf %in, %cst : f32
        linalg.yield %11 : f32
      } -> tensor<8xf32>
      %5 = tensor.empty() : tensor<f32>
      %6 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%arg2 : tensor<i32>) outs(%5 : tensor<f32>) {
      ^bb0(%in: i32, %out: f32):
        %11 = arith.sitofp %in : i32 to f32
        linalg.yield %11 : f32
      } -> tensor<f32>
      %7 = tensor.empty() : tensor<8xf32>
      %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%6 : tensor<f32>) outs(%7 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8xf32>
      %9 = tensor.empty() : tensor<8xf32>
      %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%4, %8 : tensor<8xf32>, tensor<8xf32>) outs(%9 : tensor<8xf32>) {
      ^bb0(%in: f32, %in_1: f32, %out: f32):
        %11 = arith.addf %in, %in_1 : f32
        linalg.yield %11 : f32
      } -> tensor<8xf32>
      scf.yield %2, %10 : tensor<i32>, tensor<8xf32>
    }
    util.return %0#1 : tensor<8xf32>
  }
}