"""Scalars of the host: what arith, math, cf and util ops mean is what the machine computes."""

import numpy as np
import pytest
from pyiree.compiler.ir.passes import PassContext
from pyiree.compiler.vm.serialize import serialize

DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
SAMPLES = {
    "i1": [0, 1],
    "i8": [0, 1, -1, 7, 100, -128, 127],
    "i16": [0, 1, -1, 300, -32768, 32767],
    "i32": [0, 1, -1, 70000, -(2**31), 2**31 - 1],
    "i64": [0, 1, -1, 2**40, -(2**63), 2**63 - 1],
    "index": [0, 1, 5, 2**33],
    "f32": [0.0, -0.5, 2.5, -2.5, 1e6, float("nan")],
    "f64": [0.0, -0.5, 2.5, -2.5, 1e12, float("nan")],
}


def unsigned(array):
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array.astype(np.uint8)


def cut(a, to):
    return np.trunc(a).astype(to)


BINARY = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
}
def exactly(function, *, signed=True):
    """A function of two arrays by exact integers, wrapped to their width."""

    def apply(a, b):
        pairs_ = zip(a, b) if signed else zip(unsigned(a), unsigned(b))
        width = a.dtype.itemsize * 8
        values = [function(int(x), int(y)) % 2**width for x, y in pairs_]
        return np.array(values, dtype=f"u{a.dtype.itemsize}").view(a.dtype)

    return apply


def toward_zero(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


DIVISIONS = {
    "divui": exactly(lambda x, y: x // y, signed=False),
    "remui": exactly(lambda x, y: x % y, signed=False),
    "ceildivui": exactly(lambda x, y: -(-x // y), signed=False),
    "divsi": exactly(toward_zero),
    "remsi": exactly(lambda x, y: x - y * toward_zero(x, y)),
    "floordivsi": exactly(lambda x, y: x // y),
    "ceildivsi": exactly(lambda x, y: -(-x // y)),
}
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": lambda a, b: unsigned(a) < unsigned(b),
    "uge": lambda a, b: unsigned(a) >= unsigned(b),
}  # fmt: skip


@pytest.fixture
def evaluate(to_vm, call_ours):
    """A function (body text, argument types, result type, rows of arguments) that gives a result for each row."""

    def run(body, types, result, rows):
        arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
        text = f"""module @m {{
          util.func public @f({arguments}) -> {result} {{
            {body}
            util.return %r : {result}
          }}
        }}"""
        content = serialize(to_vm(text), PassContext())
        return np.array([_narrow(call_ours(content, "f", *[_scalar(v) for v in row])[0], result) for row in rows])

    return run


def _scalar(value):
    return float(value) if isinstance(value, float | np.floating) else int(value)


def _narrow(value, type):
    """The upper bits of a narrow integer mean nothing."""
    dtype = np.dtype(DTYPES[type])
    if dtype.kind == "f":
        return dtype.type(value)
    if type == "i1":
        assert value in (0, 1)
        return bool(value)
    return np.int64(value).astype(dtype)


def pairs(type):
    return [(a, b) for a in SAMPLES[type] for b in SAMPLES[type]]


def columns(rows, types):
    return [np.array([row[i] for row in rows]).astype(DTYPES[t]) for i, t in enumerate(types)]


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
def test_integers(evaluate, type):
    rows = pairs(type)
    with np.errstate(over="ignore"):
        for name, function in BINARY.items():
            found = evaluate(f"%r = arith.{name} %a0, %a1 : {type}", [type, type], type, rows)
            np.testing.assert_array_equal(found, function(*columns(rows, [type, type])), err_msg=name)


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
def test_divisions(evaluate, type):
    smallest = np.iinfo(DTYPES[type]).min
    rows = [(a, b) for a, b in pairs(type) if b != 0 and (a, b) != (smallest, -1)]
    for name, function in DIVISIONS.items():
        found = evaluate(f"%r = arith.{name} %a0, %a1 : {type}", [type, type], type, rows)
        np.testing.assert_array_equal(found, function(*columns(rows, [type, type])), err_msg=name)


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
def test_comparisons(evaluate, type):
    rows = pairs(type)
    for name, function in COMPARISONS.items():
        found = evaluate(f"%r = arith.cmpi {name}, %a0, %a1 : {type}", [type, type], "i1", rows)
        np.testing.assert_array_equal(found, function(*columns(rows, [type, type])), err_msg=name)


def test_narrow_results_are_brought_to_their_width(evaluate):
    rows = pairs("i8")
    a, b = columns(rows, ["i8", "i8"])
    with np.errstate(over="ignore"):
        total = a + b
    body = "%s = arith.addi %a0, %a1 : i8"
    found = evaluate(f"{body}\n%r = arith.cmpi slt, %s, %a1 : i8", ["i8", "i8"], "i1", rows)
    np.testing.assert_array_equal(found, total < b)
    found = evaluate(f"{body}\n%r = arith.extsi %s : i8 to i64", ["i8", "i8"], "i64", rows)
    np.testing.assert_array_equal(found, total)
    found = evaluate(f"{body}\n%r = arith.extui %s : i8 to i32", ["i8", "i8"], "i32", rows)
    np.testing.assert_array_equal(found, total.view(np.uint8))
    found = evaluate(f"{body}\n%r = arith.sitofp %s : i8 to f64", ["i8", "i8"], "f64", rows)
    np.testing.assert_array_equal(found, total)


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
def test_shifts(evaluate, type):
    width = np.dtype(DTYPES[type]).itemsize * 8
    rows = [(a, b) for a in SAMPLES[type] for b in (0, 1, 3, width - 1)]
    a, b = columns(rows, [type, type])
    expected = {"shli": a << b, "shrsi": a >> b, "shrui": (unsigned(a) >> unsigned(b)).view(a.dtype)}
    for name, wanted in expected.items():
        found = evaluate(f"%r = arith.{name} %a0, %a1 : {type}", [type, type], type, rows)
        np.testing.assert_array_equal(found, wanted, err_msg=name)


def test_booleans(evaluate):
    rows = pairs("i1")
    a, b = columns(rows, ["i1", "i1"])
    for name, wanted in {"addi": a ^ b, "muli": a & b, "xori": a ^ b, "ori": a | b}.items():
        found = evaluate(f"%r = arith.{name} %a0, %a1 : i1", ["i1", "i1"], "i1", rows)
        np.testing.assert_array_equal(found, wanted, err_msg=name)
    found = evaluate("%r = arith.extsi %a0 : i1 to i32", ["i1", "i1"], "i32", rows)
    np.testing.assert_array_equal(found, -a.astype(np.int32))
    found = evaluate("%r = arith.cmpi slt, %a0, %a1 : i1", ["i1", "i1"], "i1", rows)
    np.testing.assert_array_equal(found, a & ~b)


@pytest.mark.parametrize(
    "source,target", [("i64", "i32"), ("i64", "i8"), ("i32", "i1"), ("i32", "i16"), ("i64", "i1")]
)
def test_truncation(evaluate, source, target):
    rows = [(a,) for a in SAMPLES[source]]
    found = evaluate(f"%r = arith.trunci %a0 : {source} to {target}", [source], target, rows)
    (a,) = columns(rows, [source])
    np.testing.assert_array_equal(found, (a & 1).astype(bool) if target == "i1" else a.astype(DTYPES[target]))


def test_indices(evaluate):
    rows = [(a,) for a in SAMPLES["i32"]]
    (a,) = columns(rows, ["i32"])
    np.testing.assert_array_equal(evaluate("%r = arith.index_cast %a0 : i32 to index", ["i32"], "index", rows), a)
    found = evaluate("%r = arith.index_castui %a0 : i32 to index", ["i32"], "index", rows)
    np.testing.assert_array_equal(found, a.view(np.uint32))


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_floats(evaluate, type):
    rows = pairs(type)
    a, b = columns(rows, [type, type])
    with np.errstate(all="ignore"):
        for name, wanted in {"addf": a + b, "subf": a - b, "mulf": a * b, "divf": a / b}.items():
            found = evaluate(f"%r = arith.{name} %a0, %a1 : {type}", [type, type], type, rows)
            np.testing.assert_array_equal(found, wanted, err_msg=name)
        unordered = np.isnan(a) | np.isnan(b)
        comparisons = {
            "oeq": a == b, "ogt": a > b, "oge": a >= b, "olt": a < b, "ole": a <= b, "one": (a != b) & ~unordered,
            "ueq": (a == b) | unordered, "ugt": (a > b) | unordered, "une": (a != b) | unordered,
            "ord": ~unordered, "uno": unordered,
        }  # fmt: skip
        for name, wanted in comparisons.items():
            found = evaluate(f"%r = arith.cmpf {name}, %a0, %a1 : {type}", [type, type], "i1", rows)
            np.testing.assert_array_equal(found, wanted, err_msg=name)
    for name, function in {"floor": np.floor, "ceil": np.ceil, "roundeven": np.rint, "trunc": np.trunc}.items():
        found = evaluate(f"%r = math.{name} %a0 : {type}", [type, type], type, rows)
        np.testing.assert_array_equal(found, function(a), err_msg=name)


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("target", ["i32", "i64"])
def test_floats_to_integers_are_cut(evaluate, source, target):
    rows = [(a,) for a in (0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.99, -3.99, 12345.75)]
    (a,) = columns(rows, [source])
    found = evaluate(f"%r = arith.fptosi %a0 : {source} to {target}", [source], target, rows)
    np.testing.assert_array_equal(found, cut(a, DTYPES[target]))


def test_align_and_ranges(evaluate):
    rows = [(0, 16), (1, 16), (16, 16), (17, 64)]
    found = evaluate("%r = util.align %a0, %a1 : index", ["index", "index"], "index", rows)
    np.testing.assert_array_equal(found, [0, 16, 16, 64])
    found = evaluate("%r = util.range.max %a0, %a1 : index", ["index", "index"], "index", rows)
    np.testing.assert_array_equal(found, [16, 16, 16, 64])


@pytest.mark.parametrize("cases", [[0, 1, 2], [5, -1, 40]])
def test_switch(to_vm, call_ours, cases):
    lines = ",\n".join(f"{value}: ^bb{i + 1}" for i, value in enumerate(cases))
    block = "^bb{0}:\n%c{0} = arith.constant {1} : i32\nutil.return %c{0} : i32"
    blocks = "\n".join(block.format(i + 1, 100 + i) for i in range(3))
    text = f"""module @m {{
      util.func public @f(%a0: i32) -> i32 {{
        cf.switch %a0 : i32, [ default: ^bb4, {lines} ]
        {blocks}
      ^bb4:
        %d = arith.constant -7 : i32
        util.return %d : i32
      }}
    }}"""
    content = serialize(to_vm(text), PassContext())
    for value in (*cases, 7, -3):
        wanted = 100 + cases.index(value) if value in cases else -7
        assert call_ours(content, "f", value) == [wanted]


def test_switch_of_values(evaluate):
    rows = [(i, 10, 20, 30) for i in (0, 1, 2, 2**32, -1)]
    body = "%r = util.switch i64 from [%a1, %a2] at %a0 else %a3 : i64"
    found = evaluate(body, ["index", "i64", "i64", "i64"], "i64", rows)
    np.testing.assert_array_equal(found, [10, 20, 30, 30, 30])


def test_host_buffers(to_vm, call_ours, call_iree):
    text = """module @m {
      util.func public @f(%x: i32, %y: i64) -> (i32, i64, i32) {
        %size = arith.constant 24 : index
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %c16 = arith.constant 16 : index
        %buffer = util.buffer.alloc uninitialized : !util.buffer{%size}
        util.buffer.fill %x, %buffer[%c0 for %size] : i32 -> !util.buffer{%size}
        util.buffer.store %y, %buffer[%c8 for %c8] : i64 -> !util.buffer{%size}
        %copy = util.buffer.slice %buffer[%c4] : !util.buffer{%size} -> !util.buffer{%c16}
        %0 = util.buffer.load %copy[%c0 for %c4] : !util.buffer{%c16} -> i32
        %1 = util.buffer.load %buffer[%c8 for %c8] : !util.buffer{%size} -> i64
        %2 = util.buffer.size %copy : !util.buffer
        %3 = arith.index_cast %2 : index to i32
        util.return %0, %1, %3 : i32, i64, i32
      }
    }"""
    content = serialize(to_vm(text), PassContext())
    for call in (call_ours, call_iree):
        assert call(content, "f", 77, -(2**40)) == [77, -(2**40), 16]


def test_lists_and_globals(to_vm, call_ours, call_iree):
    text = """module @m {
      util.global private mutable @count = 40 : index
      util.func public @f(%x: i64) -> (i64, i64) {
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %list = util.list.create %c2 : !util.list<i64>
        util.list.resize %list, %c2 : !util.list<i64>
        util.list.set %list[%c0], %x : !util.list<i64>
        %0 = util.list.get %list[%c0] : !util.list<i64>
        %n = util.list.size %list : !util.list<i64>
        %old = util.global.load @count : index
        %new = arith.addi %old, %n : index
        util.global.store %new, @count : index
        %again = util.global.load @count : index
        %1 = arith.index_cast %again : index to i64
        util.return %0, %1 : i64, i64
      }
    }"""
    content = serialize(to_vm(text), PassContext())
    for call in (call_ours, call_iree):
        assert call(content, "f", 2**50) == [2**50, 42]
