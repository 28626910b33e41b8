"""Static arguments apart, names of leaves, and the difference of two signatures in words."""

import enum

import jax
import numpy as np
import pyiree
import pytest
from jax._src.literals import TypedFloat, TypedInt
from pyiree.jax_internals import jit_arguments
from pyiree.signature import ArgumentSplitter, explain_miss, leaf_type, signature_of

X = np.ones((2, 3), np.float32)


def splitter(function, **options):
    return ArgumentSplitter(function, jit_arguments(jax.jit(function, **options)))


def f(a, b, *rest, c=None, **more):
    return a


@pytest.mark.parametrize(
    ("options", "args", "kwargs"),
    [
        ({}, (X, [X, X]), {"c": X}),
        ({"static_argnums": 0}, (1, X), {}),
        ({"static_argnums": (0, 2)}, (1, X, 2, X), {"c": X}),
        ({"static_argnums": 1}, (X, "s", X), {}),
        ({"static_argnames": ("c", "d")}, (X, X), {"c": "s", "d": 1, "e": X}),
        ({"static_argnums": -1}, (X, X, 3), {}),
        ({}, (), {}),
    ],
)
def test_join_is_the_inverse_of_split(options, args, kwargs):
    s = splitter(f, **options)
    arguments = s.split(args, kwargs)
    assert all(leaf is X for leaf in arguments.leaves)
    got = s.join(arguments, arguments.leaves)
    assert jax.tree.structure(got) == jax.tree.structure((args, kwargs))
    assert all(a is b for a, b in zip(jax.tree.leaves(got), jax.tree.leaves((args, kwargs))))


def test_leaf_names():
    s = splitter(f, static_argnums=1)
    arguments = s.split(({"w": [X, X]}, 0, X, X), {"c": (X,), "z": X})
    assert s.leaf_names(arguments) == ["a['w'][0]", "a['w'][1]", "rest[0]", "rest[1]", "c[0]", "z"]
    nameless = splitter(max)
    assert nameless.leaf_names(nameless.split((X, X), {})) == ["argument 0", "argument 1"]


@pytest.mark.parametrize(
    "value",
    [True, 3, 2.5, 1j, X, np.float32(2), np.arange(3), X.astype(float), jax.numpy.asarray(2.0), jax.random.key(0)],
)  # fmt: skip
def test_leaf_types_are_jax_s(value):
    got, want = leaf_type(value), jax.typeof(jax.jit(lambda x: x)(value))
    traced = jax.tree.leaves(jax.jit(lambda x: x).trace(value).in_avals)[0]
    assert (got.shape, got.dtype, got.weak_type) == (traced.shape, traced.dtype, traced.weak_type)
    assert got.shape == want.shape and got.dtype == want.dtype


@pytest.mark.parametrize("value", ["text", object(), np.array(["a"]), np.array([None]), np.datetime64("2020-01-01")])
def test_what_is_no_array_has_no_type(value):
    assert leaf_type(value) is None


MASKED = np.ma.masked_array(np.arange(3, dtype=np.float32), mask=[False, True, False])
RECORDS = np.zeros(3, [("a", np.float32), ("b", np.int32)])


@pytest.mark.parametrize("value", [MASKED, np.ma.masked_array(np.ones(3, np.float32)), np.ma.masked])
def test_masked_arrays_are_refused_as_jax_refuses_them(value):
    """Also where a program for plain arrays of the same type is known already."""

    def double(params):
        return 2 * params["w"]

    jitted = pyiree.jit(double)
    plain = {"w": np.array(value.data, np.float32)}
    compiled = jitted.lower(plain).compile()
    np.testing.assert_array_equal(jitted(plain), 2 * plain["w"])
    np.testing.assert_array_equal(compiled(plain), 2 * plain["w"])
    with pytest.raises(ValueError, match="masked"):
        jax.jit(double)({"w": value})
    for call, name in (
        (jitted, r"double .* params\['w'\]"),
        (jitted.lower, r"double .* params\['w'\]"),
        (compiled, r"double .*\['w'\]"),
        (lambda params: pyiree.device_put(params["w"]), "device_put"),
    ):
        with pytest.raises(pyiree.MaskedArrayError, match=f"{name}.*mask would be lost"):
            call({"w": value})


def test_a_loaded_program_refuses_masked_arrays(tmp_path):
    pyiree.jit(lambda x, y: x + y).lower(X[0], X[0]).compile().save(tmp_path / "add.vmfb")
    program = pyiree.load(tmp_path / "add.vmfb")
    np.testing.assert_array_equal(program.main(X[0], X[0]), 2 * X[0])
    with pytest.raises(TypeError, match="argument 1 is a masked array"):
        program.main(X[0], MASKED)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "None"),
        ("text", "the str 'text'"),
        (2**70, "an int of more than 64 bits"),
        (10**5000, "an int of more than 64 bits"),
        (np.array(["a"]), "an array of <U1"),
        (np.array([None]), "an array of object"),
    ],
    ids=["None", "str", "int", "long", "strings", "objects"],
)
def test_a_loaded_program_names_what_is_no_array(tmp_path, value, what):
    pyiree.jit(lambda x, y: x + y).lower(X[0], X[0]).compile().save(tmp_path / "add.vmfb")
    program = pyiree.load(tmp_path / "add.vmfb")
    for number, args in enumerate([(value, X[0]), (X[0], value)]):
        with pytest.raises(TypeError) as caught:
            program.main(*args)
        assert str(caught.value) == f"main: argument {number} is {what}, and devices have no element type for it"


def test_a_compiled_function_counts_its_arguments():
    def f(x, y, *, scale):
        return (x + y) * scale

    compiled = pyiree.jit(f).lower(X, X, scale=2.0).compile()
    for args, kwargs, given in (
        ((X,), {"scale": 2.0}, "1 positional argument and scale="),
        ((X, X, X), {"scale": 2.0}, "3 positional arguments and scale="),
        ((X, X), {}, "2 positional arguments"),
        ((), {"x": X, "y": X, "scale": 2.0}, "0 positional arguments and scale=, x=, y="),
    ):
        with pytest.raises(pyiree.SignatureError) as caught:
            compiled(*args, **kwargs)
        assert str(caught.value) == f"f was compiled for 2 positional arguments and scale=, not {given}"
    with pytest.raises(pyiree.SignatureError, match=r"f was compiled for arguments PyTreeDef.*, not PyTreeDef"):
        compiled(X, (X,), scale=2.0)


def test_numbers_that_do_not_fit_are_named():
    def f(params, n):
        return params["w"] + n

    jitted = pyiree.jit(f)
    compiled = jitted.lower({"w": 1}, 2).compile()
    keyed = pyiree.jit(f, cache_key="numbers that do not fit")
    for call in (jitted, compiled, keyed):
        for _ in range(3):  # the last one is native
            assert call({"w": 1}, 2) == 3
        for args, where, number in (
            (({"w": 2**40}, 2), r"params\['w'\]", str(2**40)),
            (({"w": 1}, -(2**31) - 1), "n", str(-(2**31) - 1)),
            (({"w": 1}, 2**31), "n", str(2**31)),
            (({"w": 1}, 2**1000), "n", "an integer of 1001 bits"),
        ):
            with pytest.raises(
                OverflowError, match=f"f can't be called with {number} as {where}: it is out of bounds"
            ) as e:
                call(*args)
            assert isinstance(e.value, pyiree.SignatureError)
            with pytest.raises(OverflowError):
                jax.jit(f)(*args)
        assert call({"w": 1}, 2**31 - 3) == 2**31 - 2


@pytest.mark.parametrize("value", [RECORDS, RECORDS[0], RECORDS.view(np.recarray), np.zeros(2, "V8")])
def test_structured_dtypes_are_refused_by_name(value):
    @pyiree.jit
    def first(x, params):
        return x

    assert leaf_type(value) is None
    for call in (first, first.lower):
        with pytest.raises(pyiree.SignatureError, match=r"first .*structured dtype .* as params\['w'\]"):
            call(X, {"w": value})
    compiled = first.lower(X, {"w": X}).compile()
    with pytest.raises(pyiree.SignatureError, match=r"first .*structured dtype .*\['w'\]"):
        compiled(X, {"w": value})
    with pytest.raises(pyiree.SignatureError, match=r"device_put .*structured dtype"):
        pyiree.device_put(value)


def test_small_floats_and_float0_are_no_structured_dtypes():
    for dtype in (jax.numpy.bfloat16, jax.numpy.float8_e4m3fn, jax.numpy.int4, jax.dtypes.float0):
        assert leaf_type(np.zeros(2, dtype)).dtype == dtype


def test_the_nearest_signature_is_compared():
    s = splitter(f)

    def signature(*args):
        arguments = s.split(args, {})
        return signature_of(arguments, [leaf_type(leaf) for leaf in arguments.leaves], ())

    names = s.leaf_names(s.split((X, X), {}))
    known = [signature(X[0], X[0]), signature(X, X[0]), signature(X[0], X[0], X)]
    assert explain_miss(signature(X, X), known, names) == "b: float32[3] -> float32[2,3]"
    assert explain_miss(signature(X, X), [], names) == "first call"


class Level(enum.IntEnum):
    LOW = 3


class Metres(float):
    pass


NUMBERS = [Level.LOW, Metres(1.5), TypedFloat(1.5, np.dtype("float32")), TypedInt(2, np.dtype("int32"))]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers_of_other_classes_are_numbers(value):
    """An enum's member, a number with a unit, the numbers with a dtype that jax makes: their type is jax's."""
    function = pyiree.jit(lambda x: x + 1)
    expected = jax.jit(lambda x: x + 1)(value)
    for _ in range(3):
        found = function(value)
        assert np.array_equal(found, expected)
        is_jax_s = isinstance(value, (TypedFloat, TypedInt))
        assert isinstance(found, jax.Array if is_jax_s else np.ndarray) and (not is_jax_s or found.weak_type)
    assert leaf_type(value).dtype == jax.typeof(value).dtype and leaf_type(value).weak_type


def test_a_number_with_another_dtype_is_another_program():
    with jax.enable_x64(True):
        function = pyiree.jit(lambda x: x)
        for dtype in ("int32", "int64", "int32"):
            assert function(TypedInt(2, np.dtype(dtype))).dtype == dtype
        assert function.trace_count == 2
