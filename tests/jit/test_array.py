"""Which kind of array comes back, and how arrays of every kind are read."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest
from jax.experimental.layout import Format, Layout
from pyiree.array import from_foreign, numpy_reader

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DELETED = r"^Array has been deleted with shape=float32\[.*\]: it may have been donated \(donate_argnums\) to an earlier"


@pytest.fixture(scope="module")
def add():
    return pyiree.jit(lambda x, y: x + y)


def test_the_kind_that_goes_in_comes_out(add):
    device = pyiree.device_put(X)
    assert type(add(X, X)) is np.ndarray
    assert isinstance(add(jnp.asarray(X), X), jax.Array)
    assert isinstance(add(X, jnp.asarray(X)), jax.Array)
    assert isinstance(add(device, device), pyiree.Array)
    assert isinstance(add(device, X), pyiree.Array)
    assert isinstance(add(device, jnp.asarray(X)), jax.Array)
    assert type(add(1.0, 2.0)) is np.ndarray
    for x in (X, jnp.asarray(X), device):
        np.testing.assert_array_equal(np.asarray(add(x, x)), X + X)
    assert add.trace_count == 2


def test_results_are_the_caller_s_own(add):
    first = add(X, X)
    second = add(X, X)
    assert first.flags.writeable and first.flags.c_contiguous and not np.shares_memory(first, second)
    first[:] = 0
    np.testing.assert_array_equal(second, X + X)


def test_results_are_aligned(add):
    assert add(X, X).ctypes.data % 64 == 0


def test_a_returned_argument_is_a_copy():
    x = X.copy()
    got = pyiree.jit(lambda x: x)(x)
    assert not np.shares_memory(got, x)
    x[:] = 0
    np.testing.assert_array_equal(got, X)


def test_weak_types_survive_as_in_jax():
    function = lambda x: x * 2  # noqa: E731
    weak = jnp.asarray(2.0)
    assert weak.weak_type
    got = pyiree.jit(function)(weak)
    assert got.weak_type and got.aval == jax.jit(function)(weak).aval


def test_pending_jax_arrays_are_waited_for(add):
    a = jnp.ones((500, 500))
    pending = jax.jit(lambda a: jax.lax.fori_loop(0, 60, lambda _, b: a @ b / 500, a))(a)
    got = np.asarray(add(pending, 0.0))
    np.testing.assert_allclose(got, np.asarray(pending))


def test_reading_a_jax_array_leaves_it_donatable(add):
    x = jnp.asarray(X) + 0
    add(x, x)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()


def test_a_deleted_jax_array_is_an_error(add):
    x = jnp.asarray(X) + 0
    add(x, x)
    x.delete()
    with pytest.raises(RuntimeError, match=DELETED):
        add(x, x)


def test_a_jax_array_that_was_deleted_before_the_first_call_is_the_same_error():
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(RuntimeError, match=DELETED):
        pyiree.jit(lambda x: x - 1)(x)


def test_a_donated_array_is_said_to_be_gone(tmp_path):
    give_up = pyiree.jit(lambda x: x + 1, donate_argnums=0)
    compiled = give_up.lower(X).compile()
    compiled.save(tmp_path / "increment.vmfb")
    loaded = pyiree.load(tmp_path / "increment.vmfb").main
    for put, message in ((jnp.array, DELETED), (pyiree.device_put, r"was deleted: it may have been donated \(donate_")):
        x = put(X)
        give_up(x)
        for call in (give_up, give_up, compiled, loaded):
            with pytest.raises(RuntimeError, match=message):
                call(x)


def test_layouts_of_jax_arrays(add):
    x = jnp.asarray(X)
    columns_first = Format(Layout((1, 0)), x.sharding)
    turned = jax.jit(lambda x: x * 1, out_shardings=columns_first)(x)
    for y in (x, turned, x):
        np.testing.assert_array_equal(np.asarray(add(y, y)), X + X)


@pytest.mark.parametrize("dtype", [
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, np.float32,
    np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
])  # fmt: skip
def test_readers_give_numpy_s_values(dtype):
    dtype = np.dtype(dtype)
    values = np.arange(6).reshape(2, 3).astype(dtype)
    for example in (values, jnp.asarray(values)):
        got = numpy_reader(example, dtype)(example)
        assert got.dtype == dtype and got.flags.c_contiguous
        np.testing.assert_array_equal(got, values)


def test_odd_numpy_arrays():
    plain = np.arange(12, dtype=np.float32).reshape(3, 4)
    unaligned = np.frombuffer(b"\0" + plain.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    readonly = plain.copy()
    readonly.flags.writeable = False
    read = numpy_reader(plain, plain.dtype)
    for array in (plain.copy(), unaligned, readonly, np.asfortranarray(plain), plain.view(np.matrix)):
        got = read(array)
        assert got.flags.c_contiguous and got.flags.aligned
        np.testing.assert_array_equal(got, plain)
    assert read(plain) is plain


class Speaking:
    """An array of another library that only knows `__array__`."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


class Dlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Variable:
    """A box that jax opens by itself."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


def test_boxes_of_jax_arrays(add):
    got = add(Variable(jnp.asarray(X)), X)
    assert isinstance(got, jax.Array)
    np.testing.assert_array_equal(got, X + X)
    assert add.lower(Variable(jnp.asarray(X)), Dlpack(X)).out_info.shape == (2, 3)


def test_arrays_of_other_libraries(add):
    for foreign in (Speaking(X), Dlpack(X)):
        got = add(foreign, X)
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, X + X)
    assert np.shares_memory(from_foreign(Dlpack(X)), X)
    assert from_foreign("text") is None


def test_device_put_takes_trees():
    tree = {"a": X, "b": (jnp.asarray(X), 2.0)}
    put = pyiree.device_put(tree)
    assert jax.tree.structure(put) == jax.tree.structure(tree)
    assert all(isinstance(leaf, pyiree.Array) for leaf in jax.tree.leaves(put))
    assert np.asarray(put["b"][1]).dtype == np.float32
    again = pyiree.device_put(put)
    assert again["a"] is put["a"]
    with pytest.raises(pyiree.SignatureError, match="str"):
        pyiree.device_put("text")


def test_float0_results():
    def function(x, n):
        return jax.vjp(lambda x, n: x * n, x, n)[1](x)

    got, want = pyiree.jit(function)(X, np.int32(2)), jax.jit(function)(X, np.int32(2))
    assert got[1].dtype == want[1].dtype == jax.dtypes.float0
    np.testing.assert_array_equal(got[0], want[0])


OPERATIONS = {
    "equal": lambda x: x == X[0],
    "unequal": lambda x: x != X,
    "sum": lambda x: X + x,
    "difference": lambda x: 1 - x,
    "product": lambda x: x @ X.T,
    "magnitude": lambda x: abs(-x),
    "order": lambda x: x < 2,
    "function": np.sin,
    "reduction": np.add.reduce,
    "with_jax": lambda x: jnp.asarray(X) * x,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operators_compute_as_numpy_does(name):
    operation = OPERATIONS[name]
    given = operation(pyiree.device_put(X))
    assert type(given) is np.ndarray
    np.testing.assert_array_equal(given, operation(X))


def test_arrays_of_rank_0_are_compared_and_written_as_numbers():
    number = pyiree.jit(jnp.sum)(pyiree.device_put(X))
    assert number == 15 and number in [15.0] and number < 16
    assert f"{number:.2f}" == "15.00"


def test_numpy_does_not_write_to_device_arrays():
    array = pyiree.device_put(X)
    with pytest.raises(TypeError, match="never changes"):
        np.add(array, 1, out=array)
