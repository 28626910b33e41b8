"""Dynamic shapes after the input phase: sizes are indices of the host, and static where the program says them."""

import pytest
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.input.pipeline import import_program


def test_sizes_are_measured_once_and_equal_sizes_are_one_value():
    text = str(import_program("""func.func public @main(%x: tensor<?x?xf32>) -> tensor<?xf32> {
      %a = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
      %b = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
      %n = stablehlo.multiply %b, %a : tensor<i32>
      %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %r = stablehlo.dynamic_reshape %x, %s : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<?xf32>
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %m = stablehlo.multiply %a, %b : tensor<i32>
      %t = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
      %o = stablehlo.dynamic_broadcast_in_dim %one, %t, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
      %z = stablehlo.add %r, %o : tensor<?xf32>
      return %z : tensor<?xf32>
    }"""))
    assert text.count("tensor.dim") == 2
    assert text.count("arith.muli") == 1
    assert "tensor.collapse_shape" in text
    assert "tensor.extract" not in text and "i32" not in text


def test_a_slice_up_to_a_size_is_as_long():
    text = str(import_program("""func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %limit = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %start = stablehlo.constant dense<0> : tensor<1xi32>
      %step = stablehlo.constant dense<1> : tensor<1xi32>
      %r = stablehlo.real_dynamic_slice %x, %start, %limit, %step :
        (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""))
    assert "[0] [%dim] [1]" in text and "arith.maxsi" not in text


def test_shapes_that_the_program_says_after_all_are_static():
    text = str(import_program("""func.func public @main(%x: tensor<6xf32>) -> tensor<?x?xf32> {
      %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
      %r = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      %t = stablehlo.tanh %r : tensor<?x?xf32>
      return %t : tensor<?x?xf32>
    }"""))
    assert "-> tensor<2x3xf32>" in text
    assert "?" not in text


def test_assertions_say_what_they_can():
    text = str(import_program("""func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %c = stablehlo.constant dense<2> : tensor<i32>
      %ok = stablehlo.compare GE, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%ok, %n) {has_side_effect = true,
        error_message = "Two are needed. There are {0}. See the manual"} : (tensor<i1>, tensor<i32>) -> ()
      return %x : tensor<?xf32>
    }"""))
    assert 'cf.assert' in text and '"Two are needed. See the manual"' in text


def test_calls_that_need_static_shapes_are_named():
    with pytest.raises(UnsupportedError, match="@cpu_csr_sparse_dense_ffi of a dynamic shape"):
        import_program("""func.func public @main(%x: tensor<?xf32>) -> tensor<4xf32> {
          %r = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%x) : (tensor<?xf32>) -> tensor<4xf32>
          return %r : tensor<4xf32>
        }""")
