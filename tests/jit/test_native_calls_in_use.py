"""Native calls that last, fail, call again, come from many threads: and nothing leaks."""

import gc
import os
import signal
import sys
import threading
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from pyiree.runtime.calls.caller_table import native_calls_work

pytestmark = pytest.mark.skipif(
    not native_calls_work(type(pyiree.jit(abs))), reason="objects of this Python lie otherwise in memory"
)

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = X[::-1].copy()


def test_jax_arrays_leave_nothing_behind(called_natively, live_blocks):
    f = pyiree.jit(lambda x, t: [x + 1, t["a"]])
    arguments = (jnp.asarray(X), {"a": jnp.asarray(Y)})
    objects = [arguments[0], arguments[1], arguments[1]["a"]]
    called_natively(f, *arguments)
    gc.collect()
    before, blocks, memory = [sys.getrefcount(item) for item in objects], live_blocks(), sys.getallocatedblocks()
    for _ in range(20_000):
        f(*arguments)
    gc.collect()
    after = [sys.getrefcount(item) for item in objects]
    assert after == before
    assert live_blocks() - blocks < 10  # XLA lets go of what it borrows a little later
    assert sys.getallocatedblocks() - memory < 1000


def test_a_long_call_can_be_interrupted(called_natively, went_native):
    f = pyiree.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, c: jnp.sort(jnp.tanh(c @ c), axis=0), x))
    x = np.full((200, 200), 0.01, np.float32)
    once = called_natively(f, x, np.int32(1))
    for _ in range(2):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            f(x, np.int32(100_000_000))
    np.testing.assert_array_equal(f(x, np.int32(1)), once)
    assert went_native(f)


def test_a_callback_may_call_the_function_again():
    shape = jax.ShapeDtypeStruct((4,), np.float32)

    def function(x, depth):
        def again(value, depth):
            return np.asarray(f(np.asarray(value), int(depth) - 1)) if depth > 0 else np.asarray(value)

        return jax.pure_callback(again, shape, x, depth) + 1

    f = pyiree.jit(function)
    x = np.zeros(4, np.float32)
    for _ in range(4):
        np.testing.assert_array_equal(f(x, 3), [4, 4, 4, 4])


def test_a_callback_that_raises_leaves_nothing_behind(live_blocks):
    def refuse(value):
        if value[0] < 0:
            raise ValueError("negative")
        return np.asarray(value)

    f = pyiree.jit(lambda x: jax.pure_callback(refuse, jax.ShapeDtypeStruct((4,), np.float32), x) + 1)
    good, bad = np.zeros(4, np.float32), np.full(4, -1, np.float32)
    for _ in range(3):
        f(good)
        with pytest.raises(Exception, match="negative"):
            f(bad)
    gc.collect()
    before, blocks = [sys.getrefcount(good), sys.getrefcount(bad)], live_blocks()
    for _ in range(200):
        f(good)
        with pytest.raises(Exception, match="negative"):
            f(bad)
    gc.collect()
    after = [sys.getrefcount(good), sys.getrefcount(bad)]
    assert after == before
    assert live_blocks() <= blocks  # what other tests left may go meanwhile


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_forked_child_calls_on(called_natively, went_native):
    f = pyiree.jit(lambda x: x + 1)
    called_natively(f, X)
    child = os.fork()
    if child == 0:
        os._exit(0 if (f(X) == X + 1).all() and went_native(f) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_calls_leave_nothing_behind(called_natively, live_blocks, count):
    f = pyiree.jit(lambda x, y, n, t: (x + y * n, {"a": t["a"][0], "n": None}))
    arguments = (X, Y, 2.5, {"a": [X]})
    objects = [X, Y, arguments[2], arguments[3], arguments[3]["a"]]
    objects += [X.dtype, None, tuple, f]  # the whole process holds these: what other tests left may go meanwhile
    called_natively(f, *arguments)
    gc.collect()
    before, blocks, memory = [sys.getrefcount(item) for item in objects], live_blocks(), sys.getallocatedblocks()
    for _ in range(count):
        f(*arguments)
    gc.collect()
    after = [sys.getrefcount(item) for item in objects]
    assert after[:5] == before[:5]
    assert all(abs(now - count) < 100 for now, count in zip(after[5:], before[5:]))
    assert live_blocks() <= blocks  # what other tests left may go meanwhile
    assert sys.getallocatedblocks() - memory < 1000


def test_failures_leave_nothing_behind(called_natively, live_blocks):
    f = pyiree.jit(lambda x, n: x + n)
    device = pyiree.device_put(X)
    called_natively(f, X.astype(np.int32), 1)
    called_natively(f, device, 1)
    whole, dead, huge = X.astype(np.int32), pyiree.device_put(X), 2**40
    dead.delete()
    objects = [X, whole, device, dead, huge]
    gc.collect()
    before, blocks = [sys.getrefcount(item) for item in objects], live_blocks()
    tracemalloc.start()
    for _ in range(2000):
        for args in ((whole, huge), (device, huge), (dead, 1)):
            with pytest.raises((OverflowError, RuntimeError)):
                f(*args)
    del args
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert [sys.getrefcount(item) for item in objects] == before
    assert live_blocks() <= blocks  # what other tests left may go meanwhile
    assert held < 500_000


def test_many_threads_call_one_function(called_natively):
    f = pyiree.jit(lambda x, n, t: [x * n, t["a"]])
    arrays = [np.full(16, k, np.float32) for k in range(16)]
    called_natively(f, arrays[0], 1.0, {"a": arrays[0]})
    wrong = []

    def work(k):
        device = pyiree.device_put(arrays[k])
        for n in range(10_000):
            product, passed = f(arrays[k], float(n), {"a": arrays[k]})
            if product[3] != k * n or passed[5] != k:
                wrong.append((k, n))
            if n % 100 == 0:
                result = f(device, float(n), {"a": device})[0]
                if type(result) is not pyiree.Array or np.asarray(result)[7] != k * n:
                    wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    counts = [sys.getrefcount(array) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert [sys.getrefcount(array) for array in arrays] == counts


def test_threads_meet_new_signatures_and_cleared_caches():
    f = pyiree.jit(lambda x: x + 1)
    wrong = []

    def work(k):
        for n in range(300):
            array = np.full(1 + (n + k) % 5, k, np.float32)
            if n % 100 == 50 and k == 0:
                f.clear_cache()
            if not (f(array) == k + 1).all():
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_programs_of_any_length(called_natively):
    """Short ones have a plan and run without the interpreter, those that last give the GIL up."""
    g = pyiree.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, c: jnp.tanh(c @ x), x))
    x = np.eye(64, dtype=np.float32)
    np.testing.assert_allclose(called_natively(g, x), jax.jit(g.__wrapped__)(x), rtol=1e-5)
    tree = {f"k{k}": np.full(3, k, np.float32) for k in range(200)}
    add = pyiree.jit(lambda t: jax.tree.map(lambda a: a + 1, t))
    for _ in range(70):
        result = called_natively(add, tree)
    assert all((result[f"k{k}"] == k + 1).all() for k in range(200))
