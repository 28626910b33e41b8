#t = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", target_triple = "x86_64-unknown-unknown-eabi-elf", native_vector_size = 16 : i64}>
module attributes {stream.affinity.default = #hal.device.affinity<@a>} {
util.global private @a = #hal.device.target<"local", {ordinal = 0 : index}, [#t]> : !hal.device
util.global private @b = #hal.device.target<"local", {ordinal = 1 : index}, [#t]> : !hal.device
flow.executable private @e { flow.executable.export public @f workgroups(%w: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
      flow.return %x, %y, %z : index, index, index
    }
 builtin.module { func.func @f(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %d: index, %b: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) { 
   %n = iree_tensor_ext.dispatch.workload.ordinal %d, 0 : index
   %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets=[0], sizes=[%n], strides=[1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n} -> tensor<?xf32>
   %e = tensor.empty(%n) : tensor<?xf32>
   %1 = linalg.generic {indexing_maps=[affine_map<(d0)->(d0)>,affine_map<(d0)->(d0)>], iterator_types=["parallel"]} ins(%0: tensor<?xf32>) outs(%e: tensor<?xf32>) {
   ^bb0(%i: f32, %o: f32):
     %2 = arith.addf %i, %i : f32
     linalg.yield %2 : f32
   } -> tensor<?xf32>
   iree_tensor_ext.dispatch.tensor.store %1, %b, offsets=[0], sizes=[%n], strides=[1] : tensor<?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
   return } } }
util.func public @loops(%x: !hal.buffer_view, %k: i32) -> (!hal.buffer_view, !hal.buffer_view) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = hal.buffer_view.dim<%x : !hal.buffer_view>[0] : index
  %n = arith.index_cast %k : i32 to index
  %0 = hal.tensor.import %x "x" : !hal.buffer_view -> tensor<?xf32>{%d}
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0, %t = %0) -> (tensor<?xf32>, tensor<?xf32>) {
    %1 = flow.dispatch @e::@f[%d](%s, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
    %q = scf.for %j = %c0 to %c1 step %c1 iter_args(%u = %t) -> (tensor<?xf32>) {
      %v = flow.tensor.slice %1[%c0 for %c1] : tensor<?xf32>{%d} -> tensor<1xf32>
      %w = flow.tensor.update %v, %u[%i] : tensor<1xf32> -> %u as tensor<?xf32>{%d}
      scf.yield %w : tensor<?xf32>
    }
    scf.yield %1, %q : tensor<?xf32>, tensor<?xf32>
  }
  %v = flow.tensor.load %r#0[%c1] : tensor<?xf32>{%d}
  %sp = flow.tensor.splat %v : tensor<?xf32>{%d}
  %big = arith.cmpf ogt, %v, %one : f32
  %pick = arith.select %big, %sp, %r#1 : tensor<?xf32>
  %o = hal.tensor.export %pick "o" : tensor<?xf32>{%d} -> !hal.buffer_view
  %o1 = hal.tensor.export %r#1 "o" : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %o, %o1 : !hal.buffer_view, !hal.buffer_view
}
util.func public @devices(%x: !hal.buffer_view, %k: i32) -> (!hal.buffer_view, !hal.buffer_view) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.index_cast %k : i32 to index
  %d = hal.buffer_view.dim<%x : !hal.buffer_view>[0] : index
  %0 = hal.tensor.import %x "x" : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.dispatch @e::@f[%d](%0, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %2 = flow.tensor.transfer %1 : tensor<?xf32>{%d} to #hal.device.affinity<@b>
  %3 = flow.dispatch @e::@f[%d](%2, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%s = %3) -> (tensor<?xf32>) {
    %m = flow.dispatch @e::@f[%d](%s, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
    %back = flow.tensor.transfer %m : tensor<?xf32>{%d} to #hal.device.affinity<@a>
    scf.yield %back : tensor<?xf32>
  }
  %4 = flow.tensor.transfer %l : tensor<?xf32>{%d} to #hal.device.affinity<@a>
  %o = hal.tensor.export %4 "o" : tensor<?xf32>{%d} -> !hal.buffer_view
  %o1 = hal.tensor.export on(#hal.device.affinity<@b>) %3 "o" : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %o, %o1 : !hal.buffer_view, !hal.buffer_view
}
}
