"""The form of what the input phase leaves, checked op by op in its text."""

import io
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.input.pipeline import import_program
from pyiree.compiler.ir.verifier import verify

_F32 = jax.ShapeDtypeStruct((4, 8), jnp.float32)


@pytest.fixture
def text_of(import_jax):
    def run(function, *arguments):
        module = import_jax(function, arguments)
        verify(module)
        return str(module)

    return run


def _count(pattern, text):
    return len(re.findall(pattern, text))


def test_unsigned_arguments_are_signless_with_an_encoding(text_of):
    text = text_of(lambda x: x + 1, jax.ShapeDtypeStruct((4,), jnp.uint8))
    assert "%arg0: tensor<4xi8> {iree.abi.encoding = tensor<4xui8>}" in text
    assert "-> (tensor<4xi8> {iree.abi.encoding = tensor<4xui8>})" in text


def test_calls_are_inlined(text_of):
    assert "call" not in text_of(lambda x: jnp.where(x > 0, jax.nn.softplus(x), x), _F32)


def test_constants_and_broadcasts_cost_no_op_of_their_own(text_of):
    text = text_of(lambda x: (x - x.max(1, keepdims=True)) * 2.0 + 1.0, _F32)
    assert _count("linalg.generic", text) == 4
    assert _count("dense<", text) == 0


def test_a_transposed_operand_is_read_in_place(text_of):
    text = text_of(lambda x, y: x.T @ y, _F32, _F32)
    assert _count("linalg.generic", text) == 1
    assert "affine_map<(d0, d1, d2) -> (d2, d0)>" in text


def test_an_input_of_convolutions_is_padded_as_it_lies(text_of):
    """So what two read of it, in whatever order of dims, they read from one padded input."""

    def both(x, w, v):
        other = lax.conv_general_dilated(x, v, (1, 1), "SAME", dimension_numbers=("CHWN", "IHWO", "NHWC"))
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), other

    shapes = [(2, 9, 9, 16), (3, 3, 16, 8), (2, 3, 3, 8)]
    text = text_of(both, *[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes])
    assert re.findall(r"tensor\.pad.*?\} : (.*)", text, re.S | re.M)[0].startswith("tensor<2x9x9x16xf32> to")
    assert _count(r"tensor\.pad", text) == 1


def test_counted_loop_is_for_with_one_counter(text_of):
    text = text_of(lambda x, n: lax.fori_loop(0, n, lambda i, c: c + i, x), _F32, jax.ShapeDtypeStruct((), jnp.int32))
    assert "scf.for" in text
    assert "scf.while" not in text
    assert _count(r"iter_args\(%\w+ = %\w+\)", text) == 1


def test_counters_are_known_through_calls(text_of):
    """`fori_loop` counts inside of the function that JAX makes of its body."""
    text = text_of(lambda x: lax.fori_loop(2, 8, lambda i, c: c.at[i].set(c[i - 1] * x[i - 2]), x), _F32)
    assert "func.call" not in text
    assert "tensor.extract_slice" in text and "tensor.insert_slice" in text
    assert _count(r"iter_args\(%\w+ = %\w+\)", text) == 1


def test_scan_slices_on_the_host(text_of):
    text = text_of(lambda x: lax.scan(lambda c, a: (c + a, c), jnp.zeros(8), x), _F32)
    assert "tensor.extract_slice %arg0[%" in text
    assert "tensor.extract %" not in text


def test_argmax_is_one_generic_with_two_results(text_of):
    text = text_of(lambda x: jnp.argmax(x, 1), _F32)
    assert _count("linalg.generic", text) == 1
    assert "-> (tensor<4xf32>, tensor<4xi32>)" in text


def test_cumulative_sum_is_a_scan(text_of):
    text = text_of(lambda x: jnp.cumsum(x, 1), _F32)
    assert "iree_linalg_ext.scan dimension(1) inclusive(true)" in text


def test_scatter_of_rows_keeps_its_rows(text_of):
    indices, updates = jax.ShapeDtypeStruct((3,), jnp.int32), jax.ShapeDtypeStruct((3, 8), jnp.float32)
    text = text_of(lambda x, i, u: x.at[i].add(u), _F32, indices, updates)
    assert "ins(%arg2, %" in text
    assert "tensor<3x8xf32>, tensor<3x1xi32>) outs(%arg0 : tensor<4x8xf32>)" in text


def test_special_function_is_one_generic(text_of):
    assert _count("linalg.generic", text_of(lax.lgamma, _F32)) == 1


def test_no_floating_point_identity_that_is_not_one(text_of):
    text = text_of(lambda x: ((x + 1e8) - 1e8, x * 0.0, x + 0.0, jnp.sqrt(x * x)), _F32)
    assert _count("arith.addf", text) == 2
    assert _count("arith.subf", text) == 1
    assert _count("arith.mulf", text) == 2


def test_text_bytecode_and_portable_artifacts_are_the_same_program():
    from jaxlib.mlir.dialects import stablehlo

    module = jax.jit(lambda x: jnp.tanh(x @ x.T)).lower(_F32).compiler_ir("stablehlo")
    expected = str(import_program(module))
    assert str(import_program(str(module))) == expected
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    assert str(import_program(buffer.getvalue())) == expected
    assert str(import_program(stablehlo.serialize_portable_artifact(module, "1.0.0"))) == expected


def test_locations_are_kept(import_jax):
    module = import_jax(lambda x: jnp.sin(x), (_F32,))
    generic = next(op for op in module.walk() if op.name == "linalg.generic")
    assert generic.location.innermost_file().filename == __file__


def test_constants_of_every_element_type():
    values = {
        "bf16": "[1.0, 2.0]",
        "f16": "[1.0, 2.0]",
        "f64": "[1.0, 0x7FF0000000000001]",
        "i4": "[1, -2]",
        "ui8": "[1, 200]",
        "i1": "[true, false]",
        "f8E4M3FN": "[1.0, 2.0]",
    }
    for element, literal in values.items():
        text = f"""func.func public @main() -> tensor<2x{element}> {{
          %0 = stablehlo.constant dense<{literal}> : tensor<2x{element}>
          return %0 : tensor<2x{element}>
        }}"""
        found = str(import_program(text))
        assert f"tensor<2x{element.replace('ui', 'i')}>" in found


def test_large_constants_are_not_copied(import_jax):
    big = np.arange(1 << 16, dtype=np.float32)
    module = import_jax(lambda x: x + big, (jax.ShapeDtypeStruct((1 << 16,), jnp.float32),))
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    np.testing.assert_array_equal(constant.value.array(), big)


def test_unsupported_ops_are_listed_with_their_lines():
    def function(x):
        y = jax.ffi.ffi_call("unknown_sine", _F32)(x)
        return y + jax.ffi.ffi_call("unknown_cosine", _F32)(x)

    module = jax.jit(function).lower(_F32).compiler_ir("stablehlo")
    with pytest.raises(UnsupportedError) as caught:
        import_program(module)
    message = str(caught.value)
    line = function.__code__.co_firstlineno
    assert message.startswith("unsupported op stablehlo.custom_call @unknown_")
    assert f"stablehlo.custom_call @unknown_sine at {__file__}:{line + 1}" in message
    assert f"stablehlo.custom_call @unknown_cosine at {__file__}:{line + 2}" in message


def test_index_vectors_that_were_put_together_are_read_in_parts(import_jax):
    def function(x, i, j):
        return x[i, j], x.at[i, j].add(1.0)

    places = jax.ShapeDtypeStruct((7,), jnp.int32)
    module = import_jax(function, (jax.ShapeDtypeStruct((5, 4), jnp.float32), places, places))
    gather = next(op for op in module.walk() if op.name == "tensor.extract").parent_of_type(GenericOp)
    # What both columns of the indices are computed as, each an input of its own.
    assert [str(value.type) for value in gather.inputs] == ["tensor<7xi32>"] * 2
    assert all(use.owner is not gather for op in module.walk() if op.name == "tensor.concat" for use in op.result.uses)


def test_index_vectors_of_other_origin_are_read_element_by_element(import_jax):
    def function(x, places):
        return x[places[:, 0], places[:, 1]], jax.lax.gather(
            x, places, jax.lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1)
        )

    arguments = (jax.ShapeDtypeStruct((5, 4), jnp.float32), jax.ShapeDtypeStruct((7, 2), jnp.int32))
    counts = [len(op.operands) for op in import_jax(function, arguments).walk() if op.name == "tensor.extract"]
    # The first reads one element of x; the second reads two elements of an index vector, and then one of x.
    assert sorted(counts) == [3, 3, 3, 3]
