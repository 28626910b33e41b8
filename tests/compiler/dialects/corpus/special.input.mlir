module @jit_special {
  util.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
    %c2143289344_i32 = arith.constant 2143289344 : i32
    %cst = arith.constant 2.500000e+00 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %c-1_i32 = arith.constant -1 : i32
    %c1_i32 = arith.constant 1 : i32
    %c-2147483648_i32 = arith.constant -2147483648 : i32
    %c0_i32 = arith.constant 0 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %cst_1 = arith.constant 0x7F800000 : f32
    %cst_2 = arith.constant 1.14472985 : f32
    %cst_3 = arith.constant 3.14159274 : f32
    %cst_4 = arith.constant 0.918938517 : f32
    %cst_5 = arith.constant 2.01490307 : f32
    %cst_6 = arith.constant 7.500000e+00 : f32
    %cst_7 = arith.constant 1.50563267E-7 : f32
    %cst_8 = arith.constant 8.000000e+00 : f32
    %cst_9 = arith.constant 9.98436917E-6 : f32
    %cst_10 = arith.constant 7.000000e+00 : f32
    %cst_11 = arith.constant -0.138571098 : f32
    %cst_12 = arith.constant 6.000000e+00 : f32
    %cst_13 = arith.constant 12.5073433 : f32
    %cst_14 = arith.constant 5.000000e+00 : f32
    %cst_15 = arith.constant -176.615036 : f32
    %cst_16 = arith.constant 771.323425 : f32
    %cst_17 = arith.constant 3.000000e+00 : f32
    %cst_18 = arith.constant -1259.13916 : f32
    %cst_19 = arith.constant 2.000000e+00 : f32
    %cst_20 = arith.constant 676.520386 : f32
    %cst_21 = arith.constant 5.000000e-01 : f32
    %cst_22 = arith.constant 1.000000e+00 : f32
    %cst_23 = arith.constant -1.000000e+00 : f32
    %cst_24 = arith.constant -0.0142647391 : f32
    %cst_25 = arith.constant -0.00737332925 : f32
    %cst_26 = arith.constant -0.00168282702 : f32
    %cst_27 = arith.constant -2.13374049E-4 : f32
    %cst_28 = arith.constant -1.45660715E-5 : f32
    %cst_29 = arith.constant -0.0160960332 : f32
    %cst_30 = arith.constant -2.954600e-03 : f32
    %cst_31 = arith.constant -7.34990637E-4 : f32
    %cst_32 = arith.constant -5.69250624E-5 : f32
    %cst_33 = arith.constant -2.10102394E-6 : f32
    %cst_34 = arith.constant 2.77068146E-8 : f32
    %cst_35 = arith.constant -2.72614237E-10 : f32
    %cst_36 = arith.constant 4.000000e+00 : f32
    %cst_37 = arith.constant -4.000000e+00 : f32
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.maximumf %in, %cst_37 : f32
      %241 = arith.minimumf %240, %cst_36 : f32
      linalg.yield %241 : f32
    } -> tensor<4xf32>
    %2 = tensor.empty() : tensor<4xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xf32>) outs(%2 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.mulf %in, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %4 = tensor.empty() : tensor<4xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3 : tensor<4xf32>) outs(%4 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.mulf %in, %cst_35 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %6 = tensor.empty() : tensor<4xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5 : tensor<4xf32>) outs(%6 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_34 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %8 = tensor.empty() : tensor<4xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%7, %3 : tensor<4xf32>, tensor<4xf32>) outs(%8 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %10 = tensor.empty() : tensor<4xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%9 : tensor<4xf32>) outs(%10 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_33 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %12 = tensor.empty() : tensor<4xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11, %3 : tensor<4xf32>, tensor<4xf32>) outs(%12 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %14 = tensor.empty() : tensor<4xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13 : tensor<4xf32>) outs(%14 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_32 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %16 = tensor.empty() : tensor<4xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%15, %3 : tensor<4xf32>, tensor<4xf32>) outs(%16 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %18 = tensor.empty() : tensor<4xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%17 : tensor<4xf32>) outs(%18 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_31 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %20 = tensor.empty() : tensor<4xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%19, %3 : tensor<4xf32>, tensor<4xf32>) outs(%20 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %22 = tensor.empty() : tensor<4xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%21 : tensor<4xf32>) outs(%22 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_30 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %24 = tensor.empty() : tensor<4xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%23, %3 : tensor<4xf32>, tensor<4xf32>) outs(%24 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %26 = tensor.empty() : tensor<4xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%25 : tensor<4xf32>) outs(%26 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_29 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %28 = tensor.empty() : tensor<4xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3 : tensor<4xf32>) outs(%28 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.mulf %in, %cst_28 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %30 = tensor.empty() : tensor<4xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%29 : tensor<4xf32>) outs(%30 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_27 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %32 = tensor.empty() : tensor<4xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%31, %3 : tensor<4xf32>, tensor<4xf32>) outs(%32 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %34 = tensor.empty() : tensor<4xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%33 : tensor<4xf32>) outs(%34 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_26 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %36 = tensor.empty() : tensor<4xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%35, %3 : tensor<4xf32>, tensor<4xf32>) outs(%36 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %38 = tensor.empty() : tensor<4xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%37 : tensor<4xf32>) outs(%38 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_25 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %40 = tensor.empty() : tensor<4xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%39, %3 : tensor<4xf32>, tensor<4xf32>) outs(%40 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %42 = tensor.empty() : tensor<4xf32>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%41 : tensor<4xf32>) outs(%42 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_24 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %44 = tensor.empty() : tensor<4xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %27 : tensor<4xf32>, tensor<4xf32>) outs(%44 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %46 = tensor.empty() : tensor<4xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%45, %43 : tensor<4xf32>, tensor<4xf32>) outs(%46 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.divf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %48 = tensor.empty() : tensor<4xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%47 : tensor<4xf32>) outs(%48 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.maximumf %in, %cst_23 : f32
      %241 = arith.minimumf %240, %cst_22 : f32
      linalg.yield %241 : f32
    } -> tensor<4xf32>
    %50 = tensor.empty() : tensor<4xi1>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%50 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = arith.cmpf olt, %in, %cst_21 : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %52 = tensor.empty() : tensor<4xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%52 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.negf %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %54 = tensor.empty() : tensor<4xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%54 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.subf %in, %cst_22 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %56 = tensor.empty() : tensor<4xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%51, %53, %55 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%56 : tensor<4xf32>) {
    ^bb0(%in: i1, %in_38: f32, %in_39: f32, %out: f32):
      %240 = arith.select %in, %in_38, %in_39 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %58 = tensor.empty() : tensor<4xf32>
    %59 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%58 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_22 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %60 = tensor.empty() : tensor<4xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%59 : tensor<4xf32>) outs(%60 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_20, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %62 = tensor.empty() : tensor<4xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%61 : tensor<4xf32>) outs(%62 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_22 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %64 = tensor.empty() : tensor<4xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%64 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_19 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %66 = tensor.empty() : tensor<4xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%65 : tensor<4xf32>) outs(%66 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_18, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %68 = tensor.empty() : tensor<4xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%63, %67 : tensor<4xf32>, tensor<4xf32>) outs(%68 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %70 = tensor.empty() : tensor<4xf32>
    %71 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%70 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_17 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %72 = tensor.empty() : tensor<4xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%71 : tensor<4xf32>) outs(%72 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_16, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %74 = tensor.empty() : tensor<4xf32>
    %75 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%69, %73 : tensor<4xf32>, tensor<4xf32>) outs(%74 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %76 = tensor.empty() : tensor<4xf32>
    %77 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%76 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_36 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %78 = tensor.empty() : tensor<4xf32>
    %79 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%77 : tensor<4xf32>) outs(%78 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_15, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %80 = tensor.empty() : tensor<4xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%75, %79 : tensor<4xf32>, tensor<4xf32>) outs(%80 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %82 = tensor.empty() : tensor<4xf32>
    %83 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%82 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_14 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %84 = tensor.empty() : tensor<4xf32>
    %85 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%83 : tensor<4xf32>) outs(%84 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_13, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %86 = tensor.empty() : tensor<4xf32>
    %87 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%81, %85 : tensor<4xf32>, tensor<4xf32>) outs(%86 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %88 = tensor.empty() : tensor<4xf32>
    %89 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%88 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_12 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %90 = tensor.empty() : tensor<4xf32>
    %91 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%89 : tensor<4xf32>) outs(%90 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_11, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %92 = tensor.empty() : tensor<4xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%87, %91 : tensor<4xf32>, tensor<4xf32>) outs(%92 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %94 = tensor.empty() : tensor<4xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%94 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_10 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %96 = tensor.empty() : tensor<4xf32>
    %97 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%95 : tensor<4xf32>) outs(%96 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_9, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %98 = tensor.empty() : tensor<4xf32>
    %99 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%93, %97 : tensor<4xf32>, tensor<4xf32>) outs(%98 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %100 = tensor.empty() : tensor<4xf32>
    %101 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%100 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_8 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %102 = tensor.empty() : tensor<4xf32>
    %103 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%101 : tensor<4xf32>) outs(%102 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_7, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %104 = tensor.empty() : tensor<4xf32>
    %105 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%99, %103 : tensor<4xf32>, tensor<4xf32>) outs(%104 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %106 = tensor.empty() : tensor<4xf32>
    %107 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%106 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_6 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %108 = tensor.empty() : tensor<4xf32>
    %109 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%108 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %in, %cst_6 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %110 = tensor.empty() : tensor<4xf32>
    %111 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%109 : tensor<4xf32>) outs(%110 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.log1p %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %112 = tensor.empty() : tensor<4xf32>
    %113 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%111 : tensor<4xf32>) outs(%112 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_5 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %114 = tensor.empty() : tensor<4xf32>
    %115 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%107, %113 : tensor<4xf32>, tensor<4xf32>) outs(%114 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.divf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %116 = tensor.empty() : tensor<4xf32>
    %117 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%57 : tensor<4xf32>) outs(%116 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_21 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %118 = tensor.empty() : tensor<4xf32>
    %119 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%117, %115 : tensor<4xf32>, tensor<4xf32>) outs(%118 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.subf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %120 = tensor.empty() : tensor<4xf32>
    %121 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%119, %113 : tensor<4xf32>, tensor<4xf32>) outs(%120 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %122 = tensor.empty() : tensor<4xf32>
    %123 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%105 : tensor<4xf32>) outs(%122 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.log %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %124 = tensor.empty() : tensor<4xf32>
    %125 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%121 : tensor<4xf32>) outs(%124 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_4 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %126 = tensor.empty() : tensor<4xf32>
    %127 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%125, %123 : tensor<4xf32>, tensor<4xf32>) outs(%126 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.addf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %128 = tensor.empty() : tensor<4xf32>
    %129 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%128 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.absf %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %130 = tensor.empty() : tensor<4xf32>
    %131 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%129 : tensor<4xf32>) outs(%130 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.floor %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %132 = tensor.empty() : tensor<4xf32>
    %133 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%129, %131 : tensor<4xf32>, tensor<4xf32>) outs(%132 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.subf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %134 = tensor.empty() : tensor<4xi1>
    %135 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%133 : tensor<4xf32>) outs(%134 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = arith.cmpf olt, %cst_21, %in : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %136 = tensor.empty() : tensor<4xf32>
    %137 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%133 : tensor<4xf32>) outs(%136 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.subf %cst_22, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %138 = tensor.empty() : tensor<4xf32>
    %139 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%135, %137, %133 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%138 : tensor<4xf32>) {
    ^bb0(%in: i1, %in_38: f32, %in_39: f32, %out: f32):
      %240 = arith.select %in, %in_38, %in_39 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %140 = tensor.empty() : tensor<4xf32>
    %141 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%139 : tensor<4xf32>) outs(%140 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.mulf %in, %cst_3 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %142 = tensor.empty() : tensor<4xf32>
    %143 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%141 : tensor<4xf32>) outs(%142 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.sin %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %144 = tensor.empty() : tensor<4xf32>
    %145 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%143 : tensor<4xf32>) outs(%144 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.log %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %146 = tensor.empty() : tensor<4xf32>
    %147 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%145 : tensor<4xf32>) outs(%146 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.subf %cst_2, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %148 = tensor.empty() : tensor<4xf32>
    %149 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%147, %127 : tensor<4xf32>, tensor<4xf32>) outs(%148 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.subf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %150 = tensor.empty() : tensor<4xi1>
    %151 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%145 : tensor<4xf32>) outs(%150 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = math.absf %in : f32
      %241 = arith.cmpf one, %240, %cst_1 : f32
      linalg.yield %241 : i1
    } -> tensor<4xi1>
    %152 = tensor.empty() : tensor<4xf32>
    %153 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%145 : tensor<4xf32>) outs(%152 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.negf %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %154 = tensor.empty() : tensor<4xf32>
    %155 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%151, %149, %153 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%154 : tensor<4xf32>) {
    ^bb0(%in: i1, %in_38: f32, %in_39: f32, %out: f32):
      %240 = arith.select %in, %in_38, %in_39 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %156 = tensor.empty() : tensor<4xf32>
    %157 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%51, %155, %127 : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%156 : tensor<4xf32>) {
    ^bb0(%in: i1, %in_38: f32, %in_39: f32, %out: f32):
      %240 = arith.select %in, %in_38, %in_39 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %158 = tensor.empty() : tensor<4xi1>
    %159 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%129 : tensor<4xf32>) outs(%158 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = arith.cmpf oeq, %in, %cst_1 : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %160 = tensor.empty() : tensor<4xf32>
    %161 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%159, %157 : tensor<4xi1>, tensor<4xf32>) outs(%160 : tensor<4xf32>) {
    ^bb0(%in: i1, %in_38: f32, %out: f32):
      %240 = arith.select %in, %cst_1, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %162 = tensor.empty() : tensor<4xf32>
    %163 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%162 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_22 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %164 = tensor.empty() : tensor<4xi32>
    %165 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%164 : tensor<4xi32>) {
    ^bb0(%in: f32, %out: i32):
      %240 = arith.bitcast %in : f32 to i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %166 = tensor.empty() : tensor<4xi32>
    %167 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%163 : tensor<4xf32>) outs(%166 : tensor<4xi32>) {
    ^bb0(%in: f32, %out: i32):
      %240 = arith.bitcast %in : f32 to i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %168 = tensor.empty() : tensor<4xi1>
    %169 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%168 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = arith.cmpf une, %in, %in : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %170 = tensor.empty() : tensor<4xi1>
    %171 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%163 : tensor<4xf32>) outs(%170 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = arith.cmpf une, %in, %in : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %172 = tensor.empty() : tensor<4xi1>
    %173 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%169, %171 : tensor<4xi1>, tensor<4xi1>) outs(%172 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_38: i1, %out: i1):
      %240 = arith.ori %in, %in_38 : i1
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %174 = tensor.empty() : tensor<4xi32>
    %175 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%174 : tensor<4xi32>) {
    ^bb0(%out: i32):
      linalg.yield %c2143289344_i32 : i32
    } -> tensor<4xi32>
    %176 = tensor.empty() : tensor<4xi32>
    %177 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%165 : tensor<4xi32>) outs(%176 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %240 = arith.andi %in, %c2147483647_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %178 = tensor.empty() : tensor<4xi32>
    %179 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%167 : tensor<4xi32>) outs(%178 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %240 = arith.andi %in, %c2147483647_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %180 = tensor.empty() : tensor<4xi1>
    %181 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0, %163 : tensor<4xf32>, tensor<4xf32>) outs(%180 : tensor<4xi1>) {
    ^bb0(%in: f32, %in_38: f32, %out: i1):
      %240 = arith.cmpf oeq, %in, %in_38 : f32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %182 = tensor.empty() : tensor<4xi1>
    %183 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%177 : tensor<4xi32>) outs(%182 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %240 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %184 = tensor.empty() : tensor<4xi1>
    %185 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%179 : tensor<4xi32>) outs(%184 : tensor<4xi1>) {
    ^bb0(%in: i32, %out: i1):
      %240 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %186 = tensor.empty() : tensor<4xi32>
    %187 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%165 : tensor<4xi32>) outs(%186 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %240 = arith.andi %in, %c-2147483648_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %188 = tensor.empty() : tensor<4xi32>
    %189 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%167 : tensor<4xi32>) outs(%188 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %240 = arith.andi %in, %c-2147483648_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %190 = tensor.empty() : tensor<4xi32>
    %191 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%189 : tensor<4xi32>) outs(%190 : tensor<4xi32>) {
    ^bb0(%in: i32, %out: i32):
      %240 = arith.ori %in, %c1_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %192 = tensor.empty() : tensor<4xi1>
    %193 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%187, %189 : tensor<4xi32>, tensor<4xi32>) outs(%192 : tensor<4xi1>) {
    ^bb0(%in: i32, %in_38: i32, %out: i1):
      %240 = arith.cmpi ne, %in, %in_38 : i32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %194 = tensor.empty() : tensor<4xi1>
    %195 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%177, %179 : tensor<4xi32>, tensor<4xi32>) outs(%194 : tensor<4xi1>) {
    ^bb0(%in: i32, %in_38: i32, %out: i1):
      %240 = arith.cmpi sgt, %in, %in_38 : i32
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %196 = tensor.empty() : tensor<4xi1>
    %197 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%195, %193 : tensor<4xi1>, tensor<4xi1>) outs(%196 : tensor<4xi1>) {
    ^bb0(%in: i1, %in_38: i1, %out: i1):
      %240 = arith.ori %in, %in_38 : i1
      linalg.yield %240 : i1
    } -> tensor<4xi1>
    %198 = tensor.empty() : tensor<4xi32>
    %199 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%197 : tensor<4xi1>) outs(%198 : tensor<4xi32>) {
    ^bb0(%in: i1, %out: i32):
      %240 = arith.select %in, %c-1_i32, %c1_i32 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %200 = tensor.empty() : tensor<4xi32>
    %201 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%165, %199 : tensor<4xi32>, tensor<4xi32>) outs(%200 : tensor<4xi32>) {
    ^bb0(%in: i32, %in_38: i32, %out: i32):
      %240 = arith.addi %in, %in_38 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %202 = tensor.empty() : tensor<4xi32>
    %203 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%185, %167, %191 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%202 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_38: i32, %in_39: i32, %out: i32):
      %240 = arith.select %in, %in_38, %in_39 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %204 = tensor.empty() : tensor<4xi32>
    %205 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%183, %203, %201 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%204 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_38: i32, %in_39: i32, %out: i32):
      %240 = arith.select %in, %in_38, %in_39 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %206 = tensor.empty() : tensor<4xi32>
    %207 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%181, %167, %205 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%206 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_38: i32, %in_39: i32, %out: i32):
      %240 = arith.select %in, %in_38, %in_39 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %208 = tensor.empty() : tensor<4xi32>
    %209 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%173, %175, %207 : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) outs(%208 : tensor<4xi32>) {
    ^bb0(%in: i1, %in_38: i32, %in_39: i32, %out: i32):
      %240 = arith.select %in, %in_38, %in_39 : i32
      linalg.yield %240 : i32
    } -> tensor<4xi32>
    %210 = tensor.empty() : tensor<4xf32>
    %211 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%209 : tensor<4xi32>) outs(%210 : tensor<4xf32>) {
    ^bb0(%in: i32, %out: f32):
      %240 = arith.bitcast %in : i32 to f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %212 = tensor.empty() : tensor<4xf32>
    %213 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%212 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.atan2 %in, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %214 = tensor.empty() : tensor<4xf32>
    %215 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%214 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.cbrt %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %216 = tensor.empty() : tensor<4xf32>
    %217 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%216 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.round %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %218 = tensor.empty() : tensor<4xf32>
    %219 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%218 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.roundeven %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %220 = tensor.empty() : tensor<4xf32>
    %221 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%220 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.cmpf one, %in, %cst_0 : f32
      %241 = arith.uitofp %240 : i1 to f32
      %242 = math.copysign %241, %in : f32
      %243 = arith.cmpf uno, %in, %in : f32
      %244 = arith.select %243, %in, %242 : f32
      linalg.yield %244 : f32
    } -> tensor<4xf32>
    %222 = tensor.empty() : tensor<4xf32>
    %223 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%53 : tensor<4xf32>) outs(%222 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.exp %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %224 = tensor.empty() : tensor<4xf32>
    %225 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%223 : tensor<4xf32>) outs(%224 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.addf %in, %cst_22 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %226 = tensor.empty() : tensor<4xf32>
    %227 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%225 : tensor<4xf32>) outs(%226 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.divf %cst_22, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %228 = tensor.empty() : tensor<4xf32>
    %229 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%228 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.log1p %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %230 = tensor.empty() : tensor<4xf32>
    %231 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%230 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.expm1 %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %232 = tensor.empty() : tensor<4xf32>
    %233 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%232 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = math.powf %in, %cst : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %234 = tensor.empty() : tensor<4xf32>
    %235 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%234 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %240 = arith.mulf %in, %in : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %236 = tensor.empty() : tensor<4xf32>
    %237 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%235, %arg0 : tensor<4xf32>, tensor<4xf32>) outs(%236 : tensor<4xf32>) {
    ^bb0(%in: f32, %in_38: f32, %out: f32):
      %240 = arith.mulf %in, %in_38 : f32
      linalg.yield %240 : f32
    } -> tensor<4xf32>
    %238 = tensor.empty() : tensor<4xi1>
    %239 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%238 : tensor<4xi1>) {
    ^bb0(%in: f32, %out: i1):
      %240 = math.absf %in : f32
      %241 = arith.cmpf one, %240, %cst_1 : f32
      linalg.yield %241 : i1
    } -> tensor<4xi1>
    util.return %49, %161, %211, %213, %215, %217, %219, %221, %227, %229, %231, %233, %237, %239 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
  }
}