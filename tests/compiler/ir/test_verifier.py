"""What the verifier refuses, and where it says the fault is."""

import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import UnregisteredOp
from pyiree.compiler.ir.diagnostics import VerifyError
from pyiree.compiler.ir.parser import parse, parse_module
from pyiree.compiler.ir.verifier import verify


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            't.func @f() -> () { "x.u"(%0) : (i32) -> ()\n %0 = t.constant 1 : i32\n return }',
            "operand 0 of 'x.u' (result of 't.constant') does not dominate this use",
        ),
        (
            "t.func @f(%c: i1) -> (i32) { cond_br %c, ^bb1, ^bb2\n^bb1: %0 = t.constant 1 : i32\n br ^bb2\n"
            "^bb2: return %0 : i32 }",
            "4:7: error: operand 0 of 't.return' (result of 't.constant') does not dominate",
        ),
        ("t.func @f() -> () { %0 = t.constant 1 : i32 }", "'t.constant' ends a block of 't.func', but is not a term"),
        ("t.func @f() -> () { ^bb0: }", "a block of 't.func' is empty"),
        ("t.func @f() -> () { return\n return }", "'t.return' must be the last op of its block"),
        ("t.scope { t.return }", "'t.return' expects parent op 't.func'"),
        ("t.func private @a() -> ()\nt.func private @a() -> ()", "2:1: error: symbol '@a' is defined twice"),
        (
            '%0 = "x.y"() : () -> f32\n%1 = "t.add"(%0, %0) : (f32, f32) -> f32',
            "'t.add' operand 'lhs' must be a signless integer, index, or vector or tensor of them, found f32",
        ),
        (
            '%0 = t.constant 1 : i32\n%1 = "t.add"(%0, %0) : (i32, i32) -> i64',
            "'t.add' requires the same type for all operands and results, found i32, i32, i64",
        ),
        ('%1 = "t.add"() : () -> i64', "'t.add' expects 2 operands, found 0"),
        ('"t.constant"() : () -> i64', "'t.constant' requires attribute 'value'"),
        (
            '"t.constant"() {value = "x"} : () -> i64',
            "'t.constant' attribute 'value' must be a TypedAttr, found \"x\"",
        ),
        ('"t.scope"() : () -> ()', "'t.scope' expects 1 regions, found 0"),
        ('"t.scope"() ({ t.yield\n^bb1: t.yield }) : () -> ()', "'t.scope' expects regions of one block, found 2"),
        (
            '"t.misc"() <{operandSegmentSizes = array<i32: 0, 1>, kind = #t.kind<small>, count = 1 : i32,'
            " shape = array<i64>, of = i32}> : () -> ()",
            "operand segments (0, 1) do not fit its 0 operands",
        ),
    ],
)
def test_refused(text, message):
    with pytest.raises(VerifyError) as error:
        verify(parse_module(text, "f.mlir"))
    assert message in str(error.value)
    assert str(error.value).startswith("f.mlir:")


def test_isolation():
    module = parse_module("t.func @f() -> () { return }")
    outer = UnregisteredOp("x.y", result_types=[T.i32])
    module.body_block.prepend(outer)
    module.body_block.last_op.body.entry.prepend(UnregisteredOp("x.use", outer.results))
    with pytest.raises(VerifyError, match=r"comes from outside of 't\.func', which is isolated"):
        verify(module)


def test_an_erased_definition(t):
    module = parse_module('%0 = t.constant 1 : i32\n"x.use"(%0) : (i32) -> ()')
    module.body_block.first_op.detach()
    with pytest.raises(VerifyError, match=r"a result of 't\.constant', which was erased"):
        verify(module)


def test_graph_regions_have_no_order():
    verify(parse_module('"x.use"(%0) : (i32) -> ()\n%0 = t.constant 1 : i32'))


def test_inner_ops_may_read_the_outside():
    function = parse("t.func @f(%a: i32) -> () { t.scope { %1 = t.add %a, %a : i32 }\n return }")
    verify(function)
    verify(function.body.entry.first_op)


def test_own_verifier_hook(t):
    class Checked(t.ConstantOp, name="t.checked"):
        """A constant that is not zero."""

        def verify_(self):
            if self.value.value == 0:
                raise self.error("must not be zero")

    verify(Checked(IntegerAttr(1, T.i32)))
    with pytest.raises(VerifyError, match=r"'t\.checked' must not be zero"):
        verify(Checked(IntegerAttr(0, T.i32)))
