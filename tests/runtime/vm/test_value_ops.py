"""Every opcode that only computes values, against NumPy and Python's integers; a sample against IREE's VM."""

import math

import numpy as np
import pytest
from pyiree.runtime.vm.context import Context
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.module import Module

INTS = {
    32: [0, 1, -1, 2, 7, -8, 31, 33, 255, 0x8000, 2**31 - 1, -(2**31), 0x12345678],
    64: [0, 1, -1, 2, 7, -8, 63, 65, 2**31, 2**63 - 1, -(2**63), 0x123456789ABCDEF0],
}
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 1e-40, 1e30, math.inf, -math.inf, math.nan, 0.1]


def wrap(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def truncating(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def binary_integer_ops(bits):
    u = lambda x: unsigned(x, bits)  # noqa: E731
    t = f"i{bits}"
    return {
        f"add.{t}": lambda x, y: x + y,
        f"sub.{t}": lambda x, y: x - y,
        f"mul.{t}": lambda x, y: x * y,
        f"and.{t}": lambda x, y: x & y,
        f"or.{t}": lambda x, y: x | y,
        f"xor.{t}": lambda x, y: x ^ y,
        f"div.{t}.s": truncating,
        f"div.{t}.u": lambda x, y: u(x) // u(y),
        f"rem.{t}.s": lambda x, y: x - truncating(x, y) * y,
        f"rem.{t}.u": lambda x, y: u(x) % u(y),
        f"min.{t}.s": min,
        f"min.{t}.u": lambda x, y: min(u(x), u(y)),
        f"max.{t}.s": max,
        f"max.{t}.u": lambda x, y: max(u(x), u(y)),
    }


def compare_ops(bits):
    u = lambda x: unsigned(x, bits)  # noqa: E731
    t = f"i{bits}"
    return {
        f"cmp.eq.{t}": lambda x, y: x == y,
        f"cmp.ne.{t}": lambda x, y: x != y,
        f"cmp.lt.{t}.s": lambda x, y: x < y,
        f"cmp.lt.{t}.u": lambda x, y: u(x) < u(y),
    }


def unary_integer_ops(bits):
    t = f"i{bits}"
    return {
        f"not.{t}": lambda x: ~x,
        f"abs.{t}": abs,
        f"ctlz.{t}": lambda x: bits - unsigned(x, bits).bit_length(),
        f"cmp.nz.{t}": lambda x: x != 0,
    }


NARROWING = {
    "trunc.i32.i8": lambda x: x & 0xFF,
    "trunc.i32.i16": lambda x: x & 0xFFFF,
    "ext.i8.i32.s": lambda x: wrap(x, 8),
    "ext.i8.i32.u": lambda x: x & 0xFF,
    "ext.i16.i32.s": lambda x: wrap(x, 16),
    "ext.i16.i32.u": lambda x: x & 0xFFFF,
}


@pytest.fixture(scope="module")
def ops(all_ops_module):
    with Context(Module(all_ops_module)) as context:
        yield {name: context.function(name) for name in context.module.exports}


@pytest.mark.parametrize("bits", [32, 64])
def test_binary_integer_ops(ops, bits):
    for name, expected in {**binary_integer_ops(bits), **compare_ops(bits)}.items():
        for x in INTS[bits]:
            for y in INTS[bits]:
                if y == 0 and name.startswith(("div", "rem")):
                    with pytest.raises(VmError, match=name):
                        ops[name](x, y)
                else:
                    assert ops[name](x, y) == [wrap(int(expected(x, y)), bits)], (name, x, y)


@pytest.mark.parametrize("bits", [32, 64])
def test_unary_and_ternary_integer_ops(ops, bits):
    for name, expected in unary_integer_ops(bits).items():
        for x in INTS[bits]:
            assert ops[name](x) == [wrap(int(expected(x)), bits)], (name, x)
    for x, y, z in zip(INTS[bits], INTS[bits][3:], INTS[bits][5:]):
        assert ops[f"fma.i{bits}"](x, y, z) == [wrap(x * y + z, bits)]
        assert ops[f"select.i{bits}"](0, x, y) == [y]
        assert ops[f"select.i{bits}"](-5, x, y) == [x]


@pytest.mark.parametrize("bits", [32, 64])
def test_shifts_mask_their_amount(ops, bits):
    for x in INTS[bits]:
        for amount in (0, 1, 5, bits - 1, bits, bits + 3, -1):
            masked = amount & (bits - 1)
            assert ops[f"shl.i{bits}"](x, amount) == [wrap(x << masked, bits)]
            assert ops[f"shr.i{bits}.s"](x, amount) == [x >> masked]
            assert ops[f"shr.i{bits}.u"](x, amount) == [wrap(unsigned(x, bits) >> masked, bits)]


def test_width_changes(ops):
    for name, expected in NARROWING.items():
        for x in INTS[32]:
            assert ops[name](x) == [expected(x)], (name, x)
    for x in INTS[64]:
        assert ops["trunc.i64.i32"](x) == [wrap(x, 32)]
    for x in INTS[32]:
        assert ops["ext.i32.i64.s"](x) == [x]
        assert ops["ext.i32.i64.u"](x) == [unsigned(x, 32)]


FLOAT_UNARY = {
    "abs": np.abs,
    "neg": np.negative,
    "ceil": np.ceil,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x),
    "round.even": np.rint,
}
FLOAT_MATH = {
    "atan": np.arctan,
    "cos": np.cos,
    "sin": np.sin,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf),
}
FLOAT_COMPARE = {
    "eq.{}.o": lambda x, y: x == y,
    "eq.{}.u": lambda x, y: x == y or x != x or y != y,
    "ne.{}.o": lambda x, y: x != y,
    "ne.{}.u": lambda x, y: x != y,
    "lt.{}.o": lambda x, y: x < y,
    "lt.{}.u": lambda x, y: not x >= y,
    "lte.{}.o": lambda x, y: x <= y,
    "lte.{}.u": lambda x, y: not x > y,
}
KINDS = {"f32": np.float32, "f64": np.float64}


def same(actual, expected):
    """Equal to the bit, any NaN being one NaN."""
    return (np.isnan(actual) and np.isnan(expected)) or (
        actual == expected and np.signbit(actual) == np.signbit(expected)
    )


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_float_arithmetic(ops, t):
    kind = KINDS[t]
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    with np.errstate(all="ignore"):
        for x in map(kind, FLOATS):
            for name, function in FLOAT_UNARY.items():
                op = f"round.{t}.even" if name == "round.even" else f"{name}.{t}"
                (actual,) = ops[op](x)
                assert same(actual, function(x)), (op, x, actual)
            for y in map(kind, FLOATS):
                for name, function in binary.items():
                    (actual,) = ops[f"{name}.{t}"](x, y)
                    assert same(actual, function(x, y)), (name, x, y)
                for name, compare in FLOAT_COMPARE.items():
                    assert ops[f"cmp.{name.format(t)}"](x, y) == [int(compare(x, y))], (name, x, y)
                assert same(ops[f"min.{t}"](x, y)[0], y if y < x else x)
                assert same(ops[f"max.{t}"](x, y)[0], y if y > x else x)
                assert same(ops[f"select.{t}"](0, x, y)[0], y)
            assert ops[f"cmp.nan.{t}"](x) == [int(np.isnan(x))]


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_float_math(ops, t):
    kind = KINDS[t]
    points = np.array([0.1, 0.5, 0.9, 1.7, 3.0, 10.0, 42.5], np.float64).astype(kind)
    tolerance = float(4 * np.finfo(kind).eps)
    for name, function in FLOAT_MATH.items():
        for x in points:
            expected = float(function(np.float64(x)))
            assert ops[f"{name}.{t}"](x)[0] == pytest.approx(expected, rel=tolerance), (name, x)
    for x in points:
        for y in points:
            with np.errstate(over="ignore"):
                power = float(kind(float(x) ** float(y)))
            assert ops[f"pow.{t}"](x, y)[0] == pytest.approx(power, rel=8 * tolerance)
            assert ops[f"atan2.{t}"](x, y)[0] == pytest.approx(math.atan2(x, y), rel=tolerance)
            assert ops[f"rem.{t}"](x, y)[0] == pytest.approx(math.remainder(float(x), float(y)), abs=1e-5)
    assert ops[f"rem.{t}"](5.5, 3.0) == [-0.5]


def test_fma_rounds_once(ops):
    x = float(np.float32(1 + 2**-12))
    assert ops["fma.f32"](x, x, -1.0) == [float(np.float32(x * x - 1.0))]
    y = 1 + 2.0**-30
    assert ops["fma.f64"](y, y, -1.0) == [2.0**-29 + 2.0**-60]


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_float_integer_casts(ops, t):
    kind = KINDS[t]
    for x in (0.4, 0.5, 1.5, 2.5, -2.5, -0.5, 1e6):
        rounded = int(math.copysign(math.floor(abs(x) + 0.5), x))
        for bits in (32, 64):
            assert ops[f"cast.{t}.si{bits}"](x) == [rounded]
            if x >= 0:
                assert ops[f"cast.{t}.ui{bits}"](x) == [rounded]
    for bits in (32, 64):
        assert ops[f"cast.{t}.si{bits}"](math.nan) == [0]
        assert ops[f"cast.{t}.si{bits}"](1e30) == [2 ** (bits - 1) - 1]
        assert ops[f"cast.{t}.si{bits}"](-math.inf) == [-(2 ** (bits - 1))]
        assert ops[f"cast.{t}.ui{bits}"](-3.0) == [0]
        for x in INTS[bits]:
            assert ops[f"cast.si{bits}.{t}"](x) == [float(kind(x))]
            assert ops[f"cast.ui{bits}.{t}"](x) == [float(kind(unsigned(x, bits)))]


def test_bit_casts_and_float_widths(ops):
    for x in FLOATS:
        single = np.float32(x)
        assert ops["bitcast.f32.i32"](single) == [int(single.view(np.int32))]
        assert same(ops["bitcast.i32.f32"](int(single.view(np.int32)))[0], single)
        assert ops["bitcast.f64.i64"](x) == [int(np.float64(x).view(np.int64))]
        assert same(ops["bitcast.i64.f64"](int(np.float64(x).view(np.int64)))[0], x)
        assert same(ops["trunc.f64.f32"](x)[0], single)
        assert same(ops["ext.f32.f64"](single)[0], np.float64(single))


def test_every_value_op_is_tried(ops):
    families = [
        *binary_integer_ops(32), *binary_integer_ops(64), *compare_ops(32), *compare_ops(64),
        *unary_integer_ops(32), *unary_integer_ops(64), *NARROWING,
    ]
    for t in KINDS:
        families += [f"{n}.{t}" for n in FLOAT_MATH] + [f"cmp.{n.format(t)}" for n in FLOAT_COMPARE]
    tried = set(families)
    left = {name for name in ops if name not in tried}
    known = ("fma", "select", "shl", "shr", "trunc", "ext", "cast", "bitcast", "add", "sub", "mul", "div", "abs")
    known += ("const", "neg", "ceil", "floor", "sqrt", "round", "pow", "atan2", "rem", "min", "max", "cmp.nan")
    assert not [name for name in left if not name.startswith(known)]


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("div.i32.s", ("-7", "2")),
        ("rem.i32.u", ("-7", "3")),
        ("shr.i32.s", ("-9", "33")),
        ("ctlz.i64", ("1",)),
        ("rem.f32", ("5.5", "3.0")),
        ("cast.f32.si32", ("2.5",)),
        ("min.f32", ("nan", "1.0")),
        ("max.f64", ("1.0", "nan")),
        ("round.f32.even", ("2.5",)),
        ("cmp.ne.f32.o", ("nan", "1.0")),
        ("fma.f64", ("3.0", "4.0", "0.5")),
    ],
)
def test_same_as_iree(all_ops_module, ops, iree_run, name, inputs):
    printed, ok = iree_run(all_ops_module, name, *inputs)
    assert ok, printed
    value = printed.rsplit("=", 1)[1].strip()
    (actual,) = ops[name](*(float(i) if "." in i or i == "nan" else int(i) for i in inputs))
    assert float(value) == pytest.approx(float(actual), nan_ok=True)
