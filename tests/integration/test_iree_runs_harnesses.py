"""JAX's own harnesses for its primitives: IREE's runtime runs what we make of them, with our numbers to the last bit.

The harnesses come with the package jax. What `jax.jit` computes for them is compared elsewhere; here it says what the
shapes and types are. Programs that call the host (LAPACK, callbacks) are left out: they ask for modules that IREE has
not; so are element types that IREE has no number for.
"""

import random
import zlib

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COUNT, SEED, AT_ONCE = 300, 7, 50
DEVICES = ("local-task", "local-sync")
_FOREIGN = ("float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
_PACKED = ("int2", "uint2", "int4", "uint4")


def _harnesses():
    """All harnesses for the CPU: in each round one of every group, in random order."""
    from jax._src.internal_test_util import test_harnesses

    groups = {}
    for harness in test_harnesses.all_harnesses:
        if harness.filter("cpu"):
            groups.setdefault(harness.group_name, []).append(harness)
    draw = random.Random(SEED)
    for members in groups.values():
        draw.shuffle(members)
    for number in range(max(map(len, groups.values()))):
        yield from (members[number] for members in groups.values() if number < len(members))


def _program(harness):
    """The `.vmfb`, the arguments and what comes out of jax.jit; None for what IREE can't be asked to run."""
    import jax
    from pyiree.compiler import pipeline
    from pyiree.runtime.vm.module import Module

    arguments = harness.dyn_args_maker(np.random.RandomState(zlib.crc32(harness.fullname.encode())))
    leaves = jax.tree.leaves(arguments)
    if not all(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves):
        return None
    lowered = jax.jit(harness.dyn_fun, keep_unused=True).lower(*arguments)
    wanted = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(lowered.out_info)]
    types = jax.tree.leaves(lowered.in_avals)
    arrays = [np.asarray(leaf).astype(type.dtype) for leaf, type in zip(leaves, types, strict=True)]
    kinds = [array.dtype for array in arrays] + [dtype for _, dtype in wanted]
    if any(jax.dtypes.issubdtype(kind, jax.dtypes.extended) or kind.name in _FOREIGN + _PACKED for kind in kinds):
        return None
    vmfb = pipeline.compile(lowered.compiler_ir("stablehlo")).vmfb
    if {dependency.name for dependency in Module(vmfb).definition.dependencies} != {"hal"}:
        return None
    return vmfb, arrays, wanted


def test_numbers_are_the_same_to_the_last_bit(iree_jobs):
    from pyiree.runtime import session

    seen, pending = 0, []
    for harness in _harnesses():
        program = _program(harness)
        if program is None:
            continue
        pending.append((harness.fullname, *program))
        seen += 1
        if len(pending) == AT_ONCE or seen == COUNT:
            found = iree_jobs([(vmfb, None, arrays, DEVICES) for _, vmfb, arrays, _ in pending])
            for (name, vmfb, arrays, wanted), (results, _) in zip(pending, found, strict=True):
                assert isinstance(results, dict), f"{name}: {results}"
                ours = session.load(vmfb)["main"](*arrays)
                ours = [np.asarray(r) for r in (ours if isinstance(ours, tuple) else (ours,))]
                for device in DEVICES:
                    for theirs, own, (shape, dtype) in zip(results[device], ours, wanted, strict=True):
                        assert (theirs.shape, theirs.dtype) == (own.shape, own.dtype) == (shape, dtype), name
                        assert theirs.tobytes() == own.tobytes(), f"{name} on {device}"
            pending = []
        if seen == COUNT:
            return
    raise AssertionError(f"only {seen} harnesses could be run")
