"""Clamps and comparisons that the range of a loop's counter decides."""

PASS = "pyiree-flow-fold-integer-ranges"

LOOP = """
util.func private @f(%a: tensor<40xf32>) -> tensor<40xf32> {{
  %c0 = arith.constant 0 : i64
  %c31 = arith.constant 31 : i64
  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0 : index
  %last = arith.constant {last} : index
  %size = arith.constant 40 : i64
  %r = scf.for %i = %c0 to %c31 step %c1 iter_args(%y = %a) -> (tensor<40xf32>) : i64 {{
    %negative = arith.cmpi slt, %i, %c0 : i64
    %wrapped = arith.addi %i, %size : i64
    %n = arith.select %negative, %wrapped, %i : i64
    %k = arith.index_cast %n : i64 to index
    %low = arith.maxsi %k, %zero : index
    %high = arith.minsi %low, %last : index
    %e = tensor.extract %a[%high] : tensor<40xf32>
    %z = tensor.insert %e into %y[%high] : tensor<40xf32>
    scf.yield %z : tensor<40xf32>
  }}
  util.return %r : tensor<40xf32>
}}
"""


def test_a_clamp_that_does_nothing(run_passes, in_order):
    text = run_passes(LOOP.format(last=30), PASS)
    assert not any(name in text for name in ("cmpi", "select", "maxsi", "minsi"))
    in_order(text, "arith.index_cast %arg1", "tensor.extract %arg0[%1]")


def test_a_clamp_that_may_do_something_stays(run_passes):
    text = run_passes(LOOP.format(last=29), PASS)
    assert "minsi" in text
    assert "maxsi" not in text


def test_indices_come_back_from_integers_that_hold_them(run_passes):
    text = run_passes(
        """
        #id = affine_map<(d0) -> (d0)>
        util.func private @f(%a: tensor<40xf32>, %n: index) -> (tensor<40xf32>, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %a) -> (tensor<40xf32>) { scf.yield %y : tensor<40xf32> }
          %e = tensor.empty() : tensor<40xf32>
          %x = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<40xf32>) {
          ^bb0(%o: f32):
            %d = linalg.index 0 : index
            %narrow = arith.index_cast %d : index to i32
            %wide = arith.index_cast %narrow : i32 to index
            %v = tensor.extract %a[%wide] : tensor<40xf32>
            linalg.yield %v : f32
          } -> tensor<40xf32>
          %narrow = arith.index_cast %n : index to i32
          %wide = arith.index_cast %narrow : i32 to index
          util.return %x, %wide : tensor<40xf32>, index
        }
        """,
        PASS,
    )
    assert text.count("arith.index_cast") == 2
