func.func @f(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<8x4xf32>, %d: tensor<4x8xf32>, %e:tensor<2x4x8xf32>, %i: tensor<2x4x8xi8>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%b : tensor<4xf32>) dimensions = [1]
  %1 = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%c : tensor<8x4xf32>) permutation = [1, 0]
  %2 = linalg.broadcast ins(%a : tensor<4x8xf32>) outs(%e : tensor<2x4x8xf32>) dimensions = [0]
  %3 = linalg.map { arith.addf } ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%d : tensor<4x8xf32>)
  %4 = linalg.map ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%d : tensor<4x8xf32>) (%in: f32, %in2: f32, %out: f32) { %x = arith.addf %in, %in2 : f32 
   %y = arith.addf %x, %in : f32
   linalg.yield %y : f32 }
  %5:2 = linalg.reduce ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%b, %b : tensor<4xf32>, tensor<4xf32>) dimensions = [1] (%in: f32, %in2: f32, %o: f32, %o2: f32) { %x = arith.addf %in, %o : f32
    linalg.yield %x, %in2 : f32, f32 }
  %6 = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%d: tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = linalg.copy ins(%a : tensor<4x8xf32>) outs(%d: tensor<4x8xf32>) -> tensor<4x8xf32>
  
  %q = tensor.empty() : tensor<4x4xf32>
  %9 = linalg.matmul {foo = 1 : i32} ins(%a, %c : tensor<4x8xf32>, tensor<8x4xf32>) outs(%q : tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = linalg.matmul indexing_maps = [affine_map<(d0,d1,d2)->(d2,d0)>, affine_map<(d0,d1,d2)->(d2,d1)>, affine_map<(d0,d1,d2)->(d0,d1)>] ins(%c, %c : tensor<8x4xf32>, tensor<8x4xf32>) outs(%q : tensor<4x4xf32>) -> tensor<4x4xf32>
  
  return %0, %3 : tensor<4xf32>, tensor<4x8xf32>
}
