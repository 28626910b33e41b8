"""Dialect conversion: 1:1 and 1:N types, signatures, casts that cancel, and failures with a place."""

import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.conversion import (
    ConversionPattern,
    ConversionTarget,
    TypeConverter,
    apply_full_conversion,
    apply_partial_conversion,
)
from pyiree.compiler.ir.core import UnregisteredOp
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.parser import parse_module
from pyiree.compiler.ir.passes import run_passes
from pyiree.compiler.ir.types import FunctionType
from pyiree.compiler.ir.verifier import verify


@pytest.fixture
def split(t):
    """A converter by which a box becomes a resource and its size; and patterns for functions, returns, branches."""
    converter = TypeConverter().add(t.BoxType, lambda box: [t.ResourceType("external"), T.index])

    class ConvertFunc(ConversionPattern, op=t.FuncOp):
        def convert(self, op, adaptor, rewriter):
            made = rewriter.insert(
                t.FuncOp(op.sym_name, op.sym_visibility, converter.convert_function_type(op.function_type))
            )
            made.body.take_body(op.body)
            rewriter.convert_region_types(made.body)
            rewriter.replace_op(op, made)

    class ConvertReturn(ConversionPattern, op=(t.ReturnOp, t.BranchOp)):
        def convert(self, op, adaptor, rewriter):
            rewriter.convert_in_place(op, adaptor)

    target = ConversionTarget()
    target.add_dynamic(t.FuncOp, lambda op: converter.is_legal(op.function_type) and converter.is_legal(op.body))
    target.add_dynamic((t.ReturnOp, t.BranchOp), converter.is_legal)
    return converter, target, [ConvertFunc(), ConvertReturn()]


def test_one_to_many_through_signatures_and_branches(split):
    converter, target, patterns = split
    module = parse_module(
        """
        t.func @f(%a: !t.box<i32>, %b: i32) -> (!t.box<i32>, i32) {
          br ^bb1(%a, %b : !t.box<i32>, i32)
        ^bb1(%c: !t.box<i32>, %d: i32):
          return %c, %d : !t.box<i32>, i32
        }
        """
    )
    apply_partial_conversion(module, target, patterns, converter)
    verify(module)
    after = """
        t.func @f(%a: !t.resource<external>, %n: index, %b: i32) -> (!t.resource<external>, index, i32) {
          br ^bb1(%a, %n, %b : !t.resource<external>, index, i32)
        ^bb1(%c: !t.resource<external>, %m: index, %d: i32):
          return %c, %m, %d : !t.resource<external>, index, i32
        }
        """
    assert str(module) == str(parse_module(after))


def test_casts_stand_where_a_side_is_not_converted(split, t):
    converter, target, patterns = split
    module = parse_module(
        """
        t.func @f(%a: !t.box<i32>) -> (!t.box<i32>) {
          %b = "x.step"(%a) : (!t.box<i32>) -> !t.box<i32>
          return %b : !t.box<i32>
        }
        """
    )
    apply_partial_conversion(module, target, patterns, converter)
    verify(module)
    casts = [op for op in module.walk() if op.name == "builtin.unrealized_conversion_cast"]
    assert [(len(c.operands), len(c.results)) for c in casts] == [(2, 1), (1, 2)]

    # Converting the step too makes the two casts meet and go.
    class ConvertStep(ConversionPattern):
        def convert(self, op, adaptor, rewriter):
            if op.name != "x.step":
                return False
            made = rewriter.insert(UnregisteredOp("y.step", adaptor.operands, converter.convert_types(op.result_types)))
            rewriter.replace_op(op, [list(made.results)])
            return True

    target.add_illegal_dialect("x")
    apply_partial_conversion(module, target, [*patterns, ConvertStep()], converter)
    verify(module)
    run_passes(module, "canonicalize")
    assert [op.name for op in module.walk()] == ["builtin.module", "t.func", "y.step", "t.return"]


def test_adaptor_fields(split, t):
    converter, target, patterns = split
    seen = {}

    class ConvertAwait(ConversionPattern, op=t.AwaitOp):
        def convert(self, op, adaptor, rewriter):
            seen["timepoint"] = adaptor.timepoint.type
            seen["resources"] = [[v.type for v in group] for group in adaptor.resources]
            seen["sizes"] = [v.type for v in adaptor.sizes]
            seen["sync"] = adaptor.sync
            seen["flat"] = len(adaptor.flat("resources"))
            made = rewriter.insert(UnregisteredOp("y.await", adaptor.operands))
            rewriter.replace_op(op, [adaptor.resources[0]])
            assert made.block is op.block

    target.add_illegal(t.AwaitOp)
    module = parse_module(
        """
        t.func @f(%t: !t.token, %a: !t.box<i32>, %n: index) -> (!t.box<i32>) {
          %b = await sync %t => %a : !t.box<i32>{%n}
          return %b : !t.box<i32>
        }
        """
    )
    apply_partial_conversion(module, target, [*patterns, ConvertAwait()], converter)
    verify(module)
    assert seen == {
        "timepoint": t.TokenType(),
        "resources": [[t.ResourceType("external"), T.index]],
        "sizes": [T.index],
        "sync": True,
        "flat": 2,
    }
    assert "unrealized" not in str(module)


def test_patterns_may_produce_ops_that_are_converted_in_turn(t):
    class First(ConversionPattern):
        def convert(self, op, adaptor, rewriter):
            if op.name != "a.op":
                return False
            rewriter.replace_op(op, rewriter.insert(UnregisteredOp("b.op", adaptor.operands, op.result_types)))
            return True

    class Second(ConversionPattern):
        def convert(self, op, adaptor, rewriter):
            if op.name != "b.op":
                return False
            rewriter.replace_op(op, rewriter.insert(UnregisteredOp("c.op", adaptor.operands, op.result_types)))
            return True

    module = parse_module('%0 = "a.op"() : () -> i32\n%1 = "a.op"(%0) : (i32) -> i32\n"c.use"(%1) : (i32) -> ()')
    target = ConversionTarget().add_legal_dialect("c").add_illegal_dialect("a", "b")
    apply_full_conversion(module, target, [First(), Second()])
    verify(module)
    assert str(module) == str(
        parse_module('%0 = "c.op"() : () -> i32\n%1 = "c.op"(%0) : (i32) -> i32\n"c.use"(%1) : (i32) -> ()')
    )


def test_failures_name_the_op_and_its_place():
    text = '"a.ok"() : () -> ()\n  "b.bad"() : () -> ()'
    target = ConversionTarget().add_legal_dialect("a").add_illegal_dialect("b")
    with pytest.raises(ConversionError) as error:
        apply_partial_conversion(parse_module(text, "f.mlir"), target, [])
    assert str(error.value) == (
        "f.mlir:2:3: error: failed to legalize operation 'b.bad': no pattern applies to it"
    )
    target = ConversionTarget().add_legal_dialect("a")
    apply_partial_conversion(parse_module(text, "f.mlir"), target, [])
    with pytest.raises(ConversionError, match=r"f\.mlir:2:3: .*it is not known to the target"):
        apply_full_conversion(parse_module(text, "f.mlir"), target, [])


def test_a_dropped_result_that_is_still_read_is_an_error():
    class Drop(ConversionPattern):
        def convert(self, op, adaptor, rewriter):
            rewriter.replace_op(op, [None])

    module = parse_module('%0 = "a.op"() : () -> i32\n"b.use"(%0) : (i32) -> ()', "f.mlir")
    target = ConversionTarget().add_illegal_dialect("a").add_legal_dialect("b")
    with pytest.raises(ConversionError, match=r"a result of 'a\.op' was dropped, but 'b\.use' still reads it"):
        apply_partial_conversion(module, target, [Drop()])


def test_a_root_inside_a_module_is_converted_itself(split, t):
    converter, target, patterns = split
    module = parse_module("t.func @f(%a: !t.box<i32>) -> () { return }\nt.func @g(%a: !t.box<i32>) -> () { return }")
    apply_partial_conversion(module.body_block.first_op, target, patterns, converter)
    verify(module)
    first, second = (op.function_type.inputs for op in module.walk_type(t.FuncOp))
    assert first == (t.ResourceType("external"), T.index) and second == (t.BoxType(T.i32),)


def test_structured_to_branches(t):
    """A pattern that splits blocks and moves ops; what it moved is converted too."""

    class Flatten(ConversionPattern, op=t.ScopeOp):
        def convert(self, op, adaptor, rewriter):
            rest = op.block.split_before(op)
            for result in op.results:
                rest.add_argument(result.type)
            before, body = rest.region.blocks[rest.region.blocks.index(rest) - 1], op.body.entry
            op.body.move_blocks_before(rest)
            rewriter.move_to_end(before)
            rewriter.insert(t.BranchOp([], body))
            end = body.terminator
            rewriter.move_before(end)
            rewriter.insert(t.BranchOp(list(end.operands), rest))
            rewriter.erase_op(end)
            rewriter.replace_op(op, [[a] for a in rest.arguments])

    module = parse_module(
        """
        t.func @f(%a: i32) -> (i32) {
          %0 = scope -> i32 {
            %1 = t.scope -> i32 { %2 = t.add %a, %a : i32
              t.yield %2 : i32 }
            t.yield %1 : i32
          }
          %3 = add %0, %0 : i32
          return %3 : i32
        }
        """
    )
    apply_partial_conversion(module, ConversionTarget().add_illegal(t.ScopeOp), [Flatten()])
    verify(module)
    names = [op.name for op in module.walk()]
    assert "t.scope" not in names and names.count("t.br") == 4 and "t.yield" not in names


def test_recursive_legality(t):
    module = parse_module("t.scope { %0 = t.constant 1 : i32\n t.yield }")
    target = ConversionTarget().add_illegal(t.ConstantOp).add_recursively_legal(t.ScopeOp)
    apply_partial_conversion(module, target, [])


def test_converted_types_of_function_types(t):
    converter = TypeConverter().add(T.FloatType, lambda f: T.f32)
    converter.add(T.FloatType, lambda f: T.bf16 if f is T.f16 else None)
    assert converter.convert_function_type(FunctionType([T.f16, T.i32], [T.f64])) is FunctionType(
        [T.bf16, T.i32], [T.f32]
    )
    assert converter.is_legal(T.f32) and not converter.is_legal(T.f64)
    dropping = TypeConverter().add(t.TokenType, lambda token: [])
    assert dropping.convert_types([t.TokenType(), T.i32]) == [T.i32]
    with pytest.raises(ValueError, match="becomes 0 types"):
        dropping.convert_one(t.TokenType())
