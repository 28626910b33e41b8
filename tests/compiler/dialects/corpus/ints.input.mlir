module @jit_ints {
  util.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
    %c32_i32 = arith.constant 32 : i32
    %c31_i32 = arith.constant 31 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c-2147483648_i32 = arith.constant -2147483648 : i32
    %c-1_i32 = arith.constant -1 : i32
    %0 = tensor.empty() : tensor<4xi32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi32>, tensor<4xi32>) outs(%0 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.cmpi eq, %in_0, %c0_i32 : i32
      %49 = arith.cmpi eq, %in, %c-2147483648_i32 : i32
      %50 = arith.cmpi eq, %in_0, %c-1_i32 : i32
      %51 = arith.andi %49, %50 : i1
      %52 = arith.ori %48, %51 : i1
      %53 = arith.select %52, %c1_i32, %in_0 : i32
      %54 = arith.divsi %in, %53 : i32
      %55 = arith.select %51, %c-2147483648_i32, %54 : i32
      %56 = arith.select %48, %c-1_i32, %55 : i32
      linalg.yield %56 : i32
    } -> tensor<4xi32>
    %2 = tensor.empty() : tensor<4xi32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi32>) outs(%2 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.cmpi eq, %in, %c0_i32 : i32
      %49 = arith.shrsi %in, %c31_i32 : i32
      %50 = arith.ori %49, %c1_i32 : i32
      %51 = arith.select %48, %c0_i32, %50 : i32
      linalg.yield %51 : i32
    } -> tensor<4xi32>
    %4 = tensor.empty() : tensor<4xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xi32>) outs(%4 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.cmpi eq, %in, %c0_i32 : i32
      %49 = arith.shrsi %in, %c31_i32 : i32
      %50 = arith.ori %49, %c1_i32 : i32
      %51 = arith.select %48, %c0_i32, %50 : i32
      linalg.yield %51 : i32
    } -> tensor<4xi32>
    %6 = tensor.empty() : tensor<4xi1>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3, %5 : tensor<4xi32>, tensor<4xi32>) outs(%6 : tensor<4xi1>) {
    ^bb0(%in: i32, %in_0: i32, %out: i1):
      %48 = arith.cmpi ne, %in, %in_0 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %8 = tensor.empty() : tensor<4xi32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi32>, tensor<4xi32>) outs(%8 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.cmpi eq, %in_0, %c0_i32 : i32
      %49 = arith.cmpi eq, %in, %c-2147483648_i32 : i32
      %50 = arith.cmpi eq, %in_0, %c-1_i32 : i32
      %51 = arith.andi %49, %50 : i1
      %52 = arith.ori %48, %51 : i1
      %53 = arith.select %52, %c1_i32, %in_0 : i32
      %54 = arith.remsi %in, %53 : i32
      %55 = arith.select %51, %c0_i32, %54 : i32
      %56 = arith.select %48, %in, %55 : i32
      linalg.yield %56 : i32
    } -> tensor<4xi32>
    %10 = tensor.empty() : tensor<4xi1>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%9 : tensor<4xi32>) outs(%10 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %12 = tensor.empty() : tensor<4xi1>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7, %11 : tensor<4xi1>, tensor<4xi1>) outs(%12 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %48 = arith.andi %in, %in_0 : i1
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %14 = tensor.empty() : tensor<4xi32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xi32>) outs(%14 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.subi %in, %c1_i32 : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %16 = tensor.empty() : tensor<4xi32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13, %15, %1 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%16 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %48 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %18 = tensor.empty() : tensor<4xi1>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<4xi32>) outs(%18 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %20 = tensor.empty() : tensor<4xi32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%19, %arg1 : tensor<4xi1>, tensor<4xi32>) outs(%20 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_0: i32, %out: i32):
      %48 = arith.select %in, %c1_i32, %in_0 : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %22 = tensor.empty() : tensor<4xi32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %21 : tensor<4xi32>, tensor<4xi32>) outs(%22 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.cmpi eq, %in_0, %c0_i32 : i32
      %49 = arith.cmpi eq, %in, %c-2147483648_i32 : i32
      %50 = arith.cmpi eq, %in_0, %c-1_i32 : i32
      %51 = arith.andi %49, %50 : i1
      %52 = arith.ori %48, %51 : i1
      %53 = arith.select %52, %c1_i32, %in_0 : i32
      %54 = arith.remsi %in, %53 : i32
      %55 = arith.select %51, %c0_i32, %54 : i32
      %56 = arith.select %48, %in, %55 : i32
      linalg.yield %56 : i32
    } -> tensor<4xi32>
    %24 = tensor.empty() : tensor<4xi1>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%23 : tensor<4xi32>) outs(%24 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %26 = tensor.empty() : tensor<4xi1>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%23 : tensor<4xi32>) outs(%26 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %28 = tensor.empty() : tensor<4xi1>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%21 : tensor<4xi32>) outs(%28 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %48 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %30 = tensor.empty() : tensor<4xi1>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%27, %29 : tensor<4xi1>, tensor<4xi1>) outs(%30 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %48 = arith.cmpi ne, %in, %in_0 : i1
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %32 = tensor.empty() : tensor<4xi1>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%31, %25 : tensor<4xi1>, tensor<4xi1>) outs(%32 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %48 = arith.andi %in, %in_0 : i1
      linalg.yield %48 : i1
    } -> tensor<4xi1>
    %34 = tensor.empty() : tensor<4xi32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%23, %21 : tensor<4xi32>, tensor<4xi32>) outs(%34 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.addi %in, %in_0 : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %36 = tensor.empty() : tensor<4xi32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%33, %35, %23 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%36 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %48 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %38 = tensor.empty() : tensor<4xi32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi32>, tensor<4xi32>) outs(%38 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.shli %in, %in_0 : i32
      %49 = arith.cmpi ult, %in_0, %c32_i32 : i32
      %50 = arith.select %49, %48, %c0_i32 : i32
      linalg.yield %50 : i32
    } -> tensor<4xi32>
    %40 = tensor.empty() : tensor<4xi32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %arg1 : tensor<4xi32>, tensor<4xi32>) outs(%40 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %48 = arith.shrsi %in, %c31_i32 : i32
      %49 = arith.shrsi %in, %in_0 : i32
      %50 = arith.cmpi ult, %in_0, %c32_i32 : i32
      %51 = arith.select %50, %49, %48 : i32
      linalg.yield %51 : i32
    } -> tensor<4xi32>
    %42 = tensor.empty() : tensor<4xi32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi32>) outs(%42 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = arith.cmpi sge, %in, %c0_i32 : i32
      %49 = arith.subi %c0_i32, %in : i32
      %50 = arith.select %48, %in, %49 : i32
      linalg.yield %50 : i32
    } -> tensor<4xi32>
    %44 = tensor.empty() : tensor<4xi32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi32>) outs(%44 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = math.ctpop %in : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    %46 = tensor.empty() : tensor<4xi32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi32>) outs(%46 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %48 = math.ctlz %in : i32
      linalg.yield %48 : i32
    } -> tensor<4xi32>
    util.return %17, %37, %39, %41, %43, %45, %47 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
  }
}