"""Loops of little work that data steers become dispatches that go through their blocks until they are left."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from pyiree.compiler.stream import command_costs

PASS = "pyiree-stream-form-control-dispatches"
_RANDOM = np.random.default_rng(11)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


EXECUTABLE = """
stream.executable private @NAME {
  stream.executable.export public @f workgroups() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    stream.return %c1, %c1, %c1 : index, index, index
  }
  builtin.module {
    func.func @f(%in: !stream.binding, %out: !stream.binding) {
      return
    }
  }
}
"""
LOOP = """
util.func public @main(%x: !stream.resource<external>, %y: !stream.resource<external>,
                       %flag: !stream.resource<staging>, %n: i32) -> (!stream.resource<external>, i32) {
  %c1_i32 = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t0 = stream.timepoint.immediate => !stream.timepoint
  cf.br ^bb1(%x, %y, %n, %t0 : !stream.resource<external>, !stream.resource<external>, i32, !stream.timepoint)
^bb1(%a: !stream.resource<external>, %b: !stream.resource<external>, %k: i32, %t: !stream.timepoint):
  %t1 = stream.cmd.execute await(%t) => with(%a as %ca: !stream.resource<external>{%c64},
                                             %flag as %cf: !stream.resource<staging>{%c1}) {
    stream.cmd.dispatch @decide::@f {
      ro %ca[%c0 for %c64] : !stream.resource<external>{%c64},
      wo %cf[%c0 for %c1] : !stream.resource<staging>{%c1}
    }
  } => !stream.timepoint
  %f = stream.timepoint.await %t1 => %flag : !stream.resource<staging>{%c1}
  %v = stream.resource.load %f[%c0] : !stream.resource<staging>{%c1} -> i8
  %go = arith.trunci %v : i8 to i1
  cf.cond_br %go, ^bb2, ^bb3
^bb2:
  %t2 = stream.cmd.execute with(%a as %ca: !stream.resource<external>{%c64},
                                %b as %cb: !stream.resource<external>{%c64}) {
    stream.cmd.dispatch @work::@f {
      ro %ca[%c0 for %c64] : !stream.resource<external>{%c64},
      wo %cb[%c0 for %c64] : !stream.resource<external>{%c64}
    }
  } => !stream.timepoint
  %next = arith.addi %k, %c1_i32 : i32
  cf.br ^bb1(%b, %a, %next, %t2 : !stream.resource<external>, !stream.resource<external>, i32, !stream.timepoint)
^bb3:
  util.return %a, %k : !stream.resource<external>, i32
}
"""


def test_a_loop_is_a_dispatch(run_passes, in_order):
    source = EXECUTABLE.replace("NAME", "decide") + EXECUTABLE.replace("NAME", "work") + LOOP
    text = run_passes(source, PASS)
    in_order(
        text,
        "func.func @main_control_0(",
        "call @load_i64(",
        "scf.while",
        "arith.cmpi slt",
        "scf.condition",
        "scf.index_switch",
        "case 0",
        "call @load_i64(",
        "call @f(",
        "call @load_i8(",
        "arith.select",
        "scf.yield",
        "case 1",
        "call @f_0(",
        "call @fill_64(",
        "scf.yield",
        "default",
        "call @fill_64(",
        "scf.yield",
        "call @fill_64(",
        "util.func public @main",
        "stream.cmd.dispatch @main_control_0::@main_control_0(",
        "stream.timepoint.await",
        "stream.resource.load",
        "arith.select",
        "cf.cond_br",
    )
    assert "@work::@f {" not in text


def _newton(x):
    def more(state):
        return (jnp.abs(state[0] ** 2 - x).max() > 1e-4) & (state[1] < 50)

    return lax.while_loop(more, lambda state: (0.5 * (state[0] + x / state[0]), state[1] + 1), (x, 0))


def _conjugate_gradients(a, b):
    def step(state):
        x, rest, direction, square, k = state
        product = a @ direction
        x, rest_now = x + square / direction.dot(product) * direction, rest - square / direction.dot(product) * product
        now = rest_now.dot(rest_now)
        return x, rest_now, rest_now + now / square * direction, now, k + 1

    start = (jnp.zeros_like(b), b, b, b.dot(b), 0)
    return lax.while_loop(lambda state: (state[3] > 1e-6) & (state[4] < 100), step, start)


def _collatz(n):
    def step(state):
        n, k = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), k + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))


def _swapped(x, y):
    def step(state):
        x, y, k = state
        return y * 1.1, x + y.sum() * 0.1, k + 2

    return lax.while_loop(lambda state: state[1].sum() < 40, step, (x, y, 3))


def _search(values, wanted):
    def step(state):
        low, high = state
        middle = (low + high) // 2
        above = values[middle] < wanted
        return jnp.where(above, middle + 1, low), jnp.where(above, high, middle)

    return lax.while_loop(lambda state: state[0] < state[1], step, (0, values.shape[0]))


def _of_each(x):
    return lax.fori_loop(0, 5, lambda i, s: s + lax.while_loop(lambda c: c.sum() < 9 + i, lambda c: c + 0.3, s), x)


def _two(x):
    first = lax.while_loop(lambda c: c.sum() < 30, lambda c: c * 1.1, x)
    return lax.while_loop(lambda c: c[1].sum() > 3, lambda c: (c[1], c[0] * 0.7), (first, first + 1)), first


def _shifted(x):
    """The last three states, as finite differences have them."""

    def step(state):
        a, b, c, k = state
        return b, c, 0.5 * (a + b) - 0.1 * c, k + 1

    return lax.while_loop(
        lambda state: (jnp.abs(state[2]).max() > 1e-3) & (state[3] < 37), step, (x, x * 0.9, x + 1, 0)
    )


def _nested(x, few):
    """An inner loop of at most so many rounds, whose result and number of rounds steer the outer one."""

    def inner(x, k):
        def step(state):
            a, b, n = state
            return b, jnp.cos(a) * b, n + 1

        return lax.while_loop(
            lambda s: (jnp.abs(s[0] - s[1]).sum() > 1e-3) & (s[2] < few + k % 3), step, (x, x * 1.1, 0)
        )

    def outer(state):
        x, total, k = state
        _, b, n = inner(x, k)
        return b + 0.1, total + n, k + 1

    return lax.while_loop(lambda s: (s[1] < 60) & (jnp.abs(s[0]).max() < 1e3) & (s[2] < 50), outer, (x, 0, 0))


def _kept_in_between(x):
    """Both what went into the inner loop and what came out is handed on."""

    def outer(state):
        old, older, k = state
        new, _ = lax.while_loop(
            lambda s: (s[0].sum() > 1) & (s[1] < 9), lambda s: (s[0] * 0.7 + 0.01 * old, s[1] + 1), (old, 0)
        )
        return new + older + 0.3, old, k + 1

    return lax.while_loop(lambda s: (s[0].sum() < 100) & (s[2] < 25), outer, (x, x * 2, 0))


def _three_deep(x):
    def bounded(step, condition, limit):
        return lambda x: lax.while_loop(
            lambda s: condition(s[0]) & (s[1] < limit), lambda s: (step(s[0]), s[1] + 1), (x, 0)
        )[0]

    halve = bounded(lambda x: x * 0.5, lambda x: x.max() > 1, 4)
    grow = bounded(lambda x: halve(x) + 0.4, lambda x: x.min() < 2, 6)
    return bounded(lambda x: grow(x) * 1.01, lambda x: x.sum() < 1e5, 8)(x)


def _inner_last(x):
    """Three deep, and nothing is left to do behind the innermost loop but to hand on what the middle one swaps."""

    def inner(c):
        return lax.while_loop(lambda s: (s[0].max() > 1) & (s[1] < 5), lambda s: (s[0] * 0.6, s[1] + 1), (c, 0))[0]

    def middle(x, y):
        return lax.while_loop(
            lambda s: (s[0].sum() < 50) & (s[2] < 4), lambda s: (s[1], inner(s[0] + 1.7), s[2] + 1), (x, y, 0)
        )

    def outer(s):
        a, b, _ = middle(s[0], s[1])
        return a + 0.1, b, s[2] + 1

    return lax.while_loop(lambda s: (s[0].sum() < 100) & (s[2] < 5), outer, (x, x * 0.5, 0))


def _counted_around(x):
    def step(i, x):
        return lax.while_loop(lambda s: (s[0].sum() < 3 * i) & (s[1] < 10), lambda s: (s[0] + 0.1, s[1] + 1), (x, 0))[0]

    return lax.fori_loop(0, 7, step, x)


def _unbounded_inside(x):
    return lax.while_loop(
        lambda s: s[1] < 4,
        lambda s: (lax.while_loop(lambda c: c.sum() < 5 + s[1], lambda c: c + 0.3, s[0]), s[1] + 1),
        (x, 0),
    )


def _digits(n):
    """Nothing but whole numbers, in loops in a loop that carries only numbers of the host."""

    def digits(i):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (i, 0))[1]

    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + digits(s[0])), (jnp.int32(1), 0))


def _branch(x):
    """One way makes something new, the other hands on what was there."""

    def step(state):
        x, k = state
        return lax.cond(x.sum() > k, lambda x: jnp.flip(x) * 0.9, lambda x: x, x), k + 1

    return lax.while_loop(lambda s: (s[1] < 40) & (jnp.abs(s[0]).max() > 1e-3), step, (x, 0))


def _swapping_branch(x, y):
    def step(state):
        x, y, k = state
        x, y = lax.cond(x[0] > y[1], lambda x, y: (y, x), lambda x, y: (x + 0.3, y + x.sum() * 0.01), x, y)
        return x, y, k + 1

    return lax.while_loop(lambda s: (s[2] < 30) & (s[0].sum() < 1e3), step, (x, y, 0))


def _chosen(x, y):
    """Both ways hand on what was there, in this order or that."""

    def step(state):
        x, y, k = state
        x, y = lax.cond(x.sum() > y.sum(), lambda x, y: (y, x), lambda x, y: (x, y), x, y)
        return jnp.flip(x) + 0.3, y * 1.1, k + 1

    return lax.while_loop(lambda s: (s[2] < 30) & (s[0].sum() < 1e3), step, (x, y, 0))


def _many(*arrays):
    """More buffers than a dispatch can bind."""

    def step(state):
        *arrays, k = state
        total = jnp.tanh(sum(x.sum() for x in arrays))
        arrays = [jnp.flip(x) * 0.9 + 0.01 * total + i * 0.001 for i, x in enumerate(arrays)]
        arrays = lax.cond(
            arrays[0].sum() > 0, lambda *xs: (*xs[1:], xs[0]), lambda *xs: tuple(x + 0.1 for x in xs), *arrays
        )
        return (*arrays, k + 1)

    return lax.while_loop(lambda s: (s[-1] < 17) & (s[0].max() < 1e3), step, (*arrays, 0))


def _bisections(table, values):
    """The inner loop carries nothing but numbers of the host."""

    def place(t):
        def step(s):
            middle = (s[0] + s[1]) // 2
            return lax.cond(table[middle] <= t, lambda: (middle, s[1]), lambda: (s[0], middle))

        return lax.while_loop(lambda s: s[0] + 1 < s[1], step, (0, table.shape[0]))[0]

    return lax.map(place, values)


def _switch(x):
    ways = [lambda x: jnp.sin(x) @ jnp.cos(x).T, lambda x: jnp.flip(x) + 1, lambda x: jnp.cumsum(x, 0) * 0.1]
    return lax.fori_loop(0, 30, lambda i, x: lax.switch((i * i + x[0, 0].astype(int)) % 3, ways, x), x)


def _loop_in_a_branch(x):
    def shrink(x):
        return lax.while_loop(lambda y: y.sum() > 1.0, lambda y: y * 0.7 - jnp.flip(y) * 0.01, x)

    def step(state):
        x, k = state
        return lax.cond(x.sum() > 0, shrink, lambda x: x + 2.0 + jnp.sin(x), x), k + 1

    return lax.while_loop(lambda s: s[1] < 50, step, (x, 0))


def _branch_in_a_branch(x):
    def inner(x, k):
        return lax.cond(k % 2 == 0, lambda x: (x * 2, k + 1), lambda x: (x, k + 3), x)

    def step(state):
        x, k = state
        return lax.cond(x.sum() < 30, inner, lambda x, k: (x * 0.1, k + 1), x, k)

    return lax.while_loop(lambda s: s[1] < 60, step, (x, 0))


def _results_of_inner_loops(x, y):
    """What several loops in one iteration leave is handed on, crosswise."""

    def half(x, limit):
        return lax.while_loop(lambda s: s.sum() > limit, lambda s: s * 0.6 + jnp.flip(s) * 0.1, x)

    def step(i, state):
        x, y = state
        return half(y + i, 2.0), half(x + 1, 3.0)

    return lax.fori_loop(0, 9, step, (x, y))


def _counted_in_between(x):
    def step(state):
        x, k = state
        x = lax.fori_loop(0, 3, lambda i, x: jnp.flip(x) + i, x)
        return jnp.where(x > 9, x * 0.1, x), k + x[0].astype(int) % 3 + 1

    return lax.while_loop(lambda s: s[1] < 40, step, (x, 0))


_A = _f32(16, 16)
PROGRAMS = {
    "newton": (_newton, (np.abs(_f32(4)) + 0.5,)),
    "conjugate_gradients": (_conjugate_gradients, (_A @ _A.T + 16 * np.eye(16, dtype=np.float32), _f32(16))),
    "collatz": (_collatz, (np.int32(27),)),
    "none": (_collatz, (np.int32(1),)),
    "swapped": (_swapped, (np.abs(_f32(8)), np.abs(_f32(8)))),
    "search": (_search, (np.sort(_f32(1000)), np.float32(0.3))),
    "double": (lambda x: lax.while_loop(lambda c: c.sum() < 1000, lambda c: c * 1.01, x), (np.ones(4, np.float32),)),
    "bools": (
        lambda x: lax.while_loop(lambda s: s[0], lambda s: (s[1].sum() < 50, s[1] + s[0]), (jnp.bool_(True), x)),
        (_f32(6),),
    ),
    "of_each": (_of_each, (np.abs(_f32(3)),)),
    "two": (_two, (np.abs(_f32(5)),)),
    "shifted": (_shifted, (np.abs(_f32(5)),)),
    "nested": (lambda x: _nested(x, 6), (np.abs(_f32(4)),)),
    "kept_in_between": (_kept_in_between, (np.abs(_f32(4)),)),
    "three_deep": (_three_deep, (np.abs(_f32(4)),)),
    "inner_last": (_inner_last, (np.abs(_f32(4)),)),
    "counted_around": (_counted_around, (np.abs(_f32(4)),)),
    "unbounded_inside": (_unbounded_inside, (np.abs(_f32(4)),)),
    "digits": (_digits, (np.int32(50),)),
    "branch": (_branch, (np.abs(_f32(5)),)),
    "swapping_branch": (_swapping_branch, (_f32(5), _f32(5))),
    "chosen": (_chosen, (np.abs(_f32(5)), np.abs(_f32(5)))),
    "bisections": (_bisections, (np.sort(_f32(33)), _f32(40))),
    "many": (_many, tuple(_f32(5) for _ in range(20))),
    "switch": (_switch, (_f32(6, 6),)),
    "loop_in_a_branch": (_loop_in_a_branch, (_f32(8),)),
    "branch_in_a_branch": (_branch_in_a_branch, (np.abs(_f32(5)),)),
    "results_of_inner_loops": (_results_of_inner_loops, (np.abs(_f32(4)), np.abs(_f32(4)))),
    "counted_in_between": (_counted_in_between, (_f32(4),)),
}


#: How many nanoseconds a dispatch may take, by what becomes of the loops.
LONGEST = {"at_once": 10_000_000.0, "in_pieces": 250.0}
#: One program of each kind: these are cut into pieces in the fast tier too.
FEW = (
    "newton", "swapped", "nested", "three_deep", "digits", "swapping_branch", "many", "switch", "loop_in_a_branch",
    "results_of_inner_loops",
)  # fmt: skip
CASES = [
    pytest.param(how, name, marks=() if how == "at_once" or name in FEW else pytest.mark.slow)
    for how in LONGEST
    for name in PROGRAMS
]


@pytest.fixture(scope="module")
def compiled():
    """A function (how, name) that gives a program's text after the stream phase and its `.vmfb`."""
    from pyiree.compiler import pipeline

    @functools.cache
    def make(how, name):
        function, arguments = PROGRAMS[name]
        source = jax.jit(function).lower(*arguments).compiler_ir("stablehlo")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(command_costs, "_LONG", LONGEST[how])
            text = pipeline.phase_text(source, "stream")
            return text, pipeline.compile(text, compile_from="stream").vmfb

    return make


@functools.cache
def _expected(name):
    function, arguments = PROGRAMS[name]
    return jax.tree.leaves(jax.jit(function)(*arguments))


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
@pytest.mark.parametrize(("how", "name"), CASES)
def test_numbers(how, name, device, compiled):
    from pyiree.runtime import session

    text, vmfb = compiled(how, name)
    assert "scf.while" in text
    found = session.load(vmfb, devices=device)["main"](*PROGRAMS[name][1])
    for ours, value in zip(found if isinstance(found, tuple) else (found,), _expected(name), strict=True):
        np.testing.assert_allclose(np.asarray(ours), value, rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ("at_once", tuple(PROGRAMS)),
        ("in_pieces", FEW),
        pytest.param("in_pieces", tuple(PROGRAMS), marks=pytest.mark.slow),
    ],
    ids=["at_once", "in_pieces", "all_in_pieces"],
)
def test_texts_are_accepted(how, names, compiled, accepted):
    accepted(*[compiled(how, name)[0] for name in names])


@pytest.mark.parametrize("how", LONGEST)
def test_no_loop_around_it_stays_with_the_host(how, compiled):
    text, _ = compiled(how, "digits")
    # The outer loop as well: what is left calls one dispatch until it is done.
    assert text.count("stream.cmd.dispatch") == 1


def test_larger_work_stays_with_the_host():
    from pyiree.compiler import pipeline

    x = jax.ShapeDtypeStruct((400, 400), np.float32)
    source = jax.jit(lambda x: lax.while_loop(lambda s: s.sum() > 1, lambda s: s * 0.5 + s.T, x)).lower(x)
    assert "scf.while" not in pipeline.phase_text(source.compiler_ir("stablehlo"), "stream")
