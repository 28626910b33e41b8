"""jax's private names: a new jax that moves one fails here, with a text that says so."""

import ast
import importlib
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun

ADVICE = f"jax {jax.__version__} moved a private name that jit/jax_internals.py uses: adapt that file (and only it)"


@pytest.fixture(scope="module")
def internals():
    try:
        return importlib.import_module("pyiree.jax_internals")
    except (ImportError, AttributeError) as error:
        pytest.fail(f"{ADVICE}: {error}")


def test_only_one_file_knows_private_names(project_root):
    for path in (project_root / "jit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            private = [n for n in names if n.startswith("jax._src") or (n.split(".")[0] == "jaxlib" and "." in n)]
            assert not private or path.name == "jax_internals.py", f"{path}: {private}"


def test_every_name_is_there(internals):
    missing = [name for name in internals.__all__ if not hasattr(internals, name)]
    assert not missing, f"{ADVICE}: {missing}"


def test_the_version_that_is_installed_is_one_that_is_promised(project_root):
    text = pathlib.Path(project_root / "pyproject.toml").read_text()
    assert '"jax>=0.10.2,<0.11"' in text and jax.__version_info__ >= (0, 10, 2), ADVICE


def test_trace_state(internals):
    assert internals.trace_state_clean(), ADVICE
    seen = []
    jax.jit(lambda x: seen.append(internals.trace_state_clean()) or x)(1.0)
    jax.vmap(lambda x: seen.append(internals.trace_state_clean()) or x)(jnp.ones(2))
    jax.grad(lambda x: seen.append(internals.trace_state_clean()) or x)(1.0)
    assert seen == [False] * 3, ADVICE


def test_trace_context_follows_the_configuration(internals):
    base = internals.trace_context()
    assert hash(base) is not None and base == internals.trace_context(), ADVICE
    with jax.enable_x64(True):
        assert internals.trace_context() != base, ADVICE
    with jax.default_matmul_precision("highest"):
        assert internals.trace_context() != base, ADVICE
    with jax.disable_jit():
        assert internals.trace_context() != base, ADVICE


def test_jit_arguments(internals):
    def f(a, b, c):
        return a

    got = internals.jit_arguments(jax.jit(f, static_argnums=1, donate_argnames="c"))
    assert got == ((1,), ("b",), (2,), ("c",)), ADVICE


def test_lowering(internals):
    def f(x, unused, key):
        return x + 1, key

    traced = jax.jit(f, donate_argnums=0).trace(np.ones(3, np.float32), 2.0, jax.random.key(0))
    lowering = internals.lower_for_cpu(traced)
    assert lowering.kept == (0, 2) and lowering.donated == (True, False), ADVICE
    assert [aval.shape for aval in lowering.in_avals] == [(3,), ()], ADVICE
    assert [str(aval.dtype) for aval in lowering.out_avals] == ["float32", "key<fry>"], ADVICE
    assert not lowering.calls_host, ADVICE
    text = internals.module_text(lowering.module, True, True)
    assert "test_jax_internals.py" in text, ADVICE
    assert "jax_internals.py" not in text.replace("test_jax_internals.py", ""), ADVICE
    assert b"test_jax_internals" not in internals.bytes_without_locations(lowering.module), ADVICE


def test_host_calls_are_seen(internals):
    def f(x):
        jax.debug.print("{}", x)
        return x

    assert internals.lower_for_cpu(jax.jit(f).trace(1.0)).calls_host, ADVICE

    def g(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x)

    assert internals.lower_for_cpu(jax.jit(g).trace(1.0)).calls_host, ADVICE


def test_lifted_constants(internals):
    big, small = np.ones((50, 50), np.float32), np.ones(2, np.float32)
    inner = jax.jit(lambda x: x @ big)

    def f(x):
        return inner(x) + inner(x * 2) + big[0, 0], big, small

    traced = jax.jit(f).trace(np.ones((3, 50), np.float32))
    lifted, constants = internals.lift_constants(traced, 100)
    assert [c.shape for c in constants] == [(50, 50)], ADVICE
    got = jaxpr_as_fun(lifted.jaxpr)(big, np.ones((3, 50), np.float32))
    want = f(np.ones((3, 50), np.float32))
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b)
    assert internals.lift_constants(traced, 10**9) == (traced, []), ADVICE


def test_device_arrays(internals):
    raw = np.zeros(64 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    array = raw[start : start + 48].view(np.float32).reshape(3, 4)
    put = internals.put_on_device(array, internals.shaped_array((3, 4), np.dtype("float32"), True))
    assert isinstance(put, internals.ArrayImpl) and put.weak_type, ADVICE
    assert put.unsafe_buffer_pointer() == array.ctypes.data, "results are copied on their way to jax"
    assert internals.device_layout(put) == internals.device_layout(jnp.zeros((3, 4))), ADVICE


def test_keys(internals):
    key = jax.random.key(3)
    data = internals.key_data(key)
    assert isinstance(key, internals.PRNGKeyArray) and isinstance(key.dtype, internals.ExtendedDType), ADVICE
    assert internals.key_type(key.dtype) == (data.shape, data.dtype), ADVICE
    assert (internals.wrap_key(data, key.dtype) == key).all(), ADVICE
    assert internals.key_kind(key) == internals.key_kind(jax.random.key(4)), ADVICE
    assert internals.key_kind(key) != internals.key_kind(jax.random.key(3, impl="rbg")), ADVICE
