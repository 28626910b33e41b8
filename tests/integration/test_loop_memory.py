"""Memory of inner loops that start over in every iteration of outer ones: what an iteration writes, none has in use."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax import lax

PLACES = jnp.array([0, 2])
X = np.arange(1, 6, dtype=np.int32)


def nested(update, inner):
    return lambda x: lax.fori_loop(0, 3, lambda i, k: lax.fori_loop(0, inner, lambda j, v: update(k), k), x)


def in_scan(x):
    return lax.fori_loop(0, 3, lambda i, k: lax.scan(lambda v, _: (k.at[PLACES].add(1), 0), k, None, length=4)[0], x)


PROGRAMS = {
    "add": (nested(lambda k: k.at[PLACES].add(1), 2), [4, 2, 6, 4, 5]),
    "add_more": (nested(lambda k: k.at[PLACES].add(1), 5), [4, 2, 6, 4, 5]),
    "multiply": (nested(lambda k: k.at[PLACES].multiply(2), 3), [8, 2, 24, 4, 5]),
    "repeated": (nested(lambda k: k.at[jnp.array([1, 1])].add(1), 3), [1, 8, 3, 4, 5]),
    "of_a_product": (nested(lambda k: (k * 2).at[PLACES].add(1), 2), [15, 16, 31, 32, 40]),
    "scan": (in_scan, [4, 2, 6, 4, 5]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_update_of_what_the_inner_loop_does_not_change(name):
    function, right = PROGRAMS[name]
    compiled = pyiree.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), right)
    np.testing.assert_array_equal(jax.jit(function)(X), right)
