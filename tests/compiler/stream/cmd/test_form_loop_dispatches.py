"""Loops of little work become one dispatch, which calls the kernels of an iteration one after the other."""

import io
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "pyiree-stream-form-loop-dispatches"
_RANDOM = np.random.default_rng(11)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


EXECUTABLE = """
stream.executable private @e {
  stream.executable.export public @f workgroups() -> (index, index, index) {
    %c1 = arith.constant 1 : index
    stream.return %c1, %c1, %c1 : index, index, index
  }
  builtin.module {
    func.func @f(%n: i32, %in: !stream.binding, %out: !stream.binding) {
      return
    }
  }
}
"""
SWAPPED = """
util.func public @main(%count: i64, %x: !stream.resource<external>, %y: !stream.resource<external>)
    -> !stream.resource<external> {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c7_i64 = arith.constant 7 : i64
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t0 = stream.timepoint.immediate => !stream.timepoint
  cf.br ^bb1(%c0_i64, %x, %y, %t0 : i64, !stream.resource<external>, !stream.resource<external>, !stream.timepoint)
^bb1(%i: i64, %a: !stream.resource<external>, %b: !stream.resource<external>, %t: !stream.timepoint):
  %go = arith.cmpi slt, %i, LIMIT : i64
  cf.cond_br %go, ^bb2, ^bb3
^bb2:
  %n = arith.trunci %i : i64 to i32
  %t1 = stream.cmd.execute await(%t) => with(%a as %ca: !stream.resource<external>{%c64},
                                             %b as %cb: !stream.resource<external>{%c64}) {
    stream.cmd.dispatch @e::@f(%n : i32) {
      ro %ca[%c0 for %c64] : !stream.resource<external>{%c64},
      wo %cb[%c0 for %c64] : !stream.resource<external>{%c64}
    }
  } => !stream.timepoint
  %next = arith.addi %i, %c1_i64 : i64
  cf.br ^bb1(%next, %b, %a, %t1 : i64, !stream.resource<external>, !stream.resource<external>, !stream.timepoint)
^bb3:
  %r = stream.timepoint.await %t => %a : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
"""


def test_buffers_that_swap_places(run_passes, in_order, accepted):
    text = run_passes(EXECUTABLE + SWAPPED.replace("LIMIT", "%c7_i64"), PASS)
    accepted(text)
    in_order(
        text,
        "func.func private @f(i32, !stream.binding, index, !stream.binding, index) attributes {stream.entry = @e::@f}",
        "func.func @main_loop_0(",
        "scf.for %arg",
        "func.call @f(",
        "scf.yield %",
        "util.func public @main(%arg0: i64, %arg1: !stream.resource<external>, %arg2: !stream.resource<external>)",
        "stream.cmd.dispatch @main_loop_0::@main_loop_0(",
        # After seven iterations what the loop carries first is in the second buffer.
        "stream.timepoint.await %", "=> %arg2",
    )  # fmt: skip
    assert "cf.br" not in text
    order = re.search(r"iter_args\(%(\w+) = %\w+, %(\w+) = %\w+\)", text)
    assert f"scf.yield %{order[2]}, %{order[1]}" in text


def test_swapped_buffers_need_a_number_of_iterations_that_is_known(run_passes):
    text = run_passes(EXECUTABLE + SWAPPED.replace("LIMIT", "%count"), PASS)
    assert "cf.cond_br" in text and "main_loop" not in text


def _chain(x):
    return lax.fori_loop(0, 9, lambda i, s: (s[1] * 0.5, s[2] + s[0].sum(), s[0] @ s[1]), (x, x * 2, x + 1))


def _orthogonal(a):
    """Columns that are made orthogonal to those before them."""

    def column(k, state):
        q, r, a = state
        r = r.at[k, k].set(jnp.sqrt(a[:, k] @ a[:, k]))
        q = q.at[:, k].set(a[:, k] / r[k, k])

        def later(j, state):
            q, r, a = state
            r = r.at[k, j].set(q[:, k] @ a[:, j])
            return q, r, a.at[:, j].add(-q[:, k] * r[k, j])

        return lax.fori_loop(k + 1, a.shape[1], later, (q, r, a))

    return lax.fori_loop(0, a.shape[1], column, (jnp.zeros_like(a), jnp.zeros((a.shape[1],) * 2, a.dtype), a))[:2]


def _long_iterations(x):
    """More calls of kernels than can keep what they are given on the stack."""

    def step(_, s):
        for shift in range(160):
            s = jnp.sort(jnp.roll(s, shift % 5 + 1) * 0.9)
        return s

    return lax.fori_loop(0, 4, step, x)


PROGRAMS = {
    "long_iterations": (_long_iterations, (_f32(6),)),
    "product": (lambda x, y: lax.fori_loop(0, 50, lambda i, s: s * 0.5 + y @ s * 0.1, x), (_f32(4), _f32(4, 4))),
    "odd_number": (lambda x, y: lax.fori_loop(0, 51, lambda i, s: s * 0.5 + y @ s * 0.1, x), (_f32(4), _f32(4, 4))),
    "twice": (lambda x, y: lax.fori_loop(0, 2, lambda i, s: s * 0.5 + y @ s * 0.1, x), (_f32(4), _f32(4, 4))),
    "counter": (lambda x: lax.fori_loop(3, 20, lambda i, s: s * 0.5 + s.sum() * i, x), (_f32(40),)),
    "three_buffers": (_chain, (_f32(5, 5),)),
    "in_place": (
        lambda x: lax.fori_loop(1, 30, lambda i, s: s.at[i].set(s.sum() * 0.1), x), (_f32(64),)
    ),
    "sum_of_rows": (lambda x: lax.scan(lambda c, t: (c + t.sum(), c), np.float32(0), x), (_f32(20, 30),)),
    "products_of_rows": (
        lambda x, a: lax.scan(lambda c, t: (a @ (c * 0.1) + t, c), x[0], x), (_f32(20, 30), _f32(30, 30))
    ),
    "nested": (
        lambda y: lax.fori_loop(
            0, 7, lambda i, y: lax.fori_loop(1, 9, lambda j, z: z.at[i, j].set(z[i, j - 1] * 0.5 + z[i, j]), y), y
        ),
        (_f32(7, 9),),
    ),
    "nested_of_the_counter": (_orthogonal, (_f32(110, 70),)),
    "counted": (
        lambda i: lax.fori_loop(0, 200, lambda j, z: z.at[i[j]].add(1), jnp.zeros(10, np.int32)),
        (_RANDOM.integers(0, 10, 200, dtype=np.int32),),
    ),
    "fills": (
        lambda x: lax.fori_loop(0, 9, lambda i, s: (s[0] + jnp.flip(s[1]), jnp.full(300, i, np.int32)), (x, x)),
        (np.arange(300, dtype=np.int32),),
    ),
    "many_iterations": (
        lambda x: lax.fori_loop(0, 400_001, lambda i, s: s * 0.5 + s.sum() * 0.01 + i % 3, x), (_f32(24),)
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def compiled():
    """The text after the stream phase and the `.vmfb` of each program."""
    from pyiree.compiler import pipeline

    def make(name):
        function, arguments = PROGRAMS[name]
        source = jax.jit(function).lower(*arguments).compiler_ir("stablehlo")
        buffer = io.BytesIO()
        source.operation.write_bytecode(buffer)
        text = pipeline.phase_text(buffer.getvalue(), "stream")
        return text, pipeline.compile(text, compile_from="stream").vmfb

    return {name: make(name) for name in PROGRAMS}


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name, device, compiled):
    from pyiree.runtime import session

    text, vmfb = compiled[name]
    function, arguments = PROGRAMS[name]
    assert "func.call @" in text
    assert ("cf.br" in text) == (name == "many_iterations")
    found = session.load(vmfb, devices=device)["main"](*arguments)
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for ours, value in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours), value, rtol=1e-4, atol=1e-4, err_msg=name)


def test_texts_are_accepted(compiled, accepted):
    accepted(*[text for text, _ in compiled.values()])


def test_larger_work_stays_with_the_host():
    from pyiree.compiler import pipeline

    x = jax.ShapeDtypeStruct((300, 300), np.float32)
    source = jax.jit(lambda x: lax.fori_loop(0, 9, lambda i, s: s * 0.5 + jnp.flip(s, 0), x)).lower(x)
    assert "main_loop" not in pipeline.phase_text(source.compiler_ir("stablehlo"), "stream")
