"""Programs compiled once for shapes that are known when they run, beside jax.jit and NumPy at several sizes."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyiree
import pytest
from jax import export
from pyiree.runtime.vm.errors import VmError

SIZES = [(5, 7, 9), (1, 1, 70)]
MORE_SIZES = [(1, 4, 1), (40, 33, 3)]


def convolution(padding, strides=(1, 1), **options):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lambda x, w: jax.lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, **options)


PROGRAMS = {
    "matmul": (lambda x, w: x @ w, ["b, 8", "8, 16"]),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), ["b, n"]),
    "mlp": (lambda x, w, v, u: jnp.tanh(x @ w + v) @ u, ["b, 8", "8, 16", "16", "16, 4"]),
    "attention": (
        lambda q, k, v: jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), -1) @ v,
        ["b, n, 4", "b, n, 4", "b, n, 4"],
    ),
    "gram": (lambda x: x.T @ x, ["b, n"]),
    "normalize": (lambda x: (x - x.mean(0)) / (x.std(0) + 1), ["b, n"]),
    "join": (lambda x: jnp.concatenate([x.reshape(-1), jnp.arange(x.shape[0]).astype(jnp.float32)]) * 2, ["b, n"]),
    "differences": (lambda x: x[1:] - x[:-1], ["b, n"]),
    "turned": (lambda x: x[:, ::-1] + x, ["b, n"]),
    "strides": (lambda x: x[::2, ::-1], ["b, n"]),
    "sums_beside_others": (lambda x, y: y / y.max(1, keepdims=True) + x.sum(1)[:, None], ["b, n", "b, m"]),
    "sums_across": (lambda x, y: x.sum(0)[:, None] * y.sum(0)[None, :], ["b, n", "b, m"]),
    "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=3.0), ["b, n"]),
    "take": (lambda x: jnp.take(x, jnp.array([0, 0]), axis=0), ["b, n"]),
    "all_pairs": (lambda x: x[:, None, :] + x[None, :, :], ["b, n"]),
    "split_rows": (lambda x: x.reshape(x.shape[0], 2, 3).sum(1), ["b, 6"]),
    "pairs": (lambda x: x.reshape(-1, 2).sum(1), ["b, 6"]),
    "argmax": (lambda x: x.argmax(1), ["b, n"]),
    "sizes": (lambda x: x * x.shape[0] + x.shape[1], ["b, n"]),
    "sort": (lambda x: jnp.sort(x, 0), ["b, n"]),
    "sort_rows": (lambda x: jnp.sort(x, 1), ["b, 5"]),
    "argsort": (lambda x: jnp.argsort(x, 0), ["b, n"]),
    "scatter_rows": (lambda x, y: x.at[jnp.array([0, -1, 0])].add(y), ["b, 3", "3, 3"]),
    "scatter_columns": (lambda x, y: x.at[:, 2].set(y), ["b, 5", "b"]),
    "scatter_in_rows": (
        lambda x, y: jax.vmap(lambda row, new: row.at[jnp.array([1, 3, 1])].max(new))(x, y),
        ["b, 5", "b, 3"],
    ),
    "scatter_counted": (lambda x, y: x.at[y.astype(jnp.int32)].add(1.5, mode="drop"), ["b", "n, m"]),
    "windows": (lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 1), "SAME"), ["b, 5"]),
    "windows_along": (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (3, 2), (2, 1), ((1, 2), (0, 0))), ["b, 5"]),
    "windows_with_holes": (
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 3), (2, 1), ((1, 0), (0, 2)), (3, 2), (1, 2)),
        ["b, 5"],
    ),
    "running_sums": (
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 5), (1, 1), ((0, 0), (4, 0))),
        ["b, 5"],
    ),
    "pad_by_size": (lambda x: jnp.pad(x[1:], ((x.shape[0], 0), (5, 1))), ["b, 5"]),
    "pad_rows": (lambda x: jax.lax.pad(x, 0.0, ((0, 0, 0), (-1, 2, 1))), ["b, 5"]),
    "pad_with": (lambda x: jax.lax.pad(x, x.sum(), ((0, 0, 0), (1, 2, 0))), ["b, 5"]),
    "pooling_gradient": (
        jax.grad(lambda x: (jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "SAME") ** 2).sum()),
        ["b, 5"],
    ),
    "convolution": (convolution(padding="SAME"), ["b, 7, 6, 4", "3, 2, 4, 5"]),
    "convolution_along": (convolution(padding="SAME", strides=(2, 2)), ["2, b, 6, 4", "3, 2, 4, 5"]),
    "convolution_with_holes": (
        convolution(padding=((1, 1), (0, 2)), lhs_dilation=(2, 1), rhs_dilation=(1, 2)),
        ["b, 7, 6, 4", "3, 2, 4, 5"],
    ),
    "convolution_of_groups": (convolution(padding="SAME", feature_group_count=2), ["b, 7, 6, 4", "3, 2, 2, 6"]),
    "branches": (lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: (x * 2, x.T), lambda x: (-x, x.T + 1), x)[1], ["b, n"]),
    "switch": (lambda x: jax.lax.switch(x.shape[0] % 3, [jnp.sin, jnp.negative, lambda x: x + 1], x), ["b, n"]),
    "sums_beside_one": (lambda x: (x[:, None] * 2).transpose(1, 0, 2).sum(-1), ["b, n"]),
    "causal_attention": (
        lambda x: jax.nn.dot_product_attention(*[x[None, :, None]] * 3, is_causal=True)[0, :, 0],
        ["b, 4"],
    ),
    "histogram": (lambda x: jnp.histogram(x, bins=5)[0], ["b"]),
    "solve": (lambda x: jnp.linalg.solve(x @ x.T + 3 * jnp.eye(x.shape[0]), x), ["b, b"]),
    "cholesky_of_batch": (lambda x: jnp.linalg.cholesky(x @ x.mT + 3 * jnp.eye(4)), ["b, 4, 3"]),
    "singular_values": (lambda x: jnp.linalg.svd(x, compute_uv=False), ["b, 4, n"]),
    "top_k": (lambda x: jax.lax.top_k(x, 2)[0], ["b, 5"]),
    "top_half": (lambda x: jnp.stack(jax.lax.top_k(x, x.shape[0] // 2 + 1)), ["b"]),
    "approximate_top_k": (lambda x: jax.lax.approx_max_k(x, 2)[0], ["b, 5"]),
    "running_maximum": (lambda x: jax.lax.cummax(x), ["b, 3"]),
    "running_logsumexp": (lambda x: jax.lax.cumlogsumexp(x, reverse=True), ["b, 3"]),
    "window_of_half": (
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (x.shape[0] // 2 + 1,), (2,), ((1, x.shape[0]),)),
        ["b"],
    ),
    "windows_with_strides": (
        lambda x: jax.lax.reduce_window(x, jnp.inf, jax.lax.min, (2, 3), (2, 1), "SAME"),
        ["b, n"],
    ),
    "nonzero": (lambda x: jnp.nonzero(x > 0, size=3, fill_value=-1)[0], ["b"]),
    "random": (lambda x: x + jax.random.normal(jax.random.key(3), x.shape), ["b, n"]),
    "loop": (
        lambda x: jax.lax.fori_loop(0, 3, lambda i, c: (c * 0.5 + jnp.sin(x)).at[i % x.shape[0]].add(1), x),
        ["b, 3"],
    ),
    "loop_of_loops": (
        lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jax.lax.fori_loop(0, 2, lambda j, d: d * 0.9 + c, -c), x),
        ["b, n"],
    ),
    "loop_until": (lambda x: jax.lax.while_loop(lambda c: c.sum() < 50, lambda c: c + 1 + jnp.abs(x), x), ["b"]),
    "scan": (lambda x: jax.lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(x.shape[1]), x)[1], ["b, n"]),
    "scan_gradient": (
        jax.grad(lambda x: jax.lax.scan(lambda c, y: (jnp.sin(c) * y, c.sum()), jnp.ones(x.shape[1]), x)[1].sum()),
        ["b, n"],
    ),
    "swap": (lambda x, y: jax.lax.fori_loop(0, 3, lambda i, c: (c[1] * 0.5, c[0] + 1), (x, y))[0], ["b", "b"]),
    "gradient": (lambda w, x: jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w), ["8, 3", "b, 8"]),
}


def at(shape, sizes):
    numbers = np.random.default_rng(3)
    return numbers.normal(size=[sizes[n] if n in sizes else int(n) for n in shape.split(", ")]).astype(np.float32)


@pytest.mark.parametrize("sizes", [SIZES, pytest.param(MORE_SIZES, marks=pytest.mark.slow)], ids=["few", "more"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_serves_all_sizes(compile_symbolic, name, sizes):
    function, shapes = PROGRAMS[name]
    program = compile_symbolic(function, shapes)
    for b, n, m in sizes:
        arguments = [at(shape, {"b": b, "n": n, "m": m}) for shape in shapes]
        expected = np.asarray(jax.jit(function)(*arguments))
        given = program.main(*arguments)
        assert (given.shape, given.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)


def test_an_assertion_about_shapes_fails_the_call(compile_symbolic):
    program = compile_symbolic(lambda x: x + 1, ["b, 4"])
    with pytest.raises(VmError, match="Expected value >= 1 for dimension variable 'b'"):
        program.main(np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(program.main(np.zeros((2, 4), np.float32)), np.ones((2, 4), np.float32))


@pytest.mark.parametrize("rows", [0, 1, 6])
def test_no_rows_and_one_row(rows):
    program = pyiree.compile("""func.func public @main(%x: tensor<?x8xf32>, %w: tensor<8x3xf32>) ->
          (tensor<?x3xf32>, tensor<?xf32>, tensor<3xf32>, tensor<?x3xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :
        (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
      %r = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] :
        (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
      %c = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] :
        (tensor<?x3xf32>, tensor<f32>) -> tensor<3xf32>
      %v = stablehlo.reverse %d, dims = [0] : tensor<?x3xf32>
      return %d, %r, %c, %v : tensor<?x3xf32>, tensor<?xf32>, tensor<3xf32>, tensor<?x3xf32>
    }""")
    x, w = at(f"{rows}, 8", {}), at("8, 3", {})
    product, sums, columns, turned = program.main(x, w)
    expected = x.astype(np.float64) @ w
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums, expected.sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(columns, expected.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(turned, product[::-1])


@pytest.mark.parametrize("rows", [1, 4])
def test_whether_a_dim_is_repeated_is_seen_when_the_program_runs(rows):
    program = pyiree.compile("""func.func public @main(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
      %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %three = stablehlo.constant dense<3> : tensor<1xi32>
      %shape = stablehlo.concatenate %n1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %b = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] :
        (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
      %r = stablehlo.add %b, %y : tensor<?x3xf32>
      return %r : tensor<?x3xf32>
    }""")
    x, y = at(f"{rows}, 3", {}), at("4, 3", {})
    np.testing.assert_array_equal(program.main(x, y), x + y)


def test_a_shape_that_is_an_argument():
    program = pyiree.compile("""func.func public @main(%x: tensor<?xf32>, %s: tensor<2xi32>) ->
          (tensor<?x?xf32>, tensor<?x?xi32>) {
      %r = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      %i = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>
      return %r, %i : tensor<?x?xf32>, tensor<?x?xi32>
    }""")
    x = np.arange(12, dtype=np.float32)
    for shape in ((3, 4), (12, 1), (1, 12)):
        reshaped, along = program.main(x, np.array(shape, np.int32))
        np.testing.assert_array_equal(reshaped, x.reshape(shape))
        np.testing.assert_array_equal(along, np.indices(shape)[1])


@pytest.mark.parametrize("length", [0, 1, 5])
def test_amounts_of_padding_that_are_arguments(length):
    program = pyiree.compile("""func.func public @main(%x: tensor<?xf32>, %l: tensor<1xi32>, %h: tensor<1xi32>,
          %i: tensor<1xi32>) -> tensor<?xf32> {
      %v = stablehlo.constant dense<-1.0> : tensor<f32>
      %r = stablehlo.dynamic_pad %x, %v, %l, %h, %i :
        (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }""")
    x = np.arange(length, dtype=np.float32)
    for low, high, interior in ((0, 0, 0), (2, 1, 0), (1, 3, 2), (-1, 2, 1)):
        spread = np.full(max(0, length + max(length - 1, 0) * interior), -1, np.float32)
        spread[:: interior + 1] = x
        wide = np.concatenate([np.full(9, -1, np.float32), spread, np.full(9, -1, np.float32)])
        expected = wide[9 - low : 9 + len(spread) + high]
        given = program.main(x, *(np.array([n], np.int32) for n in (low, high, interior)))
        np.testing.assert_array_equal(given, expected)


CONVOLUTION = """
func.func @main(%x: tensor<2x5x7x3xf32>, %k: tensor<3x2x3x4xf32>, %p: tensor<2x2xi32>) -> tensor<RESULT> {
  %r = "stablehlo.dynamic_conv"(%x, %k, %p) {window_strides = array<i64: 2, 1>, lhs_dilation = array<i64: 2, 1>,
    rhs_dilation = array<i64: 1, 2>, batch_group_count = 1 : i64, feature_group_count = 1 : i64,
    dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>}
    : (tensor<2x5x7x3xf32>, tensor<3x2x3x4xf32>, tensor<2x2xi32>) -> tensor<RESULT>
  return %r : tensor<RESULT>
}"""


@pytest.mark.parametrize(
    "padding", [((0, 0), (0, 0)), ((-1, 3), (0, -2)), ((4, 0), (-2, 6)), ((9, -4), (12, -9)), ((-6, 9), (-7, 12))]
)
def test_convolution_with_padding_known_when_run(padding):
    rng = np.random.default_rng(1)
    x, k = rng.standard_normal((2, 5, 7, 3), np.float32), rng.standard_normal((3, 2, 3, 4), np.float32)
    dilations = {"lhs_dilation": (2, 1), "rhs_dilation": (1, 2), "dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    expected = jax.lax.conv_general_dilated(x, k, (2, 1), padding, **dilations)
    shape = "x".join(map(str, expected.shape)) + "xf32"
    found = pyiree.compile(CONVOLUTION.replace("RESULT", shape)).main(x, k, np.array(padding, np.int32))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


EXPORTED = {
    "cond": lambda x: jax.lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x),
    "running sum": lambda x: jnp.cumsum(x, 0),
    "window": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 1), (1, 1), "SAME"),
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T + 10 * jnp.eye(x.shape[0], dtype=x.dtype)),
    "sort": lambda x: jnp.sort(x, 0),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_function_is_called_with_known_sizes(name):
    """Its shapes are then those of the arguments, as `jax.jit` has it."""
    symbolic = jax.ShapeDtypeStruct(export.symbolic_shape("n, 5", constraints=["n>=2"]), np.float32)
    call = export.export(jax.jit(EXPORTED[name]))(symbolic).call
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    np.testing.assert_allclose(pyiree.jit(call)(x), jax.jit(call)(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="n"):
        pyiree.jit(call)(x[:1])


def test_branches_of_different_sizes():
    program = pyiree.compile("""
func.func @main(%x: tensor<?x5xf32>, %p: tensor<i1>) -> tensor<?x5xf32> {
  %r = "stablehlo.if"(%p) ({
    %c = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>
    stablehlo.return %c : tensor<?x5xf32>
  }, {
    stablehlo.return %x : tensor<?x5xf32>
  }) : (tensor<i1>) -> tensor<?x5xf32>
  %s = stablehlo.add %r, %r : tensor<?x5xf32>
  return %s : tensor<?x5xf32>
}""")
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.testing.assert_array_equal(program.main(x, np.array(True)), np.concatenate([x, x]) * 2)
    np.testing.assert_array_equal(program.main(x, np.array(False)), x * 2)


@pytest.mark.parametrize("size", [1, 3, 17])
def test_what_a_loop_carries_may_grow(size):
    program = pyiree.compile("""func.func public @main(%x: tensor<?xf32>, %most: tensor<f32>) ->
          (tensor<?xf32>, tensor<i32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.while(%a = %x) : tensor<?xf32>
        cond {
          %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] :
            (tensor<?xf32>, tensor<f32>) -> tensor<f32>
          %go = stablehlo.compare LT, %s, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        } do {
          %b = stablehlo.cosine %a : tensor<?xf32>
          %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          stablehlo.return %c : tensor<?xf32>
        }
      %n = stablehlo.get_dimension_size %r, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      return %r, %n : tensor<?xf32>, tensor<i32>
    }""")
    x = np.abs(at(f"{size}", {}))
    for most in (0, 5, 40):
        expected = x
        while expected.sum() < most:
            expected = np.concatenate([expected, np.cos(expected)])
        given, length = program.main(x, np.float32(most))
        np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-5)
        assert length == len(expected)


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "ADJOINT"])
def test_triangular_systems_of_any_size(left, transpose):
    program = pyiree.compile(f"""
func.func @main(%a: tensor<?x?x?xcomplex<f64>>, %b: tensor<?x?x?xcomplex<f64>>) -> tensor<?x?x?xcomplex<f64>> {{
  %0 = "stablehlo.triangular_solve"(%a, %b) {{left_side = {str(left).lower()}, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose {transpose}>}} :
    (tensor<?x?x?xcomplex<f64>>, tensor<?x?x?xcomplex<f64>>) -> tensor<?x?x?xcomplex<f64>>
  return %0 : tensor<?x?x?xcomplex<f64>>
}}""")
    numbers = np.random.default_rng(5)
    for batch, n, columns in [(1, 4, 2), (3, 2, 5), (2, 1, 1)]:
        a = numbers.normal(size=(batch, n, n)) + 1j * numbers.normal(size=(batch, n, n)) + 3 * np.eye(n)
        shape = (batch, n, columns) if left else (batch, columns, n)
        x = numbers.normal(size=shape) + 1j * numbers.normal(size=shape)
        matrix = np.tril(a)
        matrix = matrix.conj().swapaxes(1, 2) if transpose == "ADJOINT" else matrix
        np.testing.assert_allclose(program.main(a, matrix @ x if left else x @ matrix), x, rtol=1e-10, atol=1e-10)


def test_cholesky_factors_of_any_size():
    program = pyiree.compile("""func.func @main(%a: tensor<?x?x?xbf16>) -> tensor<?x?x?xbf16> {
      %0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<?x?x?xbf16>) -> tensor<?x?x?xbf16>
      return %0 : tensor<?x?x?xbf16>
    }""")
    for batch, n in [(1, 3), (4, 1), (2, 5)]:
        factor = np.tril(np.random.default_rng(n).integers(1, 3, size=(batch, n, n)))
        product = (factor @ factor.swapaxes(1, 2)).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(np.tril(program.main(product)), factor)


@pytest.mark.parametrize("number", ["(0.0, 0.0)", "(1.0, -2.0)"])
@pytest.mark.parametrize("part", ["f32", "f64"])
def test_complex_numbers_all_over_an_array_of_any_size(part, number):
    program = pyiree.compile(f"""func.func @main(%x: tensor<?x3xcomplex<{part}>>) -> tensor<?x3xcomplex<{part}>> {{
      %c = stablehlo.constant dense<{number}> : tensor<complex<{part}>>
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xcomplex<{part}>>) -> tensor<i32>
      %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %three = stablehlo.constant dense<3> : tensor<1xi32>
      %s = stablehlo.concatenate %r, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %b = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] :
        (tensor<complex<{part}>>, tensor<2xi32>) -> tensor<?x3xcomplex<{part}>>
      return %b : tensor<?x3xcomplex<{part}>>
    }}""")
    given = program.main(np.zeros((5, 3), np.complex64 if part == "f32" else np.complex128))
    np.testing.assert_array_equal(given, np.full((5, 3), complex(*map(float, number.strip("()").split(", ")))))


def test_batch_normalisation_of_any_batch():
    program = pyiree.compile("""
func.func @main(%x: tensor<?x3x2xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) ->
    (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} :
    (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>
}""")
    scale, offset = at("3", {}), at("3", {})[::-1].copy()
    for batch in (1, 5):
        x = at("b, 3, 2", {"b": batch})
        mean, variance = x.mean((0, 2)), x.var((0, 2))
        normalized = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-3)
        given = program.main(x, scale, offset)
        for result, expected in zip(given, (scale[:, None] * normalized + offset[:, None], mean, variance)):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


MULTIPLY = """({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32> })"""

OLDER_OPS = {
    "dot": ("stablehlo.dot %x, %y", "tensor<3x?xf32>", np.matmul),
    "einsum": ('"stablehlo.einsum"(%x, %y) {einsum_config = "ab,bc->ac"}', "tensor<3x?xf32>", np.matmul),
    "map": (f'"stablehlo.map"(%x, %y) {MULTIPLY} {{dimensions = array<i64: 0, 1>}}', "tensor<?x3xf32>", np.multiply),
}


@pytest.mark.parametrize("name", OLDER_OPS)
def test_older_ops_of_any_size(name):
    op, other, reference = OLDER_OPS[name]
    program = pyiree.compile(f"""func.func @main(%x: tensor<?x3xf32>, %y: {other}) -> tensor<?x?xf32> {{
      %0 = {op} : (tensor<?x3xf32>, {other}) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }}""")
    for n in (1, 3):
        x, y = at("b, 3", {"b": n}), at("3, b" if other.startswith("tensor<3") else "b, 3", {"b": n})
        np.testing.assert_allclose(program.main(x, y), reference(x, y), rtol=1e-5)
