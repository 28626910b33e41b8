"""Ops of StableHLO that jax does not write: einsum, torch_index_select, set_dimension_size, scatters of several
operands that are read together, composites in the body of another op."""

import numpy as np
import pytest


@pytest.fixture
def run_main():
    """A function (text, *arrays) that gives the list of results."""
    import pyiree

    def run(text, *arrays):
        found = pyiree.compile(text).main(*arrays)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    return run


@pytest.fixture
def random():
    return np.random.default_rng(5)


def _tensor(array, element="f32"):
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{element}>"


@pytest.mark.parametrize(("config", "left", "right"), [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bij,kjb->ki", (2, 3, 4), (5, 4, 2)),  # a batch dim that is summed
    ("ij,k->jk", (3, 4), (5,)),  # a dim that only one operand has, summed
    ("ij,kl->", (3, 4), (5, 2)),
    ("i,j->ij", (3,), (0,)),
    ("ij,jk->ik", (3, 0), (0, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (2, 1, 4, 5)),
    (",ij->ji", (), (3, 4)),
])  # fmt: skip
def test_einsum(run_main, random, config, left, right):
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in (left, right))
    wanted = np.einsum(config, x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    given, made = f"{_tensor(x)}, {_tensor(y)}", _tensor(wanted)
    (got,) = run_main(
        f"func.func @main(%x: {_tensor(x)}, %y: {_tensor(y)}) -> {made} {{\n"
        f'  %r = "stablehlo.einsum"(%x, %y) {{einsum_config = "{config}"}} : ({given}) -> {made}\n'
        f"  return %r : {made}\n}}", x, y,
    )  # fmt: skip
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_einsum_of_small_integers_sums_in_wider_ones(run_main):
    x = np.full((2, 100), 100, np.int8)
    (got,) = run_main(
        "func.func @main(%x: tensor<2x100xi8>) -> tensor<2x2xi32> {\n"
        '  %r = "stablehlo.einsum"(%x, %x) {einsum_config = "ij,kj->ik"} : '
        "(tensor<2x100xi8>, tensor<2x100xi8>) -> tensor<2x2xi32>\n  return %r : tensor<2x2xi32>\n}", x,
    )  # fmt: skip
    assert (got == 1_000_000).all()


def test_unary_einsum(run_main, random):
    x = random.standard_normal((3, 4)).astype(np.float32)
    (got,) = run_main(
        'func.func @main(%x: tensor<3x4xf32>) -> tensor<4xf32> {\n  %r = "stablehlo.unary_einsum"(%x) '
        '{einsum_config = "ij->j"} : (tensor<3x4xf32>) -> tensor<4xf32>\n  return %r : tensor<4xf32>\n}', x,
    )  # fmt: skip
    np.testing.assert_allclose(got, x.astype(np.float64).sum(0), rtol=1e-6)


def test_einsum_of_a_diagonal_is_refused(run_main, random):
    x = random.standard_normal((3, 3)).astype(np.float32)
    with pytest.raises(Exception, match=r"stablehlo\.einsum with a letter twice in one operand"):
        run_main(
            'func.func @main(%x: tensor<3x3xf32>) -> tensor<3xf32> {\n  %r = "stablehlo.einsum"(%x, %x) '
            '{einsum_config = "ii,ij->i"} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>\n'
            "  return %r : tensor<3xf32>\n}", x,
        )  # fmt: skip


@pytest.mark.parametrize(("shape", "places", "dim", "batch"), [
    ((5, 1, 5), (2,), 0, 0), ((3, 4, 5), (3, 2), 1, 1), ((3, 4, 5), (2, 3), 2, 0), ((2, 3, 4), (2, 5, 6), 1, 1),
    ((6,), (), 0, 0),
])  # fmt: skip
def test_torch_index_select(run_main, random, shape, places, dim, batch):
    x = random.standard_normal(shape).astype(np.float32)
    index = random.integers(0, shape[dim], places).astype(np.int32)
    if batch:
        wanted = np.stack([np.take(part, i, dim - 1) for part, i in zip(x, index)])
    else:
        wanted = np.take(x, index, dim)
    given, made = f"{_tensor(x)}, {_tensor(index, 'i32')}", _tensor(wanted)
    (got,) = run_main(
        f"func.func @main(%x: {_tensor(x)}, %i: {_tensor(index, 'i32')}) -> {made} {{\n"
        f'  %r = "stablehlo.torch_index_select"(%x, %i) {{dim = {dim} : i64, batch_dims = {batch} : i64}} : '
        f"({given}) -> {made}\n  return %r : {made}\n}}", x, index,
    )  # fmt: skip
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_set_dimension_size(run_main, size):
    """What follows sees only the part that is left."""
    x = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    bounded = "tensor<2x?xf32, #stablehlo.bounds<?, 8>>"
    part, total = run_main(
        f"func.func @main(%x: tensor<2x8xf32>, %n: tensor<i32>) -> ({bounded}, tensor<2xf32>) {{\n"
        f'  %r = "stablehlo.set_dimension_size"(%x, %n) {{dimension = 1 : i64}} : '
        f"(tensor<2x8xf32>, tensor<i32>) -> {bounded}\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %s = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : "
        f"({bounded}, tensor<f32>) -> tensor<2xf32>\n"
        f"  return %r, %s : {bounded}, tensor<2xf32>\n}}", x, np.int32(size),
    )  # fmt: skip
    np.testing.assert_array_equal(part, x[:, :size])
    np.testing.assert_array_equal(total, x[:, :size].sum(1))


def _arg_max_scatter(numbers, shape, updates, places):
    """Keeps the larger number and where it came from."""
    a, b, i, u, v = (f"tensor<{dims}x{element}>" for dims, element in
                     ((shape, "f32"), (shape, "i32"), (places, "i32"), (updates, "f32"), (updates, "i32")))  # fmt: skip
    return f"""
func.func @main(%a: {a}, %b: {b}, %i: {i}, %u: {u}, %v: {v}) -> ({a}, {b}) {{
  %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) ({{
  ^bb0(%x: tensor<f32>, %p: tensor<i32>, %y: tensor<f32>, %q: tensor<i32>):
    %c = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.select %c, %x, %y : tensor<i1>, tensor<f32>
    %t = stablehlo.select %c, %p, %q : tensor<i1>, tensor<i32>
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}} : ({a}, {b}, {i}, {u}, {v}) -> ({a}, {b})
  return %0#0, %0#1 : {a}, {b}
}}"""


def test_scatter_of_operands_that_are_read_together(run_main, random):
    numbers = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    text = _arg_max_scatter(numbers, "6", "40", "40x1")
    values, owners = random.standard_normal(6).astype(np.float32), np.arange(6, dtype=np.int32)
    places = random.integers(-2, 8, (40, 1)).astype(np.int32)
    new, names = random.standard_normal(40).astype(np.float32), np.arange(100, 140, dtype=np.int32)
    wanted, wanted_owners = values.copy(), owners.copy()
    for (place,), number, name in zip(places, new, names):
        if 0 <= place < 6 and not wanted[place] >= number:
            wanted[place], wanted_owners[place] = number, name
    got, got_owners = run_main(text, values, owners, places, new, names)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(got_owners, wanted_owners)


def test_scatter_of_windows_that_are_read_together(run_main, random):
    numbers = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], "
    text = _arg_max_scatter(numbers + "index_vector_dim = 1", "4x5", "6x3", "6x2")
    values, owners = random.standard_normal((4, 5)).astype(np.float32), np.arange(20, dtype=np.int32).reshape(4, 5)
    places = np.stack([random.integers(0, 4, 6), random.integers(0, 3, 6)], 1).astype(np.int32)
    new, names = random.standard_normal((6, 3)).astype(np.float32), np.arange(100, 118, dtype=np.int32).reshape(6, 3)
    wanted, wanted_owners = values.copy(), owners.copy()
    for (row, column), numbers, labels in zip(places, new, names):
        for k in range(3):
            if not wanted[row, column + k] >= numbers[k]:
                wanted[row, column + k], wanted_owners[row, column + k] = numbers[k], labels[k]
    got, got_owners = run_main(text, values, owners, places, new, names)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(got_owners, wanted_owners)


def test_composite_in_the_body_of_a_reduction(run_main):
    x = np.array([3, -7, 5, 1], np.float32)
    (got,) = run_main("""
func.func @main(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%a init: %b) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %1 = stablehlo.composite "my.largest" %x, %y {decomposition = @largest} :
      (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}
func.func private @largest(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.maximum %a, %b : tensor<f32>
  return %0 : tensor<f32>
}""", x, np.float32(-9))  # fmt: skip
    assert got == 5


def test_tuples_of_a_caller_are_their_parts(run_main, random):
    x, y = random.standard_normal(4).astype(np.float32), np.arange(3, dtype=np.int32)
    pair = "tuple<tensor<4xf32>, tuple<tensor<3xi32>, !stablehlo.token>>"
    got = run_main(
        f"func.func @main(%t: {pair}, %z: tensor<4xf32>) -> (tuple<{pair}, tensor<4xf32>>, tensor<4xf32>) {{\n"
        f'  %x = "stablehlo.get_tuple_element"(%t) {{index = 0 : i32}} : ({pair}) -> tensor<4xf32>\n'
        "  %s = stablehlo.add %x, %z : tensor<4xf32>\n"
        f"  %r = stablehlo.tuple %t, %s : tuple<{pair}, tensor<4xf32>>\n"
        f"  return %r, %x : tuple<{pair}, tensor<4xf32>>, tensor<4xf32>\n}}", x, y, x,
    )  # fmt: skip
    for found, wanted in zip(got, (x, y, x + x, x), strict=True):
        np.testing.assert_array_equal(found, wanted)
