"""The soft library against Python's exact arithmetic and numpy, at every x86-64 level that this CPU runs."""

import ctypes
import math
import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm import library
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.objects import compile_objects
from pyiree.compiler.codegen.llvm.values import BF16, F16, F32, F64, I32, PTR, element_bytes
from pyiree.runtime.vmfb.elf.object_file import read_object

I128 = "i128"


def _apply_module(target, name, ret, args):
    """IR of apply(out, in0, …, n): out[i] = name(in0[i], …)."""
    m = Module(target)
    callee = m.declare(name, ret, args)
    pointers = [("out", PTR)] + [(f"in{k}", PTR) for k in range(len(args))]
    f = m.function("apply", [*pointers, ("n", "i64")], linkage="")
    with f.for_(0, f.args["n"]) as loop:
        values = [f.load(ty, f.gep(f.args[f"in{k}"], loop.index, ty)) for k, ty in enumerate(args)]
        f.store(f.call(callee, *values), f.gep(f.args["out"], loop.index, ret))
    f.ret()
    return m.text()


@pytest.fixture
def call_library(run_ir, runnable_target):
    """A function that applies a library function to arrays (raw bits in, raw bits out)."""

    def call(name, ret, args, *arrays):
        lib = run_ir([_apply_module(runnable_target, name, ret, args)], ["apply"], runnable_target)
        arrays = [np.ascontiguousarray(a) for a in arrays]
        count = arrays[0].size * arrays[0].itemsize // element_bytes(args[0])
        out = np.zeros(count * element_bytes(ret), np.uint8)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (out, *arrays)]
        lib.apply(*pointers, ctypes.c_int64(count))
        return out

    return call


def _floats(dtype, count, seed):
    """Special values, then every exponent and random bits."""
    info = np.finfo(dtype)
    word = np.uint32 if dtype == np.float32 else np.uint64
    tiny, smallest = float(info.tiny), float(info.smallest_subnormal)
    special = [0.0, smallest, 2 * smallest, 3 * smallest, tiny - smallest, tiny, 1e-10, 0.49999997, 0.5, 0.75]
    special += [
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        math.pi,
        10.0,
        8388607.5,
        8388608.0,
        4503599627370495.5,
        2.0**52,
    ]
    special += [65504.0, 65519.996, 65520.0, 6.1035156e-05, 5.9604645e-08, 2.98e-08, 3.0e-08, 1e38, math.inf]
    special += [float(info.max), math.nan]
    special = np.array(special, dtype)
    random_bits = np.random.default_rng(seed).integers(0, np.iinfo(word).max, count, word, endpoint=True)
    return np.concatenate([special, -special, random_bits.view(dtype)])


def _same(got, want):
    """Equal bits, any NaN for NaN."""
    got, want = got.view(want.dtype), np.asarray(want)
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    word = {2: np.uint16, 4: np.uint32, 8: np.uint64}[want.itemsize]
    wrong = np.flatnonzero((got.view(word) != want.view(word)) & ~nan)
    assert wrong.size == 0, f"{wrong.size} differ, first {wrong[0]}: {got[wrong[0]]!r} not {want[wrong[0]]!r}"


FORMATS = [(F32, np.float32, "f"), (F64, np.float64, "")]


@pytest.mark.parametrize("ty, dtype, suffix", FORMATS)
@pytest.mark.parametrize(
    "name, oracle",
    [
        ("trunc", np.trunc),
        ("floor", np.floor),
        ("ceil", np.ceil),
        ("rint", np.rint),
        ("nearbyint", np.rint),
        ("roundeven", np.rint),
    ],
)
def test_rounding(call_library, name, oracle, ty, dtype, suffix):
    x = _floats(dtype, 4000, 1)
    x = np.concatenate([x, np.random.default_rng(2).uniform(-100, 100, 2000).astype(dtype)])
    with np.errstate(invalid="ignore"):
        want = oracle(x)
    _same(call_library(name + suffix, ty, [ty], x), want)


@pytest.mark.parametrize("ty, dtype, suffix", FORMATS)
def test_round_goes_half_away_from_zero(call_library, ty, dtype, suffix):
    x = np.concatenate([_floats(dtype, 2000, 3), np.arange(-50, 50, 0.25).astype(dtype)])
    want = x.copy()
    for k in np.flatnonzero(np.isfinite(x)):
        exact = Fraction(float(x[k]))
        want[k] = math.copysign(float(math.floor(abs(exact) + Fraction(1, 2))), x[k])
    _same(call_library("round" + suffix, ty, [ty], x), want)


@pytest.mark.parametrize("source, dtype", [(F32, np.float32), (F64, np.float64)])
def test_truncate_to_half(call_library, source, dtype):
    x = np.concatenate([_floats(dtype, 20000, 4), _around_halves(np.float16, dtype)])
    name = "__truncsfhf2" if source == F32 else "__truncdfhf2"
    with np.errstate(all="ignore"):
        _same(call_library(name, F16, [source], x), x.astype(np.float16))


def _around_halves(narrow, dtype):
    """Every finite narrow value, the midpoints between neighbours, and both neighbours of each midpoint."""
    values = np.arange(0x7C00 if narrow == np.float16 else 0x7F80, dtype=np.uint16).view(narrow).astype(dtype)
    middle = values[:-1] + (values[1:] - values[:-1]) / 2
    return np.concatenate([values, middle, np.nextafter(middle, dtype(0)), np.nextafter(middle, dtype(np.inf))])


@pytest.mark.parametrize("source, dtype", [(F32, np.float32), (F64, np.float64)])
def test_truncate_to_bfloat(call_library, source, dtype):
    x = np.concatenate([_floats(dtype, 20000, 5), _around_halves(ml_dtypes.bfloat16, dtype)])
    name = "__truncsfbf2" if source == F32 else "__truncdfbf2"
    got = call_library(name, BF16, [source], x).view(np.uint16)
    with np.errstate(invalid="ignore"):
        exact = np.abs(x.astype(np.float64))
    bound = np.arange(0x7F81, dtype=np.uint32) << 16  # the positive bfloats, then infinity
    grid = bound.astype(np.uint32).view(np.float32).astype(np.float64)
    grid[-1] = 2.0**128  # rounding treats infinity as the next value up
    above = np.searchsorted(grid, np.where(np.isnan(exact), 0, exact), "left").clip(1, len(grid) - 1)
    below = above - 1
    with np.errstate(invalid="ignore"):
        up, down = grid[above] - exact, exact - grid[below]
        nearest = np.where((up < down) | ((up == down) & (above % 2 == 0)) | (exact >= grid[-1]), above, below)
    want = (nearest | np.where(np.signbit(x), 0x8000, 0)).astype(np.uint16)
    nan = np.isnan(x)
    assert np.array_equal(got[~nan], want[~nan])
    assert np.isnan(got[nan].view(ml_dtypes.bfloat16)).all()


def test_extend_half_for_every_half(call_library):
    halves = np.arange(1 << 16, dtype=np.uint16)
    _same(call_library("__extendhfsf2", F32, [F16], halves), halves.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("ty, dtype, suffix", FORMATS)
def test_fmod(call_library, ty, dtype, suffix):
    special = _floats(dtype, 60, 6)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = np.array([_fmod(float(a), float(b)) for a, b in zip(x, y)], dtype)
    _same(call_library("fmod" + suffix, ty, [ty, ty], x, y), want)


def _fmod(x, y):
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    return math.fmod(x, y)  # exact by definition


@pytest.mark.parametrize("ty, dtype, suffix", FORMATS)
def test_ldexp(call_library, ty, dtype, suffix):
    x = _floats(dtype, 300, 7)
    exponents = np.array([0, 1, -1, 23, -24, 53, -60, 127, -127, 150, -150, 1023, -1022, -1074, -1100, 2100, -2200])
    exponents = np.concatenate([exponents, [10**9, -(10**9)]]).astype(np.int32)
    x, n = (a.ravel() for a in np.meshgrid(x, exponents))
    want = np.array([_ldexp(float(a), int(b), dtype) for a, b in zip(x, n)], dtype)
    _same(call_library("ldexp" + suffix, ty, [ty, I32], x, n.astype(np.int32)), want)


def _ldexp(x, n, dtype):
    if not math.isfinite(x) or x == 0:
        return x
    n = max(-3000, min(3000, n))
    return math.copysign(_round_to(abs(Fraction(x)) * Fraction(2) ** n, dtype), x)


def _round_to(value, dtype):
    """A non-negative fraction to the nearest float, ties to even."""
    digits, low, high = (24, -149, 128) if dtype == np.float32 else (53, -1074, 1024)
    if value == 0:
        return 0.0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = exponent if Fraction(2) ** exponent <= value else exponent - 1
    place = max(exponent - digits + 1, low)
    whole = round(value / Fraction(2) ** place)  # Python rounds fractions to even
    return math.inf if whole * Fraction(2) ** place >= Fraction(2) ** high else math.ldexp(whole, place)


@pytest.mark.each_value
@pytest.mark.parametrize("ty, dtype, suffix", FORMATS)
def test_fma_rounds_once(call_library, ty, dtype, suffix):
    special = _floats(dtype, 0, 8)[::3]
    grid = [a.ravel() for a in np.meshgrid(special, special, special)]
    rng = np.random.default_rng(9)
    count = 4000
    a, b = (rng.standard_normal(count).astype(dtype) for _ in range(2))
    # Addends next to minus the product, and products far below or just above the addend's last place.
    with np.errstate(all="ignore"):
        c = -(a * b) * (1 + rng.integers(-3, 4, count) * np.finfo(dtype).eps).astype(dtype)
        scale = np.exp2(rng.integers(-60, 60, count)).astype(dtype)
        near = (c * scale).astype(dtype)
        tiny = np.exp2(rng.integers(-140 if dtype == np.float32 else -1060, 0, count)).astype(dtype)
    columns = [np.concatenate(v) for v in zip(grid, (a, b, c), (a, b, near), (a * tiny, b, c * tiny))]
    want = np.array([_fma(*map(float, row), dtype) for row in zip(*columns)], dtype)
    _same(call_library("fma" + suffix, ty, [ty, ty, ty], *columns), want)


def _fma(a, b, c, dtype):
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        product = math.nan if math.isnan(a * b) else a * b
        if math.isfinite(a) and math.isfinite(b):
            return c
        return product + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        zero = math.copysign(1, a) * math.copysign(1, b)
        if Fraction(a) * Fraction(b) == 0 and c == 0 and zero == math.copysign(1, c):
            return math.copysign(0.0, zero)
        return 0.0
    return math.copysign(_round_to(abs(exact), dtype), exact)


@pytest.mark.parametrize("name, oracle", [("fmin", np.fmin), ("fmax", np.fmax)])
def test_minimum_and_maximum_prefer_numbers(call_library, name, oracle):
    special = _floats(np.float32, 20, 10)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    unequal = x != y  # either zero may stand for both
    _same(call_library(name + "f", F32, [F32, F32], x[unequal], y[unequal]), oracle(x[unequal], y[unequal]))


@pytest.mark.parametrize("name", ["__udivti3", "__umodti3", "__divti3", "__modti3"])
def test_128_bit_division(call_library, name):
    rng = random.Random(11)
    edges = [
        0,
        1,
        2,
        3,
        7,
        2**32,
        2**63,
        2**64 - 1,
        2**64,
        2**64 + 1,
        2**127 - 1,
        2**127,
        2**128 - 1,
        2**128 - 5,
    ]
    pairs = [(x, y) for x in edges for y in edges if y]
    pairs += [(rng.getrandbits(rng.randint(1, 128)), rng.getrandbits(rng.randint(1, 128)) or 1) for _ in range(2000)]
    signed = name in ("__divti3", "__modti3")
    want = []
    for x, y in pairs:
        if signed:
            x, y = (v - (1 << 128) if v >> 127 else v for v in (x, y))
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        result = quotient if "div" in name else x - quotient * y
        want.append(result & ((1 << 128) - 1))
    columns = [np.frombuffer(b"".join(v.to_bytes(16, "little") for v in column), np.uint8) for column in zip(*pairs)]
    got = call_library(name, I128, [I128, I128], *columns).tobytes()
    assert [int.from_bytes(got[k : k + 16], "little") for k in range(0, len(got), 16)] == want


def _memory_function(run_ir, target, name):
    """The library function itself, exported by a trampoline that takes pointers."""
    m = Module(target)
    second = I32 if name == "memset" else PTR
    callee = m.declare(name, PTR, [PTR, second, "i64"])
    f = m.function("go", [("a", PTR), ("b", second), ("n", "i64")], PTR, linkage="")
    f.ret(f.call(callee, *f.args.values()))
    function = run_ir([m.text()], ["go"], target).go
    function.restype = ctypes.c_void_p
    function.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int if name == "memset" else ctypes.c_void_p,
        ctypes.c_int64,
    ]
    return function


SIZES = [*range(70), 100, 127, 128, 129, 191, 192, 193, 255, 256, 257, 1000]


@pytest.mark.parametrize("name", ["memcpy", "memmove"])
def test_copy(run_ir, runnable_target, name):
    copy = _memory_function(run_ir, runnable_target, name)
    rng = np.random.default_rng(12)
    for size in SIZES:
        distances = [2000] if name == "memcpy" else [2000, -1, 1, 7, -7, 40, -40, 64, -64, 100, -100, 0]
        for distance in distances:
            memory = rng.integers(0, 256, 8192, np.uint8)
            source, goal = 1500, 1500 + distance
            want = memory.copy()
            want[goal : goal + size] = memory[source : source + size].copy()
            base = memory.ctypes.data
            assert copy(base + goal, base + source, size) == base + goal
            assert np.array_equal(memory, want), (size, distance)


def test_fill(run_ir, runnable_target):
    fill = _memory_function(run_ir, runnable_target, "memset")
    for size in SIZES:
        memory = np.arange(2048, dtype=np.uint16).astype(np.uint8)
        want = memory.copy()
        want[3 : 3 + size] = 0xA5
        assert fill(memory.ctypes.data + 3, 0x1A5, size) == memory.ctypes.data + 3
        assert np.array_equal(memory, want), size


def test_no_function_needs_another(any_level):
    """Each object is complete in itself, on AArch64 too."""
    target = targets.named(any_level)
    names = library.names()
    objects = compile_objects([library.module_of(name, target) for name in names], target)
    for name, data in zip(names, objects):
        file = read_object(data, name)
        assert [s.name for s in file.symbols if s.section == 0 and s.name] == [], name
        assert name in [s.name for s in file.symbols if s.section]


def test_unknown_name_is_not_ours():
    assert library.object_of("expf", targets.named("x86-64")) is None


# The symbols that LLVM's own code generator asks for: operations on element types that kernels use.
OPERATIONS = [
    (f"define {ty} @k({ty} %a, {ty} %b) {{ %r = {op} {ty} %a, %b ret {ty} %r }}")
    for ty in (F16, BF16, F32, F64)
    for op in ("fadd", "fmul", "fdiv", "frem")
]
OPERATIONS += [
    f"declare {ty} @llvm.{op}.{name}({ty}) "
    f"define {ty} @k({ty} %a) {{ %r = call {ty} @llvm.{op}.{name}({ty} %a) ret {ty} %r }}"
    for ty, name in ((F16, "f16"), (F32, "f32"), (F64, "f64"))
    for op in ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "sqrt")
]
OPERATIONS += [
    f"define {narrow} @k({wide} %a) {{ %r = fptrunc {wide} %a to {narrow} ret {narrow} %r }}"
    for narrow, wide in ((F16, F32), (F16, F64), (BF16, F32), (BF16, F64), (F32, F64))
]
OPERATIONS += [
    f"define {i} @k({i} %a, {i} %b) {{ %r = {op} {i} %a, %b ret {i} %r }}"
    for i in ("i8", "i64", I128)
    for op in ("sdiv", "udiv", "srem", "urem", "mul")
]
OPERATIONS += [
    f"declare void @llvm.{op}.p0.p0.i64(ptr, ptr, i64, i1) define void @k(ptr %a, ptr %b, i64 %n) "
    f"{{ call void @llvm.{op}.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false) ret void }}"
    for op in ("memcpy", "memmove")
]
OPERATIONS += [
    "define void @k(ptr %a, i32 %b) { store <256 x i8> zeroinitializer, ptr %a ret void }",
    "declare float @llvm.ldexp.f32.i32(float, i32) define float @k(float %a, i32 %b) "
    "{ %r = call float @llvm.ldexp.f32.i32(float %a, i32 %b) ret float %r }",
    "declare double @llvm.fma.f64(double, double, double) define double @k(double %a) "
    "{ %r = call double @llvm.fma.f64(double %a, double %a, double %a) ret double %r }",
]


def test_what_llvm_calls_is_there(any_level):
    target = targets.named(any_level)
    known = set(library.names())
    for text, data in zip(OPERATIONS, compile_objects(OPERATIONS, target)):
        missing = {s.name for s in read_object(data, text).symbols if s.section == 0 and s.name} - known
        assert not missing, (text, missing)
