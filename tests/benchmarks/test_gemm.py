"""The benchmark of matrix products: what it calls gives products, and what it divides by is a rate."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def gemm():
    """The module, which is in no package."""
    sys.path.insert(0, str(FOLDER))
    try:
        import gemm

        yield gemm
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("form", ["nn", "tt"])
def test_all_multiply_the_same(gemm, form):
    case = gemm.Case("f32", form, (2, 5, 6, 7))
    assert case.operations == 2 * 2 * 5 * 6 * 7
    results = [np.asarray(call()) for call in gemm.executors(case).values()]
    assert len(results) == 3 and all(result.shape == (2, 5, 7) for result in results)
    np.testing.assert_allclose(results[0], results[2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i8"])
def test_peak(gemm, dtype, loads):
    processor = min(os.sched_getaffinity(0))
    assert gemm.peak(dtype, [processor], loads)() > 0
