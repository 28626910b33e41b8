func.func @f(%a: i32, %c: i1) -> i32 {
  cf.cond_br %c weights([1, 2]), ^bb1(%a : i32), ^bb2
^bb1(%x: i32):
  cf.switch %x : i32, [
    default: ^bb2,
    42: ^bb3(%x : i32),
    -43: ^bb3(%a : i32)
  ]
^bb2:
  cf.assert %c, "hi"
  cf.br ^bb3(%a : i32)
^bb3(%r: i32):
  return %r : i32
}
func.func @g(%a: index, %c: i1, %t: tensor<8xf32>, %n: i32) -> (i32, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c0i = arith.constant 0 : i32
  %c1i = arith.constant 1 : i32
  scf.for %i = %c0 to %a step %a {
    scf.if %c {
      %z = arith.addi %i, %i : index
    } else {
    }
  }
  %q = scf.for %i = %c0i to %n step %c1i iter_args(%s = %c0i) -> (i32) : i32 {
    %w = arith.addi %s, %i : i32
    scf.yield %w : i32
  }
  %b = scf.if %c -> (i32) {
    scf.yield %q : i32
  } else {
    scf.yield %n : i32
  }
  %r:2 = scf.while (%x = %b, %y = %t) : (i32, tensor<8xf32>) -> (i32, tensor<8xf32>) {
    %l = arith.cmpi slt, %x, %n : i32
    scf.condition(%l) %x, %y : i32, tensor<8xf32>
  } do {
  ^bb0(%x: i32, %y: tensor<8xf32>):
    %x1 = arith.addi %x, %c1i : i32
    scf.yield %x1, %y : i32, tensor<8xf32>
  }
  %k = scf.index_switch %a -> i32
  case 2 {
    scf.yield %n : i32
  }
  default {
    scf.yield %q : i32
  }
  %fa = scf.forall (%i, %j) in (4, %a) shared_outs(%o = %t) -> (tensor<8xf32>) {
    %sl = tensor.extract_slice %o[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sl into %o[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
    }
  }
  return %k, %fa : i32, tensor<8xf32>
}
