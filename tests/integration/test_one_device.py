"""Programs that speak of devices and run on one: collectives beside jax.jit, and rare ops by the specification."""

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from jax.sharding import Mesh, PartitionSpec
from pyiree.compiler.errors import UnsupportedError

X = np.arange(8, dtype=np.float32).reshape(1, 8)


@pytest.mark.parametrize(
    "collective",
    [
        lambda x: jax.lax.psum(x, "i"),
        lambda x: jax.lax.pmax((x, x + 1), "i"),
        lambda x: jax.lax.all_gather(x, "i"),
        lambda x: jax.lax.all_to_all(x, "i", 0, 0),
        lambda x: jax.lax.psum_scatter(x, "i", tiled=True),
        lambda x: jax.lax.ppermute(x, "i", [(0, 0)]) + jax.lax.axis_index("i"),
        lambda x: jax.lax.ppermute(x, "i", []),
    ],
)
def test_collectives_of_one_device(collective):
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    spread = jax.shard_map(
        collective, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec(), check_vma=False
    )
    for found, expected in zip(jax.tree.leaves(pyiree.jit(spread)(X)), jax.tree.leaves(jax.jit(spread)(X))):
        np.testing.assert_array_equal(found, expected)


def test_groups_of_several_devices_are_named():
    with pytest.raises(UnsupportedError, match=r"stablehlo\.all_gather of 2 devices at .* more than one device"):
        pyiree.compile("""func.func @main(%a: tensor<2xf32>) -> tensor<4xf32> {
          %r = "stablehlo.all_gather"(%a) {all_gather_dim = 0, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
            : (tensor<2xf32>) -> tensor<4xf32>
          return %r : tensor<4xf32>
        }""")


def test_ragged_products():
    x = np.arange(18, dtype=np.float32).reshape(6, 3)
    w = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    text = """func.func @main(%a: tensor<6x3xf32>, %b: tensor<2x3x4xf32>, %g: tensor<2xi32>) -> tensor<6x4xf32> {
      %r = "chlo.ragged_dot"(%a, %b, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
        : (tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<6x4xf32>
      return %r : tensor<6x4xf32>
    }"""
    expected = np.concatenate([x[:2] @ w[0], x[2:5] @ w[1], np.zeros((1, 4), np.float32)])
    np.testing.assert_array_equal(pyiree.compile(text).main(x, w, np.array([2, 3], np.int32)), expected)


def test_deprecated_ops():
    text = """func.func @main(%a: tensor<3xf32>, %b: tensor<f32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<[[0]]> : tensor<1x1xi64>}
        : (tensor<3xf32>) -> tensor<3xf32>
      %1 = chlo.broadcast_add %0, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
      %r = stablehlo.broadcast %1, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }"""
    found = pyiree.compile(text).main(np.array([1, 2, 3], np.float32), np.float32(10))
    np.testing.assert_array_equal(found, [[11, 12, 13]] * 2)


def test_sharding_constraints_change_nothing():
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    sharding = jax.sharding.NamedSharding(mesh, PartitionSpec("i"))
    found = pyiree.jit(lambda x: jax.lax.with_sharding_constraint(jnp.sin(x), sharding) * 2)(X)
    np.testing.assert_allclose(found, np.sin(X) * 2, rtol=1e-6)
