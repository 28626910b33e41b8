"""Our runtime runs the modules that the real `iree-compile` makes."""

import numpy as np
import pytest
from pyiree.runtime import session

NAMES = ("elementwise", "layer", "softmax", "several", "while_loop", "constant", "branch", "pieces")


@pytest.fixture(scope="module")
def modules(programs, iree_jobs):
    """The files of the programs as IREE compiles them from StableHLO, with the numbers of its own runtime."""
    import jax

    jobs = []
    for name in NAMES:
        program = programs[name]
        text = jax.jit(program.function).lower(*program.arguments).as_text()
        jobs.append((text, "stablehlo", program.arguments, ("local-sync",)))
    return dict(zip(NAMES, iree_jobs(jobs)))


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
@pytest.mark.parametrize("name", NAMES)
def test_numbers(modules, programs, name, device):
    theirs, path = modules[name]
    assert isinstance(theirs, dict), theirs
    results = session.load(path, devices=device)["main"](*programs[name].arguments)
    results = results if isinstance(results, tuple) else (results,)
    for found, want, right in zip(results, theirs["local-sync"], programs[name].expected(), strict=True):
        np.testing.assert_array_equal(np.asarray(found), want)
        np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-5)
