module @jit_while attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_reduction_12_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_0_reduction_12_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<f32>>) {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [12], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>> -> tensor<12xf32>
        %1 = tensor.empty() : tensor<f32>
        %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<f32>) -> tensor<f32>
        %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<12xf32>) outs(%2 : tensor<f32>) {
        ^bb0(%in: f32, %out: f32):
          %4 = arith.addf %out, %in : f32
          linalg.yield %4 : f32
        } -> tensor<f32>
        iree_tensor_ext.dispatch.tensor.store %3, %arg1, offsets = [], sizes = [], strides = [] : tensor<f32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<f32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_1 {
    flow.executable.export public @main_dispatch_1_elementwise workgroups() -> (index, index, index) {
      %c1 = arith.constant 1 : index
      flow.return %c1, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_1_elementwise(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<f32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>) {
        %cst = arith.constant 1.000000e+02 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [], sizes = [], strides = [] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<f32>> -> tensor<f32>
        %1 = tensor.empty() : tensor<i1>
        %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%0 : tensor<f32>) outs(%1 : tensor<i1>) {
        ^bb0(%in: f32, %out: i1):
          %3 = arith.cmpf olt, %in, %cst : f32
          linalg.yield %3 : i1
        } -> tensor<i1>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [], sizes = [], strides = [] : tensor<i1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_2 {
    flow.executable.export public @main_dispatch_2_elementwise_12_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_2_elementwise_12_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<12xf32>>) {
        %cst = arith.constant 2.000000e+00 : f32
        %cst_0 = arith.constant 1.000000e+00 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [12], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>> -> tensor<12xf32>
        %1 = tensor.empty() : tensor<12xf32>
        %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<12xf32>) outs(%1 : tensor<12xf32>) {
        ^bb0(%in: f32, %out: f32):
          %3 = arith.mulf %in, %cst : f32
          %4 = arith.addf %3, %cst_0 : f32
          linalg.yield %4 : f32
        } -> tensor<12xf32>
        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [0], sizes = [12], strides = [1] : tensor<12xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<12xf32>>
        return
      }
    }
  }
  flow.executable private @main_dispatch_3 {
    flow.executable.export public @main_dispatch_3_reduction_12_f32 workgroups() -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @main_dispatch_3_reduction_12_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>>, %arg1: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>) {
        %cst = arith.constant 0.000000e+00 : f32
        %cst_0 = arith.constant 1.000000e+02 : f32
        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0], sizes = [12], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<12xf32>> -> tensor<12xf32>
        %1 = tensor.empty() : tensor<i1>
        %2 = tensor.empty() : tensor<f32>
        %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<f32>) -> tensor<f32>
        %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%0 : tensor<12xf32>) outs(%3 : tensor<f32>) {
        ^bb0(%in: f32, %out: f32):
          %6 = arith.addf %out, %in : f32
          linalg.yield %6 : f32
        } -> tensor<f32>
        %5 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%4 : tensor<f32>) outs(%1 : tensor<i1>) {
        ^bb0(%in: f32, %out: i1):
          %6 = arith.cmpf olt, %in, %cst_0 : f32
          linalg.yield %6 : i1
        } -> tensor<i1>
        iree_tensor_ext.dispatch.tensor.store %5, %arg1, offsets = [], sizes = [], strides = [] : tensor<i1> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<i1>>
        return
      }
    }
  }
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<3x4xf32>) -> (%output0: tensor<3x4xf32>)"}} {
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<3x4xf32>
    %1 = flow.tensor.reshape %0 : tensor<3x4xf32> -> tensor<12xf32>
    %2 = flow.dispatch @main_dispatch_0::@main_dispatch_0_reduction_12_f32(%1) : (tensor<12xf32>) -> tensor<f32>
    %3 = flow.dispatch @main_dispatch_1::@main_dispatch_1_elementwise(%2) : (tensor<f32>) -> tensor<i1>
    %4 = flow.tensor.load %3 : tensor<i1>
    %5 = scf.if %4 -> (tensor<3x4xf32>) {
      %7 = scf.while (%arg1 = %0) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
        %8 = flow.tensor.reshape %arg1 : tensor<3x4xf32> -> tensor<12xf32>
        %9 = flow.dispatch @main_dispatch_2::@main_dispatch_2_elementwise_12_f32(%8) : (tensor<12xf32>) -> tensor<12xf32>
        %10 = flow.tensor.reshape %9 : tensor<12xf32> -> tensor<3x4xf32>
        %11 = flow.dispatch @main_dispatch_3::@main_dispatch_3_reduction_12_f32(%9) : (tensor<12xf32>) -> tensor<i1>
        %12 = flow.tensor.load %11 : tensor<i1>
        scf.condition(%12) %10 : tensor<3x4xf32>
      } do {
      ^bb0(%arg1: tensor<3x4xf32>):
        scf.yield %arg1 : tensor<3x4xf32>
      }
      scf.yield %7 : tensor<3x4xf32>
    } else {
      scf.yield %0 : tensor<3x4xf32>
    }
    %6 = hal.tensor.export %5 "output0" : tensor<3x4xf32> -> !hal.buffer_view
    util.return %6 : !hal.buffer_view
  }
}