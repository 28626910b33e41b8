"""Whole programs through the passes up to the async level: JAX functions whose flow text IREE's compiler made.

The text is taken by iree-opt, agrees with what IREE's passes of the same names make of it, and finished by
iree-compile gives the numbers of jax.jit.
"""

import pathlib

import pytest

PROGRAMS = pathlib.Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))


def lowered(name, before=None):
    """The text of a program before a pass, or after all of them."""
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.stream.pipeline import ASYNC_PASSES

    passes = list(ASYNC_PASSES)
    if before is not None:
        passes = passes[: passes.index(before)]
    module = parse((PROGRAMS / f"{name}.mlir").read_text(), name, verify=True)
    PassManager(passes).run(module, PassContext(verify_each=True))
    return str(module)


def test_iree_takes_every_program(accepted):
    accepted(*[lowered(name) for name in NAMES])


COUNTED = (
    "async.execute", "async.concurrent", "async.dispatch", "async.clone", "async.copy", "async.update", "async.fill",
    "<transient>", "<external>", "<staging>", "<constant>", "<*>",
)  # fmt: skip


def counts(text):
    return {word: text.count(word) for word in COUNTED}


@pytest.mark.parametrize("name", ["iree-stream-encode-host-tensors", "iree-stream-refine-usage"])
def test_passes_do_what_their_namesakes_do(name, run_passes, iree_tool):
    before = [lowered(program, before=name) for program in ("tanh", "scan", "while_loop", "rows")]
    ours = [run_passes(text, name, "canonicalize", "cse") for text in before]
    theirs = _by_iree(iree_tool, before, f"{name},canonicalize,cse")
    assert [counts(text) for text in ours] == [counts(text) for text in theirs]


def test_no_more_regions_and_no_less_concurrency_than_iree(run_passes, iree_tool):
    names = ("iree-stream-schedule-execution", "iree-stream-schedule-concurrency")
    before = [lowered(program, before=names[0]) for program in ("tanh", "scan", "while_loop", "concat")]
    ours = [run_passes(text, *names) for text in before]
    theirs = _by_iree(iree_tool, before, f"util.func({','.join(names)})")
    for mine, other in zip(map(counts, ours), map(counts, theirs)):
        assert mine["async.execute"] <= other["async.execute"]
        assert mine["async.concurrent"] >= other["async.concurrent"]


def _by_iree(iree_tool, texts, passes):
    """Texts after passes of iree-opt, in one process."""
    pipeline = f"--pass-pipeline=builtin.module({passes})"
    done = iree_tool("iree-opt", "--split-input-file", pipeline, "-", input="\n// -----\n".join(texts))
    return done.stdout.split("// -----")


def _functions():
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    f32 = np.float32

    def cond(p, x):
        return lax.cond(p, lambda a: a @ a, lambda a: a + 1.0, x)

    def rows(x, i):
        filled = jnp.full((1, 4), 7.0, f32)
        return lax.dynamic_update_slice(x, filled, (i, 0)), lax.dynamic_slice(x, (i, 0), (2, 4))

    def constant(x):
        return x + np.arange(12, dtype=f32).reshape(3, 4) ** 2, np.arange(4, dtype=np.int32)

    return {
        "tanh": (lambda a, b: jnp.tanh(a @ b), [(8, 16), (16, 32)]),
        "while_loop": (lambda x: lax.while_loop(lambda s: jnp.sum(s) < 100, lambda s: s * 2 + 1, x), [(3, 4)]),
        "fori_loop": (lambda x, n: lax.fori_loop(0, n, lambda i, s: s * 2 + jnp.cos(s), x), [(8,), "i32"]),
        "concat": (
            lambda x, y: (jnp.concatenate([jnp.tanh(x), y * 2, x @ x], 0), jnp.ones((3,), f32)), [(4, 4), (2, 4)],
        ),
        "cond": (cond, ["i1", (4, 4)]),
        "bools": (lambda x, y: ((x < y) & (x > 0), jnp.any(x > y)), [(4,), (4,)]),
        "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.zeros((4,), f32), x), [(5, 4)]),
        "through": (lambda x, y: (x, x + y, y, x), [(4,), (4,)]),
        "shift": (lambda x: x.at[1:].set(x[:-1]), [(6, 4)]),
        "constant": (constant, [(3, 4)]),
        "rows": (rows, [(6, 4), "i32"]),
    }  # fmt: skip


FAST = {"scan", "while_loop"}
NUMBERS = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
    for name in NAMES
    if not name.endswith("dynamic")
]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, iree_tool, tmp_path):
    import jax
    import numpy as np

    function, shapes = _functions()[name]
    random = np.random.default_rng(0)
    scalars = {"i32": np.array(3, np.int32), "i1": np.array(True)}
    arguments = [scalars.get(s) if isinstance(s, str) else random.uniform(0.1, 1, s).astype(np.float32) for s in shapes]
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    # Timepoints are left to IREE, whose passes do not expect to find them there already.
    text = lowered(name, before="iree-stream-sync-initializers")
    got = run_by_iree(iree_tool, tmp_path, text, "main", arguments, len(wanted))
    for result, expected in zip(got, wanted):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def run_by_iree(iree_tool, folder, text, function, arguments, results):
    """The results of a function of async-level text, finished and run by IREE."""
    import numpy as np

    module = folder / f"{function}.vmfb"
    iree_tool("iree-compile", "--compile-from=flow", "-", "-o", module, input=text)
    options = []
    for i, argument in enumerate(arguments):
        if isinstance(argument, int):
            options.append(f"--input={argument}")
            continue
        np.save(folder / f"in{i}.npy", argument)
        options.append(f"--input=@{folder / f'in{i}.npy'}")
    options += [f"--output=@{folder / f'out{i}.npy'}" for i in range(results)]
    devices = ["--device=local-task"] * text.count("#hal.device.target<")
    iree_tool("iree-run-module", *devices, f"--module={module}", f"--function={function}", *options)
    return [np.load(folder / f"out{i}.npy") for i in range(results)]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("loops", [[16, 16, 16, 16], [2, 4, 8, 4]]),
        pytest.param("devices", [[32, 64, 96, 128], [4, 8, 12, 16]], marks=pytest.mark.slow),
    ],
)
def test_dynamic_shapes_loops_and_two_devices(function, wanted, iree_tool, tmp_path):
    import numpy as np

    text = lowered("dynamic", before="iree-stream-sync-initializers")
    arguments = [np.array([1, 2, 3, 4], np.float32), 3]
    got = run_by_iree(iree_tool, tmp_path, text, function, arguments, len(wanted))
    for result, expected in zip(got, wanted):
        np.testing.assert_array_equal(result, expected)
