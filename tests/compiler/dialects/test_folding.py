"""Folds of scalars and shapes, beside NumPy's arithmetic and IEEE's rules."""

import numpy as np
import pytest
from pyiree.compiler.ir.canonicalize import canonicalize
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.passes import PassContext

_INTEGERS = [0, 1, -1, 5, -7, 2**31 - 1, -(2**31)]


def _simplified(body, result, arguments="", before=""):
    text = f"{before}func.func @f({arguments}) -> {result} {{\n{body}\n return %r : {result}\n}}"
    module = parse(text)
    canonicalize(module, PassContext())
    return module


def _constant(body, result):
    function = next(op for op in _simplified(body, result).walk() if op.name == "func.func")
    made = function.entry_block.terminator.operands[0].defining_op
    return made.value if made.name == "arith.constant" else None


def _integer_case(name, x, y):
    return _constant(
        f" %x = arith.constant {x} : i32\n %y = arith.constant {y} : i32\n %r = arith.{name} %x, %y : i32", "i32"
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [("addi", np.add), ("subi", np.subtract), ("muli", np.multiply), ("andi", np.bitwise_and)],
)
def test_integers_wrap(name, function):
    for x in _INTEGERS:
        for y in _INTEGERS:
            with np.errstate(over="ignore"):
                expected = int(function(np.int32(x), np.int32(y)))
            assert _integer_case(name, x, y).value == expected


def test_undefined_divisions_stay():
    assert _integer_case("divsi", 5, 0) is None
    assert _integer_case("remui", 5, 0) is None
    assert _integer_case("divsi", -(2**31), -1) is None
    assert _integer_case("divsi", -7, 2).value == -3
    assert _integer_case("remsi", -7, 2).value == -1
    assert _integer_case("divui", -1, 2).value == 2**31 - 1
    assert _integer_case("shli", 1, 32) is None
    assert _integer_case("shrsi", -8, 1).value == -4
    assert _integer_case("shrui", -8, 1).value == 2**31 - 4


def _float_case(name, x, y, kind="f32"):
    bits = {"f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64), "f16": (np.float16, np.uint16)}
    dtype, word = bits[kind]
    x, y = (f"0x{int(dtype(v).view(word)):0{word().itemsize * 2}X}" for v in (x, y))
    constants = f" %x = arith.constant {x} : {kind}\n %y = arith.constant {y} : {kind}\n"
    return _constant(f"{constants} %r = arith.{name} %x, %y : {kind}", kind)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@pytest.mark.parametrize(
    ("name", "function"),
    [("addf", np.add), ("mulf", np.multiply), ("divf", np.divide), ("maximumf", np.maximum), ("subf", np.subtract)],
)
def test_floats_round_as_the_machine_does(kind, name, function):
    dtype = np.dtype({"f16": "f2", "f32": "f4", "f64": "f8"}[kind])
    values = np.array([0.1, -0.3, 1.0, 3.14159, 65000.0, 1e-7, 0.0, -0.0, np.inf, -np.inf, np.nan]).astype(dtype)
    for x in values:
        for y in values:
            with np.errstate(all="ignore"):
                expected = function(x, y)
            found = _float_case(name, x, y, kind)
            if np.isnan(expected):
                assert np.isnan(found.value)
            elif not (name == "maximumf" and x == y == 0):
                assert found.bits == int(expected.view(f"u{dtype.itemsize}")), (x, y)


def test_a_complex_number_of_two_constants():
    parts = " %x = arith.constant 1.5 : f32\n %y = arith.constant -0.0 : f32\n"
    text = str(_simplified(parts + " %r = complex.create %x, %y : complex<f32>", "complex<f32>"))
    assert "complex.constant [1.500000e+00 : f32, -0.000000e+00 : f32] : complex<f32>" in text
    assert "complex.create" not in text


def test_maximum_prefers_positive_zero():
    assert _float_case("maximumf", -0.0, 0.0).bits == 0
    assert _float_case("minimumf", 0.0, -0.0).bits == 1 << 31


def test_only_identities_that_hold_for_every_float():
    kept = {
        "add zero": "%r = arith.addf %a, %z : f32",
        "times zero": "%r = arith.mulf %a, %z : f32",
        "minus itself": "%r = arith.subf %a, %a : f32",
        "over itself": "%r = arith.divf %a, %a : f32",
        "root of square": "%s = arith.mulf %a, %a : f32\n %r = math.sqrt %s : f32",
        "add and subtract": "%s = arith.addf %a, %o : f32\n %r = arith.subf %s, %o : f32",
    }
    dropped = {
        "times one": "%r = arith.mulf %a, %o : f32",
        "minus zero": "%r = arith.subf %a, %z : f32",
        "add negative zero": "%r = arith.addf %a, %n : f32",
        "negated twice": "%s = arith.negf %a : f32\n %r = arith.negf %s : f32",
    }
    constants = " %z = arith.constant 0.0 : f32\n %o = arith.constant 1.0 : f32\n %n = arith.constant -0.0 : f32\n "
    for cases, gone in ((kept, False), (dropped, True)):
        for name, body in cases.items():
            function = next(_simplified(constants + body, "f32", "%a: f32").walk_type(_func()))
            returned = function.entry_block.terminator.operands[0]
            assert (returned is function.entry_block.arguments[0]) == gone, name


def _func():
    from pyiree.compiler.dialects.func import FuncOp

    return FuncOp


def test_comparisons_with_nan():
    nan = " %x = arith.constant 0x7FC00000 : f32\n %y = arith.constant 1.0 : f32\n"
    for predicate, expected in {"olt": 0, "une": 1, "uno": 1, "ord": 0, "ueq": 1, "oeq": 0}.items():
        assert _constant(nan + f" %r = arith.cmpf {predicate}, %x, %y : f32", "i1").value == expected


def test_conversions():
    cases = {
        (" %x = arith.constant 16777217 : i32\n %r = arith.sitofp %x : i32 to f32", "f32"): 16777216.0,
        (" %x = arith.constant -1 : i8\n %r = arith.extui %x : i8 to i32", "i32"): 255,
        (" %x = arith.constant -1 : i8\n %r = arith.extsi %x : i8 to i32", "i32"): -1,
        (" %x = arith.constant 300 : i32\n %r = arith.trunci %x : i32 to i8", "i8"): 44,
        (" %x = arith.constant -2.7 : f32\n %r = arith.fptosi %x : f32 to i32", "i32"): -2,
        (" %x = arith.constant 1.0 : f32\n %r = arith.bitcast %x : f32 to i32", "i32"): 0x3F800000,
    }
    for (body, kind), expected in cases.items():
        assert _constant(body, kind).value == expected
    out_of_range = " %x = arith.constant 3.0e9 : f32\n %r = arith.fptosi %x : f32 to i32"
    assert _constant(out_of_range, "i32") is None


def test_dimensions_fold():
    body = """ %c1 = arith.constant 1 : index
    %t = tensor.empty(%n) : tensor<4x?xf32>
    %r = tensor.dim %t, %c1 : tensor<4x?xf32>"""
    function = next(_simplified(body, "index", "%n: index").walk_type(_func()))
    assert function.entry_block.terminator.operands[0] is function.entry_block.arguments[0]


def test_reshapes_cancel():
    body = """ %s = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
    %r = tensor.expand_shape %s [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>"""
    assert "shape" not in str(_simplified(body, "tensor<4x8xf32>", "%a: tensor<4x8xf32>"))
