"""Whole programs to the end of the stream phase.

The text is taken by iree-opt; JAX functions of single-root dispatches are finished by
`iree-compile --compile-from=stream` and give jax's numbers.
"""

import pathlib

import pytest

NAMES = sorted(path.stem for path in (pathlib.Path(__file__).parent.parent / "programs").glob("*.mlir"))


def test_iree_takes_every_program(program_at, accepted):
    accepted(*[program_at(name) for name in NAMES])


@pytest.mark.parametrize("name", NAMES)
def test_all_work_is_commands_and_all_control_flow_is_branches(name, program_at):
    text = program_at(name)
    host = text[max(text.rfind("builtin.module {"), 0) :]
    assert "stream.async." not in text and "stream.resource.pack" not in text
    assert "scf." not in host


def functions():
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    row = np.arange(64, dtype=np.float32)
    return {
        "matmul": (lambda x, y: jnp.tanh(x @ y), [(8, 16), (16, 32)]),
        "two_results": (lambda x: (jnp.sin(x), x.sum()), [(8, 16)]),
        "chain": (lambda x: jnp.tanh(jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True)) @ x.T, [(8, 16)]),
        "constants": (lambda x: (x * row + 3, np.arange(5, dtype=np.float32)), [(64,)]),
        "counted_loop": (lambda x: lax.fori_loop(0, 10, lambda i, y: y @ y * 0.05 + i, x), [(16, 16)]),
        "nested_loops": (
            lambda x: lax.fori_loop(
                0, 3, lambda i, y: lax.fori_loop(0, i + 1, lambda j, z: z @ z * 0.05 + j, y) + y, x
            ),
            [(16, 16)],
        ),
        "two_carried": (
            lambda x: lax.fori_loop(0, 5, lambda i, s: (s[1] @ s[0] * 0.01, s[0]), (x, x)), [(16, 16)],
        ),
        "open_loop": (lambda x: lax.while_loop(lambda y: y.sum() < 100, lambda y: y * 1.5 + 1, x), [(64,)]),
        "no_iterations": (lambda x: lax.fori_loop(0, 0, lambda i, y: y @ y, x) + 1, [(16, 16)]),
        "branches": (lambda x: lax.cond(x[0, 0] > 0.5, lambda y: y + 1, lambda y: y @ y, x), [(16, 16)]),
        # Two pieces that are computed would be one dispatch, for which IREE's code generator has no strategy.
        "concatenation": (lambda x: jnp.concatenate([x, jnp.sin(x), x[::-1]]), [(64,)]),
        "passed_through": (lambda x: (x, x + 1, x), [(64,)]),
    }  # fmt: skip


FAST = ("constants", "counted_loop", "open_loop")


@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in functions()]
)
def test_numbers(name, iree_tool, tmp_path):
    import jax
    import numpy as np
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.pipeline import compile
    from pyiree.compiler.stream.pipeline import PASSES

    function, shapes = functions()[name]
    random = np.random.default_rng(0)
    arguments = [random.uniform(0, 1, shape).astype(np.float32) for shape in shapes]
    lowered = jax.jit(function).lower(*arguments)
    module = compile(lowered.compiler_ir("stablehlo"), compile_to="flow").module
    # IREE's code generator knows no kernels that call kernels.
    calling = ("pyiree-stream-form-loop-dispatches", "pyiree-stream-form-control-dispatches")
    PassManager([name for name in PASSES if name not in calling]).run(module, PassContext())
    text = str(module)
    module = tmp_path / "module.vmfb"
    iree_tool("iree-compile", "--compile-from=stream", "-", "-o", module, input=text)
    for i, argument in enumerate(arguments):
        np.save(tmp_path / f"in{i}.npy", argument)
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    iree_tool(
        "iree-run-module", "--device=local-task", f"--module={module}", "--function=main",
        *[f"--input=@{tmp_path / f'in{i}.npy'}" for i in range(len(arguments))],
        *[f"--output=@{tmp_path / f'out{i}.npy'}" for i in range(len(wanted))],
    )  # fmt: skip
    for i, expected in enumerate(wanted):
        np.testing.assert_allclose(np.load(tmp_path / f"out{i}.npy"), expected, rtol=3e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "wanted"),
    [("loops", [[16, 16, 16, 16], [2, 4, 8, 4]]), ("devices", [[32, 64, 96, 128], [4, 8, 12, 16]])],
)
def test_dynamic_shapes_loops_and_two_devices(function, wanted, program_at, iree_tool, tmp_path):
    import numpy as np

    module = tmp_path / "module.vmfb"
    iree_tool("iree-compile", "--compile-from=stream", "-", "-o", module, input=program_at("dynamic"))
    np.save(tmp_path / "in.npy", np.array([1, 2, 3, 4], np.float32))
    iree_tool(
        "iree-run-module", "--device=local-task", "--device=local-task", f"--module={module}",
        f"--function={function}", f"--input=@{tmp_path / 'in.npy'}", "--input=3",
        *[f"--output=@{tmp_path / f'out{i}.npy'}" for i in range(len(wanted))],
    )  # fmt: skip
    for i, expected in enumerate(wanted):
        np.testing.assert_array_equal(np.load(tmp_path / f"out{i}.npy"), expected)
