"""Convolutions of images with holes as the phases of their output: the taps by NumPy, the numbers by jax."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax
from pyiree.compiler.input.convolution_phases import Axis, phases


def _seen(axis):
    """For each place of the output, what every tap sees: a place of the image, or None for a zero."""
    rows = []
    for i in range(axis.places):
        places = [axis.first + i * axis.stride + k * axis.dilation for k in range(axis.window)]
        rows.append([p // axis.holes if p % axis.holes == 0 else None for p in places])
    return rows


@given(*(st.integers(1, 5) for _ in range(4)), st.integers(-6, 6), st.integers(1, 4), st.integers(1, 4))
def test_phases_see_what_the_windows_see(size, places, window, stride, first, holes, dilation):
    axis = Axis(size, places, window, stride, first, holes, dilation)
    wanted = _seen(axis)
    found = [[None] * window for _ in range(places)]
    parts = phases(axis)
    for place, phase in enumerate(parts):
        assert phase.period == len(parts)
        assert phase.axis.holes == 1
        for row, taps in enumerate(_seen(phase.axis)):
            at = place + row * phase.period
            if at < places:
                for k, seen in enumerate(taps):
                    found[at][phase.tap + k * phase.step] = seen
    assert found == wanted


@pytest.fixture
def always(monkeypatch):
    from pyiree.compiler.input import convolutions

    monkeypatch.setattr(convolutions, "_LEAST_WORK_OF_PHASES", 0)


# (image, window, strides, padding, holes, dilations, groups, batch groups)
CASES = {
    "transposed": ((8, 8), (4, 4), (1, 1), ((2, 2), (2, 2)), (2, 2), (1, 1), 1, 1),
    "fewer taps than phases": ((5,), (2,), (1,), ((1, 3),), (3,), (1,), 1, 1),
    "strided": ((7, 4), (3, 2), (2, 3), ((1, 2), (0, 1)), (3, 2), (1, 2), 1, 1),
    "cut": ((6,), (3,), (1,), ((-2, -1),), (2,), (1,), 1, 1),
    "groups": ((5, 4), (3, 3), (1, 1), ((2, 2), (1, 1)), (2, 1), (1, 1), 2, 1),
    "each feature": ((5,), (3,), (1,), ((2, 2),), (2,), (1,), 4, 1),
    "groups of the batch": ((5,), (3,), (1,), ((2, 2),), (2,), (1,), 1, 2),
    "three dimensions": ((3, 2, 4), (2, 3, 2), (1, 2, 1), ((1, 1), (2, 0), (0, 3)), (2, 3, 1), (1, 1, 1), 1, 1),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("always")
def test_numbers(case):
    import pyiree

    image, window, strides, padding, holes, dilations, groups, batch_groups = CASES[case]
    random = np.random.default_rng(3)
    x = random.standard_normal((2, *image, 4)).astype(np.float32)
    k = random.standard_normal((*window, 4 // groups, 4 * batch_groups)).astype(np.float32)
    places = "DHW"[-len(image) :]

    def convolve(x, k):
        return lax.conv_general_dilated(
            x, k, strides, padding, holes, dilations, (f"N{places}C", f"{places}IO", f"N{places}C"),
            feature_group_count=groups, batch_group_count=batch_groups,
        )  # fmt: skip

    np.testing.assert_allclose(pyiree.jit(convolve)(x, k), jax.jit(convolve)(x, k), rtol=1e-5, atol=1e-5)


def test_no_tap_meets_a_hole():
    import pyiree

    def convolve(x, k):
        return lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    x, k = np.zeros((2, 32, 32, 16), np.float32), np.zeros((4, 4, 16, 16), np.float32)
    text = pyiree.jit(convolve).lower(x, k).as_text("input")
    # The image is padded by one place around it, not laid out with zeros in its holes.
    assert "tensor<2x34x34x16xf32>" in text
    assert "tensor<2x67x67x16xf32>" not in text
    # Each of the four phases sums over two by two of the taps.
    assert text.count("tensor<2x32x32x2x2x16xf32>, tensor<2x2x16x16xf32>) outs") == 4
