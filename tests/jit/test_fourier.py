"""Fourier transforms of all kinds, lengths and ranks against NumPy's in extended precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

DTYPES = [np.complex64, np.complex128]


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def check(name, x, **options):
    found = pyiree.jit(lambda x: getattr(jnp.fft, name)(x, **options))(x)
    wide = x.astype(np.longdouble if x.dtype.kind == "f" else np.clongdouble)
    wanted = getattr(np.fft, name)(wide, **options)
    assert found.shape == wanted.shape
    assert found.dtype == np.result_type(x.dtype, np.complex64 if np.iscomplexobj(wanted) else x.real.dtype) or (
        name.startswith("irfft") and found.dtype == x.real.dtype
    )
    if wanted.size:
        error = np.linalg.norm((found - wanted).ravel()) / max(np.linalg.norm(wanted.ravel()), 1e-300)
        assert error < (2 + np.log2(x.size)) * np.finfo(found.dtype).eps / 3, (name, x.shape, error)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "length",
    [
        *(1, 2, 7, 12, 37, 64, 1000, 1009, 4112, 20000),
        *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 8, 31, 101, 210, 2048, 8192, 9216)),
    ],
)
def test_lengths(dtype, length):
    x = numbers(length, dtype)
    check("fft", x)
    check("ifft", x)
    check("rfft", x.real.copy())
    check("irfft", x[: length // 2 + 1], n=length)


@pytest.mark.parametrize("shape", [(3, 6, 10), (2, 1, 9), (4, 5, 37), (1, 1, 1)], ids=str)
def test_planes_and_boxes(shape):
    x = numbers(shape, np.complex64)
    for name in ("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn"):
        if not (name.startswith("irfft") and shape[-1] == 1):
            check(name, x)
    check("rfft2", x.real.copy())
    check("rfftn", x.real.copy())


@pytest.mark.each_value
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("length", [5, 48, 37])
def test_other_axes(axis, length):
    shape = [3, 4, 5]
    shape[axis] = length
    x = numbers(shape, np.complex64)
    check("fft", x, axis=axis)
    check("rfft", x.real.copy(), axis=axis)
    check("irfft", x, axis=axis)


def test_nothing_to_transform():
    check("fft", np.zeros((0, 8), np.complex64))
    check("rfft", np.zeros((2, 0, 8), np.float32))


def test_ends_of_a_half_spectrum_are_real():
    x = numbers(9, np.complex64)
    found = pyiree.jit(jnp.fft.irfft)(x)
    x[[0, -1]] = x[[0, -1]].real
    np.testing.assert_array_equal(pyiree.jit(jnp.fft.irfft)(x), found)


def test_not_a_number_reaches_every_frequency():
    x = np.ones(64, np.complex64)
    x[5] = np.nan
    assert np.isnan(pyiree.jit(jnp.fft.fft)(x)).all()


def test_any_number_of_rows():
    """The number of rows is known when the program runs."""
    (rows,) = jax.export.symbolic_shape("rows")
    for name, dtype in (("fft", np.complex64), ("rfft", np.float32), ("irfft", np.complex64)):
        function = getattr(jnp.fft, name)
        for length in (12, 37):
            exported = jax.export.export(jax.jit(function))(jax.ShapeDtypeStruct((rows, length), dtype))
            compiled = pyiree.compile(exported.mlir_module())
            for count in (1, 5):
                x = numbers((count, length), np.complex64)
                x = x.real.copy() if dtype == np.float32 else x
                found, wanted = compiled.main(x), getattr(np.fft, name)(x)
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_a_product_before_is_part_of_the_kernel():
    x, window = numbers((4, 64), np.complex64), np.hanning(64).astype(np.float32)
    lowered = pyiree.jit(lambda x, w: jnp.fft.fft(x * w)).lower(x, window)
    assert lowered.as_text("flow").count("flow.executable private") == 1
    np.testing.assert_allclose(
        pyiree.jit(lambda x, w: jnp.fft.fft(x * w))(x, window), np.fft.fft(x * window), atol=1e-4
    )


def test_long_transforms_gather_nothing():
    """What is read against its order is turned in registers."""
    lowered = pyiree.jit(jnp.fft.fft).lower(np.zeros(65536, np.complex64))
    kernels = lowered.as_text("kernel")
    assert kernels.count("kernel @") == 2
    assert " gather " not in kernels
