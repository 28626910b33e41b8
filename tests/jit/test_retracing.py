"""When a call makes a new trace, how often, and what is told about it."""

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from pyiree import config

X = np.ones(3, np.float32)


@pytest.fixture
def counted():
    """A jitted function of (x, p) and the list of its traces; jax.jit's count is the oracle."""

    class Counted:
        def __init__(self, jit):
            self.seen = []

            def f(x, p):
                self.seen.append(1)
                return x * p["k"]

            self.jitted = jit(f)

    return Counted


STEPS = [
    ("first", (X, {"k": X})),
    ("other values", (X + 1, {"k": X})),
    ("jax array", (jnp.asarray(X), {"k": X})),
    ("strided", (np.ones((3, 2), np.float32)[:, 0], {"k": X})),
    ("float64 is float32 here", (X.astype(np.float64), {"k": X})),
    ("new shape", (np.ones(4, np.float32), {"k": np.float32(2)})),
    ("rank-0 array for a numpy scalar", (np.ones(4, np.float32), {"k": np.array(2, np.float32)})),
    ("new dtype", (X.astype(np.int32), {"k": X})),
    ("python scalar", (X, {"k": 2.0})),
    ("other python scalar", (X, {"k": 3.0})),
    ("python int", (X, {"k": 3})),
    ("bool", (X, {"k": True})),
    ("new tree", (X, {"k": X, "l": X})),
    ("weak jax scalar", (X, {"k": jnp.asarray(2.0)})),
]


def test_traces_as_often_as_jax(counted):
    ours, theirs = counted(pyiree.jit), counted(jax.jit)
    for name, args in STEPS:
        ours.jitted(*args)
        theirs.jitted(*args)
        assert len(ours.seen) == len(theirs.seen), name
    assert ours.jitted.trace_count == ours.jitted._cache_size() == len(ours.seen)


def test_keyword_order_does_not_count():
    f = pyiree.jit(lambda **kwargs: kwargs["a"] - kwargs["b"])
    f(a=X, b=X)
    f(b=X, a=X)
    assert f.trace_count == 1


def test_lowering_first_makes_the_call_free():
    seen = []
    f = pyiree.jit(lambda x: seen.append(1) or x + 1)
    f.lower(X).compile()
    f(X)
    assert len(seen) == 1 and f._cache_size() == 1


def test_clear_cache_traces_again():
    seen = []
    f = pyiree.jit(lambda x: seen.append(1) or x + 1)
    f(X)
    f.clear_cache()
    assert f._cache_size() == 0
    f(X)
    pyiree.clear_caches()
    f(X)
    assert len(seen) == 3 and f.trace_count == 3


def test_functions_are_not_kept_alive():
    def make():
        def f(x):
            return x + 1

        jitted = pyiree.jit(f)
        jitted(X)
        return weakref.ref(jitted)

    reference = make()
    gc.collect()
    assert reference() is None


def test_threads_compile_once():
    seen = []

    @pyiree.jit
    def f(x):
        seen.append(1)
        return x * 2

    barrier, results = threading.Barrier(4), []

    def work():
        barrier.wait()
        results.append(f(X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1 and all((result == 2).all() for result in results)


@pytest.fixture
def log(monkeypatch, capfd):
    monkeypatch.setenv("PYIREE_LOG", "misses,compiles,cache")
    return lambda: capfd.readouterr().err


def test_a_miss_is_explained(log):
    @pyiree.jit(static_argnames="n")
    def step(params, x, n=1):
        return params["w"] * x * n

    step({"w": X}, X)
    assert "misses: step: first call" in log()
    step({"w": 2.0}, X)
    assert "misses: step: params['w']: float32[3] -> weak float32[]\n" in log()
    step({"w": X}, np.ones((2, 3), np.float32))
    assert "misses: step: x: float32[3] -> float32[2,3]\n" in log()
    step({"w": X}, X, n=4)
    assert "misses: step: static argument 'n': not given -> 4\n" in log()
    step({"w": X}, x=X)
    assert "misses: step: the structure of the arguments: " in log()
    with jax.enable_x64(True):
        step({"w": X}, X)
    assert "misses: step: jax's configuration" in log()


def test_a_compilation_is_told(log):
    def thrice(x):
        return x * 3 + 1

    pyiree.jit(thrice)(X)
    text = log()
    assert "compiles: thrice: compiled in " in text and "trace " in text and "lower " in text
    assert "cache: thrice: stored as " in text
    pyiree.jit(lambda x: thrice(x)).clear_cache()
    again = pyiree.jit(thrice)
    again(X)
    text = log()
    assert "compiles: thrice: loaded from the cache in " in text and "cache: thrice: served from " in text
    assert again.lower(X).compile().from_cache


def test_nothing_is_told_unasked(capfd):
    assert config.log == ()
    pyiree.jit(lambda x: x * 5)(X)
    assert capfd.readouterr().err == ""
