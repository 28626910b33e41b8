"""Host programs as IREE's compiler makes them, run by our VM against Python and against IREE's own VM."""

import math

import numpy as np
import pytest

PROGRAMS = """
util.func public @factorial(%n: i64) -> i64 {
  %c1 = arith.constant 1 : i64
  %r:2 = scf.while (%acc = %c1, %i = %n) : (i64, i64) -> (i64, i64) {
    %c = arith.cmpi sgt, %i, %c1 : i64
    scf.condition(%c) %acc, %i : i64, i64
  } do {
  ^bb0(%acc: i64, %i: i64):
    %a = arith.muli %acc, %i : i64
    %j = arith.subi %i, %c1 : i64
    scf.yield %a, %j : i64, i64
  }
  util.return %r#0 : i64
}
util.func private @step(%a: i64, %b: i32) -> (i64, i32) attributes {inlining_policy = #util.inline.never} {
  %c3 = arith.constant 3 : i64
  %x = arith.muli %a, %c3 : i64
  %e = arith.extsi %b : i32 to i64
  %y = arith.addi %x, %e : i64
  %t = arith.trunci %y : i64 to i32
  util.return %y, %t : i64, i32
}
util.func public @steps(%a: i64, %b: i32) -> (i64, i32) {
  %0:2 = util.call @step(%a, %b) : (i64, i32) -> (i64, i32)
  %1:2 = util.call @step(%0#0, %0#1) : (i64, i32) -> (i64, i32)
  util.return %1#0, %1#1 : i64, i32
}
util.func public @newton(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %half = arith.constant 0.5 : f32
  %r = scf.for %i = %c0 to %c20 step %c1 iter_args(%y = %x) -> (f32) {
    %q = arith.divf %x, %y : f32
    %s = arith.addf %q, %y : f32
    %h = arith.mulf %s, %half : f32
    scf.yield %h : f32
  }
  util.return %r : f32
}
util.func public @wave(%x: f64) -> f64 {
  %s = math.sin %x : f64
  %e = math.exp %s : f64
  %t = math.tanh %e : f64
  util.return %t : f64
}
util.func public @bits(%x: i32, %y: i32) -> (i32, i32, i32, i32) {
  %a = arith.xori %x, %y : i32
  %b = arith.shrui %x, %y : i32
  %c = arith.divsi %x, %y : i32
  %d = arith.remui %x, %y : i32
  util.return %a, %b, %c, %d : i32, i32, i32, i32
}
util.global private mutable @count = 40 : i32
util.func public @tick() -> i32 {
  %c1 = arith.constant 1 : i32
  %v = util.global.load @count : i32
  %w = arith.addi %v, %c1 : i32
  util.global.store %w, @count : i32
  util.return %w : i32
}
util.func public @lists(%n: i32, %x: f32) -> (i32, f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %l = util.list.create %c2 : !util.list<?>
  util.list.resize %l, %c2 : !util.list<?>
  util.list.set %l[%c0], %n : i32 -> !util.list<?>
  util.list.set %l[%c1], %x : f32 -> !util.list<?>
  %b = util.optimization_barrier %l : !util.list<?>
  %m = util.list.get %b[%c0] : !util.list<?> -> i32
  %y = util.list.get %b[%c1] : !util.list<?> -> f32
  %s = util.list.size %b : !util.list<?>
  util.return %m, %y, %s : i32, f32, index
}
util.func public @bytes(%n: i32) -> i32 {
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %b = util.buffer.alloc uninitialized : !util.buffer{%c16}
  util.buffer.store %n, %b[%c4 for %c4] : i32 -> !util.buffer{%c16}
  %o = util.optimization_barrier %b : !util.buffer
  %v = util.buffer.load %o[%c4 for %c4] : !util.buffer{%c16} -> i32
  util.return %v : i32
}
util.func public @choose(%i: i32) -> i32 {
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c9 = arith.constant 9 : i32
  cf.switch %i : i32, [
    default: ^end(%c7 : i32),
    0: ^end(%c8 : i32),
    5: ^end(%c9 : i32)
  ]
^end(%r: i32):
  util.return %r : i32
}
"""


@pytest.fixture(scope="module")
def content(iree_compile):
    return iree_compile(PROGRAMS)


def wave(x):
    return math.tanh(math.exp(math.sin(x)))


def step(a, b):
    y = 3 * a + b
    return y, (y + 2**31) % 2**32 - 2**31


STEPS = list(step(*step(1 << 33, -5)))
CALLS = [
    ("factorial", [20], [math.factorial(20)]),
    ("factorial", [0], [1]),
    ("steps", [1 << 33, -5], STEPS),
    ("newton", [2.0], [float(np.sqrt(np.float32(2)))]),
    ("wave", [0.7], [wave(0.7)]),
    ("bits", [-9, 4], [-9 ^ 4, (-9 & 0xFFFFFFFF) >> 4, -2, (-9 & 0xFFFFFFFF) % 4]),
    ("lists", [5, 1.5], [5, 1.5, 2]),
    ("bytes", [-123456], [-123456]),
    ("choose", [0], [8]),
    ("choose", [5], [9]),
    ("choose", [4], [7]),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS, ids=[f"{c[0]}{c[1]}" for c in CALLS])
def test_programs(content, context_of, name, arguments, expected):
    assert context_of(content).invoke(name, arguments) == pytest.approx(expected, rel=1e-15, abs=0)


def test_globals_last(content, context_of):
    context = context_of(content)
    assert [context.invoke("tick")[0] for _ in range(3)] == [41, 42, 43]
    assert context_of(content).invoke("tick") == [41]


@pytest.mark.parametrize(("name", "arguments"), [(c[0], c[1]) for c in CALLS], ids=[f"{c[0]}{c[1]}" for c in CALLS])
def test_same_as_irees_vm(content, context_of, iree_run, name, arguments):
    printed, ok = iree_run(content, name, *(repr(a) for a in arguments))
    assert ok, printed
    theirs = [float(line.split("=")[1]) for line in printed.splitlines() if line.startswith("result[")]
    assert theirs == pytest.approx([float(v) for v in context_of(content).invoke(name, arguments)], rel=1e-5)


def test_reflection(content):
    from pyiree.runtime.vm.module import Module

    module = Module(content)
    assert "func @newton(%input0: f32)" in module.reflection("newton")["iree.abi.declaration"]
