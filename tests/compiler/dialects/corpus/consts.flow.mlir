module @jit_consts attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "x86-64", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise_broadcast_12_i8 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise_broadcast_12_i8(%arg0: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<12xi8>>) {
        %0 = tensor.empty() : tensor<12xi8>
        %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<12xi8>) {
        ^bb0(%out: i8):
          %2 = linalg.index 0 : index
          %3 = arith.index_cast %2 : index to i8
          linalg.yield %3 : i8
        } -> tensor<12xi8>
        iree_tensor_ext.dispatch.tensor.store %1, %arg0, offsets = [0], sizes = [12], strides = [1] : tensor<12xi8> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<12xi8>>
        return
      }
    }
  }
  util.global private @__constant_tensor_4xf32 <inlining_policy = #util.inline.never> {stream.affinity.default = #hal.device.affinity<@__device_0>} = dense<[1.000000e+00, 2.000000e+00, 0x7FC00000, 0x7F800000]> : tensor<4xf32>
  util.global private @__constant_tensor_2xi1 <inlining_policy = #util.inline.never> {stream.affinity.default = #hal.device.affinity<@__device_0>} = dense<[true, false]> : tensor<2xi1>
  util.func public @main() -> (!hal.buffer_view, !hal.buffer_view, !hal.buffer_view) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main() -> (%output0: tensor<4xf32>, %output1: tensor<2xi1>, %output2: tensor<3x4xi8>)"}} {
    %__constant_tensor_4xf32 = util.global.load immutable @__constant_tensor_4xf32 : tensor<4xf32>
    %__constant_tensor_2xi1 = util.global.load immutable @__constant_tensor_2xi1 : tensor<2xi1>
    %0 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_broadcast_12_i8() : () -> tensor<12xi8>
    %1 = flow.tensor.reshape %0 : tensor<12xi8> -> tensor<3x4xi8>
    %2 = hal.tensor.export %__constant_tensor_4xf32 "output0" : tensor<4xf32> -> !hal.buffer_view
    %3 = hal.tensor.export %__constant_tensor_2xi1 "output1" : tensor<2xi1> -> !hal.buffer_view
    %4 = hal.tensor.export %1 "output2" : tensor<3x4xi8> -> !hal.buffer_view
    util.return %2, %3, %4 : !hal.buffer_view, !hal.buffer_view, !hal.buffer_view
  }
}