"""Programs of libraries over JAX, with `pyiree.jit` in place of `jax.jit`: the same numbers come out."""

import jax
import numpy as np
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "libraries" in item.path.parts:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def same():
    """Compares two trees of arrays, leaf by leaf; an error counts beside the leaf's largest magnitude."""

    def compare(found, expected, tolerance=2e-5):
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(expected), strict=True):
            if jax.dtypes.issubdtype(y.dtype, jax.dtypes.prng_key):
                x, y = jax.random.key_data(x), jax.random.key_data(y)
            x, y = np.asarray(x), np.asarray(y)
            assert (x.shape, x.dtype) == (y.shape, y.dtype), jax.tree_util.keystr(path)
            scale = max(1.0, float(np.abs(y).max())) if y.size else 1.0
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale, err_msg=jax.tree_util.keystr(path))

    return compare
