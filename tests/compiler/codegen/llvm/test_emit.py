"""The text builder: constants are exact, and what it writes computes what it says at any vector width."""

import ctypes
import math
import struct

import ml_dtypes
import numpy as np
import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.values import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    Value,
    bits,
    const,
    const_vector,
    elem,
    float_from_bits,
    float_to_bits,
    int_like,
    iota,
    lanes,
    mask_of,
    suffix,
    vec,
    with_elem,
    zero,
)
from pyiree.compiler.errors import CompileError

HOST = targets.host()
WIDTHS = [1, 2, 4, 8, 16, 32]


def test_types():
    assert vec(1, F32) == "float" and vec(16, F32) == "<16 x float>"
    assert elem("<4 x ptr>") == PTR and lanes("<4 x ptr>") == 4 and lanes(I1) == 1
    assert [bits(t) for t in (F16, BF16, F32, F64, I1, I8, "i128", "<8 x i16>", PTR)] == [
        16, 16, 32, 64, 1, 8, 128, 16, 64,
    ]  # fmt: skip
    assert int_like("<8 x double>") == "<8 x i64>" and mask_of("<8 x double>") == "<8 x i1>" and mask_of(F32) == I1
    assert [suffix(t) for t in (F32, "<8 x bfloat>", "<2 x ptr>", I64)] == ["f32", "v8bf16", "v2p0", "i64"]
    assert with_elem("<8 x i64>", I8) == "<8 x i8>"


@pytest.mark.parametrize(
    "ty, dtype", [(F16, np.float16), (BF16, ml_dtypes.bfloat16), (F32, np.float32), (F64, np.float64)]
)
def test_float_constants_keep_every_bit(run_ir, ty, dtype):
    """A table of constants of every kind, compiled and read back."""
    numbers = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        math.pi,
        1e-8,
        1e-41,
        5e-324,
        1e39,
        -1e39,
        65504.0,
        65520.0,
        2.0**-24,
    ]
    numbers += [
        2.0**-25,
        2.0**-133,
        2.0**-134,
        1.00390625,
        1.01171875,
        1 + 2.0**-8 + 2.0**-40,
        math.inf,
        -math.inf,
    ]
    m = Module(HOST)
    table = m.constant_array("table", ty, numbers)
    f = m.function("address", [], PTR, linkage="")
    f.ret(table)
    address = run_ir([m.text()], ["address"], HOST).address
    address.restype = ctypes.c_void_p
    got = np.frombuffer(ctypes.string_at(address(), len(numbers) * bits(ty) // 8), dtype)
    with np.errstate(all="ignore"):
        want = np.array(numbers).astype(dtype)
    if ty == BF16:  # ml_dtypes rounds f64 to f32 first; the tie broken by the last number tells
        want[numbers.index(1 + 2.0**-8 + 2.0**-40)] = 1.0078125
    assert got.tobytes() == want.tobytes()


def test_constants_from_bits_round_trip():
    patterns = {
        F32: [0x7FC00001, 0xFF800000, 0x00000001, 0x7FA00000, 0x3F800000],
        F64: [0x7FF8000000000001, 0xFFF0000000000000, 1],
    }
    for ty, values in patterns.items():
        for pattern in values:
            hexadecimal = int(float_from_bits(pattern, ty).ref, 16)
            if ty == F64:
                assert hexadecimal == pattern
            else:
                sign, exponent = hexadecimal >> 63, hexadecimal >> 52 & 0x7FF
                narrow = struct.pack("<d", struct.unpack("<d", struct.pack("<Q", hexadecimal))[0])
                assert (len(narrow) == 8 and hexadecimal & (1 << 29) - 1 == 0) or exponent != 0x7FF
                assert sign == pattern >> 31
    assert float_to_bits(math.nan, BF16) & 0x7F80 == 0x7F80 and float_to_bits(math.nan, BF16) & 0x7F
    assert float_from_bits(0x7E00, F16).ref == "0xH7E00"


def test_integer_constants_wrap_and_fold():
    m = Module()
    f = m.function("f", [("x", I64), ("y", I32)])
    x = f.args["x"]
    assert const(255, I8).ref == "-1" and const(1, I1).ref == "true" and const(-1, "<4 x i32>").ref == "splat (i32 -1)"
    assert f.add(const(127, I8), 1).const == -128
    assert f.add(x, 0) is x and f.mul(x, 1) is x and f.mul(1, x) is x and f.sub(x, 0) is x
    assert f.mul(x, 0).const == 0 and f.zext(const(-1, I8), I32).const == 255 and f.sext(const(-1, I8), I32).const == -1
    assert f.gep(Value("%p", PTR), 0, F32).ref == "%p"
    assert f.lines == []


def test_mixed_types_are_an_error_with_the_function_name():
    f = Module().function("mixed", [("x", F32), ("y", F64), ("c", I1)])
    with pytest.raises(TypeError, match="float and double in @mixed"):
        f.fadd(f.args["x"], f.args["y"])
    empty = f.for_(0, 10, carried=[f.args["x"]])
    with pytest.raises(TypeError, match=r"loop i in @mixed carries \(float\) but yields \(\)"), empty:
        pass
    with pytest.raises(TypeError, match="phi in @mixed joins float, double"):
        f.if_else(f.args["c"], lambda: f.args["x"], lambda: f.args["y"])
    with pytest.raises(ValueError, match="@mixed does not end"):
        f.text()


def test_errors_inside_a_body_pass_through():
    f = Module().function("f", [("n", I64)])
    with pytest.raises(KeyError), f.for_(0, f.args["n"], carried=[zero(F32)]):
        raise KeyError("original")


def _run(run_ir, build, args, ret=ctypes.c_double, target=HOST):
    """Builds one exported function `go` and calls it."""
    m = Module(target)
    build(m)
    go = run_ir([m.text()], ["go"], target).go
    go.restype = ret
    return go(*args)


def _pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("ty, dtype", [(F32, np.float32), (F64, np.float64), (I32, np.int32), (I8, np.int8)])
def test_masked_tail_loop_and_reduction(run_ir, width, ty, dtype):
    """out = 2 x, and the sum of x, over a length that no width divides."""
    integer = dtype in (np.int32, np.int8)
    x = np.arange(1, 48).astype(dtype)
    out = np.zeros(50, dtype)

    def build(m):
        f = m.function("go", [("x", PTR), ("o", PTR), ("n", I64)], ty, linkage="")
        a, vt = f.args, vec(width, ty)
        add = f.add if integer else f.fadd
        with f.for_(0, a["n"], width, carried=[zero(vt)], name="col") as loop:
            mask = f.lane_mask(width, f.sub(a["n"], loop.index))
            v = f.masked_load(vt, f.gep(a["x"], loop.index, ty), mask)
            f.masked_store(add(v, v), f.gep(a["o"], loop.index, ty), mask)
            loop.yield_(add(loop.carried[0], v))
        f.ret(f.reduce("add" if integer else "fadd", loop.results[0]))

    c_type = {F32: ctypes.c_float, F64: ctypes.c_double, I32: ctypes.c_int32, I8: ctypes.c_int8}[ty]
    total = _run(run_ir, build, [_pointer(x), _pointer(out), ctypes.c_int64(47)], c_type)
    assert total == (np.int8(x.astype(int).sum() & 0xFF) if dtype == np.int8 else x.sum())
    assert np.array_equal(out[:47], x + x) and not out[47:].any()


@pytest.mark.parametrize("start, stop, step", [(0, 0, 1), (3, 3, 2), (5, 2, 1), (0, 1, 1), (0, 7, 3), (2, 4, 2)])
@pytest.mark.parametrize("known", [True, False])
def test_loop_bounds(run_ir, start, stop, step, known):
    """Loops of no, one and several iterations, with bounds known and unknown when they are written."""

    def build(m):
        f = m.function("go", [("a", I64), ("b", I64), ("s", I64)], I64, linkage="")
        bounds = (start, stop, step) if known else f.args.values()
        with f.for_(*bounds, carried=[const(1000, I64), zero(I64)]) as loop:
            total, count = loop.carried
            loop.yield_(f.add(total, loop.index), f.add(count, 1))
        f.ret(f.add(f.mul(loop.results[1], 1_000_000), loop.results[0]))

    got = _run(run_ir, build, [ctypes.c_int64(v) for v in (start, stop, step)], ctypes.c_int64)
    expected = range(start, stop, step)
    assert got == len(expected) * 1_000_000 + 1000 + sum(expected)


def test_nested_control_flow(run_ir):
    """Collatz steps: while, if_else with several values, if_ with an early return."""

    def build(m):
        f = m.function("go", [("n", I64)], I64, linkage="")
        with f.if_(f.icmp("sle", f.args["n"], 0), likely=False):
            f.ret(const(-1, I64))
        with f.while_([f.args["n"], zero(I64)]) as loop:
            n, steps = loop.carried
            loop.condition(f.icmp("ne", n, 1))
            odd = f.icmp("eq", f.and_(n, 1), 1)
            following, more = f.if_else(
                odd,
                lambda: [f.add(f.mul(n, 3), 1), f.add(steps, 1)],
                lambda: [f.lshr(n, 1), f.add(steps, 1)],
                likely=True,
            )
            loop.yield_(following, more)
        f.ret(loop.results[1])

    assert [_run(run_ir, build, [ctypes.c_int64(n)], ctypes.c_int64) for n in (27, 1, 0)] == [111, 0, -1]


def test_switch(run_ir):
    """One of several ways by a number, some of which have control flow of their own."""

    def build(m):
        f = m.function("go", [("n", I64)], I64, linkage="")
        n = f.args["n"]

        def chosen():
            return [f.if_else(f.icmp("sgt", n, 4), lambda: f.mul(n, 10), lambda: f.mul(n, 100)), n]

        first, second = f.switch(n, {3: chosen, 5: chosen, 7: lambda: [n, f.add(n, 1)]}, lambda: [zero(I64), n])
        f.ret(f.add(f.mul(first, 1000), second))

    got = [_run(run_ir, build, [ctypes.c_int64(n)], ctypes.c_int64) for n in (3, 5, 7, 4, -1)]
    assert got == [300_003, 50_005, 7008, 4, -1]


@pytest.mark.parametrize("width", [2, 4, 16])
def test_shuffles(run_ir, width):
    x = np.arange(width, dtype=np.float32)
    out = np.zeros(6 * width, np.float32)

    def build(m):
        f = m.function("go", [("x", PTR), ("o", PTR)], linkage="")
        vt = vec(width, F32)
        v = f.load(vt, f.args["x"])
        half = width // 2
        pieces = [
            f.shuffle(v, None, list(reversed(range(width)))),
            f.insert(v, f.extract(v, width - 1), 0),
            f.splat(f.extract(v, 1), width),
            f.splat(f.slice(v, 1, 1), width),
            f.sitofp(iota(width, I32, start=5, step=2), F32),
        ]
        low, high = f.slice(v, 0, half), f.slice(v, half, half)
        if half > 1:
            pieces.append(f.concat(high, low))
        for k, piece in enumerate(pieces):
            f.store(piece, f.gep(f.args["o"], k * width, F32))
        f.ret()

    _run(run_ir, build, [_pointer(x), _pointer(out)], None)
    rows = out.reshape(6, width)
    assert np.array_equal(rows[0], x[::-1])
    assert np.array_equal(rows[1], np.concatenate([x[-1:], x[1:]]))
    assert (rows[2:4] == x[1]).all()
    assert np.array_equal(rows[4], np.arange(width) * 2 + 5)
    if width > 2:
        assert np.array_equal(rows[5], np.roll(x, width // 2))


@pytest.mark.parametrize("width", [1, 8])
def test_gather(run_ir, width):
    x = np.random.default_rng(0).standard_normal(100)
    indices = np.array([5, 99, 0, 42, 41, 7, 63, 1])[:width]
    out = np.zeros(width)

    def build(m):
        f = m.function("go", [("x", PTR), ("o", PTR)], linkage="")
        pointers = f.gep(f.args["x"], const_vector(indices.tolist(), I64), F64)
        f.store(f.gather(vec(width, F64), pointers), f.args["o"])
        f.ret()

    _run(run_ir, build, [_pointer(x), _pointer(out)], None)
    assert np.array_equal(out, x[indices])


@pytest.mark.parametrize("source, dtype", [(F16, np.float16), (F32, np.float32), (F64, np.float64)])
def test_fptrunc_to_bfloat_is_exact_for_vectors(run_ir, source, dtype):
    """Subnormals too, which the CPU's own instruction flushes."""
    word = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    x = np.random.default_rng(1).integers(0, np.iinfo(word).max, 4096, word, endpoint=True).view(dtype)
    if dtype != np.float16:
        x[:64] = np.float64(2.0**-133) * np.arange(64) / 8
    out = np.zeros(4096, np.uint16)

    def build(m):
        f = m.function("go", [("x", PTR), ("o", PTR)], linkage="")
        with f.for_(0, 4096, 16) as loop:
            v = f.load(vec(16, source), f.gep(f.args["x"], loop.index, source))
            f.store(f.fptrunc(v, BF16), f.gep(f.args["o"], loop.index, I16))
        f.ret()

    _run(run_ir, build, [_pointer(x), _pointer(out)], None)
    nan = np.isnan(x)
    want = np.array([float_to_bits(float(v), BF16) for v in np.where(nan, 0, x)], np.uint16)
    assert np.array_equal(out[~nan], want[~nan])
    assert np.isnan(out[nan].view(ml_dtypes.bfloat16)).all()
    if dtype != np.float64:
        numbers = x[~nan].astype(np.float32)
        assert np.array_equal(want[~nan], numbers.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_saturating_casts_and_integer_ops(run_ir):
    out = np.zeros(8, np.int64)

    def build(m):
        f = m.function("go", [("x", F64), ("k", I64), ("o", PTR)], linkage="")
        x, k = f.args["x"], f.args["k"]
        results = [
            f.sext(f.fptosi_sat(x, I32), I64),
            f.zext(f.fptoui_sat(x, I8), I64),
            f.smin(k, 3), f.umax(k, 3), f.srem(k, 4), f.ashr(k, 1), f.lshr(k, 60), f.not_(k),
        ]  # fmt: skip
        for at, value in enumerate(results):
            f.store(value, f.gep(f.args["o"], at, I64))
        f.ret()

    _run(run_ir, build, [ctypes.c_double(1e12), ctypes.c_int64(-7), _pointer(out)], None)
    assert out.tolist() == [2**31 - 1, 255, -7, -7, -3, -4, 15, 6]


def test_stack_is_for_small_things():
    f = Module().function("f", [])
    f.alloca(vec(16, F32), 256)
    with pytest.raises(CompileError, match="@f needs more than 16384 bytes of stack"):
        f.alloca(I8)


def test_strings_and_metadata_are_shared():
    m = Module(HOST)
    assert m.string("a") is m.string(b"a") and m.string("b") is not m.string("a")
    f = m.function("f", [("p", PTR), ("n", I64)])
    for _ in range(2):
        with f.for_(0, f.args["n"], unroll=False) as loop:
            f.store(zero(F32), f.gep(f.args["p"], loop.index, F32), nontemporal=True)
    f.ret()
    text = m.text()
    assert text.count("llvm.loop.unroll.disable") == 1 and text.count("distinct !{") == 2
    assert text.count("!{i32 1}") == 1
