module @jit_fori attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise workgroups() -> (index, index, index) {
      %c1 = arith.constant 1 : index
      flow.return %c1, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>) {
        %c0_i32 = arith.constant 0 : i32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>> -> tensor<i32>
        %1 = tensor.empty() : tensor<i1>
        %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<i32>) outs(%1 : tensor<i1>) {
        ^bb0(%in: i32, %out: i1):
          %3 = arith.cmpi sgt, %in, %c0_i32 : i32
          linalg.yield %3 : i1
        } -> tensor<i1>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [], sizes = [], strides = [] : tensor<i1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_1 {
    flow.executable.export public @main_dispatch_1_elementwise workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_1_elementwise(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i32>>) {
        %c1_i32 = arith.constant 1 : i32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>> -> tensor<i32>
        %1 = tensor.empty() : tensor<i32>
        %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<i32>) outs(%1 : tensor<i32>) {
        ^bb0(%in: i32, %out: i32):
          %3 = arith.addi %in, %c1_i32 : i32
          linalg.yield %3 : i32
        } -> tensor<i32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [], sizes = [], strides = [] : tensor<i32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_2 {
    flow.executable.export public @main_dispatch_2_elementwise_8_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_2_elementwise_8_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {
        %cst = arith.constant 2.000000e+00 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
        %1 = tensor.empty() : tensor<8xf32>
        %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%1 : tensor<8xf32>) {
        ^bb0(%in: f32, %out: f32):
          %3 = math.cos %in : f32
          %4 = arith.mulf %in, %cst : f32
          %5 = arith.addf %4, %3 : f32
          linalg.yield %5 : f32
        } -> tensor<8xf32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [0], sizes = [8], strides = [1] : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_3 {
    flow.executable.export public @main_dispatch_3_elementwise workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_3_elementwise(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>>, %arg1: !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>>, %arg2: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>) {
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>> -> tensor<i32>
        %1 = iree_tensor_ext.dispatch.tensor.load %arg1, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<i32>> -> tensor<i32>
        %2 = tensor.empty() : tensor<i1>
        %3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0, %1 : tensor<i32>, tensor<i32>) outs(%2 : tensor<i1>) {
        ^bb0(%in: i32, %in_0: i32, %out: i1):
          %4 = arith.cmpi slt, %in, %in_0 : i32
          linalg.yield %4 : i1
        } -> tensor<i1>
        iree_tensor_ext.dispatch.tensor.store %3, %arg2, offsets = [], sizes = [], strides = [] : tensor<i1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>
        return
      }
    }
  }
  util.func public @main(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<8xf32>, %input1: tensor<i32>) -> (%output0: tensor<8xf32>)"}} {
    %cst = arith.constant dense<0> : tensor<i32>
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<8xf32>
    %1 = hal.tensor.import %arg1 "input1" : !hal.buffer_view -> tensor<i32>
    %2 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise(%1) : (tensor<i32>) -> tensor<i1>
    %3 = flow.tensor.load %2 : tensor<i1>
    %4 = scf.if %3 -> (tensor<8xf32>) {
      %6:2 = scf.while (%arg2 = %cst, %arg3 = %0) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>) {
        %7 = flow.dispatch @main_dispatch_1::@main_dispatch_1_elementwise(%arg2) : (tensor<i32>) -> tensor<i32>
        %8 = flow.dispatch @main_dispatch_2::@main_dispatch_2_elementwise_8_f32(%arg3) : (tensor<8xf32>) -> tensor<8xf32>
        %9 = flow.dispatch @main_dispatch_3::@main_dispatch_3_elementwise(%7, %1) : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %10 = flow.tensor.load %9 : tensor<i1>
        scf.condition(%10) %7, %8 : tensor<i32>, tensor<8xf32>
      } do {
      ^bb0(%arg2: tensor<i32>, %arg3: tensor<8xf32>):
        scf.yield %arg2, %arg3 : tensor<i32>, tensor<8xf32>
      }
      scf.yield %6#1 : tensor<8xf32>
    } else {
      scf.yield %0 : tensor<8xf32>
    }
    %5 = hal.tensor.export %4 "output0" : tensor<8xf32> -> !hal.buffer_view
    util.return %5 : !hal.buffer_view
  }
}