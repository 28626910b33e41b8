module @jit_scatter attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "x86-64", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise_5_i32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise_5_i32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<5xi32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<5xi32>>) {
        %c10_i32 = arith.constant 10 : i32
        %c0_i32 = arith.constant 0 : i32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [5], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<5xi32>> -> tensor<5xi32>
        %1 = tensor.empty() : tensor<5xi32>
        %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<5xi32>) outs(%1 : tensor<5xi32>) {
        ^bb0(%in: i32, %out: i32):
          %3 = arith.addi %in, %c10_i32 : i32
          %4 = arith.cmpi slt, %in, %c0_i32 : i32
          %5 = arith.select %4, %3, %in : i32
          linalg.yield %5 : i32
        } -> tensor<5xi32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [0], sizes = [5], strides = [1] : tensor<5xi32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<5xi32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_1 {
    flow.executable.export public @main_dispatch_1_scatter_10x3xf32_dispatch_tensor_store workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_1_scatter_10x3xf32_dispatch_tensor_store(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<5x3xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<readonly:tensor<5xi32>>, %arg2: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<10x3xf32>>) {
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0, 0], sizes = [5, 3], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<5x3xf32>> -> tensor<5x3xf32>
        %1 = iree_tensor_ext.dispatch.tensor.load %arg1, offsets = [0], sizes = [5], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<5xi32>> -> tensor<5xi32>
        %2 = iree_tensor_ext.dispatch.tensor.load %arg2, offsets = [0, 0], sizes = [10, 3], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<10x3xf32>> -> tensor<10x3xf32>
        %3 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%0, %1 : tensor<5x3xf32>, tensor<5xi32>) outs(%2 : tensor<10x3xf32>) {
        ^bb0(%arg3: f32, %arg4: f32):
          %4 = arith.addf %arg4, %arg3 : f32
          iree_linalg_ext.yield %4 : f32
        } -> tensor<10x3xf32>
        iree_tensor_ext.dispatch.tensor.store %3, %arg2, offsets = [0, 0], sizes = [10, 3], strides = [1, 1] : tensor<10x3xf32> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<10x3xf32>>
        return
      }
    }
  }
  util.func public @main(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view, %arg2: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<10x3xf32>, %input1: tensor<5xi32>, %input2: tensor<5x3xf32>) -> (%output0: tensor<10x3xf32>)"}} {
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<10x3xf32>
    %1 = hal.tensor.import %arg1 "input1" : !hal.buffer_view -> tensor<5xi32>
    %2 = hal.tensor.import %arg2 "input2" : !hal.buffer_view -> tensor<5x3xf32>
    %3 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_5_i32(%1) : (tensor<5xi32>) -> tensor<5xi32>
    %4 = flow.dispatch @main_dispatch_1::@main_dispatch_1_scatter_10x3xf32_dispatch_tensor_store(%2, %3, %0) : (tensor<5x3xf32>, tensor<5xi32>, tensor<10x3xf32>) -> %0
    %5 = hal.tensor.export %4 "output0" : tensor<10x3xf32> -> !hal.buffer_view
    util.return %5 : !hal.buffer_view
  }
}