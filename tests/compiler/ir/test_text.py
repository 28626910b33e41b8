"""What is printed reads back, and is what `iree-opt` prints."""

import pytest
from pyiree.compiler.ir.diagnostics import ParseError
from pyiree.compiler.ir.equivalence import structurally_equal
from pyiree.compiler.ir.parser import parse, parse_module
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.ir.verifier import verify

PROGRAM = """\
#map = affine_map<(d0) -> (d0 + 1)>
module @m attributes {x.y = 3 : i64} {
  t.func @f(%arg0: i32, %arg1: !t.token) -> (i32) {
    %c1 = constant 1 : i32
    %c2 = constant 2 : i32
    %c4 = constant 4 : index
    %0 = add %arg0, %c1 overflow<nsw, nuw> {m = #map} : i32
    %1 = add %0, %c2 : i32
    %2 = compare eq, %0, %1 : i32
    %3:2 = "t.make"() : () -> (!t.box<i32>, !t.box<f32>)
    %4:2 = await sync %arg1 => %3#0, %3#1 : !t.box<i32>{%c4}, !t.box<f32>{%c4}
    misc small 3 shape = [1, -2] of tensor<?x4xf32> note "a\\0Ab" limit 7 extra %c1(%c1, %c2) {z}
    misc large -3 shape = [] of (i32) -> () unlimited
    scope {
      %7 = t.add %1, %1 : i32
    }
    %5 = scope -> i32 {
      t.yield %1 : i32
    }
    cond_br %2, ^bb1, ^bb2
  ^bb1:  // 2 preds: ^bb0, ^bb1
    br ^bb1
  ^bb2:  // pred: ^bb0
    br ^bb3(%5 : i32)
  ^bb3(%6: i32):  // pred: ^bb2
    return %6 : i32
  }
  t.func private @g(i32) -> ()
}
"""


def test_own_forms_read_back():
    module = parse(PROGRAM)
    verify(module)
    text = print_operation(module)
    assert text == PROGRAM
    again = parse(text)
    assert structurally_equal(module, again)
    assert print_operation(again) == text


def test_generic_form_reads_back():
    module = parse(PROGRAM)
    generic = print_operation(module, generic=True)
    assert "operandSegmentSizes = array<i32: 1, 2, 2>" in generic
    again = parse(generic)
    verify(again)
    assert structurally_equal(module, again)


def test_locations_read_back():
    module = parse(PROGRAM, "a.mlir")
    text = print_operation(module, debug_info=True)
    again = parse(text, "b.mlir")
    # The implied terminator is not in the text, so its location is new each time.
    kept = [op for op in module.walk() if not (op.name == "t.yield" and not op.operands)]
    same = [op for op in again.walk() if not (op.name == "t.yield" and not op.operands)]
    assert [op.location for op in kept] == [op.location for op in same]


def test_forward_references_across_blocks():
    module = parse(
        """
        t.func @f() -> (i32) {
          br ^bb2
        ^bb1:
          return %0 : i32
        ^bb2:
          %0 = t.constant 1 : i32
          br ^bb1
        }
        """
    )
    verify(module)
    assert structurally_equal(module, parse(str(module)))


def test_clone_is_equal_and_separate():
    module = parse(PROGRAM)
    copy = module.clone()
    verify(copy)
    assert structurally_equal(module, copy)
    inner = set(module.walk())
    assert not any(op in inner for op in copy.walk())
    assert all(v.defining_op not in inner for op in copy.walk() for v in op.operands if v.defining_op)


def test_several_top_level_ops_become_a_module():
    text = "t.func private @a() -> ()\nt.func private @b() -> ()"
    assert parse(text).name == "builtin.module"
    assert parse("t.func private @a() -> ()").name == "t.func"
    assert parse_module("t.func private @a() -> ()").name == "builtin.module"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t.func @f() -> () {\n  %0 = t.add %1, %1 : i32\n return }", "2:14: error: '%1' is not defined"),
        ("t.func @f() -> () {\n  br ^bb4\n}", "2:6: error: block '^bb4' is not defined"),
        ("t.nothing", "1:1: error: op 't.nothing' is not registered"),
        ("t.scope {\n %0 = t.constant 1 : i32\n %0 = t.constant 1 : i32 }", "3:2: error: '%0' is defined twice"),
        ("t.scope { %0 = t.constant 300 : i8 }", "1:27: error: 300 is out of range for i8"),
        ("t.scope { %0:2 = t.constant 3 : i8 }", "1:18: error: 't.constant' has 1 results, but 2 are named"),
        ("t.misc small 3 shape [1]", "1:22: error: expected '=', found '['"),
        ("t.misc tiny 3", "expected t.kind (small, large), found 'tiny'"),
        ('"x.y"() {a = 1, a = 2} : () -> ()', "attribute 'a' is given twice"),
        ('"x.y"() : () -> (tensor<4xf99>)', "expected a type, found 'f99'"),
        ("t.scope { ` }", "unexpected character '`'"),
        ("t.scope {", "expected '}', found the end of the text"),
    ],
)
def test_errors_name_the_place(text, message):
    with pytest.raises(ParseError) as error:
        parse(text, "f.mlir")
    assert message in str(error.value)
    assert str(error.value).startswith("f.mlir:")


IREE_PROGRAM = """
func.func private @ext(tensor<?x4xf32>, index) -> (f32, i32)
func.func @f(%arg0: i32, %m: memref<4xf32, strided<[1], offset: ?>>) -> (i32, f32) attributes {a.b} {
  %c = arith.constant 1 : i32
  %cst = arith.constant 1.5 : f32
  %d = arith.constant dense<[1,2,3]> : tensor<3xi32>
  %tr = arith.constant true
  %n = arith.constant -4 : i32
  %idx = arith.constant 3 : index
  %p = arith.andi %arg0, %c : i32
  %q, %r = "foo.bar"(%p) <{x = 3 : i64}> ({
  ^bb0(%x: i32, %y: f32):
    %z = "foo.in"(%x) : (i32) -> i32
    "foo.br"()[^bb1, ^bb2] : () -> ()
  ^bb1:
    "foo.end"(%z) : (i32) -> ()
  ^bb2:
    "foo.br"(%z)[^bb1] : (i32) -> ()
  }) {y = "a\\n\\22", maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a) -> (a)>],
      map = affine_map<(a, b) -> (b, a)>} : (i32) -> (i32, f32)
  func.return %q, %r : i32, f32
}
func.func @g(%arg0: i32) {
  %0 = "foo.a"() ({
    %1 = "foo.b"() : () -> i32
    "foo.c"() ({
    ^bb0(%x: i32):
      %2 = "foo.d"(%x) : (i32) -> i32
    }, {
      %3:2 = "foo.e"(%1) : (i32) -> (i32, i32)
    }) : () -> ()
  }, {
    %4 = "foo.b"() : () -> i32
  }) : () -> i32
  %5 = "foo.f"(%0) : (i32) -> i32
  func.return
}
"""

IREE_ATTRIBUTES = """
"x.y"() {
  a = dense<[1,2]> : tensor<2xui8>, b = dense<3.0>:vector<4xf64>, s = dense<(1,2)> : tensor<2xcomplex<i32>>,
  "a b" = 1, c = [1,2.0, 3:i32, f32, true], d = array<i1: true, false>, e = array<f32: 1.0, 0.1>, f = @a::@"b c",
  g = {},
  i=affine_map<(d0)[s0]->(d0 mod 2 + s0*3 - 4, d0 floordiv 8, -d0 ceildiv s0, -(d0 + s0), 3 - d0 * 2)>,
  j = affine_set<(d0):(d0 - 1>=0, d0==3)>, k = array<i64>, "0m", n=-5, o=1.0e-3, p=affine_map<()->()>,
  q=affine_map<()[s0]->(s0,1)>, r=unit, u = dense<true> : tensor<300xi1>, v = dense<> : tensor<0x4xf32>,
  w = dense<[[1.0, 0x7FC00000], [-0.0, 1.0e20]]> : tensor<2x2xf32>, x = dense<[1,2,-3]> : tensor<3xi4>,
  t0 = tensor<*xf32>, t1 = memref<*xi8, 1>, t2 = memref<2x?xf32, affine_map<(d0, d1) -> (d1, d0)>, 3 : i32>,
  t3 = vector<4x[8]xf32>, t4 = tuple<i32, (i32) -> ((f32) -> ())>, t5 = none,
  t6 = tensor<4xi32, "enc">,
  t7 = f8E4M3FN,
  t8 = complex<bf16>, t9 = () -> ()
} : () -> ()
"""

FLOATS = [
    "1.234567", "3.14159274", "1.23456e+5", "123456.7", "1.234567e+20", "1.234567e-20", "-0.0", "0.1",
    "0.333333333333333333", "16777216.0", "33554431.0", "0.00012345678", "1234.5678", "3.4e38", "0.012345678",
    "12345678.0", "1.17549435E-38", "0.001953125", "1.0e-7", "65504.0", "0.0", "-1.5", "9.999999e22",
    "2.5e-3", "7.0e10", "100000.0", "1000000.0",
]  # fmt: skip


def _check_with_iree(iree_opt, text):
    module = parse_module(text)
    verify(module)
    assert print_operation(module).strip() == iree_opt(text)
    assert print_operation(module, generic=True).strip() == iree_opt(text, "--mlir-print-op-generic")
    assert structurally_equal(parse_module(print_operation(module)), module)


def test_a_program_prints_as_in_iree(iree_opt):
    _check_with_iree(iree_opt, IREE_PROGRAM)


def test_attributes_and_types_print_as_in_iree(iree_opt):
    _check_with_iree(iree_opt, IREE_ATTRIBUTES)


def test_locations_are_read_by_iree(iree_opt):
    module = parse_module(IREE_PROGRAM, "a.mlir")
    there = parse_module(iree_opt(print_operation(module, debug_info=True), "--mlir-print-debuginfo"), "b.mlir")
    assert [op.location for op in there.walk()] == [op.location for op in module.walk()]
    assert structurally_equal(module, there)


def test_floats_print_as_in_iree(iree_opt):
    values = []
    for kind in ("f64", "f32", "bf16", "f16"):
        limit = {"f16": 6e4, "bf16": 3e38, "f32": 3.4e38}.get(kind, 1e300)
        values += [f"{v} : {kind}" for v in FLOATS if abs(float(v)) < limit]
    values += ["0x7F800000 : f32", "0xFFC00001 : f32", "0x7FF0000000000001 : f64", "4.9e-324 : f64", "1.0e300 : f64"]
    values += ["1.5 : f8E4M3FN", "0.015625 : f8E5M2", "0x7F : f8E4M3FN"]
    _check_with_iree(iree_opt, '"x.y"() {a = [' + ", ".join(values) + "]} : () -> ()")
