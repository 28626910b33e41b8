"""Simplifications of control flow and of linalg, as text before and after."""

from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.passes import PassContext
from pyiree.compiler.ir.verifier import verify


def _simplified(text):
    module = parse(text)
    canonicalize(module, PassContext())
    verify(module)
    return str(module)


def test_known_condition_is_inlined():
    text = _simplified("""
    func.func @f(%a: i32, %b: i32) -> i32 {
      %c = arith.constant false
      %r = scf.if %c -> (i32) {
        scf.yield %a : i32
      } else {
        %s = arith.addi %a, %b : i32
        scf.yield %s : i32
      }
      return %r : i32
    }""")
    assert "scf.if" not in text
    assert "arith.addi %arg0, %arg1" in text


def test_loop_that_never_runs_is_its_initial_values():
    text = _simplified("""
    func.func @f(%a: f32) -> f32 {
      %c5 = arith.constant 5 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c5 to %c5 step %c1 iter_args(%x = %a) -> (f32) {
        %y = arith.addf %x, %x : f32
        scf.yield %y : f32
      }
      return %r : f32
    }""")
    assert "scf.for" not in text
    assert "return %arg0" in text


def test_loop_that_runs_once_is_its_body():
    text = _simplified("""
    func.func @f(%a: index) -> index {
      %c5 = arith.constant 5 : index
      %c6 = arith.constant 6 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c5 to %c6 step %c1 iter_args(%x = %a) -> (index) {
        %y = arith.addi %x, %i : index
        scf.yield %y : index
      }
      return %r : index
    }""")
    assert "scf.for" not in text
    assert "arith.addi %arg0, %c5" in text


def test_carried_value_that_does_not_change_is_dropped():
    text = _simplified("""
    func.func @f(%a: f32, %b: f32, %n: index) -> (f32, f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (f32, f32) {
        %z = arith.addf %x, %y : f32
        scf.yield %z, %y : f32, f32
      }
      return %r#0, %r#1 : f32, f32
    }""")
    assert text.count("iter_args(%arg4 = %arg0) -> (f32)") == 1
    assert "arith.addf %arg4, %arg1" in text


def test_carried_value_that_is_handed_on_twice():
    text = _simplified("""
    func.func @f(%a: f32, %b: f32, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (f32, f32) {
        scf.yield %x, %x : f32, f32
      }
      return %r#1 : f32
    }""")
    assert "iter_args(%arg4 = %arg1) -> (f32)" in text
    assert "scf.yield %arg0 : f32" in text


def test_while_that_is_false_runs_its_condition_once():
    text = _simplified("""
    func.func @f(%a: i32) -> i32 {
      %false = arith.constant false
      %r = scf.while (%x = %a) : (i32) -> (i32) {
        %y = arith.addi %x, %x : i32
        scf.condition(%false) %y : i32
      } do {
      ^bb0(%z: i32):
        scf.yield %z : i32
      }
      return %r : i32
    }""")
    assert "scf.while" not in text
    assert "arith.addi %arg0, %arg0" in text


def test_carried_values_of_while_that_do_not_change_are_read_outside():
    text = _simplified("""
    func.func @f(%a: i32, %b: i32, %n: i32) -> (i32, i32) {
      %r:3 = scf.while (%x = %a, %y = %b, %z = %n) : (i32, i32, i32) -> (i32, i32, i32) {
        %c = arith.cmpi slt, %x, %z : i32
        scf.condition(%c) %x, %y, %n : i32, i32, i32
      } do {
      ^bb0(%x: i32, %y: i32, %m: i32):
        %w = arith.addi %x, %y : i32
        scf.yield %w, %y, %m : i32, i32, i32
      }
      return %r#0, %r#2 : i32, i32
    }""")
    assert "%0 = scf.while (%arg3 = %arg0) : (i32) -> i32 {" in text
    assert "arith.cmpi slt, %arg3, %arg2 : i32" in text
    assert "arith.addi %arg3, %arg1 : i32" in text
    assert "return %0, %arg2" in text


def test_carried_values_of_while_that_nobody_needs_are_gone():
    """`%old` is a copy of the last `%flag`, `%count` counts, `%p` and `%q` change places: nobody looks."""
    text = _simplified("""
    func.func @f(%a: i32, %flag: i1, %other: i1) -> i32 {
      %c1 = arith.constant 1 : i32
      %r:6 = scf.while (%x = %a, %f = %flag, %old = %flag, %count = %a, %p = %flag, %q = %other)
          : (i32, i1, i1, i32, i1, i1) -> (i32, i1, i1, i32, i1, i1) {
        scf.condition(%f) %x, %f, %old, %count, %p, %q : i32, i1, i1, i32, i1, i1
      } do {
      ^bb0(%x: i32, %f: i1, %old: i1, %count: i32, %p: i1, %q: i1):
        %next = arith.muli %x, %x : i32
        %more = arith.cmpi slt, %next, %a : i32
        %counted = arith.addi %count, %c1 : i32
        scf.yield %next, %more, %f, %counted, %q, %p : i32, i1, i1, i32, i1, i1
      }
      return %r#0 : i32
    }""")
    assert "scf.while (%arg3 = %arg0, %arg4 = %arg1) : (i32, i1) -> i32 {" in text
    assert "scf.condition(%arg4) %arg3 : i32" in text
    assert "addi" not in text


def test_carried_values_that_an_effect_needs_stay():
    text = _simplified("""
    func.func private @tell(i32)
    func.func @f(%a: i32, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (i32, i32) {
        func.call @tell(%y) : (i32) -> ()
        %z = arith.addi %x, %x : i32
        %w = arith.muli %x, %x : i32
        scf.yield %z, %w : i32, i32
      }
      return
    }""")
    assert "iter_args(%arg3 = %arg0, %arg4 = %arg0) -> (i32, i32)" in text


def test_branches_are_followed():
    text = _simplified("""
    func.func @f(%a: i32, %c: i1) -> i32 {
      cf.cond_br %c, ^bb1, ^bb2(%a : i32)
    ^bb1:
      cf.br ^bb2(%a : i32)
    ^bb2(%x: i32):
      cf.br ^bb3
    ^bb3:
      return %x : i32
    }""")
    assert "cf." not in text
    assert "return %arg0" in text


def test_generic_that_copies_is_gone():
    text = _simplified("""
    func.func @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<4x8xf32>
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }""")
    assert "linalg" not in text


def test_inputs_are_read_once():
    text = _simplified("""
    func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {
        indexing_maps = [
          affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>
        ],
        iterator_types = ["parallel"]
      } ins(%a, %b, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32, %out: f32):
        %m = arith.mulf %x, %z : f32
        linalg.yield %m : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }""")
    assert "ins(%arg0 : tensor<4xf32>)" in text
    assert "arith.mulf %in, %in" in text


def test_what_a_result_does_not_begin_with_is_not_computed():
    text = _simplified("""
#map = affine_map<(d0) -> (d0)>
util.func public @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.transpose ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) permutation = [0]
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%y : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.negf %in : f32
      linalg.yield %a : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%y : tensor<4xf32>) outs(%x : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %a = arith.addf %in, %out : f32
      linalg.yield %a : f32
  } -> tensor<4xf32>
  util.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
""")
    assert text.count("linalg.generic") == 2 and "outs(%transposed" not in text and "outs(%arg0" in text
