"""Loops whose iterations work on every point alone run inside a kernel; others stay loops of the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

_RANDOM = np.random.default_rng(5)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _spin(s):
    """x, y, z turn into each other; exact in binary floating point."""
    x, y, z = s
    return jnp.stack([y * 0.5 + z, z - x * 0.25, x])


IN_A_KERNEL = {
    "scalar": (lambda x: lax.fori_loop(0, 37, lambda i, y: 0.5 * (y + x / y), x), (np.float32(3.7),)),
    "vector": (lambda x: lax.fori_loop(0, 9, lambda i, y: y * 0.5 + x, jnp.zeros_like(x)), (_f32(101),)),
    "counter": (lambda x: lax.fori_loop(3, 11, lambda i, y: y + x * i.astype(np.float32), x), (_f32(3, 70),)),
    "several": (
        lambda x, y: lax.fori_loop(0, 12, lambda i, s: (s[1] * 0.5, jnp.where(s[0] > 0, s[0], s[1])), (x, y)),
        (_f32(5, 33), _f32(5, 33)),
    ),
    "leading_elements": (lambda s: lax.fori_loop(0, 25, lambda i, a: _spin(a), s), (_f32(3, 200),)),
    "trailing_elements": (
        lambda s: lax.fori_loop(0, 25, lambda i, a: jnp.stack([a[:, 1], a[:, 0] - a[:, 1]], 1), s),
        (_RANDOM.integers(-9, 9, (50, 2), dtype=np.int32),),
    ),
    "all_elements": (lambda s: lax.fori_loop(0, 25, lambda i, a: _spin(a), s), (_f32(3),)),
    "same_for_all": (
        lambda x: lax.fori_loop(0, 8, lambda i, s: (s[0] * 0.5 + s[1], s[1] * 0.5), (x, np.float32(1))),
        (_f32(300),),
    ),
    "bounds_of_the_call": (lambda n, x: lax.fori_loop(0, n, lambda i, y: y * 0.5 + x, x), (np.int32(7), _f32(40))),
    "complex": (lambda z: lax.fori_loop(0, 4, lambda i, w: w * 0.5 + z, z), (_f32(20) + 1j * _f32(20),)),
    "bools": (
        lambda x: lax.fori_loop(0, 5, lambda i, s: (s[0] + 1.0, s[1] ^ (s[0] > 1)), (x, x > 0)),
        (_f32(37),),
    ),
    "invariants": (
        lambda x, t: lax.fori_loop(0, 6, lambda i, y: y + t[i] * x[::-1], x),
        (_f32(30), _f32(6)),
    ),
    "many_iterations": (
        lambda x: lax.fori_loop(0, 3_000_000, lambda i, y: (y * 5 + i) ^ x, x),
        (_RANDOM.integers(0, 99, (4,), dtype=np.int32),),
    ),
}


#: Loops that put slices into what they carry.
IN_MEMORY = {
    "scan_scalars": (lambda x: lax.scan(lambda c, t: (c * 0.5 + t, c * t), np.float32(0), x), (_f32(1000),)),
    "scan_backwards": (
        lambda x: lax.scan(lambda c, t: (c * 0.5 + t, c * t), jnp.zeros((5, 33), np.float32), x, reverse=True),
        (_f32(50, 5, 33),),
    ),
    "scan_of_several": (
        lambda x: lax.scan(lambda c, t: (c * 0.5 + t, (c * t, c > t)), jnp.zeros(13, np.float32), x),
        (_f32(40, 13),),
    ),
    "scan_bools": (lambda x: lax.scan(lambda c, t: (c ^ (t > 0), c), jnp.zeros(9, bool), x), (_f32(21, 9),)),
    "scan_complex": (
        lambda x: lax.scan(lambda c, t: (c * 0.5 + t, c * t), np.complex64(0), x), (_f32(30) + 1j * _f32(30),)
    ),
    "rows": (
        lambda y: lax.fori_loop(2, 37, lambda j, y: y.at[j].add(y[j - 1] * 0.5 + y[j - 2]), y), (_f32(37, 19),)
    ),
    "columns": (
        lambda y: lax.fori_loop(2, 19, lambda j, y: y.at[:, j].set(y[:, j - 1] * 0.5 + y[:, j - 2]), y),
        (_f32(37, 19),),
    ),
    "columns_and_rows_of_another": (
        lambda y, x: lax.fori_loop(0, 9, lambda i, z: z.at[:, i].set(z[:, i - 1] * 0.5 + x[i]), y),
        (_f32(7, 9), _f32(9, 7)),
    ),
    "elements": (lambda y: lax.fori_loop(1, 30, lambda j, z: z.at[j].set(z[j - 1] * 0.5 + z[j]), y), (_f32(30),)),
    "outside": (lambda y: lax.fori_loop(0, 60, lambda j, y: y.at[j].add(y[j - 1] * 0.5), y), (_f32(37, 19),)),
    "twice": (
        lambda y: lax.fori_loop(1, 20, lambda j, y: y.at[j].set(y[j - 1] * 0.5).at[j + 1].add(y[j]), y),
        (_f32(37, 19),),
    ),
    "reads_what_it_put_in": (
        lambda y: lax.fori_loop(
            1, 20, lambda j, y: (lambda z: z.at[j + 1].set(z[j] + z[j - 1]))(y.at[j].set(y[j - 1] * 0.5)), y
        ),
        (_f32(37, 19),),
    ),
    "reads_the_start": (
        lambda y: lax.fori_loop(1, 20, lambda j, z: z.at[j].set(z[j - 1] * 0.5 + y[j + 1]), y), (_f32(37, 19),)
    ),
    "one_start_for_two": (
        lambda y: lax.fori_loop(
            1, 20, lambda j, s: (s[0].at[j].set(s[1][j - 1] * 0.5), s[1].at[j].set(s[0][j - 1] + 1)), (y, y)
        ),
        (_f32(37, 19),),
    ),
    "start_used_behind": (
        lambda y: (lax.fori_loop(1, 20, lambda j, z: z.at[j].set(z[j - 1] * 0.5), y), y * 2, y), (_f32(37, 19),)
    ),
    "blocks": (
        lambda y: lax.fori_loop(
            0, 9,
            lambda j, z: lax.dynamic_update_slice(z, lax.dynamic_slice(z, (j * 2, 0), (3, 40)) * 0.5, (j * 2 + 1, 0)),
            y,
        ),
        (_f32(30, 40),),
    ),
    "some_of_a_row": (
        lambda y: lax.fori_loop(0, 9, lambda j, z: z.at[j, 3:7].set(z[j + 1, 2:6] * 2), y), (_f32(30, 40),)
    ),
    "gathered_rows": (
        lambda x, i: lax.scan(lambda c, t: (c * 0.5 + x[t], c), jnp.zeros(13, np.float32), i),
        (_f32(40, 13), _RANDOM.integers(0, 40, 30, dtype=np.int32)),
    ),
    "bounds_of_the_call": (
        lambda n, y: lax.fori_loop(1, n, lambda j, z: z.at[j].set(z[j - 1] * 0.5 + 1), y), (np.int32(0), _f32(37, 19))
    ),
    "many_iterations": (
        lambda x: lax.scan(lambda c, t: (c * 0.5 + t, c * t), np.float32(0), x), (_f32(2_000_000),)
    ),
}  # fmt: skip
IN_A_KERNEL.update({f"in_memory_{name}": program for name, program in IN_MEMORY.items()})


@pytest.mark.parametrize("name", IN_A_KERNEL)
def test_inside_a_kernel(name, traced, flow_text, run_program):
    function, arguments = IN_A_KERNEL[name]
    text = flow_text(traced(function, *arguments))
    kernels = text[: text.index("util.func public")]
    assert "scf.for" in kernels
    assert ("scf.for" in text[len(kernels) :]) == name.endswith(("many_iterations", "bounds_of_the_call"))
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, value in zip(run_program(text, *arguments, compile_from="flow"), expected, strict=True):
        # XLA contracts multiplications and additions.
        np.testing.assert_allclose(found, value, rtol=2e-6, atol=1e-5)


ON_THE_HOST = {
    "neighbours": (lambda x: lax.fori_loop(0, 5, lambda i, y: y + jnp.roll(y, 1), x), (_f32(64),)),
    "transposed": (lambda x: lax.fori_loop(0, 5, lambda i, y: y + y.T, x), (_f32(8, 8),)),
    "sum": (lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + y.sum(), x), (_f32(64),)),
    "product": (lambda x: lax.fori_loop(0, 5, lambda i, y: y @ x * 0.25, x), (_f32(8, 8),)),
    "sum_of_an_invariant": (
        lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + x[i].sum(), np.float32(0)), (_f32(5, 64),)
    ),
    "all_of_what_is_in_memory": (
        lambda x: lax.fori_loop(0, 5, lambda i, y: y.at[i].set(y[i] * 2) * 0.5, x), (_f32(64),)
    ),
    "reversed": (lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + y[::-1], x), (_f32(64),)),
}


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_on_the_host(name, traced, flow_text, run_program):
    function, arguments = ON_THE_HOST[name]
    text = flow_text(traced(function, *arguments))
    assert "scf.for" not in text[: text.index("util.func public")]
    expected = jax.jit(function)(*arguments)
    (found,) = run_program(text, *arguments, compile_from="flow")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_stays_in_memory_is_written_in_place(traced, flow_text):
    """The kernel writes over its operand; a start that others read is copied before, which the stream phase decides."""
    program, arguments = IN_MEMORY["start_used_behind"]
    text = flow_text(traced(program, *arguments))
    assert "readwrite:tensor<37x19xf32>" in text
    dispatch = next(line for line in text.splitlines() if "flow.dispatch @main_dispatch_0" in line)
    assert dispatch.endswith("-> %0")
