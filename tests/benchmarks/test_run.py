"""The benchmark command: its programs are right, and its table says what was measured."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def suite():
    """The modules of the benchmarks folder, which is no package."""
    sys.path.insert(0, str(FOLDER))
    try:
        import run
        import workloads

        yield run, workloads.WORKLOADS
    finally:
        sys.path.remove(str(FOLDER))


def test_a_row_of_the_table(suite):
    run, workloads = suite
    row = run.run(workloads["rms_norm"], "small", 1)
    assert not row["wrong"] and {"pyiree", "jax", "numpy"} <= set(row["microseconds"])
    text = run.table([row])
    assert "| rms_norm | small |" in text and "Geometric mean of pyiree by jax:" in text


def test_programs_in_numpy_are_the_same(suite):
    run, workloads = suite
    for workload in workloads.values():
        if workload.numpy is not None:
            arguments = workload.arguments(np.random.default_rng(1), workload.small)
            expected = jax.jit(workload.function)(*arguments)
            assert run.error(workload.numpy(*arguments), expected) <= workload.tolerance, workload.name
