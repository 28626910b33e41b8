module @jit_complex {
  util.func public @main(%arg0: tensor<4xcomplex<f32>>, %arg1: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4xf32>, tensor<4xf32>) {
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xcomplex<f32>>) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: complex<f32>, %out: f32):
      %44 = complex.re %in : complex<f32>
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %2 = tensor.empty() : tensor<4xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xcomplex<f32>>) outs(%2 : tensor<4xf32>) {
    ^bb0(%in: complex<f32>, %out: f32):
      %44 = complex.re %in : complex<f32>
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %4 = tensor.empty() : tensor<4xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %3 : tensor<4xf32>, tensor<4xf32>) outs(%4 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %6 = tensor.empty() : tensor<4xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xcomplex<f32>>) outs(%6 : tensor<4xf32>) {
    ^bb0(%in: complex<f32>, %out: f32):
      %44 = complex.im %in : complex<f32>
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %8 = tensor.empty() : tensor<4xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xcomplex<f32>>) outs(%8 : tensor<4xf32>) {
    ^bb0(%in: complex<f32>, %out: f32):
      %44 = complex.im %in : complex<f32>
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %10 = tensor.empty() : tensor<4xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7, %9 : tensor<4xf32>, tensor<4xf32>) outs(%10 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %12 = tensor.empty() : tensor<4xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5, %11 : tensor<4xf32>, tensor<4xf32>) outs(%12 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.subf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %14 = tensor.empty() : tensor<4xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %9 : tensor<4xf32>, tensor<4xf32>) outs(%14 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %16 = tensor.empty() : tensor<4xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7, %3 : tensor<4xf32>, tensor<4xf32>) outs(%16 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %18 = tensor.empty() : tensor<4xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%15, %17 : tensor<4xf32>, tensor<4xf32>) outs(%18 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.addf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %20 = tensor.empty() : tensor<4xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7 : tensor<4xf32>) outs(%20 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.cos %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %22 = tensor.empty() : tensor<4xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xf32>) outs(%22 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.exp %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %24 = tensor.empty() : tensor<4xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%21, %23 : tensor<4xf32>, tensor<4xf32>) outs(%24 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %26 = tensor.empty() : tensor<4xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7 : tensor<4xf32>) outs(%26 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.sin %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %28 = tensor.empty() : tensor<4xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%27, %23 : tensor<4xf32>, tensor<4xf32>) outs(%28 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.mulf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %30 = tensor.empty() : tensor<4xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13, %25 : tensor<4xf32>, tensor<4xf32>) outs(%30 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.addf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %32 = tensor.empty() : tensor<4xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%19, %29 : tensor<4xf32>, tensor<4xf32>) outs(%32 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.addf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %34 = tensor.empty() : tensor<4xcomplex<f32>>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%31, %33 : tensor<4xf32>, tensor<4xf32>) outs(%34 : tensor<4xcomplex<f32>>) {
    ^bb0(%in: f32, %in_0: f32, %out: complex<f32>):
      %44 = complex.create %in, %in_0 : complex<f32>
      linalg.yield %44 : complex<f32>
    } -> tensor<4xcomplex<f32>>
    %36 = tensor.empty() : tensor<4xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3 : tensor<4xf32>) outs(%36 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.mulf %in, %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %38 = tensor.empty() : tensor<4xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%9 : tensor<4xf32>) outs(%38 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.mulf %in, %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %40 = tensor.empty() : tensor<4xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%37, %39 : tensor<4xf32>, tensor<4xf32>) outs(%40 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %44 = arith.addf %in, %in_0 : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    %42 = tensor.empty() : tensor<4xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%41 : tensor<4xf32>) outs(%42 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.sqrt %in : f32
      linalg.yield %44 : f32
    } -> tensor<4xf32>
    util.return %35, %43, %1 : tensor<4xcomplex<f32>>, tensor<4xf32>, tensor<4xf32>
  }
}