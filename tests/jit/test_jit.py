"""`pyiree.jit` beside `jax.jit`: the same calls, the same results."""

import copy
import functools
import inspect
import operator
import pickle

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest


@pyiree.jit
def module_level(x):
    return x + 1


def same(got, want):
    """Equal trees, with equal dtypes and close values."""
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=1e-5, atol=1e-6)


X = np.arange(6, dtype=np.float32).reshape(2, 3)

CALLS = {
    "array": (lambda x: x * 2 + 1, (X,), {}),
    "two arrays": (lambda x, y: x @ y, (X, X.T.copy()), {}),
    "tree": (lambda p, x: {"y": p["w"][0] * x, "z": (p["b"],)}, ({"w": [X, X], "b": X[0]}, X), {}),
    "none in a tree": (lambda p: (p[0] + 1, None), ((X, None),), {}),
    "keywords": (lambda x, *, scale: x * scale, (X,), {"scale": X}),
    "default": (lambda x, alpha=1.5: x * alpha, (X,), {}),
    "float": (lambda x: x * 2, (2.5,), {}),
    "int": (lambda x: x + 1, (3,), {}),
    "bool": (lambda x: ~x, (True,), {}),
    "complex": (lambda x: x * 1j, (1 + 2j,), {}),
    "weak float keeps bfloat16": (lambda x, s: x * s, (X.astype(ml_dtypes.bfloat16), 2.0), {}),
    "weak int keeps int8": (lambda x, s: x + s, (X.astype(np.int8), 2), {}),
    "numpy scalar": (lambda x, s: x * s, (X.astype(np.int8), np.float32(2)), {}),
    "no result": (lambda x: (), (X,), {}),
    "no argument": (lambda: jnp.arange(4.0), (), {}),
    "argument returned": (lambda x: x, (X,), {}),
    "argument returned twice": (lambda x: (x, x), (X,), {}),
    "unused argument": (lambda x, y: y + 1, (X, X), {}),
    "constant result": (lambda x: (jnp.ones(3), x.shape[0]), (X,), {}),
    "float64 in x32": (lambda x: x + 1, (X.astype(np.float64),), {}),
    "int64 in x32": (lambda x: x + 1, (np.arange(4),), {}),
    "strided": (lambda x: x + 1, (np.ones((4, 6), np.float32)[::2, ::3],), {}),
    "transposed": (lambda x: x + 1, (X.T,), {}),
    "empty": (lambda x: x + 1, (np.zeros((0, 3), np.float32),), {}),
    "rank 0": (lambda x: x + 1, (np.array(2.0, np.float32),), {}),
    "bool array": (lambda x: jnp.logical_not(x), (X > 2,), {}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_call_gives_what_jax_gives(name, kind):
    function, args, kwargs = CALLS[name]
    want = jax.jit(function)(*args, **kwargs)
    if kind == "jax":
        args, kwargs = (
            jax.tree.map(jnp.asarray, (args, kwargs)) if name not in ("float", "int", "complex") else (args, kwargs)
        )
        want = jax.jit(function)(*args, **kwargs)
    jitted = pyiree.jit(function)
    same(jitted(*args, **kwargs), want)
    same(jitted(*args, **kwargs), want)


def test_big_endian_arrays_are_turned():
    same(pyiree.jit(lambda x: x + 1)(X.astype(">f4")), X + 1)


class TestDecorating:
    def test_bare_and_with_options_and_as_factory(self):
        @pyiree.jit
        def f(x):
            return x + 1

        @pyiree.jit(static_argnames="n")
        def g(x, n):
            return x * n

        h = functools.partial(pyiree.jit, static_argnums=1)(lambda x, n: x - n)
        same((f(X), g(X, n=3), g(X, 3), h(X, 2)), (X + 1, X * 3, X * 3, X - 2))

    def test_keeps_the_function_s_face(self):
        def named(x: int, y=2) -> int:
            """What it does."""
            return x

        jitted = pyiree.jit(named)
        assert jitted.__name__ == "named" and jitted.__doc__ == "What it does."
        assert jitted.__wrapped__ is named and jitted.__module__ == named.__module__
        assert inspect.signature(jitted) == inspect.signature(named)

    def test_pickling_and_copying(self):
        assert pickle.loads(pickle.dumps(module_level)) is module_level
        assert copy.deepcopy(module_level) is module_level
        again = pickle.loads(pickle.dumps(pyiree.jit(operator.mul, static_argnums=())))
        same(again(X, X), X * X)

    def test_objects_without_weak_references(self):
        for _ in range(2):
            same(pyiree.jit(operator.itemgetter(1))([X, X + 1]), X + 1)

    def test_callable_objects(self):
        class Scale:
            def __call__(self, x):
                return x * 3

        same(pyiree.jit(Scale())(X), X * 3)
        same(pyiree.jit(jnp.sin)(X), np.sin(X))

    def test_partial(self):
        same(pyiree.jit(functools.partial(lambda a, b: a - b, X))(X * 3), X - X * 3)

    def test_methods(self):
        class Layer:
            def __init__(self, scale):
                self.scale = scale

            @functools.partial(pyiree.jit, static_argnums=0)
            def apply(self, x):
                return x * self.scale

            @staticmethod
            @pyiree.jit
            def double(x):
                return x * 2

            @classmethod
            @functools.partial(pyiree.jit, static_argnums=0)
            def name_length(cls, x):
                return x + len(cls.__name__)

        two, three = Layer(2.0), Layer(3.0)
        same((two.apply(X), three.apply(X), two.apply(X)), (X * 2, X * 3, X * 2))
        same((two.double(X), Layer.name_length(X)), (X * 2, X + 5))
        assert two.apply.trace_count == 2
        assert two.apply.lower(X).out_info.shape == (2, 3)

    def test_method_of_a_pytree_class(self):
        @jax.tree_util.register_pytree_node_class
        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

            def tree_flatten(self):
                return (self.a, self.b), None

            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)

            @pyiree.jit
            def swapped(self, x):
                return Pair(self.b + x, self.a)

        got = Pair(X, X * 2).swapped(X)
        same((got.a, got.b), (X * 3, X))

    @pytest.mark.parametrize("make", [
        lambda f: jax.grad(f), lambda f: jax.value_and_grad(f), lambda f: jax.checkpoint(f),
        lambda f: jax.grad(jax.checkpoint(f)), lambda f: jax.vmap(f), lambda f: jax.jacfwd(f),
        lambda f: lambda x: jax.jvp(f, (x,), (x,)), lambda f: jax.jit(f), lambda f: pyiree.jit(f),
    ])  # fmt: skip
    def test_transformed_functions(self, make):
        function = make(lambda x: (x**3).sum())
        same(pyiree.jit(function)(X), jax.jit(function)(X))

    def test_options_are_checked_when_decorating(self):
        with pytest.raises(ValueError, match="static_argnums"):
            pyiree.jit(lambda x: x, static_argnums=5)
        with pytest.raises(ValueError, match="'q'"):
            pyiree.jit(lambda x: x, static_argnames="q")
        with pytest.raises(TypeError, match="callable"):
            pyiree.jit(3)
        with pytest.raises(TypeError, match="unexpected keyword argument 'statics'"):
            pyiree.jit(lambda x: x, statics=0)


class TestStaticArguments:
    def test_each_value_has_its_program(self):
        seen = []

        @pyiree.jit(static_argnames=("n", "mode"))
        def f(x, n, mode="a"):
            seen.append((n, mode))
            return x * n

        for call in (
            lambda: f(X, 2),
            lambda: f(X, n=2),
            lambda: f(X, 2, mode="b"),
            lambda: f(X, 2),
            lambda: f(X, 3),
        ):
            call()
        assert seen == [(2, "a"), (2, "a"), (2, "b"), (3, "a")]

    def test_types_count_as_in_jax(self):
        f = pyiree.jit(lambda x, n: x * n, static_argnums=1)
        assert f(X.astype(np.int32), 1).dtype == np.int32
        assert f(X.astype(np.int32), 1.0).dtype == np.float32
        assert f(X.astype(np.int32), True).dtype == np.int32

    def test_negative_numbers(self):
        f = pyiree.jit(lambda x, n: x * n, static_argnums=-1)
        same(f(X, 4), jax.jit(lambda x, n: x * n, static_argnums=-1)(X, 4))

    def test_static_before_traced(self):
        f = pyiree.jit(lambda n, x, m, y: x * n + y * m, static_argnums=(0, 2))
        same(f(2, X, 3, X), X * 5)

    def test_unhashable_is_named(self):
        f = pyiree.jit(lambda x, shape: x.reshape(shape), static_argnames="shape")
        with pytest.raises(pyiree.StaticArgumentError, match=r"static argument 'shape' .* list"):
            f(X, [3, 2])
        with pytest.raises(ValueError, match=r"static argument 'shape' .* list"):
            f(X, shape=[3, 2])
        assert f(X, (3, 2)).shape == (3, 2)


class TestInsideJax:
    """Called with tracers, or while jax is tracing, a jitted function is what `jax.jit` of it is."""

    @pytest.fixture
    def f(self):
        return pyiree.jit(lambda x: jnp.sin(x) * x)

    @pytest.fixture
    def plain(self):
        return lambda x: jnp.sin(x) * x

    @pytest.mark.parametrize("use", [
        lambda f: jax.jit(lambda x: f(x) + 1)(X),
        lambda f: jax.grad(lambda x: f(x).sum())(X),
        lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))(X),
        lambda f: jax.vmap(f)(X),
        lambda f: jax.jvp(f, (X,), (X,)),
        lambda f: jax.lax.scan(lambda c, x: (f(c), f(x)), X[0], X),
        lambda f: jax.lax.fori_loop(0, 3, lambda _, x: f(x), X),
        lambda f: jax.lax.cond(True, f, lambda x: x, X),
        lambda f: jax.hessian(lambda x: f(x).sum())(X[0]),
        lambda f: jax.linearize(f, X)[0],
        lambda f: jax.vjp(f, X)[1](X),
        lambda f: jax.eval_shape(f, X).shape,
        lambda f: jax.checkpoint(f)(X),
    ])  # fmt: skip
    def test_transformations(self, f, plain, use):
        got, want = use(f), use(plain)
        if isinstance(want, tuple) and all(isinstance(n, int) for n in want):
            assert got == want
        else:
            same(got, want)

    def test_closed_over_tracer(self):
        @jax.jit
        def outer(x):
            inner = pyiree.jit(lambda y: x * y)
            return inner(np.full(3, 2.0, np.float32))

        same(outer(X), X * 2)

    def test_tracers_while_values_are_wanted(self):
        f = pyiree.jit(lambda x, y: x * y)

        def outer(x):
            with jax.ensure_compile_time_eval():
                two = f(1.0, 2.0)
            return f(x, two)

        same(jax.jit(outer)(X), X * 2)

    def test_it_stays_one_call_in_the_jaxpr(self, f):
        jaxpr = jax.make_jaxpr(f)(X)
        assert [equation.primitive.name for equation in jaxpr.eqns] == ["jit"]
        inlined = jax.make_jaxpr(pyiree.jit(lambda x: jnp.sin(x) * x, inline=True))(X)
        assert [equation.primitive.name for equation in inlined.eqns] == ["sin", "mul"]

    def test_recursion_through_pyiree(self):
        inner = pyiree.jit(lambda x: x + 1)
        outer = pyiree.jit(lambda x: inner(inner(x)))
        same(outer(X), X + 2)
        assert inner.trace_count == 0

    def test_disable_jit_runs_the_function(self):
        seen = []

        @pyiree.jit
        def f(x):
            seen.append(type(x))
            return x + 1

        with jax.disable_jit():
            f(jnp.asarray(X))
            f(jnp.asarray(X))
        assert len(seen) == 2 and not any(issubclass(kind, jax.core.Tracer) for kind in seen)


class TestConfiguration:
    def test_x64_follows_jax(self):
        f = pyiree.jit(lambda x: x * 2)
        x = np.arange(3.0)
        assert f(x).dtype == np.float32
        with jax.enable_x64(True):
            assert f(x).dtype == np.float64 and f(1).dtype == np.int64
        assert f(x).dtype == np.float32
        assert f.trace_count == 3

    def test_prng_keys_in_and_out(self):
        f = pyiree.jit(lambda key: (jax.random.split(key, 3), jax.random.bits(key, (4,))))
        keys, bits = f(jax.random.key(7))
        want_keys, want_bits = jax.jit(lambda key: (jax.random.split(key, 3), jax.random.bits(key, (4,))))(
            jax.random.key(7)
        )
        assert keys.dtype == want_keys.dtype and isinstance(keys, jax.Array)
        np.testing.assert_array_equal(jax.random.key_data(keys), jax.random.key_data(want_keys))
        np.testing.assert_array_equal(bits, want_bits)

    def test_key_made_inside_a_function_of_numpy_values(self):
        got = pyiree.jit(jax.random.key)(np.int32(3))
        assert (jax.random.key_data(got) == jax.random.key_data(jax.random.key(3))).all()

    def test_devices(self):
        f = lambda x: x + 1  # noqa: E731
        for options in ({"backend": "cpu"}, {"device": jax.devices("cpu")[0]}, {"device": "local-sync"}):
            same(pyiree.jit(f, **options)(X), X + 1)
        with pytest.raises(ValueError, match="not both"):
            pyiree.jit(f, backend="cpu", device="local-sync")


class TestConstants:
    def test_large_ones_are_arguments_of_the_program(self):
        big, other = np.random.default_rng(0).normal(size=(2, 64, 64)).astype(np.float32)
        inner = jax.jit(lambda x: x @ other)

        @pyiree.jit
        def f(x):
            return inner(x) @ big + inner(x + 1) + big[0], other

        x = np.ones((2, 64), np.float32)
        text = f.lower(x).as_text()
        assert len(text) < 4000
        want = x @ other @ big + (x + 1) @ other + big[0], other
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4), f(x), want)

    def test_they_are_what_they_were_at_the_trace(self):
        big = np.ones((64, 64), np.float32)
        f = pyiree.jit(lambda x: x + big)
        f(np.float32(0))
        big[:] = 5
        assert f(np.float32(0))[0, 0] == 1

    def test_wide_ones_are_narrowed_as_jax_does(self):
        big = np.arange(4096.0)
        same(pyiree.jit(lambda x: x + big)(np.float32(1)), jax.jit(lambda x: x + big)(np.float32(1)))

    def test_jax_arrays_too(self):
        big = jnp.arange(4096.0)
        same(pyiree.jit(lambda x: (x * big, big))(np.float32(2)), (big * 2, big))


class TestErrors:
    def test_what_is_no_array(self):
        with pytest.raises(TypeError, match="path params\\['name'\\]"):
            pyiree.jit(lambda params: 0)({"name": "text"})
        with pytest.raises(TypeError, match="valid JAX type"):
            pyiree.jit(lambda x: "text")(X)
        with pytest.raises(TypeError):
            pyiree.jit(lambda x: x)(np.array(["a"]))

    def test_too_large_integer(self):
        f = pyiree.jit(lambda x: x)
        f(3)
        with pytest.raises(OverflowError):
            f(2**40)

    def test_missing_argument(self):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            pyiree.jit(lambda x: x)()

    def test_a_value_of_an_earlier_trace(self):
        kept = []
        pyiree.jit(lambda x: kept.append(x * 2))(X)
        with pytest.raises(jax.errors.UnexpectedTracerError, match=r"test_jit.py:\d+"):
            pyiree.jit(lambda x: x + kept[0])(X)

    def test_branching_on_a_traced_value_names_the_line(self):
        @pyiree.jit
        def f(x):
            if x.sum() > 0:
                return x
            return -x

        with pytest.raises(jax.errors.TracerBoolConversionError, match=r"test_jit.py:"):
            f(X)

    def test_a_function_of_numpy_names_that_of_jax(self):
        for function in (np.tanh, np.tanh, lambda x: np.asarray(x) + 1):  # twice: it can't be weakly referred to
            with pytest.raises(jax.errors.TracerArrayConversionError) as caught:
                pyiree.jit(function)(X)
            assert "jax.numpy's function in place of NumPy's" in caught.value.__notes__[-1]

    def test_unsupported_ops_are_all_named_with_their_lines(self):
        def f(x):
            y = jax.ffi.ffi_call("made_up_one", jax.ShapeDtypeStruct((2, 3), np.float32))(x)  # the first line to name
            return jax.ffi.ffi_call("made_up_two", jax.ShapeDtypeStruct((2, 3), np.float32))(y)

        with pytest.raises(pyiree.UnsupportedError) as caught:
            pyiree.jit(f)(X)
        text, first = str(caught.value), f.__code__.co_firstlineno + 1
        assert text.startswith("unsupported op stablehlo.custom_call") and "\n" not in text
        assert f"test_jit.py:{first}" in text and f"test_jit.py:{first + 1}" in text
        assert isinstance(caught.value, pyiree.CompileError) and isinstance(caught.value, pyiree.PyireeError)

    def test_an_exception_in_the_function_passes_through(self):
        @pyiree.jit
        def f(x):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            f(X)


class TestDonation:
    def test_donated_jax_array_is_given_up(self):
        f = pyiree.jit(lambda x: x + 1, donate_argnums=0)
        x = jnp.asarray(X)
        same(f(x), X + 1)
        assert x.is_deleted()

    def test_donated_jax_array_is_gone_in_the_second_call_too(self):
        f = pyiree.jit(lambda x: x - 1, donate_argnums=0)
        x = jnp.ones(3)
        f(x)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="has been deleted"):
                f(x)

    def test_donated_numpy_array_stays(self):
        f = pyiree.jit(lambda x: x + 1, donate_argnames="x")
        x = X.copy()
        same(f(x), X + 1)
        np.testing.assert_array_equal(x, X)

    def test_donated_and_passed_on(self):
        f = pyiree.jit(lambda state: (state, jnp.zeros_like(state)), donate_argnums=0)
        state, zeros = f(jnp.asarray(X))
        same((state, zeros), (X, X * 0))

    def test_unusable_donation_is_told(self):
        with pytest.warns(UserWarning, match="donated buffers were not usable"):
            pyiree.jit(lambda x: x.sum(), donate_argnums=0)(jnp.asarray(X))
