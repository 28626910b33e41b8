"""Programs that chains of random ops were wrong in, one for each kind of fault, beside jax.jit or NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax import lax


def same_as_jax(function, *arguments, rtol=0.0):
    """Runs a function with both compilers; every result has the same bits, or is as close as `rtol`."""
    ours = jax.tree.leaves(pyiree.jit(function)(*arguments))
    theirs = jax.tree.leaves(jax.jit(function)(*arguments))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        other = np.asarray(other)
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=0, equal_nan=True)


RAMP = (np.arange(31) * 0.5 - 10).astype(np.float32)
FLAGS = np.arange(66).reshape(6, 11) % 3 == 0
COMPLEX = (np.arange(6) + 1j * np.arange(6)[::-1]).astype(np.complex64)


def test_an_operand_read_along_both_dims_beside_a_larger_result():
    def differences(x, y):
        less = y[None, :] < x[:, None]
        return x[:, None] - x[None, :], less, ~less

    same_as_jax(differences, RAMP, 2 * RAMP)


def test_sorts_of_booleans():
    same_as_jax(lambda x: (jnp.sort(x), jnp.argsort(x, axis=0), jnp.sort(x, descending=True)), FLAGS)


def test_sorts_of_four_bit_integers():
    numbers = np.arange(-8, 8, dtype=np.int8)
    mixed = np.ascontiguousarray(numbers.reshape(4, 4).T.ravel())
    ours = pyiree.jit(lambda x: jnp.sort(x.astype(jnp.int4)).astype(jnp.int8))(mixed)
    np.testing.assert_array_equal(ours, numbers)


@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_scatters_of_booleans(mode):
    places = np.array([3, 0, 3, 99, -1], np.int32)
    same_as_jax(
        lambda x, i: (x.at[i].set(True, mode=mode), x.at[i].max(x[0], mode=mode), x.at[i].min(x[1], mode=mode)),
        FLAGS, places,
    )  # fmt: skip


def test_scatters_of_complex_numbers():
    places = np.array([1, 1, 9, 3], np.int32)
    same_as_jax(lambda x, i: (x.at[i].add(x[:4]), x.at[i].multiply(2j)), COMPLEX, places)


def test_sorts_and_scans_of_complex_numbers():
    numbers = (np.arange(-20, 20).reshape(4, 10) % 7 + 1j * (np.arange(40).reshape(4, 10) % 3)).astype(np.complex64)
    same_as_jax(lambda x: (jnp.sort(x), jnp.argsort(x, axis=0), lax.sort((x, x.real), num_keys=2)[1]), numbers)
    same_as_jax(lambda x: (jnp.cumsum(x, 0), lax.cumsum(x, 1, reverse=True), jnp.cumprod(x[:, :3], 1)), numbers)


def test_long_scan_of_complex_numbers():
    numbers = (np.arange(100_000) % 5 - 1j * (np.arange(100_000) % 3)).astype(np.complex64)
    np.testing.assert_array_equal(pyiree.jit(jnp.cumsum)(numbers), np.cumsum(numbers.astype(np.complex128)))


def test_results_without_elements_beside_others():
    def function(x):
        rows = jnp.argmax(x, axis=1)
        return rows, jnp.zeros((4, 0, 3))[rows] + 1, x[:, :0].sum(1), x.at[:, 2:2].set(x[:, :0])

    same_as_jax(function, np.arange(32, dtype=np.float32).reshape(4, 8))


def test_loops_nested_sixteen_deep():
    """What is known of the order of work in each loop is worked out once, not once for every way into it."""

    def nested(depth):
        if depth == 0:
            return lambda i, c: (jnp.sin(c[0]) + i, c[1])
        return lambda i, c: (lax.fori_loop(0, c[1], nested(depth - 1), c)[0] * 0.5 + i, c[1])

    same_as_jax(lambda x, n: lax.fori_loop(0, 3, nested(15), (x, n))[0], RAMP, np.int32(1), rtol=1e-6)


def test_a_contraction_of_nothing_of_complex_numbers():
    same_as_jax(lambda x, y: (x.T @ y, x), np.zeros((0, 7), np.complex64), np.zeros((0, 5), np.complex64))


def test_branches_in_the_body_of_a_reduction():
    def larger(a, b):
        return lax.cond(a > b, lambda: a, lambda: b * 1)

    def mixed(a, b):
        # Among the branches one that divides by what may be zero; a number past the last means the last.
        at = lax.convert_element_type(b, np.int32) % 4 - 1
        return lax.switch(at, [lambda: a + b, lambda: jnp.where(b == 0, a, a - 8 / b), lambda: jnp.maximum(a, b)])

    numbers = np.array([3, -7, 0, 5, 1, -2, 4, 9, 0, 6], np.float32)
    assert pyiree.jit(lambda x: lax.reduce(x, np.float32(-9), larger, (0,)))(numbers) == 9
    windows = pyiree.jit(lambda x: lax.reduce_window(x, np.float32(-9), larger, (3,), (1,), "VALID"))(numbers)
    np.testing.assert_array_equal(windows, [max(numbers[i : i + 3]) for i in range(8)])
    # `mixed` isn't associative: one number, folded once into the initial value.
    for number in numbers:
        wanted = mixed(jnp.float32(-9), jnp.float32(number))
        folded = pyiree.jit(lambda x: lax.reduce(x, np.float32(-9), mixed, (0,)))(number[None])
        assert folded == np.asarray(wanted)


@pytest.mark.parametrize("counted", [True, False])
def test_loops_that_carry_more_arrays_than_a_dispatch_binds(counted):
    def step(arrays):
        return tuple(jnp.flip(v) * 0.5 + v.sum() * 0.01 + 1 for v in arrays)

    def loop(*arrays):
        if counted:
            return lax.fori_loop(0, 7, lambda i, c: step(c), arrays)
        return lax.while_loop(lambda c: c[0].sum() < 10, step, arrays)

    same_as_jax(loop, *[np.ones(5 + k, np.float32) for k in range(30)], rtol=1e-5)


def test_a_branch_that_turns_out_to_be_dead_while_it_is_cleaned_up():
    def doubled(x):
        def step(state):
            jax.debug.callback(lambda *_: None, state[1])
            return state[0] + 1, state[1] * 2

        return lax.while_loop(lambda s: (s[0] < 6) & (jnp.sum(s[1]) < 9), step, (0, x))[1]

    def function(x):
        k, x = lax.fori_loop(0, 3, lambda i, c: (jnp.int32(0), c[1] * 2), (jnp.int32(0), x))
        return lax.cond(k % 3 == 1, doubled, lambda x: x + 1, x)

    same_as_jax(function, np.ones(7, np.float32))


def test_long_chains_whose_values_the_gradient_reads():
    """More values than one kernel can store, and copies of slices in groups that were cut."""

    def unrolled(a, c):
        total = 0.0
        for row in a:
            c, total = jnp.sin(c + row), total + (c * row).sum()
        return total

    def scanned(a, c):
        return lax.scan(lambda c, row: (jnp.sin(c + row), c * row), c, a, unroll=True)[1].sum()

    c = np.ones(3, np.float32)
    for function in (unrolled, scanned):
        for length in (41, 56, 60):
            a = np.full((length, 3), 1 / length, np.float32)
            same_as_jax(jax.grad(function, (0, 1)), a, c, rtol=2e-5)


def test_rows_of_reductions_whose_operands_are_read_along_other_dims():
    def function(a, c, v, w, flag):
        g = w[v.astype(jnp.int32)]
        beside = jnp.where(flag > 0, v[:, None] * g[None], c)
        return jnp.where(flag > 0, g, a.sum(0)), beside, jnp.where(flag > 0, v, c.sum(0))

    numbers = np.random.default_rng(0).integers(0, 4, size=(4, 4)).astype(np.float32)
    for flag in (0, 1):
        same_as_jax(function, numbers, numbers.T, numbers[0], numbers[1], np.int32(flag))


@pytest.mark.parametrize("size", [8, 33])
def test_blocks_of_the_host_that_wait_for_one_another(size):
    """The running sums of 33 rows are too much for the dispatch that goes through the loop."""

    def work(carried):
        a, b, c, t = carried
        t = (t + 1) % 17
        b = jnp.cumsum(b, 0) % 5
        a, c = lax.cond(t == 1, lambda: (lax.dynamic_update_slice(a, b[:1], (t, 0)), b[::-1]), lambda: (a, c))
        return a, jnp.cumsum(c, 1) % 5, c, t

    def function(*carried):
        return lax.fori_loop(0, 3, lambda i, c: lax.cond(c[3] % 3 == 0, work, lambda c: c, c), carried)

    numbers = np.random.default_rng(1).integers(0, 4, size=(3, size, size)).astype(np.float32)
    for start in (0, 3, 4):
        same_as_jax(function, *numbers, np.int32(start))
