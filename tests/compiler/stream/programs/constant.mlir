module @jit_constant attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise_3x4_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise_3x4_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<3x4xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<3x4xf32>>) {
        %cst = arith.constant dense<[[0.000000e+00, 1.000000e+00, 4.000000e+00, 9.000000e+00], [1.600000e+01, 2.500000e+01, 3.600000e+01, 4.900000e+01], [6.400000e+01, 8.100000e+01, 1.000000e+02, 1.210000e+02]]> : tensor<3x4xf32>
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0, 0], sizes = [3, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<3x4xf32>> -> tensor<3x4xf32>
        %1 = tensor.empty() : tensor<3x4xf32>
        %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %cst : tensor<3x4xf32>, tensor<3x4xf32>) outs(%1 : tensor<3x4xf32>) {
        ^bb0(%in: f32, %in_0: f32, %out: f32):
          %3 = arith.addf %in, %in_0 : f32
          linalg.yield %3 : f32
        } -> tensor<3x4xf32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [0, 0], sizes = [3, 4], strides = [1, 1] : tensor<3x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<3x4xf32>>
        return
      }
    }
  }
  util.global private @__constant_tensor_4xi32 <inlining_policy = #util.inline.never> {stream.affinity.default = #hal.device.affinity<@__device_0>} = dense<[0, 1, 2, 3]> : tensor<4xi32>
  util.func public @main(%arg0: !hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<3x4xf32>) -> (%output0: tensor<3x4xf32>, %output1: tensor<4xi32>)"}} {
    %__constant_tensor_4xi32 = util.global.load immutable @__constant_tensor_4xi32 : tensor<4xi32>
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<3x4xf32>
    %1 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_3x4_f32(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = hal.tensor.export %1 "output0" : tensor<3x4xf32> -> !hal.buffer_view
    %3 = hal.tensor.export %__constant_tensor_4xi32 "output1" : tensor<4xi32> -> !hal.buffer_view
    util.return %2, %3 : !hal.buffer_view, !hal.buffer_view
  }
}