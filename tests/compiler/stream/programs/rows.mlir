module @jit_rows attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise workgroups() -> (index, index, index) {
      %c1 = arith.constant 1 : index
      flow.return %c1, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i32>>) {
        %c6_i32 = arith.constant 6 : i32
        %c0_i32 = arith.constant 0 : i32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>> -> tensor<i32>
        %1 = tensor.empty() : tensor<i32>
        %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<i32>) outs(%1 : tensor<i32>) {
        ^bb0(%in: i32, %out: i32):
          %3 = arith.addi %in, %c6_i32 : i32
          %4 = arith.cmpi slt, %in, %c0_i32 : i32
          %5 = arith.select %4, %3, %in : i32
          linalg.yield %5 : i32
        } -> tensor<i32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [], sizes = [], strides = [] : tensor<i32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_1 {
    flow.executable.export public @main_dispatch_1 workgroups(%arg0: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%arg0)
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_1(%arg0: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<6x4xf32>>, %arg1: index) {
        %cst = arith.constant dense<7.000000e+00> : tensor<4xf32>
        %0 = iree_tensor_ext.dispatch.workload.ordinal %arg1, 0 : index
        iree_tensor_ext.dispatch.tensor.store %cst, %arg0, offsets = [%0, 0], sizes = [1, 4], strides = [1, 1] : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<6x4xf32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_2 {
    flow.executable.export public @main_dispatch_2_slow_memcpy workgroups(%arg0: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%arg0)
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_2_slow_memcpy(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<6x4xf32>>, %arg1: index, %arg2: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<2x4xf32>>) {
        %0 = iree_tensor_ext.dispatch.workload.ordinal %arg1, 0 : index
        %1 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [%0, 0], sizes = [2, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<6x4xf32>> -> tensor<2x4xf32>
        iree_tensor_ext.dispatch.tensor.store %1, %arg2, offsets = [0, 0], sizes = [2, 4], strides = [1, 1] : tensor<2x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<2x4xf32>>
        return
      }
    }
  }
  util.func public @main(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view) attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<6x4xf32>, %input1: tensor<i32>) -> (%output0: tensor<6x4xf32>, %output1: tensor<2x4xf32>)"}} {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c4 = arith.constant 4 : index
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<6x4xf32>
    %1 = hal.tensor.import %arg1 "input1" : !hal.buffer_view -> tensor<i32>
    %2 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise(%1) : (tensor<i32>) -> tensor<i32>
    %3 = flow.tensor.load %2 : tensor<i32>
    %4 = arith.index_cast %3 : i32 to index
    %5 = arith.maxsi %4, %c0 : index
    %6 = arith.minui %5, %c5 : index
    %7 = flow.dispatch @main_dispatch_1::@main_dispatch_1[%6](%0, %6) : (tensor<6x4xf32>, index) -> %0
    %8 = arith.minui %5, %c4 : index
    %9 = flow.dispatch @main_dispatch_2::@main_dispatch_2_slow_memcpy[%8](%0, %8) : (tensor<6x4xf32>, index) -> tensor<2x4xf32>
    %10 = hal.tensor.export %7 "output0" : tensor<6x4xf32> -> !hal.buffer_view
    %11 = hal.tensor.export %9 "output1" : tensor<2x4xf32> -> !hal.buffer_view
    util.return %10, %11 : !hal.buffer_view, !hal.buffer_view
  }
}