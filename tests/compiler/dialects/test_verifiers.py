"""What the verifiers refuse, and in which words."""

import pytest
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.verifier import verify

_REFUSED = {
    "linalg.generic": (
        """%e = tensor.empty() : tensor<4xf32>
        %a = tensor.empty() : tensor<5xf32>
        %r = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
        } ins(%a : tensor<5xf32>) outs(%e : tensor<4xf32>) {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<4xf32>""",
        "runs loop 0 both 5 and 4 times",
    ),
    "linalg.matmul": (
        """%a = tensor.empty() : tensor<4xf32>
        %c = tensor.empty() : tensor<4x4xf32>
        %r = linalg.matmul ins(%a, %c : tensor<4xf32>, tensor<4x4xf32>)
          outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>""",
        "takes operands of ranks [2, 2, 2], given [1, 2, 2]",
    ),
    "tensor.extract_slice": (
        """%a = tensor.empty() : tensor<4xf32>
        %r = tensor.extract_slice %a[2] [4] [1] : tensor<4xf32> to tensor<4xf32>""",
        "runs out of bounds along dimension 0",
    ),
    "tensor.collapse_shape": (
        """%a = tensor.empty() : tensor<4x2xf32>
        %r = tensor.collapse_shape %a [[0, 1]] : tensor<4x2xf32> into tensor<9xf32>""",
        "brings dimensions [4, 2] to 9",
    ),
    "tensor.concat": (
        """%a = tensor.empty() : tensor<4xf32>
        %r = tensor.concat dim(0) %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<7xf32>""",
        "puts [4, 4] along dimension 0 into 7",
    ),
    "arith.trunci": (
        "%a = arith.constant 1 : i32\n %r = arith.trunci %a : i32 to i64",
        "doesn't narrow i32 to i64",
    ),
    "scf.if": (
        """%c = arith.constant true
        %a = arith.constant 1 : i32
        %r = scf.if %c -> (i64) {
          scf.yield %a : i32
        } else {
          scf.yield %a : i32
        }""",
        "hands on (i32), expected (i64)",
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_refusals_name_op_and_reason(name):
    body, message = _REFUSED[name]
    with pytest.raises(CompileError, match="error: ") as caught:
        verify(parse(f"func.func @f() {{\n{body}\n return\n}}"))
    assert message in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "kept"), [("1, 5, 1", "1x5"), ("1, 5, 1", "5x1"), ("1, 1, 5", "5"), ("1, %n, 1", "?x1")]
)
def test_slices_leave_out_any_dims_of_one_element(sizes, kept):
    verify(parse(f"""func.func @f(%a: tensor<4x5x6xf32>, %n: index) {{
      %r = tensor.extract_slice %a[0, 0, 0] [{sizes}] [1, 1, 1] : tensor<4x5x6xf32> to tensor<{kept}xf32>
      return
    }}"""))
