module {
  util.global private mutable @g = 5 : i32
  util.global private @h : tensor<4xf32>
  util.global public @k {foo} = dense<1.0> : tensor<4xf32>
  util.initializer {
    %c = arith.constant 1 : i32
    util.global.store %c, @g : i32
    util.return
  }
  util.func private @ext(%a: i32) -> i32
  util.func private @ext2(%arg0: i32, %arg1: tensor<4xf32>) -> (%arg1 as tensor<4xf32>)
  util.func public @main(%a: tensor<4xf32> {iree.abi.tied = 0 : i64}, %n: index) -> (%a, i32 {util.foo}) attributes {iree.abi.stub, inlining_policy = #util.inline.never} {
    %p = util.global.address @g : !util.ptr<i32>
    %v = util.global.load.indirect %p : !util.ptr<i32> -> i32
    %w = util.global.load @g : i32
    %w2 = util.global.load immutable @k : tensor<4xf32>
    %q = util.call @ext(%v) : (i32) -> i32
    %q2 = util.call @ext2(%v, %a) : (i32, tensor<4xf32>) -> %a
    %z = util.null : !util.buffer
    %e = util.cmp.eq %z, %z : !util.buffer
    %al = util.align %n, %n : index
    %so = util.sizeof f32
    %as = util.assume.int %n<umin = 4, umax = 8, udiv = 4> : index
    %as2:2 = util.assume.int %n[<umin = 4>, <umax = 9>], %w<udiv = 2> : index, i32
    %b = util.buffer.constant "nm" <{alignment = 64 : index, mime_type = "text/plain"}> : !util.buffer = dense<[1, 2, 3]> : tensor<3xi32>
    %b2 = util.buffer.constant : !util.buffer = #util.composite<16xi8, [dense<1> : tensor<2xi32>, dense<0> : vector<8xi8>]>
    %ob = util.optimization_barrier %n : index
    %ob2:2 = util.optimization_barrier %n, %w : index, i32
    %l = util.list.create : !util.list<i32>
    %c0 = arith.constant 0 : index
    util.list.resize %l, %n : !util.list<i32>
    util.list.set %l[%c0], %w : !util.list<i32>
    %li = util.list.get %l[%c0] : !util.list<i32>
    %ls = util.list.size %l : !util.list<i32>
    %x = util.switch index from [%n, %n] at %n else %c0 : index
    %bs = util.buffer.size %b : !util.buffer
    %ba = util.buffer.alloc uninitialized <{alignment = 16 : index}> : !util.buffer{%n}
    %ld = util.buffer.load %b[%c0 for %n] : !util.buffer{%n} -> i32
    util.buffer.store %ld, %ba[%c0 for %n] : i32 -> !util.buffer{%n}
    %rm = util.range.min %n, %c0 : index
    util.status.check_ok %w, "oops"
    util.return %q2, %q : tensor<4xf32>, i32
  }
  util.func private @u() {
    util.unreachable "bad"
  }
}
