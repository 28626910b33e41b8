"""Mutable arrays (`jax.new_ref`), passed and closed over: their new values, and the results, are those of jax.jit."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest


def argument(jit):
    ref = jax.new_ref(jnp.arange(3.0))

    def step(ref, x):
        ref[0] = ref[1] * 10 + x
        return ref[0] * x

    step = jit(step)
    return [step(ref, x) for x in (1.0, 2.0, np.float32(3))], ref[...]


def closed_over(jit):
    ref = jax.new_ref(jnp.arange(3.0))

    def step(x):
        ref[0] = ref[1] * 10 + x
        ref[1] = ref[0]
        return x * ref[0]

    step = jit(step)
    return [step(jnp.float32(x)) for x in range(4)], ref[...]


def several_and_an_unused_argument(jit):
    total, last, count = jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.zeros(2, "int8"))

    def step(refs, unused, x):
        refs["total"][...] += refs["last"][...]
        refs["last"][:2] = x[:2]
        count[1] += 1
        return x.sum(), refs["total"][...]

    step = jit(step)
    results = [step({"total": total, "last": last}, jnp.ones(2), jnp.arange(4.0)) for _ in range(3)]
    return results, total[...], last[...], count[...]


def exchanged(jit):
    def exchange(a, b):
        a[...], b[...] = b[...], a[...]

    a, b = jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.ones(3))
    exchange = jit(exchange)
    exchange(a, b)
    exchange(b, a)
    exchange(a, b)
    return a[...], b[...]


def in_loops_and_branches(jit):
    def fill(ref, x):
        def step(i, carry):
            ref[i] = ref[(i - 1) % 5] + x
            return carry

        def mark():
            ref[0] = 9.0

        jax.lax.fori_loop(0, 5, step, 0)
        jax.lax.cond(x > 1, mark, lambda: None)

    ref = jax.new_ref(jnp.zeros(5))
    fill = jit(fill)
    fill(ref, 1.0)
    fill(ref, 2.0)
    return ref[...]


def keys(jit):
    def draw(state):
        state[...], key = jax.random.split(state[...])
        return jax.random.uniform(key)

    state = jax.new_ref(jax.random.key(0))
    draw = jit(draw)
    return [draw(state) for _ in range(3)], jax.random.key_data(state[...])


def values_read_before_stay(jit):
    def add_one(ref):
        ref[...] += 1

    ref = jax.new_ref(jnp.arange(3.0))
    add_one = jit(add_one)
    values = [ref[...]]
    for _ in range(3):
        add_one(ref)
        values.append(ref[...])
    return values


def compiled_ahead(jit):
    def clear(ref):
        ref[0] = 7.0

    ref = jax.new_ref(jnp.arange(3.0))
    jit(clear).lower(ref).compile()(ref)
    return ref[...]


def mapped(jit):
    def put(ref, x):
        ref[0] = x

    ref = jax.new_ref(jnp.zeros((3, 2)))
    jit(jax.vmap(put))(ref, jnp.arange(3.0))
    return ref[...]


def beside_immutable_ones(jit):
    double = jit(lambda a: a[...] * 2)
    values = jnp.arange(3.0)
    return double(values), double(jax.new_ref(values)), double(values + 1), double(jax.new_ref(values + 1))


@pytest.mark.parametrize(
    "program",
    [
        argument,
        closed_over,
        several_and_an_unused_argument,
        exchanged,
        in_loops_and_branches,
        keys,
        values_read_before_stay,
        compiled_ahead,
        mapped,
        beside_immutable_ones,
    ],
    ids=lambda program: program.__name__,
)
def test_as_jax_has_it(program):
    expected, actual = program(jax.jit), program(pyiree.jit)
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected)):
        assert isinstance(a, jax.Array) and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("jit", [jax.jit, pyiree.jit])
def test_one_can_not_be_two_arguments(jit):
    ref = jax.new_ref(jnp.zeros(5))
    with pytest.raises(ValueError, match="mutable array"):
        jit(lambda a, b: a[...] + b[...])(ref, ref)
    with pytest.raises(ValueError, match="mutable array"):
        jit(lambda a: a[...] + ref[...])(ref)
    np.testing.assert_array_equal(ref[...], np.zeros(5))


def test_what_a_program_was_compiled_for_is_named():
    compiled = pyiree.jit(lambda a: a[...] * 2).lower(jax.new_ref(jnp.zeros(3))).compile()
    with pytest.raises(TypeError, match=r"mutable float32\[3\] as a, not float32\[3\]"):
        compiled(jnp.zeros(3))


def test_numpy_arguments_beside_a_closed_over_one():
    ref = jax.new_ref(jnp.zeros(3))

    @pyiree.jit
    def add(x):
        ref[...] += x
        return x + 1

    for _ in range(3):
        result = add(np.ones(3, np.float32))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(ref[...], np.full(3, 3.0))
