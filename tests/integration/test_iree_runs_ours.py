"""IREE's own runtime runs the `.vmfb` files that we make, on both of its CPU devices, and gives our numbers."""

import numpy as np
import pytest

from_here = pytest.mark.parametrize("device", ["local-task", "local-sync"])
SAMPLE = ("elementwise", "softmax", "several", "counted_loop", "small_loop", "gather")
#: Smaller than the smallest normal number: IREE's devices run kernels with such numbers flushed to zero.
TINY = np.array([1e-40, -3e-39, 1.1754942e-38, 1e-45, 0.0, -0.0, 1.0], np.float32)


@pytest.fixture(scope="module")
def tiny_program():
    """`x * 0.5 + x`, `max(x, -x)` and a sum of subnormal numbers."""
    import jax.numpy as jnp

    def function(x):
        return x * np.float32(0.5) + x, jnp.abs(x), jnp.sum(x[:4])

    import jax
    from pyiree.compiler import pipeline

    module = jax.jit(function).lower(TINY).compiler_ir("stablehlo")
    want = [TINY * np.float32(0.5) + TINY, np.abs(TINY), np.float32(TINY[0] + TINY[1] + TINY[2] + TINY[3])]
    return pipeline.compile(module).vmfb, want


@pytest.fixture(scope="module")
def sample(programs, tiny_program, iree_jobs):
    jobs = [(programs[name].vmfb, None, programs[name].arguments, ("local-task", "local-sync")) for name in SAMPLE]
    jobs.append((tiny_program[0], None, [TINY], ("local-task", "local-sync")))
    return dict(zip((*SAMPLE, "tiny"), iree_jobs(jobs)))


@from_here
@pytest.mark.parametrize("name", SAMPLE)
def test_numbers_are_the_same_to_the_last_bit(sample, programs, name, device):
    results, _ = sample[name]
    assert isinstance(results, dict), results
    for found, want in zip(results[device], programs[name].ours(device), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)


def test_the_sample_has_a_kernel_that_calls_kernels(programs):
    assert "func.call @" in programs["small_loop"].text("stream")


@from_here
def test_subnormal_numbers_survive(sample, tiny_program, device):
    results, _ = sample["tiny"]
    assert isinstance(results, dict), results
    for found, want in zip(results[device], tiny_program[1], strict=True):
        assert found.tobytes() == np.asarray(want).tobytes()
    assert np.count_nonzero(results[device][0]) == 5


def run_module(iree_tool, folder, path, device, arguments, count):
    """The results that iree-run-module writes."""
    inputs = [folder / f"in{i}.npy" for i in range(len(arguments))]
    outputs = [folder / f"out{i}.npy" for i in range(count)]
    for file, array in zip(inputs, arguments):
        np.save(file, array)
    iree_tool(
        "iree-run-module", f"--module={path}", f"--device={device}", "--function=main",
        *[f"--input=@{file}" for file in inputs], *[f"--output=@{file}" for file in outputs],
    )  # fmt: skip
    return [np.load(file) for file in outputs]


def test_the_command_line_tool_runs_it(tiny_program, iree_tool, tmp_path):
    path = tmp_path / "tiny.vmfb"
    path.write_bytes(tiny_program[0])
    results = run_module(iree_tool, tmp_path, path, "local-task", [TINY], 3)
    for found, want in zip(results, tiny_program[1], strict=True):
        assert found.tobytes() == np.asarray(want).tobytes()


def test_the_command_line_tool_prints_it(sample, iree_tool):
    for name in ("several", "counted_loop"):
        text = iree_tool("iree-dump-module", "--output=all", sample[name][1]).stdout
        assert "Exported Functions" in text and "main(" in text
        assert "hal.device.queue.execute.indirect" in text


@pytest.mark.slow
@from_here
def test_the_command_line_tools_run_and_print_everything(programs, iree_tool, tmp_path, device):
    for name, program in programs.items():
        path = tmp_path / f"{name}.vmfb"
        path.write_bytes(program.vmfb)
        assert "main(" in iree_tool("iree-dump-module", "--output=all", path).stdout
        ours = program.ours(device)
        for found, want in zip(run_module(iree_tool, tmp_path, path, device, program.arguments, len(ours)), ours):
            np.testing.assert_array_equal(found, want, err_msg=name)
