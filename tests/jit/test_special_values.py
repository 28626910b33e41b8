"""jax_debug_nans and jax_debug_infs: the errors are those of jax.jit."""

import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

MINUS, ZERO, ONE = np.float32(-1), np.float32(0), np.float32(1)


def _message(function, *args):
    with pytest.raises(FloatingPointError) as caught:
        function(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda x: jnp.log(x) * 2, MINUS),
        (lambda x: {"sum": x + 1, "roots": (jnp.sqrt(x),)}, np.array([1, -1], np.float32)),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, v: v - v / v, x), ZERO),
        (lambda x: jnp.log(x.astype(jnp.bfloat16)), MINUS),
    ],
)
def test_nans_are_refused_as_jax_does(function, value):
    compiled = pyiree.jit(function)
    for _ in range(4):  # the last calls are the native entry's
        compiled(value)
    with jax.debug_nans(True):
        assert _message(compiled, value) == _message(jax.jit(function), value)
        assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(compiled(value + 3)))
    assert jax.tree.leaves(compiled(value))


def test_infinities():
    def inverse(x):
        return 1 / x

    compiled = pyiree.jit(inverse)
    with jax.debug_infs(True):
        assert "inf" in _message(compiled, ZERO)
    with jax.debug_nans(True):
        assert np.isinf(compiled(ZERO))


def test_a_program_compiled_ahead_names_the_function():
    def logarithm(x):
        return jnp.log(x)

    program = pyiree.jit(logarithm).lower(ONE).compile()
    with jax.debug_nans(True):
        assert _message(program, MINUS) == "invalid value (nan) encountered in the results of logarithm"
        assert program(ONE) == 0


def test_other_threads_do_not_look_and_calls_become_native_again():
    from pyiree import jitted

    compiled = pyiree.jit(jnp.log)
    for _ in range(3):
        compiled(MINUS)
    assert compiled._native is not jitted._NO_RECORDS
    found = []
    with jax.debug_nans(True):
        _message(compiled, MINUS)
        thread = threading.Thread(target=lambda: found.extend(float(compiled(MINUS)) for _ in range(4)))
        thread.start()
        thread.join()
        _message(compiled, MINUS)
    assert np.isnan(found).tolist() == [True] * 4
    for _ in range(3):
        compiled(MINUS)
    assert compiled._native is not jitted._NO_RECORDS


def test_a_program_with_a_key_is_looked_at_too(tmp_path):
    script = tmp_path / "keyed.py"
    script.write_text(
        "import numpy as np, pyiree\n"
        "def f(x):\n    import jax.numpy as jnp\n    return jnp.log(x)\n"
        "f = pyiree.jit(f, cache_key='log')\n"
        "try:\n    print(f(np.float32(-1)))\n"
        "except FloatingPointError as error:\n    print(error)\n"
    )
    plain = {**os.environ, "PYIREE_CACHE_DIR": str(tmp_path / "cache")}
    outputs = [
        subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=True).stdout
        for env in (plain, plain, {**plain, "JAX_DEBUG_NANS": "True"})
    ]
    assert [output.splitlines()[-1] for output in outputs] == ["nan", "nan", "invalid value (nan) encountered in log"]


def test_one_thread_goes_on_looking_when_another_has_stopped():
    compiled = pyiree.jit(jnp.log)
    with jax.debug_nans(True):

        def other():
            with jax.debug_nans(True):
                _message(compiled, MINUS)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        for _ in range(4):
            _message(compiled, MINUS)
