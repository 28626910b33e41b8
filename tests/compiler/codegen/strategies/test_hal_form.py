"""Dispatches in hal form: bindings are interface ops with offsets, dims come from push constants."""

import numpy as np
import pytest

KIND = "!iree_tensor_ext.dispatch.tensor"
LAYOUT = (
    'layout(#hal.pipeline.layout<constants = {constants}, bindings = ['
    '#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, '
    "#hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>)"
)


def size_from_words(name, first, layout):
    """A 64-bit size from two words, and the workload ordinal made of it."""
    return f"""
      %{name}_lo = hal.interface.constant.load {layout} ordinal({first}) : i32
      %{name}_hi = hal.interface.constant.load {layout} ordinal({first + 1}) : i32
      %{name}_a = arith.extui %{name}_lo : i32 to i64
      %{name}_b = arith.extui %{name}_hi : i32 to i64
      %{name}_c = arith.shli %{name}_b, %c32 : i64
      %{name}_d = arith.ori %{name}_a, %{name}_c : i64
      %{name}_e = arith.index_castui %{name}_d : i64 to index
      %{name} = iree_tensor_ext.dispatch.workload.ordinal %{name}_e, {first // 2} : index
    """


@pytest.mark.parametrize("size", [1, 16, 100, 5000])
def test_dynamic_size(build_kernel, size):
    layout = LAYOUT.format(constants=2)
    tensor = "tensor<?xf32>"
    text = f"""func.func @kernel() {{
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : i64
      {size_from_words("n", 0, layout)}
      %in = hal.interface.binding.subspan {layout} binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect")
          : {KIND}<readonly:{tensor}>{{%n}}
      %out = hal.interface.binding.subspan {layout} binding(1) alignment(64) offset(%c0) flags(Indirect)
          : {KIND}<writeonly:{tensor}>{{%n}}
      %x = iree_tensor_ext.dispatch.tensor.load %in, offsets = [0], sizes = [%n], strides = [1]
          : {KIND}<readonly:{tensor}>{{%n}} -> {tensor}
      %e = tensor.empty(%n) : {tensor}
      %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}}
          ins(%x : {tensor}) outs(%e : {tensor}) {{
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %a : f32
        linalg.yield %s : f32
      }} -> {tensor}
      iree_tensor_ext.dispatch.tensor.store %y, %out, offsets = [0], sizes = [%n], strides = [1]
          : {tensor} -> {KIND}<writeonly:{tensor}>{{%n}}
      return
    }}"""
    kernel = build_kernel(text)
    assert (kernel.kernel.binding_count, kernel.kernel.constant_count) == (2, 2)
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    out = np.zeros_like(x)
    kernel.run([x, out], [size, 0], kernel.kernel.plan.count([size]))
    np.testing.assert_array_equal(out, x + x)


def test_offsets_and_bools_as_bytes(build_kernel):
    """Two parts of one binding, at a fixed and at a pushed offset; i1 is stored as i8."""
    layout = LAYOUT.format(constants=1)
    text = f"""func.func @kernel() {{
      %c64 = arith.constant 64 : index
      %c0 = arith.constant 0 : index
      %word = hal.interface.constant.load {layout} ordinal(0) : i32
      %at = arith.index_castui %word : i32 to index
      %in0 = hal.interface.binding.subspan {layout} binding(0) alignment(64) offset(%c64) flags("ReadOnly|Indirect")
          : {KIND}<readonly:tensor<37xi8>>
      %in1 = hal.interface.binding.subspan {layout} binding(0) alignment(4) offset(%at) flags("ReadOnly|Indirect")
          : {KIND}<readonly:tensor<37xf32>>
      %out = hal.interface.binding.subspan {layout} binding(1) alignment(64) offset(%c0) flags(Indirect)
          : {KIND}<writeonly:tensor<37xi8>>
      %x = iree_tensor_ext.dispatch.tensor.load %in0, offsets = [0], sizes = [37], strides = [1]
          : {KIND}<readonly:tensor<37xi8>> -> tensor<37xi8>
      %y = iree_tensor_ext.dispatch.tensor.load %in1, offsets = [0], sizes = [37], strides = [1]
          : {KIND}<readonly:tensor<37xf32>> -> tensor<37xf32>
      %p = arith.trunci %x : tensor<37xi8> to tensor<37xi1>
      %e = tensor.empty() : tensor<37xi1>
      %q = linalg.generic {{
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}}
          ins(%p, %y : tensor<37xi1>, tensor<37xf32>) outs(%e : tensor<37xi1>) {{
      ^bb0(%a: i1, %b: f32, %c: i1):
        %z = arith.constant 0.0 : f32
        %g = arith.cmpf ogt, %b, %z : f32
        %r = arith.andi %a, %g : i1
        linalg.yield %r : i1
      }} -> tensor<37xi1>
      %w = arith.extui %q : tensor<37xi1> to tensor<37xi8>
      iree_tensor_ext.dispatch.tensor.store %w, %out, offsets = [0], sizes = [37], strides = [1]
          : tensor<37xi8> -> {KIND}<writeonly:tensor<37xi8>>
      return
    }}"""
    kernel = build_kernel(text)
    rng = np.random.default_rng(1)
    memory = np.zeros(1024, np.uint8)
    flags, numbers = rng.integers(0, 2, 37).astype(np.uint8), rng.standard_normal(37).astype(np.float32)
    memory[64:101] = flags
    memory[512 : 512 + 148] = numbers.view(np.uint8)
    out = np.full(37, 7, np.uint8)
    kernel.run([memory, out], [512])
    np.testing.assert_array_equal(out, flags & (numbers > 0))
