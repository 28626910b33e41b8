module attributes {stream.affinity.default = #hal.device.affinity<@d>} {
util.global private @d = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
util.global private @w = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
flow.executable private @e { flow.executable.export public @f workgroups(%w: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
      flow.return %x, %y, %z : index, index, index
    }
 builtin.module { func.func @f(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %d: index, %b: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) { 
   %n = iree_tensor_ext.dispatch.workload.ordinal %d, 0 : index
   %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets=[0], sizes=[%n], strides=[1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n} -> tensor<?xf32>
   iree_tensor_ext.dispatch.tensor.store %0, %b, offsets=[0], sizes=[%n], strides=[1] : tensor<?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
   return } } }
util.func public @concat(%x: !hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view, !hal.buffer_view) {
  %c0 = arith.constant 0 : index
  %d = hal.buffer_view.dim<%x : !hal.buffer_view>[0] : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = hal.tensor.import %x "x" : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.dispatch @e::@f[%d](%0, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %2 = flow.dispatch @e::@f[%d](%1, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %d2 = arith.addi %d, %d : index
  %n = arith.addi %d2, %c4 : index
  %e = flow.tensor.empty : tensor<?xf32>{%n}
  %u0 = flow.tensor.update %1, %e[%c0] : tensor<?xf32>{%d} -> %e as tensor<?xf32>{%n}
  %u1 = flow.tensor.update %2, %u0[%d] : tensor<?xf32>{%d} -> %u0 as tensor<?xf32>{%n}
  %w = util.global.load immutable @w : tensor<4xf32>
  %u2 = flow.tensor.update %w, %u1[%d2] : tensor<4xf32> -> %u1 as tensor<?xf32>{%n}
  %o = hal.tensor.export %u2 "o" : tensor<?xf32>{%n} -> !hal.buffer_view
  %o2 = hal.tensor.export %w "o2" : tensor<4xf32> -> !hal.buffer_view
  %one = arith.constant 1.5 : f64
  %s = flow.tensor.splat %one : tensor<?xf64>{%d}
  %o3 = hal.tensor.export %s "o3" : tensor<?xf64>{%d} -> !hal.buffer_view
  util.return %o, %o2, %o3 : !hal.buffer_view, !hal.buffer_view, !hal.buffer_view
}
}
