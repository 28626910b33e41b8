"""Modules made by the real `iree-compile`, for the runtime to run."""

import pytest

_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)

PROGRAMS = {
    "add": """
        func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %a, %b : tensor<4xf32>
          return %0 : tensor<4xf32>
        }""",
    "layer": """
        func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
          %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
          %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
          %2 = stablehlo.add %0, %1 : tensor<8x32xf32>
          %3 = stablehlo.tanh %2 : tensor<8x32xf32>
          return %3 : tensor<8x32xf32>
        }""",
    "loop": """
        func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
          %c0 = stablehlo.constant dense<0> : tensor<i32>
          %r:2 = stablehlo.while(%i = %c0, %v = %x) : tensor<i32>, tensor<f32>
           cond {
             %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           } do {
             %one = stablehlo.constant dense<1> : tensor<i32>
             %f = stablehlo.constant dense<1.5> : tensor<f32>
             %j = stablehlo.add %i, %one : tensor<i32>
             %w = stablehlo.multiply %v, %f : tensor<f32>
             stablehlo.return %j, %w : tensor<i32>, tensor<f32>
           }
          return %r#0, %r#1 : tensor<i32>, tensor<f32>
        }""",
    "dynamic": """
        func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
          %0 = arith.addf %a, %b : tensor<?x?xf32>
          %1 = arith.mulf %a, %b : tensor<?x?xf32>
          return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
        }""",
    "two": """
        func.func @main(%a: tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi1>) {
          %c = stablehlo.constant dense<3> : tensor<6xi32>
          %0 = stablehlo.multiply %a, %c : tensor<6xi32>
          %1 = stablehlo.compare GT, %a, %c : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
          return %0, %1 : tensor<6xi32>, tensor<6xi1>
        }""",
    "same": """
        func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
          %0 = stablehlo.add %a, %b : tensor<4xf32>
          return %a, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
        }""",
    "wide": """
        func.func @main(%a: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
          %0 = stablehlo.exponential %a : tensor<4096x4096xf32>
          %1 = stablehlo.sine %0 : tensor<4096x4096xf32>
          return %1 : tensor<4096x4096xf32>
        }""",
    "slow": """
        func.func @main(%n: tensor<i32>, %x: tensor<256x256xf32>) -> tensor<256x256xf32> {
          %c0 = stablehlo.constant dense<0> : tensor<i32>
          %r:2 = stablehlo.while(%i = %c0, %v = %x) : tensor<i32>, tensor<256x256xf32>
           cond {
             %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           } do {
             %one = stablehlo.constant dense<1> : tensor<i32>
             %j = stablehlo.add %i, %one : tensor<i32>
             %w = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0]
               : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
             stablehlo.return %j, %w : tensor<i32>, tensor<256x256xf32>
           }
          return %r#1 : tensor<256x256xf32>
        }""",
    "counter": """
        util.global private mutable @state = dense<0.0> : tensor<4xf32>
        func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %s = util.global.load @state : tensor<4xf32>
          util.global.store %a, @state : tensor<4xf32>
          return %s : tensor<4xf32>
        }""",
    "types": """
        func.func @f64(%a: tensor<3xf64>) -> tensor<3xf64> {
          %0 = stablehlo.add %a, %a : tensor<3xf64>
          return %0 : tensor<3xf64>
        }
        func.func @bf16(%a: tensor<3xbf16>) -> tensor<3xbf16> {
          %0 = stablehlo.add %a, %a : tensor<3xbf16>
          return %0 : tensor<3xbf16>
        }
        func.func @ui8(%a: tensor<3xui8>) -> tensor<3xui8> {
          %0 = stablehlo.add %a, %a : tensor<3xui8>
          return %0 : tensor<3xui8>
        }
        func.func @bool(%a: tensor<3xi1>) -> tensor<3xi1> {
          %0 = stablehlo.not %a : tensor<3xi1>
          return %0 : tensor<3xi1>
        }
        func.func @complex(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
          %0 = stablehlo.multiply %a, %a : tensor<3xcomplex<f32>>
          return %0 : tensor<3xcomplex<f32>>
        }
        func.func @empty(%a: tensor<0x3xf32>) -> tensor<0x3xf32> {
          %0 = stablehlo.add %a, %a : tensor<0x3xf32>
          return %0 : tensor<0x3xf32>
        }
        func.func @scalar(%a: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.add %a, %a : tensor<f32>
          return %0 : tensor<f32>
        }""",
}


@pytest.fixture(scope="session")
def iree_module(iree_tool, tmp_path_factory):
    """A function (program name, *more flags) that gives the path of the program as iree-compile compiles it."""
    folder = tmp_path_factory.mktemp("modules")
    made = {}

    def compile_program(name, *flags):
        key = (name, *flags)
        if key not in made:
            source = folder / f"{name}-{len(made)}.mlir"
            source.write_text(PROGRAMS[name])
            output = source.with_suffix(".vmfb")
            iree_tool("iree-compile", "--iree-input-type=stablehlo", *_FLAGS, *flags, source, "-o", output)
            made[key] = output
        return made[key]

    return compile_program
