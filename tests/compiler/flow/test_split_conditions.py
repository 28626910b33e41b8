"""What the host knows of a condition is not given to the device."""

import pytest

PASS = "pyiree-flow-split-conditions"
CONDITION = """
#s = affine_map<() -> ()>
util.func private @f(%x: tensor<i1>, %y: tensor<i1>, %number: i1) -> (i1{more_types}) {{
  %e = tensor.empty() : tensor<i1>
  %n = linalg.fill ins(%number : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %inner = linalg.generic {{indexing_maps = [#s, #s, #s], iterator_types = []}}
      ins(%x, {second} : tensor<i1>, tensor<i1>) outs(%e : tensor<i1>) {{
  ^bb0(%p: i1, %q: i1, %o: i1):
    %r = arith.ori %p, %q : i1
    linalg.yield %r : i1
  }} -> tensor<i1>
  %outer = linalg.generic {{indexing_maps = [#s, #s, #s], iterator_types = []}}
      ins({first}, %inner : tensor<i1>, tensor<i1>) outs(%e : tensor<i1>) {{
  ^bb0(%p: i1, %q: i1, %o: i1):
    %r = arith.andi %q, %p : i1
    linalg.yield %r : i1
  }} -> tensor<i1>
  %c = tensor.extract %outer[] : tensor<i1>
  util.return %c{more} : i1{more_types}
}}
"""


def test_the_host_joins_what_it_knows(run_passes, in_order):
    text = run_passes(CONDITION.format(first="%n", second="%y", more="", more_types=""), PASS, "canonicalize")
    in_order(text, "arith.ori", "tensor.extract", "arith.andi %extracted, %arg2", "util.return")
    assert text.count("linalg.generic") == 1 and "linalg.fill" not in text


def test_all_levels_are_split(run_passes, in_order):
    text = run_passes(CONDITION.format(first="%n", second="%n", more="", more_types=""), PASS, "canonicalize")
    in_order(text, "tensor.extract %arg0[]", "arith.ori %extracted, %arg2", "arith.andi", "util.return")
    assert "linalg.generic" not in text


@pytest.mark.parametrize(
    ("first", "more", "more_types"),
    [("%y", "", ""), ("%n", ", %outer", ", tensor<i1>")],
    ids=["nothing of the host's", "the device needs it too"],
)
def test_the_device_joins_the_rest(run_passes, first, more, more_types):
    text = CONDITION.format(first=first, second="%y", more=more, more_types=more_types)
    text = run_passes(text, PASS, "canonicalize")
    assert text.count("linalg.generic") == 2
