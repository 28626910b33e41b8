"""The greedy driver, folding, cse and dce."""

import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import IntegerAttr, UnitAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import UnregisteredOp
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.parser import parse, parse_module
from pyiree.compiler.ir.passes import run_passes
from pyiree.compiler.ir.rewrite import RewritePattern, apply_patterns_greedily, walk_and_apply
from pyiree.compiler.ir.verifier import verify


def _after(text, pipeline):
    module = parse_module(text)
    run_passes(module, pipeline)
    verify(module)
    return str(module)


def _same(text):
    return str(parse_module(text))


def test_folding_makes_constants_and_removes_dead_ops():
    before = """
      %0 = t.constant 3 : i32
      %1 = t.constant 4 : i32
      %2 = t.add %0, %1 : i32
      %3 = t.add %2, %2 : i32
      %4 = t.add %3, %0 : i32
      "x.use"(%2, %3) : (i32, i32) -> ()
    """
    after = """
      %1 = t.constant 14 : i32
      %0 = t.constant 7 : i32
      "x.use"(%0, %1) : (i32, i32) -> ()
    """
    assert _after(before, "canonicalize") == _same(after)


def test_constants_of_commutative_ops_go_right():
    before = '%z = t.constant 0 : i32\n%x = "x.y"() : () -> i32\n%r = t.add %z, %x : i32\n"x.use"(%r) : (i32) -> ()'
    assert _after(before, "canonicalize") == _same('%x = "x.y"() : () -> i32\n"x.use"(%x) : (i32) -> ()')


def test_patterns_by_class_and_benefit(t):
    seen = []

    class Low(RewritePattern, op=t.AddOp):
        def match_and_rewrite(self, op, rewriter):
            seen.append("low")
            return False

    class High(RewritePattern, op=(t.AddOp, t.CompareOp), benefit=5):
        def match_and_rewrite(self, op, rewriter):
            seen.append(f"high {op.name}")
            return False

    class Mark(RewritePattern):
        def match_and_rewrite(self, op, rewriter):
            if op.name != "x.use" or op.attributes:
                return False
            op.attributes["marked"] = UnitAttr()
            rewriter.modified(op)
            return True

    module = parse_module(
        '%x = "x.y"() : () -> i32\n%0 = t.add %x, %x : i32\n%1 = t.compare eq, %0, %x : i32\n"x.use"(%1) : (i1) -> ()'
    )
    assert apply_patterns_greedily(module, [Low(), High(), Mark()])
    assert seen == ["high t.add", "low", "high t.compare"]
    assert "{marked}" in str(module)
    assert not apply_patterns_greedily(module, [Mark()])


def test_replacing_keeps_locations_and_revisits_users(t):
    class AddToScope(RewritePattern, op=t.AddOp):
        def match_and_rewrite(self, op, rewriter):
            made = rewriter.insert(UnregisteredOp("x.sum", op.operands, [op.result.type]))
            rewriter.replace_op(op, made)
            return True

    module = parse_module('%0 = "x.y"() : () -> i32\n%1 = t.add %0, %0 : i32\n"x.use"(%1) : (i32) -> ()', "f.mlir")
    apply_patterns_greedily(module, [AddToScope()])
    assert [op.location.line for op in module.body_block.ops] == [1, 2, 3]


def test_a_rewrite_without_end_is_an_error(t):
    class Again(RewritePattern, op=t.AddOp):
        def match_and_rewrite(self, op, rewriter):
            rewriter.replace_op(op, rewriter.insert(t.AddOp(op.rhs, op.lhs)))
            return True

    module = parse_module('%0 = "x.y"() : () -> i32\n%1 = t.add %0, %0 : i32\n"x.use"(%1) : (i32) -> ()', "f.mlir")
    with pytest.raises(CompileError, match=r"'t\.add': rewriting does not come to an end.*Again"):
        apply_patterns_greedily(module, [Again()])


def test_inlining_a_block(t):
    class Inline(RewritePattern, op=t.ScopeOp):
        def match_and_rewrite(self, op, rewriter):
            block = op.body.entry
            end = block.terminator
            values = end.operands
            rewriter.erase_op(end)
            rewriter.inline_block_before(block, op)
            rewriter.replace_op(op, values)
            return True

    module = parse_module(
        '%x = "x.y"() : () -> i32\n'
        "%0 = t.scope -> i32 { %1 = t.scope -> i32 { %2 = t.add %x, %x : i32\n t.yield %2 : i32 }\n"
        " t.yield %1 : i32 }\n"
        '"x.use"(%0) : (i32) -> ()'
    )
    apply_patterns_greedily(module, [Inline()])
    verify(module)
    after = '%x = "x.y"() : () -> i32\n%2 = t.add %x, %x : i32\n"x.use"(%2) : (i32) -> ()'
    assert str(module) == _same(after)


def test_walk_and_apply_visits_once(t):
    class Count(RewritePattern, op=t.ScopeOp):
        seen = 0

        def match_and_rewrite(self, op, rewriter):
            Count.seen += 1
            rewriter.erase_op(op)
            return True

    module = parse_module("t.scope { t.scope { t.yield }\n t.yield }\nt.scope { }")
    assert walk_and_apply(module, [Count()])
    # The inner scope goes with the outer one.
    assert Count.seen == 2
    assert len(module.body_block) == 0


def test_the_driver_visits_an_op_a_few_times(t):
    class Replace(RewritePattern, op=t.AddOp):
        visits = 0

        def match_and_rewrite(self, op, rewriter):
            Replace.visits += 1
            if op.attributes:
                return False
            rewriter.replace_op(op, rewriter.insert(t.AddOp(op.lhs, op.rhs, attributes={"new": UnitAttr()})))
            return True

    module = parse_module("")
    builder = Builder.at_end(module.body_block)
    value = builder.insert(UnregisteredOp("x.y", result_types=[T.i32])).result
    for _ in range(4000):
        value = builder.insert(t.AddOp(value, value)).result
    builder.insert(UnregisteredOp("x.use", [value]))
    assert apply_patterns_greedily(module, [Replace()])
    assert 4000 <= Replace.visits <= 4 * 4000
    assert all(op.attributes for op in module.walk() if isinstance(op, t.AddOp))


CSE_BEFORE = """
%x = "x.y"() : () -> i32
%0 = t.add %x, %x : i32
%1 = t.add %x, %x : i32
%2 = t.add %x, %x overflow<nsw> : i32
%u, %v = "x.two"() : () -> (i32, i32)
%3 = t.add %u, %v : i32
%4 = t.add %v, %u : i32
"x.use"(%0, %1, %2, %3, %4) : (i32, i32, i32, i32, i32) -> ()
"x.in"() ({
  %5 = t.add %x, %x : i32
  "x.use"(%5) : (i32) -> ()
}, {
  %6 = t.add %u, %u : i32
  "x.use"(%6) : (i32) -> ()
}, {
  %7 = t.add %u, %u : i32
  "x.use"(%7) : (i32) -> ()
}) : () -> ()
"""
CSE_AFTER = """
%x = "x.y"() : () -> i32
%0 = t.add %x, %x : i32
%2 = t.add %x, %x overflow<nsw> : i32
%u, %v = "x.two"() : () -> (i32, i32)
%3 = t.add %u, %v : i32
"x.use"(%0, %0, %2, %3, %3) : (i32, i32, i32, i32, i32) -> ()
"x.in"() ({
  "x.use"(%0) : (i32) -> ()
}, {
  %6 = t.add %u, %u : i32
  "x.use"(%6) : (i32) -> ()
}, {
  %7 = t.add %u, %u : i32
  "x.use"(%7) : (i32) -> ()
}) : () -> ()
"""


def test_cse():
    assert _after(CSE_BEFORE, "cse") == _same(CSE_AFTER)


def test_cse_goes_down_the_dominator_tree():
    before = """
    t.func @f(%c: i1, %x: i32) -> (i32) {
      %0 = t.add %x, %x : i32
      "x.use"(%0) : (i32) -> ()
      cond_br %c, ^bb1, ^bb2
    ^bb1:
      %1 = t.add %x, %x : i32
      %2 = t.compare eq, %x, %x : i32
      "x.use"(%1, %2) : (i32, i1) -> ()
      br ^bb2
    ^bb2:
      %3 = t.add %x, %x : i32
      %4 = t.compare eq, %x, %x : i32
      "x.use"(%4) : (i1) -> ()
      return %3 : i32
    }
    """
    module = parse_module(before)
    run_passes(module, "cse")
    verify(module)
    names = [op.name for op in module.walk()]
    assert names.count("t.add") == 1 and names.count("t.compare") == 2


def test_dce_and_unreachable_blocks():
    function = parse(
        """
        t.func @f(%x: i32) -> () {
          %0 = t.add %x, %x : i32
          %1 = t.add %0, %0 : i32
          return
        ^bb1:
          %2 = t.add %x, %3 : i32
          br ^bb2
        ^bb2:
          %3 = t.add %x, %2 : i32
          br ^bb1
        }
        """
    )
    run_passes(function, "t.func(dce)")
    assert [op.name for op in function.walk()] == ["t.func", "t.return"] and len(function.body.blocks) == 1


def test_symbol_dce():
    before = """
      t.func @main() -> () { "x.call"() {f = @a} : () -> () \n return }
      t.func private @a() -> () { "x.call"() {f = [{g = @b}]} : () -> () \n return }
      t.func private @b() -> ()
      t.func private @dead() -> () { "x.call"() {f = @dead2} : () -> () \n return }
      t.func private @dead2() -> ()
    """
    module = parse_module(before)
    for op in module.walk():
        if op.name == "t.func" and op.sym_visibility is None:
            op.sym_visibility = "public"
    run_passes(module, "symbol-dce")
    assert [op.sym_name for op in module.body_block.ops] == ["main", "a", "b"]


def test_fold_of_an_integer_wraps(t):
    text = '%0 = t.constant 127 : i8\n%1 = t.add %0, %0 : i8\n"x.use"(%1) : (i8) -> ()'
    module = parse_module(text)
    run_passes(module, "canonicalize")
    assert module.body_block.first_op.value is IntegerAttr(-2, T.i8)
