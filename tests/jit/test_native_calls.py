"""Calls that the native entry makes: their results, what they leave to Python, and that nothing leaks."""

import functools
import gc
import inspect
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from pyiree.runtime.calls.caller_table import native_calls_work

pytestmark = pytest.mark.skipif(
    not native_calls_work(type(pyiree.jit(abs))), reason="objects of this Python lie otherwise in memory"
)


def assert_same(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        assert np.asarray(ours).dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = X[::-1].copy()


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (lambda x, y: x + y, (X, Y), {}),
        (lambda x: x, (X,), {}),
        (lambda x: (x, x, x + 1), (X,), {}),
        (lambda x, y: x * 2, (X, Y), {}),  # an argument that is not used
        (lambda: jnp.arange(3), (), {}),
        (lambda x: x[:0], (X,), {}),
        (lambda x: jnp.sort(x @ x.T)[::-1], (X,), {}),
        (lambda x: (x, None, [x + 1, {"b": x * 2, "a": ()}]), (X,), {}),
        (lambda t: jax.tree.map(lambda a: a + 1, t), ({"b": X, "a": [Y, (X, None)], "c": {}},), {}),
        (lambda t: t[2] - t[1], ({2: X, 1: Y},), {}),
        (lambda x, *, k, j: x * k - j, (X,), {"k": Y, "j": X}),
        (lambda x, n: x * n, (X, 3), {}),
        (lambda x, n: x + n, (X.astype(np.int32), -5), {}),
        (lambda x, n: x * n, (X, 2.5), {}),
        (lambda x, n: x * n, (X, 1e-30), {}),
        (lambda x, n: x * n, (X, float("nan")), {}),
        (lambda x, n: x + n, (X, 1.5 - 2j), {}),
        (lambda x, n: jnp.where(n, x, -x), (X, True), {}),
        (lambda x, n: x + n, (X, np.float32(3)), {}),
        (lambda x, n: x + n, (X.astype(np.uint8), np.int16(-7)), {}),
        (lambda n: n + 1, (1.5,), {}),
        (lambda x: x.astype(jnp.bfloat16) * 2, (X,), {}),
        (lambda x: x > 3, (X,), {}),
    ],
)
def test_results_are_those_of_jax(function, args, kwargs, called_natively):
    found = called_natively(pyiree.jit(function), *args, **kwargs)
    assert_same(found, jax.jit(function)(*args, **kwargs))
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(found))


@pytest.mark.parametrize("number", [2**40, -(2**40)])
def test_numbers_that_do_not_fit_go_to_python(number, called_natively, went_native):
    f = pyiree.jit(lambda n: n + 1)
    called_natively(f, 1)
    with pytest.raises(OverflowError):
        f(number)
    assert not went_native(f)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert pyiree.jit(lambda n: n)(1e300) == np.inf


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_number_too_large_for_f32_is_infinite(called_natively, went_native):
    f = pyiree.jit(lambda n: n + 1)
    assert called_natively(f, 3.4e38) == np.float32(3.4e38)
    assert f(1e300) == np.inf
    assert not went_native(f)
    assert f(float("inf")) == np.inf
    assert went_native(f)


@pytest.mark.parametrize(
    "array",
    [
        X.T.copy().T,
        np.repeat(X, 2, axis=1)[:, ::2],
        X.astype(">f4"),
        np.frombuffer(b"\0" + X.tobytes(), np.float32, offset=1).reshape(3, 4),
        X.view(type("Mine", (np.ndarray,), {})),
    ],
    ids=["columns", "strided", "swapped", "unaligned", "subclass"],
)
def test_other_layouts_go_to_python(array, called_natively, went_native):
    f = pyiree.jit(lambda x: x * 2)
    called_natively(f, X)
    np.testing.assert_array_equal(f(array), X * 2)
    assert not went_native(f)


def test_read_only_arrays_are_read(called_natively):
    array = X.copy()
    array.flags.writeable = False
    np.testing.assert_array_equal(called_natively(pyiree.jit(lambda x: x * 2), array), X * 2)


@pytest.mark.parametrize("wide", ["f8", "c16", "i8", "u8"])
def test_wide_arrays_are_converted(wide, called_natively):
    values = np.array([0, 1, -1.5, 2**31, -(2**33) - 3, 1e-50, 3.4028235e38, -0.0])
    with np.errstate(invalid="ignore"):
        array = values.astype("i8").astype(wide) if wide[0] in "iu" else values.astype(wide)
    array = array[:5] if wide[0] in "iu" else array
    f = pyiree.jit(lambda x: x)
    found = called_natively(f, array)
    narrow = {"f8": np.float32, "c16": np.complex64, "i8": np.int32, "u8": np.uint32}[wide]
    assert found.dtype == narrow
    assert found.tobytes() == array.astype(narrow).tobytes()


@pytest.mark.filterwarnings("ignore:overflow")
def test_wide_numbers_at_the_end_of_f32(called_natively, went_native):
    f = pyiree.jit(lambda x: x)
    half = float.fromhex("0x1.ffffffp+127")  # rounds to infinity; what is below rounds to the largest f32
    called_natively(f, np.array([1.0, 2.0]))
    below = np.array([np.nextafter(half, 0), -np.nextafter(half, 0)])
    np.testing.assert_array_equal(f(below), below.astype(np.float32))
    assert went_native(f)
    np.testing.assert_array_equal(f(np.array([np.inf, np.nan])), np.array([np.inf, np.nan], np.float32))
    assert went_native(f)
    with pytest.warns(RuntimeWarning, match="overflow"):
        np.testing.assert_array_equal(f(np.array([half, -1e300])), [np.inf, -np.inf])
    assert not went_native(f)
    large = np.ones(5000)
    np.testing.assert_array_equal(f(large), large)


def test_each_signature_has_its_program(called_natively, went_native):
    f = pyiree.jit(lambda x, n=1: x * n)
    arguments = [(X,), (X[:2].copy(),), (X, 2), (X, 2.0), (X.astype(np.int32),), (X, True), (np.float32(2),)]
    for args in arguments:
        called_natively(f, *args)
    for args in arguments * 2:
        assert_same(f(*args), jax.jit(lambda x, n=1: x * n)(*args))
        assert went_native(f)
    assert_same(called_natively(f, X, n=2), X * 2)
    assert f.lower().in_tree == jax.tree.structure(((X,), {"n": 2}))


def test_more_signatures_than_the_native_entry_keeps(called_natively):
    f = pyiree.jit(lambda x: x + 1)
    for size in range(1, 40):
        called_natively(f, np.zeros(size, np.float32))
    np.testing.assert_array_equal(f(np.zeros(1, np.float32)), [1])


def test_structures_are_told_apart(called_natively):
    f = pyiree.jit(lambda t: jax.tree.leaves(t)[0] * 2)
    for tree in ((X, Y), [X, Y], {"a": X, "b": Y}, {"a": X, "c": Y}, {"a": X}, (X, None), (X,), {"a": (X,)}, {1: X}):
        np.testing.assert_array_equal(called_natively(f, tree), X * 2)
        assert f.lower().in_tree == jax.tree.structure(((tree,), {}))


def test_dicts_in_any_order(called_natively, went_native):
    f = pyiree.jit(lambda t: t["a"] - t["b"])
    called_natively(f, {"a": X, "b": Y})
    np.testing.assert_array_equal(f({"b": Y, "a": X}), X - Y)
    assert went_native(f)


def test_keys_that_run_code_go_to_python(called_natively, went_native):
    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    f = pyiree.jit(lambda t: t["a"] - t["b"])
    called_natively(f, {"a": X, "b": Y})
    np.testing.assert_array_equal(f({Key("a"): X, "b": Y}), X - Y)
    assert not went_native(f)


def test_custom_nodes_stay_in_python(called_natively):
    class Point(tuple):
        __slots__ = ()

    jax.tree_util.register_pytree_node(Point, lambda p: (tuple(p), None), lambda _, children: Point(children))
    f = pyiree.jit(lambda p: Point((p[1], p[0])))
    for _ in range(3):
        result = f(Point((X, Y)))
        assert type(result) is Point
        np.testing.assert_array_equal(result[0], Y)
    g = pyiree.jit(lambda x: Point((x, x + 1)))  # a result of such a node comes from the native entry
    assert type(called_natively(g, X)) is Point


def test_static_arguments(called_natively, went_native):
    f = pyiree.jit(lambda x, op, n: x * n if op == "mul" else x + n, static_argnums=(1,), static_argnames="n")
    np.testing.assert_array_equal(called_natively(f, X, "mul", n=3), X * 3)
    np.testing.assert_array_equal(called_natively(f, X, "".join(["ad", "d"]), n=3), X + 3)
    np.testing.assert_array_equal(f(X, "".join(["mu", "l"]), n=3), X * 3)
    assert went_native(f)
    assert f(X.astype(np.int32), "add", n=True).dtype == np.int32
    np.testing.assert_array_equal(called_natively(f, X, "add", n=1.5), X + 1.5)
    np.testing.assert_array_equal(f(X, "add", n=3), X + 3)


def test_methods(went_native):
    class Model:
        """A model."""

        def __init__(self, scale):
            self.scale = scale

        @functools.partial(pyiree.jit, static_argnums=0)
        def __call__(self, x):
            return x * self.scale

        @functools.partial(pyiree.jit, static_argnums=0)
        def shifted(self, x):
            """Shifts."""
            return x + self.scale

    double, triple = Model(2), Model(3)
    for model in (double, triple, double):
        for _ in range(3):
            np.testing.assert_array_equal(model(X), X * model.scale)
            np.testing.assert_array_equal(model.shifted(X), X + model.scale)
        assert went_native(Model.shifted)
    assert (double.shifted.__name__, double.shifted.__doc__) == ("shifted", "Shifts.")
    assert double.shifted.__module__ == __name__


def test_settings_of_jax_are_part_of_the_signature(called_natively, went_native):
    f = pyiree.jit(lambda n: n * 2)
    assert called_natively(f, 1.5).dtype == np.float32
    with jax.enable_x64(True):
        assert f(1.5).dtype == np.float64
        assert called_natively(f, 1.5).dtype == np.float64
    assert f(1.5).dtype == np.float32
    assert went_native(f)
    seen = []
    g = pyiree.jit(lambda x: seen.append(1) or x + 1)
    called_natively(g, X)
    with jax.disable_jit():
        g(X)
    assert len(seen) == 2


def test_under_a_transformation_the_function_is_inlined(called_natively, went_native):
    f = pyiree.jit(lambda x, y: x * y)
    called_natively(f, X, Y)
    np.testing.assert_array_equal(jax.grad(lambda x: f(x, Y).sum())(jnp.asarray(X)), Y)
    assert "mul" in str(jax.make_jaxpr(lambda z: f(X, Y) + z)(1.0))
    np.testing.assert_array_equal(f(X, Y), X * Y)
    assert went_native(f)


def test_tracers_of_other_threads_do_not_matter(called_natively):
    f = pyiree.jit(lambda x: x + 1)
    called_natively(f, X)
    found = []

    def traced(x):
        thread = threading.Thread(target=lambda: found.append(f(X)))
        thread.start()
        thread.join()
        return x

    jax.jit(traced)(1.0)
    np.testing.assert_array_equal(found[0], X + 1)


def test_device_arrays(called_natively, went_native):
    f = pyiree.jit(lambda x, y: {"sum": x + y, "first": x})
    x, y = pyiree.device_put((X, Y))
    result = called_natively(f, x, y)
    assert {type(leaf) for leaf in result.values()} == {pyiree.Array}
    np.testing.assert_array_equal(result["sum"], X + Y)
    assert result["sum"].shape == (3, 4)
    assert result["sum"].dtype == np.float32
    assert result["sum"].block_until_ready().is_ready()
    np.testing.assert_array_equal(f(result["sum"], result["first"])["sum"], X + X + Y)
    assert went_native(f)
    assert type(called_natively(f, x, Y)["sum"]) is pyiree.Array
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, y)
    fresh = weakref.ref(result["sum"])
    del result
    assert fresh() is None


def test_donated_device_arrays_are_deleted(went_native):
    f = pyiree.jit(lambda x, y: x + y, donate_argnums=0)
    y = pyiree.device_put(Y)
    for _ in range(3):
        x = pyiree.device_put(X)
        np.testing.assert_array_equal(f(x, y), X + Y)
        assert x.is_deleted()
        assert not y.is_deleted()
    assert went_native(f)
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, y)


def test_jax_arrays(called_natively, went_native):
    def function(x, t):
        return {"sum": x + t["a"], "first": x, "n": t["n"] * 2}

    f = pyiree.jit(function)
    x, tree = jnp.asarray(X), {"a": jnp.asarray(Y), "n": 2.5}
    result = called_natively(f, x, tree)
    assert_same(result, jax.jit(function)(x, tree))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(result))
    assert result["n"].weak_type and not result["sum"].weak_type
    assert_same(f(result["sum"], tree), jax.jit(function)(result["sum"], tree))
    assert went_native(f)
    mixed = called_natively(f, X, tree)  # one is enough
    assert isinstance(mixed["first"], jax.Array)


def test_jax_arrays_are_told_apart(called_natively, went_native):
    f = pyiree.jit(lambda x, unused: x * unused.shape[0])
    x = jnp.asarray(X)
    for other in (jnp.zeros(2), jnp.zeros(3), jnp.zeros((4, 1))):
        np.testing.assert_array_equal(called_natively(f, x, other), X * other.shape[0])
    np.testing.assert_array_equal(f(x, jnp.zeros(2)), X * 2)
    assert went_native(f)
    g = pyiree.jit(lambda x: x + jnp.int32(1))
    for value in (x, x.astype(jnp.int32), x.astype(jnp.bfloat16), jnp.asarray(2.0), jax.lax.full((), 2.0)):
        assert_same(called_natively(g, value), jax.jit(lambda x: x + jnp.int32(1))(value))


def test_jax_arrays_in_another_order_go_to_python(called_natively, went_native):
    from jax.experimental.layout import Format, Layout

    f = pyiree.jit(lambda x: x * 2)
    x = jnp.asarray(X)
    called_natively(f, x)
    columns = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
    np.testing.assert_array_equal(f(columns), X * 2)
    assert not went_native(f)


def test_jax_arrays_are_waited_for(called_natively, went_native):
    f = pyiree.jit(lambda x: x + 1)
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 30, lambda i, c: jnp.tanh(c @ x), x))
    x = jnp.full((300, 300), 0.01, jnp.float32)
    called_natively(f, x)
    for _ in range(5):
        pending = slow(x)
        result = f(pending)
        assert went_native(f)
        np.testing.assert_array_equal(result, np.asarray(slow(x)) + 1)


def test_deleted_and_donated_jax_arrays(went_native):
    f = pyiree.jit(lambda x, y: x + y, donate_argnums=0)
    y = jnp.asarray(Y)
    for _ in range(3):
        x = jnp.array(X)
        np.testing.assert_array_equal(f(x, y), X + Y)
        assert x.is_deleted() and not y.is_deleted()
    assert went_native(f)
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, y)


def test_closed_over_arrays_are_arguments(called_natively):
    large = np.arange(4096, dtype=np.float32)
    np.testing.assert_array_equal(called_natively(pyiree.jit(lambda x: x + large), 2.0), large + 2)


def test_results_are_the_callers_own(called_natively):
    f = pyiree.jit(lambda x: (x, x))
    first, second = called_natively(f, X)
    first += 1
    np.testing.assert_array_equal(second, X)
    again = f(X)[0]
    np.testing.assert_array_equal(again, X)
    assert first.flags.writeable
    assert first.ctypes.data % 64 == 0


def test_results_outlive_the_function(called_natively):
    f = pyiree.jit(lambda x: x + 1)
    result = called_natively(f, X)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(result, X + 1)


def test_a_cleared_function_starts_anew(called_natively, went_native):
    f = pyiree.jit(lambda x: x + 1)
    called_natively(f, X)
    f.clear_cache()
    assert not went_native(f)
    assert f._cache_size() == 0
    np.testing.assert_array_equal(called_natively(f, X), X + 1)


def test_an_object_without_its_fields_is_an_error(called_natively):
    f = pyiree.jit(lambda x: x)
    with pytest.raises(AttributeError):
        type(f).__new__(type(f))(X)
    called_natively(f, X)
    del f._native
    with pytest.raises(SystemError):
        f(X)


def test_all_ways_to_call(called_natively, went_native):
    f = pyiree.jit(lambda x, y=1.0: x + y)
    called_natively(f, X)
    called_natively(f, X, y=2.0)
    one, two = {"x": X}, {"y": 2.0}
    for found in (f(*[X]), f(**one), f.__call__(X), next(map(f, [X])), functools.partial(f)(X)):
        np.testing.assert_array_equal(found, X + 1)
    np.testing.assert_array_equal(functools.partial(f, y=2.0)(X), X + 2)
    np.testing.assert_array_equal(f(*[X], **two), X + 2)
    assert went_native(f)
    with pytest.raises(TypeError, match="argument"):
        f(X, X, X)
    assert inspect.signature(f) == inspect.signature(f.__wrapped__)
    assert callable(f)
