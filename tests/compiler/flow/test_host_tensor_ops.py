"""What the host does with tensors without a dispatch."""

import pytest

PASS = "iree-flow-convert-tensor-ops"


def _run(run_passes, arguments, body, results="tensor<4xf32>"):
    return run_passes(
        f"util.func private @f({arguments}) -> {results} {{ {body} util.return %r : {results} }}",
        PASS,
        "resolve-ranked-shaped-type-result-dims",
        "cse",
    )


CASES = {
    "collapse": (
        "%a: tensor<2x2xf32>",
        "%r = tensor.collapse_shape %a [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>",
        "tensor<4xf32>",
        ["flow.tensor.reshape %arg0 : tensor<2x2xf32> -> tensor<4xf32>"],
    ),
    "expand dynamic": (
        "%a: tensor<?xf32>, %n: index",
        "%r = tensor.expand_shape %a [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>",
        "tensor<?x4xf32>",
        ["flow.tensor.reshape %arg0 : tensor<?xf32>{%dim} -> tensor<?x4xf32>{%arg1}"],
    ),
    "collapse dynamic": (
        "%n: index, %v: f32",
        "%e = tensor.empty(%n) : tensor<?x4xf32> "
        "%f = linalg.fill ins(%v : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32> "
        "%r = tensor.collapse_shape %f [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>",
        "tensor<?xf32>",
        ["flow.tensor.splat %arg1 : tensor<?x4xf32>{%arg0}", "arith.muli %arg0, %c4", "-> tensor<?xf32>{%"],
    ),
    "slice": (
        "%a: tensor<8x4xf32>, %i: index",
        "%r = tensor.extract_slice %a[%i, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>",
        "tensor<4xf32>",
        ["flow.tensor.slice %arg0[%arg1, %c0 for %c1, %c4]", "-> tensor<1x4xf32>", "flow.tensor.reshape", "<4xf32>"],
    ),
    "update": (
        "%a: tensor<8x4xf32>, %u: tensor<2x4xf32>",
        "%r = tensor.insert_slice %u into %a[3, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>",
        "tensor<8x4xf32>",
        ["flow.tensor.update %arg1, %arg0[%c3, %c0] : tensor<2x4xf32> -> %arg0 as tensor<8x4xf32>"],
    ),
    "element": (
        "%a: tensor<8xi32>, %i: index",
        "%r = tensor.extract %a[%i] : tensor<8xi32>",
        "i32",
        ["flow.tensor.load %arg0[%arg1] : tensor<8xi32>"],
    ),
    "one number": (
        "%n: i32",
        "%r = tensor.from_elements %n : tensor<i32>",
        "tensor<i32>",
        ["flow.tensor.splat %arg0 : tensor<i32>"],
    ),
    "numbers": (
        "%n: i32, %m: i32",
        "%r = tensor.from_elements %n, %n, %m, %n : tensor<2x2xi32>",
        "tensor<2x2xi32>",
        ["flow.tensor.splat %arg0 : tensor<2x2xi32>", "flow.tensor.store %arg1, %0[%c1, %c0] : tensor<2x2xi32>"],
    ),
    "constant": ("", "%r = arith.constant dense<2.0> : tensor<4xf32>", "tensor<4xf32>", ["flow.tensor.splat %cst"]),
    "complex": (
        "",
        "%z = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>\n"
        "%e = tensor.empty() : tensor<4xcomplex<f32>>\n"
        "%r = linalg.fill ins(%z : complex<f32>) outs(%e : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
        "tensor<4xcomplex<f32>>",
        ["flow.tensor.constant dense<(1.000000e+00,2.000000e+00)> : tensor<4xcomplex<f32>>"],
    ),
    "bitcast": (
        "%a: tensor<4xi32>",
        "%r = tensor.bitcast %a : tensor<4xi32> to tensor<4xf32>",
        "tensor<4xf32>",
        ["flow.tensor.bitcast %arg0 : tensor<4xi32> -> tensor<4xf32>"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_op(name, run_passes, in_order):
    arguments, body, results, expected = CASES[name]
    in_order(_run(run_passes, arguments, body, results), *expected)


@pytest.mark.parametrize(
    "offsets, sizes, strides, stays",
    [
        ("2, 0, 0", "3, 4, 5", "1, 1, 1", True),
        ("2, 1, 0", "1, 2, 5", "1, 1, 1", True),
        ("2, 1, 3", "1, 1, 2", "1, 1, 1", True),
        ("2, 1, 0", "2, 2, 5", "1, 1, 1", False),
        ("0, 0, 1", "8, 4, 3", "1, 1, 1", False),
        ("0, 0, 0", "3, 4, 5", "2, 1, 1", False),
    ],
)
def test_only_bytes_in_one_piece_are_the_hosts(offsets, sizes, strides, stays, run_passes):
    from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp
    from pyiree.compiler.flow.host_tensor_ops import stays_on_host
    from pyiree.compiler.ir.parser import parse_module

    shape = sizes.replace(", ", "x")
    module = parse_module(
        f"""util.func private @f(%a: tensor<8x4x5xf32>) -> tensor<{shape}xf32> {{
          %r = tensor.extract_slice %a[{offsets}] [{sizes}] [{strides}] : tensor<8x4x5xf32> to tensor<{shape}xf32>
          util.return %r : tensor<{shape}xf32>
        }}"""
    )
    (op,) = module.walk_type(ExtractSliceOp)
    assert stays_on_host(op) is stays
