"""Each family of ops gives JAX's numbers when IREE finishes our input text."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

_RANDOM = np.random.default_rng(7)


def _f32(*shape):
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _i32(*shape, low=-20, high=20):
    return _RANDOM.integers(low, high, shape, dtype=np.int32)


_INTS = np.array([5, -5, 7, -7, -(2**31), 2**31 - 1, 0, 9, -(2**31)], np.int32)
_DIVISORS = np.array([2, 2, -3, 0, -1, -1, 0, 32, 33], np.int32)
_BYTES = np.array([0, 1, 7, 200, 255, 128], np.uint8)
_BYTE_DIVISORS = np.array([0, 3, 0, 7, 255, 9], np.uint8)
_EDGES = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3e9, -3e9, np.inf, -np.inf, np.nan, 200.7, -1.5], np.float32)

ELEMENTWISE = {
    "arithmetic": (lambda x, y: (x + y, x - y, x * y, x / y, -x, jnp.abs(x)), (_f32(3, 5), _f32(3, 5))),
    "rounding": (lambda x: (jnp.floor(x), jnp.ceil(x), lax.round(x), jnp.round(x), jnp.sign(x)), (_EDGES,)),
    "extremes": (lambda x: (jnp.maximum(x, 1.0), jnp.minimum(x, -1.0), jnp.clip(x, -1, 2)), (_EDGES,)),
    "integers": (
        lambda x, y: (lax.div(x, y), lax.rem(x, y), x // y, x % y, x + y, x * y, -x, jnp.abs(x), jnp.sign(x)),
        (_INTS, _DIVISORS),
    ),
    "shifts": (
        lambda x, y: (lax.shift_left(x, y), lax.shift_right_logical(x, y), lax.shift_right_arithmetic(x, y)),
        (_INTS, _DIVISORS),
    ),
    "bits": (lambda x, y: (x & y, x | y, x ^ y, ~x, lax.population_count(x), lax.clz(x)), (_INTS, _DIVISORS)),
    "bytes": (
        lambda x, y: (x + y, x * y, lax.div(x, y), lax.rem(x, y), x > y, lax.shift_right_logical(x, y), x.max()),
        (_BYTES, _BYTE_DIVISORS),
    ),
    "integer_powers": (lambda x: (lax.integer_pow(x, 3), x**5), (np.arange(-4, 5, dtype=np.int32),)),
    "float_to_integer": (
        lambda x: (x.astype(jnp.int32), x.astype(jnp.uint32), x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(bool)),
        (_EDGES,),
    ),
    "integer_to_float": (
        lambda x, y: (x.astype(jnp.float32), y.astype(jnp.float32), y.astype(jnp.int32), x.astype(jnp.int8)),
        (_INTS, _BYTES),
    ),
    "comparisons": (lambda x: (x < 1, x <= 1, x == 0, x != 0, x > 1, x >= 1, jnp.isfinite(x), jnp.isnan(x)), (_EDGES,)),
    "select": (lambda x, y: jnp.where(x > 0, x, y), (_f32(4, 6), _f32(6))),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int32), (_f32(7),)),
    "bitcast_narrower": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), (_f32(7),)),
    "bitcast_wider": (lambda x: lax.bitcast_convert_type(x, jnp.int32), (_RANDOM.integers(0, 255, (5, 4), np.uint8),)),
    "reduce_precision": (lambda x: (lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7)), (_f32(64),)),
    "halves": (
        lambda x: (x.astype(jnp.bfloat16).astype(jnp.float32), x.astype(jnp.float16).astype(jnp.float32)),
        (_f32(33),),
    ),
    "functions": (lambda x: (jnp.sin(x), jnp.exp(x), jnp.tanh(x), lax.logistic(x), lax.rsqrt(x * x + 1)), (_f32(50),)),
    "lgamma": (lambda x: (lax.lgamma(x), lax.digamma(x)), (np.abs(_f32(20)) + 0.1,)),
    "next_after": (lambda x: lax.nextafter(x, x + 1), (_f32(9),)),
}

SHAPES = {
    "broadcast": (lambda x, y: x[:, None, :] * y[None, :, None] + jnp.ones((1, 3, 1)), (_f32(4, 5), _f32(3))),
    "unit_dims": (lambda x: (x - x.mean(1, keepdims=True)) / x.sum(0, keepdims=True), (_f32(4, 5),)),
    "transposes": (lambda x: (x.transpose(2, 0, 1), jnp.exp(x.transpose(1, 2, 0)), x.T + 1), (_f32(2, 3, 4),)),
    "reshapes": (lambda x: (x.reshape(6, 4), x.reshape(-1), x.reshape(2, 3, 2, 2), x.reshape(3, 8)), (_f32(2, 3, 4),)),
    "rank_zero": (lambda x: (x.reshape(()), jnp.sin(x).reshape(1, 1)), (_f32(1),)),
    "slices": (lambda x: (x[1:3, ::2], x[::-1], x[:, 2], x[2:2]), (_f32(4, 7),)),
    "pads": (
        lambda x: (
            jnp.pad(x, ((1, 2), (0, 3)), constant_values=2.0),
            lax.pad(x, 1.5, ((-1, 2, 0), (1, -2, 0))),
            lax.pad(x, 0.5, ((1, 0, 2), (0, 1, 1))),
            lax.pad(x, x[0, 0], ((1, 1, 0), (0, 0, 0))),
            lax.pad(x, 0.0, ((-3, 1, 2), (-1, -1, 1))),
        ),
        (_f32(4, 5),),
    ),
    "concatenates": (
        lambda x, y: (jnp.concatenate([x, y]), jnp.concatenate([x, x, x[:, :1]], 1), jnp.stack([x, x])),
        (_f32(4, 5), _f32(2, 5)),
    ),
    "iotas": (
        lambda x: (jnp.arange(6) * 2, x + jnp.arange(5.0), lax.broadcasted_iota(jnp.int32, (2, 3), 0)),
        (_f32(5),),
    ),
    "reverses": (lambda x: (x[::-1, :], x[:, ::-1], jnp.flip(x)), (_f32(3, 4),)),
    "constants": (
        lambda x: (x + np.arange(4, dtype=np.float32), jnp.array([True, False, True]), jnp.array([np.nan, np.inf])),
        (_f32(4),),
    ),
    "zero_sized": (lambda x: (x * 2, x.sum(), jnp.concatenate([x, x]), x.sum(0)), (np.zeros((0, 3), np.float32),)),
}

REDUCTIONS = {
    "sums": (lambda x: (x.sum(), x.sum(0), x.sum(1), x.mean((0, 2)), x.prod(2)), (_f32(3, 4, 5),)),
    "maxima": (lambda x: (x.max(), x.min(1), jnp.argmax(x, 1), jnp.argmin(x)), (_f32(6, 7),)),
    "nan_maxima": (lambda x: (x.max(), jnp.argmax(x)), (_EDGES,)),
    "bools": (lambda x: (jnp.any(x, 1), jnp.all(x, 0), x.sum()), (_f32(4, 6) > 0,)),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (_f32(4, 9),)),
    "running": (
        lambda x: (jnp.cumsum(x, 1), lax.cumsum(x, 0, reverse=True), lax.cummax(x, 1), lax.cumlogsumexp(x, 0)),
        (_f32(5, 9),),
    ),
    "pooling_gradient": (
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2).sum()),
        (_f32(1, 7, 8, 2),),
    ),
    "windows": (
        lambda x: (
            lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
            lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 1, 2, 1), "SAME"),
        ),
        (_f32(2, 8, 7, 3),),
    ),
}

CONTRACTIONS = {
    "matmul": (lambda x, y: (x @ y, y.T @ x.T, jnp.tanh(x @ y)), (_f32(4, 8), _f32(8, 6))),
    "batch_matmul": (lambda x, y: (x @ y, jnp.einsum("bij,bjk->bki", x, y)), (_f32(2, 4, 8), _f32(2, 8, 5))),
    "vectors": (lambda a, x, y: (a @ x, y @ a, x @ x), (_f32(4, 8), _f32(8), _f32(4))),
    "einsum": (lambda x, y: jnp.einsum("aibj,cjia->bc", x, y), (_f32(2, 3, 4, 5), _f32(6, 5, 3, 2))),
    "integer_matmul": (lambda x, y: x @ y, (_i32(3, 4), _i32(4, 5))),
    "convolution": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (_f32(2, 8, 7, 3), _f32(3, 2, 3, 4)),
    ),
    "dilated_convolution": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), ((1, 2), (0, 1)), lhs_dilation=(2, 1), rhs_dilation=(1, 2)),
        (_f32(2, 3, 6, 5), _f32(4, 3, 2, 3)),
    ),
    "grouped_convolution": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", feature_group_count=2),
        (_f32(2, 4, 6, 5), _f32(6, 2, 3, 3)),
    ),
}

INDEXING = {
    "gather": (lambda x, i: (x[i], x[:, i % 3], x[i, i % 3]), (_f32(10, 3), _i32(5, low=-10, high=10))),
    "take_clip": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (_f32(10, 3), _i32(5))),
    "take_fill": (lambda x, i: jnp.take(x, i, axis=1, mode="fill"), (_f32(3, 10), _i32(5))),
    "take_along": (lambda x, i: jnp.take_along_axis(x, i, axis=1), (_f32(4, 6), _i32(4, 3, low=0, high=6))),
    "dynamic_slice": (
        lambda x, i, u: (lax.dynamic_slice(x, (i, i), (2, 3)), lax.dynamic_update_slice(x, u, (i, 0))),
        (_f32(8, 8), np.int32(7), _f32(2, 2)),
    ),
    "scatter": (
        lambda x, i, u: (x.at[i].add(u), x.at[i].set(u), x.at[i].max(u)),
        (_f32(10, 3), np.array([1, 4, 1, 9, 0], np.int32), _f32(5, 3)),
    ),
    "scatter_window": (
        lambda x: (x.at[1:-1, 2:4].set(0.0), x.at[3, 2].add(7.0), x.at[-1, 1:3].mul(x[0, :2]), x.at[30].set(1.0)),
        (_f32(8, 5),),
    ),
    "scatter_counted_window": (
        lambda x: lax.fori_loop(0, 12, lambda i, a: a.at[i - 2].set(a[3] + i).at[i, 3:5].add(1.0), x),
        (_f32(8, 5),),
    ),
    "scatter_columns": (
        lambda x, i, u: (x.at[:, i].add(u), x.at[i, i].set(1.0)),
        (_f32(4, 6), np.array([0, 3, 2], np.int32), _f32(4, 3)),
    ),
    "sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x)[:, ::-1]), (_f32(4, 9),)),
    "top_k": (lambda x: lax.top_k(x, 3), (_f32(4, 9),)),
}

CONTROL = {
    "fori": (lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), (_f32(8), np.int32(7))),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.float32(0), x), (_f32(16),)),
    "scan_reverse": (lambda x: lax.scan(lambda c, a: (c + a, c), jnp.zeros(3), x, reverse=True), (_f32(6, 3),)),
    "while": (
        lambda x: lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2 + 1, c[1] + c[0]), (x, x)),
        (np.float32(1),),
    ),
    "cond": (lambda p, x: lax.cond(p, jnp.sin, lambda x: x * 2, x), (np.bool_(True), _f32(4))),
    "switch": (
        lambda p, x: lax.switch(p, [jnp.sin, lambda x: x * 2, lambda x: x + 1], x),
        (np.int32(5), _f32(4)),
    ),
    "random": (lambda k: jax.random.normal(jax.random.wrap_key_data(k), (8,)), (np.array([1, 2], np.uint32),)),
    "gradient": (
        jax.grad(lambda w, x: jnp.mean((jax.nn.relu(x @ w) - 1) ** 2)),
        (_f32(5, 4), _f32(6, 5)),
    ),
}

def _c64(*shape):
    return (_f32(*shape) + 1j * _f32(*shape)).astype(np.complex64)


_COMPLEX_EDGES = np.array([0, 1, 1j, -1j, 3e20 + 1e20j, 1e-20 + 1e-20j, -2 + 0.5j], np.complex64)

COMPLEX = {
    "arithmetic": (
        lambda x, y: (x + y, x - y, x * y, x / y, -x, jnp.abs(x), x.real, x.imag.sum()),
        (_c64(3, 4), _c64(3, 4)),
    ),
    "magnitudes": (lambda x: (jnp.abs(x), jnp.sign(x), x == 0, x != 1j, x / (x + 2)), (_COMPLEX_EDGES,)),
    "functions": (
        lambda x: (jnp.exp(x), jnp.log(x), jnp.sqrt(x), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.tanh(x), x**2.5),
        (_c64(12),),
    ),
    "sums": (lambda x, y: (x.sum(), x.mean(0), x @ y, x.conj().T), (_c64(3, 4), _c64(4, 5))),
}

FOURIER = {
    "short": (lambda x: (jnp.fft.fft(x), jnp.fft.ifft(x), jnp.fft.rfft(x.real)), (_c64(3, 12),)),
    "long": (lambda x: (jnp.fft.fft(x), jnp.fft.irfft(x)), (_c64(2, 192),)),
    "planes": (lambda x: (jnp.fft.fft2(x), jnp.fft.rfft2(x.real), jnp.fft.irfft2(x)), (_c64(6, 10),)),
    "primes": (lambda x: jnp.fft.fft(x), (_c64(101),)),
}

FAMILIES = {
    "complex": COMPLEX,
    "fourier": FOURIER,
    "elementwise": ELEMENTWISE,
    "shapes": SHAPES,
    "reductions": REDUCTIONS,
    "contractions": CONTRACTIONS,
    "indexing": INDEXING,
    "control": CONTROL,
}


#: One or two of each family: what every test run looks at.
BRIEF = ("integers", "float_to_integer", "broadcast", "pads", "softmax", "matmul", "gather", "scatter", "scan", "cond")


def test_briefly(through_iree, tmp_path):
    everything = {name: case for cases in FAMILIES.values() for name, case in cases.items()}
    _compare({name: everything[name] for name in BRIEF}, through_iree, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family, through_iree, tmp_path):
    _compare(FAMILIES[family], through_iree, tmp_path)


def _compare(cases, through_iree, folder):
    found = through_iree(cases, folder)
    wrong = []
    for name, (function, arguments) in cases.items():
        expected = jax.tree.leaves(jax.jit(function)(*arguments))
        assert len(found[name]) == len(expected)
        for number, (got, want) in enumerate(zip(found[name], expected)):
            want = np.asarray(want)
            got = got.astype(want.dtype) if want.dtype == bool else got
            try:
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
            except AssertionError as error:
                wrong.append(f"{name}[{number}]: {' '.join(str(error).split())[:300]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_half_precision_dots_sum_in_single_precision_and_round_once(through_iree, tmp_path):
    x, y = _f32(8, 64).astype(ml_dtypes.bfloat16), _f32(64, 8).astype(ml_dtypes.bfloat16)

    def function(x, y):
        return (x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).astype(jnp.float32)

    cases = {"dot": (function, (x.astype(np.float32), y.astype(np.float32)))}
    (found,) = through_iree(cases, tmp_path)["dot"]
    exact = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_array_equal(found, exact.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.slow
def test_integer_powers_wrap(through_iree, tmp_path):
    text = """
    func.func public @main(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
      %0 = stablehlo.power %a, %b : tensor<6xi32>
      return %0 : tensor<6xi32>
    }"""
    base, exponent = np.array([[3, -1, -1, 1, 2, 0], [100, -3, 2, -5, -1, 0]], np.int32)
    (found,) = through_iree({"power": (text, (base, exponent))}, tmp_path)["power"]
    expected = [((3**100 + 2**31) % 2**32) - 2**31, -1, 1, 1, 0, 1]
    np.testing.assert_array_equal(found, expected)
