"""Functions of Python that compiled programs call: their arguments, results, order and errors."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax.experimental import io_callback
from pyiree import config
from pyiree.runtime.vmfb.errors import ModuleError

X = np.arange(6, dtype="float32").reshape(2, 3)
F32 = jnp.float32


def like(array, dtype=None):
    return jax.ShapeDtypeStruct(array.shape, array.dtype if dtype is None else dtype)


def test_a_pure_callback_is_a_function_of_arrays():
    f = pyiree.jit(lambda x: jax.pure_callback(np.sin, like(x), x * 2) + x)
    np.testing.assert_allclose(f(X), np.sin(2 * X) + X, rtol=1e-6)


def test_debug_callback_and_print(capfd):
    seen = []

    @pyiree.jit
    def f(x):
        jax.debug.callback(seen.append, x * 2)
        jax.debug.print("first {a}, sum {b}", a=x[0, 0], b=x.sum())
        return x + 1

    assert np.array_equal(f(X), X + 1)
    assert np.array_equal(seen[0], X * 2)
    assert capfd.readouterr().out == "first 0.0, sum 15.0\n"


def test_ordered_callbacks_in_a_loop_and_branches():
    log = []

    def note(name):
        return lambda *values: log.append((name, *[int(v) for v in values]))

    @pyiree.jit
    def f(x, flag):
        def body(i, total):
            io_callback(note("loop"), None, i, ordered=True)
            number = io_callback(lambda i: np.float32(i), jax.ShapeDtypeStruct((), F32), i, ordered=True)
            return total + number

        total = jax.lax.fori_loop(0, 3, body, x.sum())

        def branch(name):
            def taken(t):
                io_callback(note(name), None, ordered=True)
                return t

            return taken

        total = jax.lax.cond(flag, branch("yes"), branch("no"), total)
        io_callback(note("end"), None, total, ordered=True)
        return total

    assert f(X, np.bool_(True)) == 18
    assert log == [("loop", 0), ("loop", 1), ("loop", 2), ("yes",), ("end", 18)]
    log.clear()
    f(X, np.bool_(False))
    assert log[-2:] == [("no",), ("end", 18)]


def test_an_error_reaches_the_caller_and_the_program_can_be_called_again():
    def picky(v):
        if v[0] < 0:
            raise LookupError("no negative numbers")
        return v

    f = pyiree.jit(lambda x: jax.pure_callback(picky, like(x), x) * 2)
    with pytest.raises(LookupError, match="no negative numbers"):
        f(np.array([-1.0, 2], "float32"))
    assert np.array_equal(f(np.array([1.0, 2], "float32")), [2, 4])


def test_a_result_of_another_shape_is_an_error():
    f = pyiree.jit(lambda x: jax.pure_callback(lambda v: v[0], like(x), x))
    with pytest.raises(RuntimeError, match=r"[Ii]ncorrect output shape"):
        f(X)


def test_a_callback_may_call_compiled_programs_and_its_own():
    def halve(x, depth):
        if not depth:
            return x
        return jax.pure_callback(lambda v: program(v, depth - 1), like(x), x / 2)

    program = pyiree.jit(halve, static_argnums=1)
    assert program(np.float32(8), 3) == 1

    @pyiree.jit
    def itself(x):
        return jax.lax.cond(
            x > 0, lambda x: jax.pure_callback(lambda v: itself(np.asarray(v)), like(x), x - 1) + 1, lambda x: x, x
        )

    assert itself(np.float32(3)) == 3


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "complex64"])
def test_types_come_and_go(dtype):
    x = jnp.asarray(X[:, ::2]).astype(dtype)
    got = pyiree.jit(lambda x: jax.pure_callback(lambda v: v[::-1], like(x), x))(x)
    assert isinstance(got, jax.Array) and got.dtype == x.dtype
    assert np.array_equal(got, x[::-1])


def test_empty_arrays_and_no_arguments():
    f = pyiree.jit(lambda x: (jax.pure_callback(lambda v: v, like(x[:0]), x[:0]), io_callback(lambda: 7, jnp.int32(0))))
    empty, number = f(X)
    assert empty.shape == (0, 3) and number == 7


def test_arguments_may_be_kept():
    kept = []
    x = X.copy()
    pyiree.jit(lambda x: io_callback(kept.append, None, x))(x)
    x[:] = -1
    assert np.array_equal(kept[0], X)


def test_what_a_callback_reads_is_not_overwritten_before():
    @pyiree.jit
    def f(x):
        y = x * 2
        total = jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), F32), y)
        return total, y.at[0].set(100)

    total, changed = f(X)
    assert total == 30
    assert np.array_equal(changed, [[100, 100, 100], [6, 8, 10]])


def test_vmap_and_scan():
    f = pyiree.jit(
        jax.vmap(lambda r: jax.pure_callback(np.cumsum, like(r), r, vmap_method="sequential")),
    )
    assert np.array_equal(f(X), np.cumsum(X, 1))

    @pyiree.jit
    def g(x):
        return jax.lax.scan(lambda c, r: (c + jax.pure_callback(np.max, like(c), r), c), F32(0), x)

    last, before = g(X)
    assert last == 7 and np.array_equal(before, [0, 2])


def test_threads_call_at_once():
    f = pyiree.jit(lambda x: jax.pure_callback(lambda v: v + 1, like(x), x) * 2)
    f(X)
    results = {}

    def call(n):
        results[n] = [f(X + n) for _ in range(20)]

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, got in results.items():
        assert all(np.array_equal(g, 2 * (X + n + 1)) for g in got)


def test_such_programs_are_not_stored_and_the_log_says_so(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(config, "cache_dir", tmp_path)
    monkeypatch.setenv("PYIREE_LOG", "cache")

    def asks(x):
        return jax.pure_callback(lambda v: v, like(x), x)

    pyiree.jit(asks)(X)
    assert not list(tmp_path.rglob("*.vmfb"))
    assert "asks: not kept on disk, since it calls functions of this process" in capfd.readouterr().err


def test_another_runtime_is_told_what_is_missing():
    vmfb = pyiree.jit(lambda x: jax.pure_callback(lambda v: v, like(x), x)).lower(X).compile().vmfb
    with pytest.raises(ModuleError, match="pyiree_callback"):
        pyiree.program.Program(vmfb).main(X)


def test_saving_what_nothing_else_can_run_is_warned_of(tmp_path):
    def asks(x):
        return jax.pure_callback(lambda v: v, like(x), x)

    compiled = pyiree.jit(asks).lower(X).compile()
    path = tmp_path / "asks.vmfb"
    message = "asks.vmfb needs the Python functions of this process that asks calls back: nothing else can run it"
    with pytest.warns(UserWarning, match=message) as caught:
        compiled.save(path)
    assert caught[0].filename == __file__ and path.read_bytes() == compiled.vmfb


class _Refused(OSError):
    def __init__(self, what, code):
        super().__init__(what)
        self.code = code


class _FromNothing(Exception):
    def __new__(cls):
        return super().__new__(cls)


@pytest.mark.parametrize("error", [ValueError("no luck"), _Refused("no luck", 7), KeyError("no luck"), _FromNothing()])
def test_an_error_is_what_was_raised_and_what_jax_raises(error):
    """`jax.jit` gives a JaxRuntimeError whose text names the class; code written for it must catch ours too."""

    def fail(x):
        raise error

    def program(x):
        return jax.pure_callback(fail, jax.ShapeDtypeStruct((), x.dtype), x)

    with pytest.raises(jax.errors.JaxRuntimeError) as theirs:
        jax.block_until_ready(jax.jit(program)(jnp.float32(1)))
    with pytest.raises(jax.errors.JaxRuntimeError) as ours:
        pyiree.jit(program)(jnp.float32(1))
    assert isinstance(ours.value, type(error)) and ours.value.args == error.args
    for caught in (ours, theirs):
        assert type(error).__name__ in str(caught.value)
        assert all(str(argument) in str(caught.value) for argument in error.args)
    assert getattr(ours.value, "code", None) == getattr(error, "code", None)
    assert ours.value.__cause__ is error


def _wrong_shape(x):
    return np.zeros(3, x.dtype)


def _fails(x):
    raise OSError("no such disk")


@pytest.mark.parametrize("call", [jax.pure_callback, io_callback], ids=["pure", "io"])
@pytest.mark.parametrize("function", [_wrong_shape, _fails])
def test_an_error_says_where_the_function_is(function, call):
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        pyiree.jit(lambda x: call(function, jax.ShapeDtypeStruct((), x.dtype), x))(jnp.float32(1))
    text = str(caught.value)
    if function is _wrong_shape:
        assert "Incorrect output shape" in text
        assert f"(the callback is _wrong_shape, {__file__}:{_wrong_shape.__code__.co_firstlineno})" in text
    else:
        assert "no such disk" in text
        assert f"(raised in _fails, {__file__}:{_fails.__code__.co_firstlineno + 1})" in text
