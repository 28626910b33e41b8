module @jit_shift attributes {stream.affinity.default = #hal.device.affinity<@__device_0>} {
  util.global private @__device_0 = #hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", cpu_features = "", data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", iree.encoding.resolver = #iree_cpu.cpu_encoding_resolver<>, max_stack_allocation_size = 32768 : i64, native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>]> : !hal.device
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, iree.reflection = {iree.abi.declaration = "sync func @main(%input0: tensor<6x4xf32>) -> (%output0: tensor<6x4xf32>)"}} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c0 = arith.constant 0 : index
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<6x4xf32>
    %1 = flow.tensor.slice %0[%c0, %c0 for %c5, %c4] : tensor<6x4xf32> -> tensor<5x4xf32>
    %2 = flow.tensor.update %1, %0[%c1, %c0] : tensor<5x4xf32> -> %0 as tensor<6x4xf32>
    %3 = hal.tensor.export %2 "output0" : tensor<6x4xf32> -> !hal.buffer_view
    util.return %3 : !hal.buffer_view
  }
}