"""The benchmark of convolutions: its functions are convolutions, in any layout."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def convolutions():
    """The module, which is in no package."""
    sys.path.insert(0, str(FOLDER))
    try:
        import convolutions

        yield convolutions
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_layouts(convolutions, layout):
    """A filter of ones sums up what it sees of all channels."""
    x = np.arange(1 * 4 * 5 * 3, dtype=np.float32).reshape(1, 4, 5, 3)
    padded = np.pad(x.sum(-1), ((0, 0), (1, 1), (1, 1)))
    expected = sum(padded[:, i : i + 4, j : j + 5] for i in range(3) for j in range(3))
    if layout == "NHWC":
        found = convolutions.convolution(layout)(x, np.ones((3, 3, 3, 2), np.float32))
    else:
        found = convolutions.convolution(layout)(x.transpose(0, 3, 1, 2), np.ones((2, 3, 3, 3), np.float32))
        found = np.asarray(found).transpose(0, 2, 3, 1)
    for channel in range(2):
        np.testing.assert_allclose(np.asarray(found)[..., channel], expected)


def test_channels_apart(convolutions):
    x = np.arange(1 * 3 * 3 * 4, dtype=np.float32).reshape(1, 3, 3, 4)
    found = convolutions.convolution("NHWC", channels_apart=True)(x, np.ones((3, 3, 1, 4), np.float32))
    np.testing.assert_allclose(np.asarray(found)[0, 1, 1], x.sum((0, 1, 2)))
