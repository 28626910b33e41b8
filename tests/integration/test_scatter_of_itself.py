"""What is scattered, or where to, is what it is scattered into: all of it is read as it was."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

NUMPYS = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("shape", [(3,), (4000,), (300, 8)], ids=str)
@pytest.mark.parametrize("name", NUMPYS)
def test_updates(name, shape):
    rng = np.random.default_rng(0)
    a = rng.integers(1, 3, shape).astype(np.int32)
    index = rng.integers(0, shape[0] // 2 + 1, shape[0]).astype(np.int32)
    expected = a.copy()
    NUMPYS[name].at(expected, index, a)
    got = pyiree.jit(lambda a, index: getattr(a.at[index], name)(a))(a, index)
    np.testing.assert_array_equal(got, expected)


def test_updates_that_replace():
    a = np.arange(1, 4, dtype=np.float32)
    index = np.array([1, 2, 0], np.int32)
    np.testing.assert_array_equal(pyiree.jit(lambda a, i: a.at[i].set(a))(a, index), [3, 1, 2])
    np.testing.assert_array_equal(pyiree.jit(lambda i: i.at[i].add(i))(index), [1, 3, 2])
    halves = np.array([[1, 2], [0, 3]], np.int32)
    b = np.array([10, 20, 30, 40], np.float32)
    got = pyiree.jit(lambda b, i: b.at[i].set(b.reshape(2, 2)))(b, halves)
    np.testing.assert_array_equal(got, [30, 10, 20, 40])


def test_a_loop_that_begins_with_one_array_twice():
    def step(k, state):
        x, y = state
        return x.at[k].set(2 * y[(k + 1) % 7]), y

    a = np.arange(7, dtype=np.float32)
    x, y = pyiree.jit(lambda a: jax.lax.fori_loop(0, 5, step, (a, a)))(a)
    np.testing.assert_array_equal(x, [2, 4, 6, 8, 10, 5, 6])
    np.testing.assert_array_equal(y, a)
    again = pyiree.jit(lambda a: jax.lax.scan(lambda c, _: (c.at[jnp.array([1, 0])].set(c), c[0]), a, None, length=3))
    last, firsts = again(np.array([5, 7], np.float32))
    np.testing.assert_array_equal(last, [7, 5])
    np.testing.assert_array_equal(firsts, [5, 7, 5])
