"""The phase ends with no tensor op on the host."""

import pytest
from pyiree.compiler.errors import UnsupportedError

PASS = "iree-flow-verify"


def test_tensor_ops_are_named_with_their_line(run_passes):
    source = """
    util.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = math.exp %a : tensor<4xf32> loc("model.py":12:3)
      util.return %0 : tensor<4xf32>
    }
    """
    with pytest.raises(UnsupportedError, match=r"math.exp at model.py:12"):
        run_passes(source, PASS)


def test_host_arithmetic_and_flow_ops_pass(run_passes):
    source = """
    util.func private @f(%a: tensor<?xf32>, %n: index) -> tensor<?x1xf32> {
      %0 = arith.addi %n, %n : index
      %1 = flow.tensor.reshape %a : tensor<?xf32>{%0} -> tensor<?x1xf32>{%0}
      util.return %1 : tensor<?x1xf32>
    }
    """
    assert "flow.tensor.reshape" in run_passes(source, PASS)
