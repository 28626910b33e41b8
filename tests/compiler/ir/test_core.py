"""The graph: uses, lists, moving, erasing; constructors and accessors of declared ops."""

import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import IntegerAttr, StringAttr, UnitAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Region, UnregisteredOp, Use
from pyiree.compiler.ir.diagnostics import CompileError, source_line
from pyiree.compiler.ir.dominance import Dominance
from pyiree.compiler.ir.location import UNKNOWN, CallSiteLoc, FileLineColLoc, NameLoc, fuse_locations
from pyiree.compiler.ir.parser import parse, parse_module
from pyiree.compiler.ir.symbol_table import SymbolTable, lookup_symbol, nearest_symbol_table, symbol_uses


def _constant(t, value):
    return t.ConstantOp(IntegerAttr(value, T.i32))


def test_uses(t):
    one, two = _constant(t, 1), _constant(t, 2)
    add = t.AddOp(one.result, one.result)
    other = t.AddOp(one.result, two.result)
    assert one.result.uses == [Use(add, 0), Use(add, 1), Use(other, 0)]
    assert one.result.users == [add, other]
    assert two.result.has_one_use and not one.result.has_one_use
    add.rhs = two.result
    assert add.operands == (one.result, two.result)
    one.result.replace_all_uses_with(two.result)
    assert not one.result.has_uses and add.lhs is two.result
    with pytest.raises(ValueError, match=r"result 0 is still used by t\.add"):
        two.erase()
    add.erase()
    other.erase()
    assert not two.result.has_uses


def test_block_list(t):
    ops = [_constant(t, i) for i in range(6)]
    block = Block((), ops[:4])
    block.insert_before(ops[0], ops[4])
    block.insert_after(ops[3], ops[5])
    assert [op.value.value for op in block.ops] == [4, 0, 1, 2, 3, 5]
    ops[5].move_before(ops[1])
    ops[4].move_after(ops[3])
    assert [op.value.value for op in block.ops] == [0, 5, 1, 2, 3, 4]
    assert [op.value.value for op in block.reversed_ops] == [4, 3, 2, 1, 5, 0]
    assert ops[5].is_before_in_block(ops[1]) and not ops[4].is_before_in_block(ops[3])
    for op in block.ops:
        op.erase()
    assert len(block) == 0 and block.first_op is None
    with pytest.raises(ValueError, match="in a block already"):
        Block((), [_constant(t, 1)]).append(Block((), [ops[0]]).first_op)


def test_erasing_an_op_lets_go_of_what_is_inside(t):
    one = _constant(t, 1)
    scope = t.ScopeOp(Block((), [t.AddOp(one.result, one.result), t.YieldOp([])]), results=[])
    assert one.result.has_uses
    scope.erase()
    assert not one.result.has_uses


def test_walk_while_erasing():
    module = parse("t.scope { %0 = t.constant 1 : i32\n t.scope { %1 = t.constant 2 : i32\n t.yield }\n t.yield }")
    names = [op.name for op in module.walk()]
    assert names == ["t.scope", "t.constant", "t.scope", "t.constant", "t.yield", "t.yield"]
    assert [op.name for op in module.walk(post_order=True)][-1] == "t.scope"
    for op in module.walk():
        if op.name == "t.constant":
            op.erase()
    assert [op.name for op in module.walk()] == ["t.scope", "t.scope", "t.yield", "t.yield"]


def test_split_and_branches():
    module = parse("t.func @f() -> () { %0 = t.constant 1 : i32\n return }")
    entry = module.body.entry
    rest = entry.split_before(entry.last_op)
    builder = Builder.at_end(entry)
    branch = builder.insert(UnregisteredOp("x.br", successors=[rest]))
    assert rest.predecessors == [entry] and entry.successors == (rest,)
    with pytest.raises(ValueError, match="branched to"):
        rest.erase()
    branch.set_successors([])
    rest.erase()
    assert module.body.blocks == [entry]


def test_constructor(t):
    one = _constant(t, 1).result
    add = t.AddOp(one, one)
    assert add.result.type is T.i32 and add.overflow == "none"
    assert t.AddOp(one, rhs=one, overflow="nuw,nsw").overflow == "nsw,nuw"
    compare = t.CompareOp(one, one, "ne")
    assert compare.predicate == "ne" and compare.result.type is T.i1
    with pytest.raises(TypeError, match="operand 'rhs' is missing"):
        t.AddOp(one)
    with pytest.raises(TypeError, match="has no field 'third'"):
        t.AddOp(one, one, third=one)
    with pytest.raises(TypeError, match="given twice"):
        t.AddOp(one, one, lhs=one)
    with pytest.raises(TypeError, match="must be a Value, not ConstantOp"):
        t.AddOp(one, one.op)
    with pytest.raises(ValueError, match="'maybe' is not one of"):
        t.AddOp(one, one, overflow="maybe")
    with pytest.raises(TypeError, match="successor 'dest' is missing"):
        t.BranchOp([])


def test_segments_follow_edits(t):
    one = _constant(t, 1).result
    misc = t.MiscOp(None, [one, one], 3, "small", (1, 2), T.f32)
    assert misc.operand_segments == (0, 2) and misc.extra is None and misc.more == (one, one)
    misc.extra = one
    assert misc.operand_segments == (1, 2) and misc.extra is one
    misc.more = []
    assert misc.operand_segments == (1, 0) and misc.operands == (one,)
    assert (misc.count, misc.kind, misc.shape, misc.of, misc.note) == (3, "small", (1, 2), T.f32, None)
    misc.note, misc.limit, misc.shape = "text", 9, [5]
    assert misc.properties["note"] is StringAttr("text")
    assert misc.get_attr("limit") is IntegerAttr(9, T.index) and misc.shape == (5,)
    misc.note = None
    assert "note" not in misc.properties
    misc.set_attr("own", UnitAttr())
    misc.set_attr("kind", t.KindAttr("large"))
    assert misc.attributes == {"own": UnitAttr()} and misc.kind == "large"


def test_several_variadic_groups(t):
    token = UnregisteredOp("x.t", result_types=[t.TokenType(), t.BoxType(T.i32), T.index]).results
    op = t.AwaitOp(token[0], [token[1], token[1]], [token[2], token[2]], sync=True)
    assert op.sync is True and op.resources == (token[1], token[1]) and op.sizes == (token[2], token[2])
    assert op.result_types == (t.BoxType(T.i32), t.BoxType(T.i32))
    assert op.results == op._results


def test_a_reserved_field_name_is_refused():
    from pyiree.compiler.ir.constraints import AnyType
    from pyiree.compiler.ir.definition import Op
    from pyiree.compiler.ir.fields import Attr, Operand

    with pytest.raises(TypeError, match=r"every op has 'location'; call the field 'location_'"):

        class Bad(Op, name="t.bad"):
            location: Attr[StringAttr]

    class Good(Op, name="t.good"):
        in_: Operand[AnyType]
        name_: Attr[StringAttr]
        format = "$in `named` $name attr-dict"

    op = next(parse_module('%0 = "x.y"() : () -> i32\nt.good %0 named "n"').walk_type(Good))
    assert op.name_ is StringAttr("n") and op.in_.type is T.i32
    assert str(op).endswith('t.good %0 named "n"')


def test_builder_locations(t):
    block = Block()
    here, there = FileLineColLoc("f.py", 3, 1), FileLineColLoc("g.py", 4, 1)
    builder = Builder.at_end(block, here)
    first = builder.insert(_constant(t, 1))
    with builder.at_location(there):
        second = builder.insert(_constant(t, 2))
    assert (first.location, second.location) == (here, there)
    before = Builder.before(first)
    assert before.insert(_constant(t, 3)).location is here and block.first_op.value.value == 3
    assert source_line(CallSiteLoc(NameLoc("x", here), there)) == "f.py:3"
    assert str(CompileError("is wrong", here)) == "f.py:3:1: error: is wrong"
    assert fuse_locations([here, UNKNOWN, here]) is here
    assert source_line(fuse_locations([UNKNOWN, there, here])) == "g.py:4"


def test_symbols():
    module = parse_module(
        """
        t.func private @a() -> ()
        t.table @inner { t.func private @b() -> () }
        "x.use"() {f = [@a, @inner::@b]} : () -> ()
        """
    )
    table = SymbolTable(module)
    function = table.lookup("a")
    assert function.sym_name == "a" and function.symbol_name == "a"
    use = list(module.body_block.ops)[-1]
    inner = lookup_symbol(use, use.attributes["f"][1])
    assert inner.sym_name == "b" and nearest_symbol_table(inner).sym_name == "inner"
    table.rename(function, "z")
    assert [str(ref) for _, ref in symbol_uses(module)] == ["@z", "@inner::@b"]
    assert table.insert(function.clone()) == "z_0" and table.insert(function.clone()) == "z_1"
    assert lookup_symbol(use, "missing") is None


def test_dominance():
    function = parse(
        """
        t.func @f(%c: i1) -> () {
          cond_br %c, ^bb1, ^bb2
        ^bb1:
          br ^bb3
        ^bb2:
          br ^bb3
        ^bb3:
          cond_br %c, ^bb3, ^bb4
        ^bb4:
          return
        ^bb5:
          br ^bb4
        }
        """
    )
    b = function.body.blocks
    dominance = Dominance()
    assert [dominance.immediate_dominator(x) for x in b] == [None, b[0], b[0], b[0], b[3], None]
    assert dominance.block_dominates(b[0], b[4]) and not dominance.block_dominates(b[1], b[3])
    assert not dominance.is_reachable(b[5]) and dominance.block_dominates(b[4], b[5])


def test_regions_move(t):
    source = parse("t.scope { %0 = t.constant 1 : i32\n t.yield }")
    target = Region()
    target.take_body(source.body)
    assert source.body.is_empty and [op.name for op in target.ops] == ["t.constant", "t.yield"]
    assert target.entry.region is target
