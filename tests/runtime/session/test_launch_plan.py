"""What a plan says of a program, and which programs have none."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from pyiree.runtime.calls.launch_plan import Range, plan_of
from pyiree.runtime.hal.layout import COMMANDS_FINAL
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.session import load

X = np.arange(16, dtype=np.float32)


def plan_for(function, *args, results):
    main = load(pyiree.jit(function).lower(*args).compile().vmfb)["main"]
    return plan_of(main, [(arg.shape, arg.dtype) for arg in args], results)


def test_one_dispatch():
    plan = plan_for(lambda x, y: x + y, X, X, results=[((16,), np.dtype("f4"))])
    assert plan.allocations == (64,)
    [launch] = plan.launches
    assert launch.bindings == (Range(0, 0, 64), Range(1, 0, 64), Range(2, 0, 64))
    assert read_word(launch.place) == launch.commands
    assert read_word(launch.commands + COMMANDS_FINAL) == 1
    assert plan.results == (Range(2, 0, 64),)


def test_results_and_transients():
    def function(x):
        ordered = jnp.sort(x)
        return ordered @ ordered, ordered

    scalar, vector = ((), np.dtype("f4")), ((16,), np.dtype("f4"))
    plan = plan_for(function, X, results=[scalar, vector])
    assert len(plan.launches) == 1
    first, second = plan.results
    assert (first.length, second.length) == (4, 64)
    assert first.source != second.source
    assert {binding.source for binding in plan.launches[0].bindings} >= {0, first.source, second.source}
    assert all(plan.allocations[r.source - 1] >= r.offset + r.length for r in plan.results)


def test_control_flow_has_no_plan():
    def function(x):
        return jax.lax.while_loop(lambda c: c[0] < 1e6, lambda c: jnp.sort(c @ jnp.outer(c, c)), x)

    assert plan_for(function, X, results=[((16,), np.dtype("f4"))]) is None


@pytest.mark.parametrize("results", [[((16,), np.dtype("i4"))], [((4, 4), np.dtype("f4"))], [((8,), np.dtype("f4"))]])
def test_unexpected_results_have_no_plan(results):
    assert plan_for(lambda x: x + 1, X, results=results) is None


def test_unexpected_arguments_have_no_plan():
    main = load(pyiree.jit(lambda x: x + 1).lower(X).compile().vmfb)["main"]
    result = [((16,), np.dtype("f4"))]
    assert plan_of(main, [((16,), np.dtype("f4"))], result) is not None
    assert plan_of(main, [((16,), np.dtype("i4"))], result) is None
    assert plan_of(main, [((4, 4), np.dtype("f4"))], result) is None


@pytest.mark.parametrize("device", ["local-sync", "local-task", "null"])
def test_a_program_with_a_plan_gives_the_same(device):
    def function(x):
        return x, jnp.cumsum(x) * 2, x[2:5], x

    vmfb = pyiree.jit(function).lower(X).compile().vmfb
    specs = [((16,), np.dtype("f4")), ((16,), np.dtype("f4")), ((3,), np.dtype("f4")), ((16,), np.dtype("f4"))]
    program = load(vmfb, devices=device)["main"].bind([((16,), np.dtype("f4"))], specs)
    for _ in range(3):
        program([X])
    program.make_plan()
    for n in range(40):
        found = program([X + n])
        if device != "null":
            for ours, theirs in zip(found, function(jnp.asarray(X + n))):
                np.testing.assert_array_equal(ours, theirs)
            found[0][:] = -1  # the results share no memory
            np.testing.assert_array_equal(found[3], X + n)


