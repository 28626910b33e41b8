"""Ops of other elements than floats, and of rarer kinds, on arrays whose sizes are known when the program runs."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest
from jax import lax

SIZES = [{"b": 1, "n": 3}, {"b": 2, "n": 5}, {"b": 7, "n": 2}]


def at(shape, dtype, sizes):
    """Small whole numbers, exact in every type; complex ones have different parts."""
    numbers = np.random.default_rng(3)
    shape = [eval(n, dict(sizes)) for n in shape.split(", ")]
    whole = numbers.integers(0, 7, shape) + (1j * numbers.integers(-5, 5, shape) if np.dtype(dtype).kind == "c" else 0)
    return whole.astype(dtype)


def assert_as_jit(function, program, arguments, **tolerances):
    """The program gives what jax.jit gives for these sizes."""
    expected = np.asarray(jax.jit(function)(*arguments))
    given = program.main(*arguments)
    assert (given.shape, given.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(given, expected, **tolerances)


BITS = {
    "bytes": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), "b", np.int32),
    "halves": (lambda x: lax.bitcast_convert_type(x, jnp.uint16), "b, n", np.float32),
    "of bytes": (lambda x: lax.bitcast_convert_type(x, jnp.int32), "b, 4", np.uint8),
    "of halves": (lambda x: lax.bitcast_convert_type(x, jnp.float32), "b, n, 2", ml_dtypes.bfloat16),
    "same width": (lambda x: lax.bitcast_convert_type(x, jnp.int32), "b, n", np.float32),
    "small floats": (lambda x: lax.bitcast_convert_type(x, jnp.float8_e4m3fn).astype(jnp.float32), "b, n", np.int32),
    "of small floats": (lambda x: lax.bitcast_convert_type(x, jnp.int16), "b, n, 2", ml_dtypes.float8_e5m2),
    "nibbles": (lambda x: lax.bitcast_convert_type(x, jnp.int4).astype(jnp.int8), "b, n", np.uint8),
    "of nibbles": (lambda x: lax.bitcast_convert_type(x.astype(jnp.int4), jnp.int8), "b, 2", np.int8),
    "of sizes": (lambda x: lax.bitcast_convert_type(jnp.arange(x.shape[0]), jnp.int16), "b", np.float32),
    "view": (lambda x: x.view(jnp.float32), "b, n*2", np.float16),
    "view of parts": (lambda x: x.view(jnp.float32), "b, n", np.complex64),
    "view as pairs": (lambda x: x.view(jnp.complex64), "b, n*2", np.float32),
}


@pytest.mark.parametrize("name", BITS)
def test_bits_in_elements_of_another_width(compile_symbolic, name):
    function, shape, dtype = BITS[name]
    program = compile_symbolic(function, [shape], dtype)
    for sizes in SIZES:
        assert_as_jit(function, program, [at(shape, dtype, sizes)], rtol=0)


def test_bits_of_complex_numbers():
    program = pyiree.compile("""
func.func @main(%x: tensor<?xcomplex<f64>>, %y: tensor<?x?xcomplex<f32>>) ->
    (tensor<?x?xcomplex<f32>>, tensor<?xcomplex<f64>>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<?xcomplex<f64>>) -> tensor<?x?xcomplex<f32>>
  %1 = stablehlo.bitcast_convert %y : (tensor<?x?xcomplex<f32>>) -> tensor<?xcomplex<f64>>
  return %0, %1 : tensor<?x?xcomplex<f32>>, tensor<?xcomplex<f64>>
}""")
    for n in (1, 5):
        x, y = at("n", np.complex128, {"n": n}), at("n, 2", np.complex64, {"n": n})
        split, joined = program.main(x, y)
        np.testing.assert_array_equal(split, x.view(np.complex64).reshape(n, 2))
        np.testing.assert_array_equal(joined, y.view(np.complex128)[:, 0])


NUMBER = np.complex64(1 + 2j)

COMPLEX = {
    "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 1))), "b, n"),
    "pad with": (lambda x: lax.pad(x, NUMBER, ((1, 2, 3), (0, 1, 0))), "b, n"),
    "pad one side": (lambda x: lax.pad(x, NUMBER, ((0, 0, 0), (1, 2, 0))), "b, 3"),
    "pad with data": (lambda x: lax.pad(x, x.sum(), ((-1, 2, 1), (1, 0, 0))), "b, n"),
    "pad by size": (lambda x: jnp.pad(x, ((x.shape[0], 0), (0, x.shape[1])), constant_values=2j), "b, n"),
    "full": (lambda x: jnp.full(x.shape, NUMBER), "b, n"),
    "converted": (lambda x: jnp.full(x.shape, lax.convert_element_type(2, np.complex64)), "b, n"),
    "set": (lambda x: x.at[0].set(NUMBER), "b, n"),
    "multiply": (lambda x: x.at[jnp.array(x.shape[0] // 2)].multiply(NUMBER), "b, n"),
    "fill": (lambda x: x.at[jnp.array([0, 50])].get(mode="fill", fill_value=NUMBER), "b"),
    "where": (lambda x: jnp.where(x.real > 2, NUMBER, x), "b, n"),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * NUMBER + x, jnp.full(x.shape, NUMBER)), "b"),
    "loop of numbers": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * NUMBER + x.sum(), NUMBER), "b"),
    "scan": (lambda x: lax.scan(lambda c, y: (c * 2j + y, c), jnp.full(x.shape[1], NUMBER), x)[1], "b, n"),
    "branch": (lambda x: lax.cond(x[0].real > 2, lambda: jnp.full(x.shape, NUMBER), lambda: x * 2j), "b"),
    "concatenate": (lambda x: jnp.concatenate([x, jnp.full(x.shape[0] + 1, NUMBER), jnp.full(2, NUMBER)]), "b"),
    "update slice": (lambda x: lax.dynamic_update_slice(jnp.full((x.shape[0] * 2,), NUMBER), x, (1,)), "b"),
    "iota": (lambda x: jnp.arange(x.shape[0]).astype(np.complex64) * NUMBER + x, "b"),
    "product": (lambda x: (x / 9).prod(0), "b, n"),
    "running product": (lambda x: jnp.cumprod(x / 9, 0), "b, n"),
    "windows": (lambda x: lax.reduce_window(x, np.complex64(0), lax.add, (2, 1), (1, 1), ((1, 0), (0, 0))), "b, n"),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_constants_beside_arrays_of_any_size(compile_symbolic, name):
    function, shape = COMPLEX[name]
    program = compile_symbolic(function, [shape], np.complex64)
    for sizes in SIZES:
        assert_as_jit(function, program, [at(shape, np.complex64, sizes)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sums_that_begin_with_a_complex_number(dtype):
    part = "f32" if dtype is np.complex64 else "f64"
    program = pyiree.compile(f"""func.func @main(%x: tensor<?x?xcomplex<{part}>>) -> tensor<?xcomplex<{part}>> {{
      %c = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<{part}>>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] :
        (tensor<?x?xcomplex<{part}>>, tensor<complex<{part}>>) -> tensor<?xcomplex<{part}>>
      return %0 : tensor<?xcomplex<{part}>>
    }}""")
    for sizes in SIZES:
        x = at("b, n", dtype, sizes)
        np.testing.assert_array_equal(program.main(x), x.sum(0) + (1 - 2j))


def convolution(**options):
    defaults = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    return lambda x, k: lax.conv_general_dilated(x, k, **{**defaults, **options})


def gradient_of(argument, **options):
    return jax.grad(lambda x, k: (convolution(**options)(x, k) ** 2).sum(), argument)


FAR = {"window_strides": (2, 1), "padding": ((1, 2), (0, 1)), "lhs_dilation": (2, 1), "rhs_dilation": (1, 2)}

CONVOLUTIONS = {
    "groups of the batch": (convolution(batch_group_count=2), ["b*2, 5, 6, 3", "2, 2, 3, 4"]),
    "groups, other sizes": (convolution(batch_group_count=2), ["4, b, n, 3", "2, 2, 3, 4"]),
    "groups, any features": (convolution(batch_group_count=3), ["6, 5, 4, b", "2, 2, b, n*3"]),
    "groups with holes": (convolution(batch_group_count=2, **FAR), ["b*2, 5, n+4, 3", "2, 2, 3, 4"]),
    "no places": (
        lambda x, k: lax.conv_general_dilated(x, k, (), (), batch_group_count=3),
        ["b*3, 2", "6, 2"],
    ),
    "gradient": (gradient_of(1, feature_group_count=2), ["b, 5, 6, 4", "2, 2, 2, 4"]),
    "gradient by strides": (gradient_of(1, feature_group_count=2, window_strides=(2, 1)), ["b, 7, 6, 4", "3, 2, 2, 4"]),
    "gradient with holes": (gradient_of(1, feature_group_count=4, rhs_dilation=(1, 2)), ["b, 7, 6, 4", "3, 2, 1, 4"]),
    "gradient along": (gradient_of(1, feature_group_count=2), ["2, b+1, 6, 4", "2, 2, 2, 4"]),
    "gradient of groups": (gradient_of(0, batch_group_count=2), ["b*2, 5, 6, 4", "2, 2, 4, 4"]),
    "kernels of a batch": (jax.vmap(lambda x, k: convolution()(x[None], k)[0]), ["3, b, 6, 4", "3, 2, 2, 4, 5"]),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_in_groups(compile_symbolic, name):
    function, shapes = CONVOLUTIONS[name]
    program = compile_symbolic(function, shapes)
    for sizes in SIZES:
        assert_as_jit(function, program, [at(shape, np.float32, sizes) for shape in shapes], rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"feature_group_count": 2}, {"batch_group_count": 2}], ids=str)
@pytest.mark.parametrize("dtype", [np.complex64, ml_dtypes.bfloat16, np.int8])
def test_convolutions_of_other_elements(compile_symbolic, dtype, options):
    shapes = ["b*2, n+1, 6, 4", f"2, 2, {4 // options.get('feature_group_count', 1)}, 4"]
    program = compile_symbolic(convolution(**options), shapes, dtype)
    for sizes in SIZES:
        arguments = [at(shape, dtype, sizes) for shape in shapes]
        # Their sums are whole numbers, exact in f32 and rounded once.
        assert_as_jit(convolution(**options), program, arguments, rtol=1e-6)


def test_groups_of_a_batch_with_padding_known_when_run():
    program = pyiree.compile("""
func.func @main(%x: tensor<?x5x3xcomplex<f32>>, %k: tensor<2x3x4xcomplex<f32>>, %p: tensor<1x2xi32>) ->
    tensor<?x?x4xcomplex<f32>> {
  %r = "stablehlo.dynamic_conv"(%x, %k, %p) {batch_group_count = 2 : i64, feature_group_count = 1 : i64,
    window_strides = array<i64: 2>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>}
    : (tensor<?x5x3xcomplex<f32>>, tensor<2x3x4xcomplex<f32>>, tensor<1x2xi32>) -> tensor<?x?x4xcomplex<f32>>
  return %r : tensor<?x?x4xcomplex<f32>>
}""")
    numbers = {"batch_group_count": 2, "dimension_numbers": ("NHC", "HIO", "NHC")}
    for batch, padding in [(2, (0, 0)), (6, (1, 2)), (4, (-2, 3))]:
        x, k = (at(shape, np.complex64, {"b": batch}) for shape in ("b, 5, 3", "2, 3, 4"))
        expected = lax.conv_general_dilated(x, k, (2,), [padding], **numbers)
        np.testing.assert_allclose(program.main(x, k, np.array([padding], np.int32)), expected, rtol=1e-5)


KEY = np.array([2**40 + 5, 2**64 - 2], np.uint64)  # the counter carries


@pytest.mark.each_pair
@pytest.mark.parametrize("algorithm", list(lax.RandomAlgorithm), ids=lambda a: a.name)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", ["b", "b, n", "b, 3", "2, b, n", "3, b, 5"])
def test_random_bits_are_those_of_xla(compile_symbolic, algorithm, dtype, shape):
    with jax.enable_x64(True):

        def bits(x):
            return lax.rng_bit_generator(KEY, x.shape, dtype, algorithm=algorithm)

        program = compile_symbolic(bits, [shape])
        for sizes in [*SIZES, {"b": 4, "n": 6}]:
            x = at(shape, np.float32, sizes)
            for given, expected in zip(program.main(x), jax.jit(bits)(x)):
                assert given.dtype == expected.dtype
                np.testing.assert_array_equal(given, expected)


DRAWS = {
    "normal": (lambda key, x: jax.random.normal(key, x.shape), ["b, n"]),
    "integers": (lambda key, x: jax.random.randint(key, x.shape, 0, 10), ["b, n"]),
    "categories": (lambda key, x: jax.random.categorical(key, x), ["b, n"]),
    "split": (lambda key, x: jax.random.key_data(jax.random.split(key, x.shape[0])), ["b"]),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("implementation", ["rbg", "unsafe_rbg"])
def test_keys_of_rbg(compile_symbolic, implementation, name):
    draw, shapes = DRAWS[name]

    def function(x):
        return draw(jax.random.key(7, impl=implementation), x)

    program = compile_symbolic(function, shapes)
    for sizes in SIZES:
        assert_as_jit(function, program, [at(shape, np.float32, sizes) for shape in shapes], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 3000])
def test_random_numbers_without_a_key(size):
    program = pyiree.compile("""func.func @main(%s: tensor<1xi64>) -> (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>) {
      %a = stablehlo.constant dense<2.0> : tensor<f32>
      %b = stablehlo.constant dense<5.0> : tensor<f32>
      %m = stablehlo.constant dense<-1> : tensor<i32>
      %n = stablehlo.constant dense<2> : tensor<i32>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
      %1 = stablehlo.rng %m, %n, %s, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
      %2 = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
      return %0, %1, %2 : tensor<?xf32>, tensor<?xi32>, tensor<?xf32>
    }""")
    floats, integers, normal = program.main(np.array([size]))
    assert floats.shape == integers.shape == normal.shape == (size,)
    assert np.all((floats >= 2) & (floats < 5)) and np.all((integers >= -1) & (integers < 2))
    if size == 3000:
        assert abs(floats.mean() - 3.5) < 0.1 and set(integers) == {-1, 0, 1}
        assert abs(normal.mean() - 2) < 0.5 and abs(normal.std() - 5) < 0.5


def test_an_index_select_of_any_size():
    program = pyiree.compile("""
func.func @main(%x: tensor<?x?xf32>, %i: tensor<?xi32>, %j: tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = "stablehlo.torch_index_select"(%x, %i) {batch_dims = 0 : i64, dim = 0 : i64} :
    (tensor<?x?xf32>, tensor<?xi32>) -> tensor<?x?xf32>
  %1 = "stablehlo.torch_index_select"(%x, %j) {batch_dims = 1 : i64, dim = 1 : i64} :
    (tensor<?x?xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}""")
    for shape in ((3, 4), (1, 1)):
        x = at(f"{shape[0]}, {shape[1]}", np.float32, {})
        rows, columns = np.array([shape[0] - 1, 0], np.int32), np.full((shape[0], 3), shape[1] - 1, np.int32)
        selected, along = program.main(x, rows, columns)
        np.testing.assert_array_equal(selected, x[rows])
        np.testing.assert_array_equal(along, np.take_along_axis(x, columns, 1))


TRANSFORMS = {
    "FFT": ("complex<f32>", "complex<f32>", 6, np.fft.fft),
    "IFFT": ("complex<f32>", "complex<f32>", 6, np.fft.ifft),
    "RFFT": ("f32", "complex<f32>", 6, np.fft.rfft),
    "IRFFT": ("complex<f32>", "f32", 4, lambda x: np.fft.irfft(x, 6)),
}


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_lengths_that_a_transform_says(kind):
    source, result, length, reference = TRANSFORMS[kind]
    program = pyiree.compile(f"""func.func @main(%x: tensor<?x?x{source}>) -> tensor<?x?x{result}> {{
      %0 = stablehlo.fft %x, type = {kind}, length = [6] : (tensor<?x?x{source}>) -> tensor<?x?x{result}>
      return %0 : tensor<?x?x{result}>
    }}""")
    for rows in (1, 5):
        x = at(f"{rows}, {length}", np.float32 if source == "f32" else np.complex64, {})
        np.testing.assert_allclose(program.main(x), reference(x), rtol=1e-5, atol=1e-5)


def test_a_scatter_whose_body_reads_several_operands_of_any_size():
    program = pyiree.compile("""
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %i: tensor<?x1xi32>, %u: tensor<?x?xf32>) ->
    (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %u) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.add %a, %c : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} :
    (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x1xi32>, tensor<?x?xf32>, tensor<?x?xf32>) ->
    (tensor<?x?xf32>, tensor<?x?xf32>)
  return %0#0, %0#1 : tensor<?x?xf32>, tensor<?x?xf32>
}""")
    for shape, rows in [((5, 6), [1, 9, 2, 1]), ((1, 1), [0]), ((2, 3), [])]:
        x, u = (at(f"{n}, {shape[1]}", np.float32, {}) for n in (shape[0], len(rows)))
        y = x[::-1].copy()
        sums, differences = x.copy(), y.copy()
        for row, update in zip(rows, u):
            if row < len(x):
                sums[row], differences[row] = sums[row] + update, sums[row] - differences[row]
        found = program.main(x, y, np.array(rows, np.int32).reshape(-1, 1), u)
        np.testing.assert_array_equal(found[0], sums)
        np.testing.assert_array_equal(found[1], differences)


KNOWN_LATER = {
    "broadcast": """%s = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
      %0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1]
        {known_nonexpanding_dimensions = array<i64: 0, 1>} : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<3x4xf32>
      %r = stablehlo.negate %0 : (tensor<3x4xf32>) -> tensor<?x?xf32>""",
    "transpose": """%0 = stablehlo.negate %x : (tensor<?x?xf32>) -> tensor<?x4xf32>
      %r = stablehlo.transpose %0, dims = [0, 1] : (tensor<?x4xf32>) -> tensor<?x?xf32>""",
    "branch": """%yes = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%x init: %yes) applies stablehlo.add across dimensions = [0, 1] :
        (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>
      %p = stablehlo.compare GE, %sum, %yes : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %0 = "stablehlo.if"(%p) ({
        %s = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
        %1 = stablehlo.dynamic_reshape %x, %s : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
        stablehlo.return %1 : tensor<?x?xf32>
      }, { stablehlo.return %x : tensor<?x?xf32> }) : (tensor<i1>) -> tensor<?x?xf32>
      %r = stablehlo.negate %0 : tensor<?x?xf32>""",
    "tuple": """%0 = stablehlo.tuple %x : tuple<tensor<?x?xf32>>
      %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<?x?xf32>>) -> tensor<?x?xf32>
      %r = stablehlo.negate %1 : tensor<?x?xf32>""",
}


@pytest.mark.parametrize("name", KNOWN_LATER)
def test_types_that_know_more_than_those_before(name):
    program = pyiree.compile(f"""func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {{
      {KNOWN_LATER[name]}
      return %r : tensor<?x?xf32>
    }}""")
    x = at("3, 4", np.float32, {})
    np.testing.assert_array_equal(program.main(x), -x)
