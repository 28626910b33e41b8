"""Nothing is reduced along a dim of one element."""

PASS = "iree-dispatch-creation-fold-unit-extent-dims"

SUM = """
util.func private @f(%a: tensor<8x1xf32>, %i: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}} ins(%a : tensor<8x1xf32>) outs(%i : tensor<8xf32>) {{
  ^bb0(%x: f32, %acc: f32):
    {body}
    linalg.yield %s : f32
  }} -> tensor<8xf32>
  util.return %0 : tensor<8xf32>
}}
"""


def test_loop_of_one_round(run_passes, in_order):
    text = run_passes(SUM.format(body="%s = arith.addf %acc, %x : f32"), PASS)
    in_order(text, "#map = affine_map<(d0) -> (d0, 0)>", "#map1 = affine_map<(d0) -> (d0)>")
    in_order(text, 'iterator_types = ["parallel"]', "arith.addf %out, %in")


def test_its_index_is_zero(run_passes, in_order):
    body = """
    %n = linalg.index 1 : index
    %r = linalg.index 0 : index
    %k = arith.addi %n, %r : index
    %c = arith.index_cast %k : index to i32
    %v = arith.sitofp %c : i32 to f32
    %s = arith.addf %acc, %v : f32
    """
    text = run_passes(SUM.format(body=body), PASS)
    in_order(text, "arith.constant 0 : index", "linalg.index 0", "arith.addi %c0")
    assert "linalg.index 1" not in text


def test_longer_loops_and_dynamic_ones_stay(run_passes):
    source = SUM.format(body="%s = arith.addf %acc, %x : f32")
    for shape in ("8x2", "8x?"):
        text = run_passes(source.replace("8x1", shape), PASS)
        assert '"reduction"' in text
