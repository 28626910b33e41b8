"""Whole programs: compiled by us or by IREE, at any phase, and run on either runtime."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from pyiree.runtime.hal.element_types import dtype_of, element_type_of

WORKER = pathlib.Path(__file__).with_name("iree_worker.py")
DEVICES = ("local-task", "local-sync")


def _programs():
    """JAX functions by name, with the shapes of their arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    table = np.arange(8, dtype=np.float32)
    return {
        "elementwise": (lambda x, y: x * 2 + jnp.tanh(y), (33, 7), (33, 7)),
        "layer": (lambda x, w, b: jnp.tanh(x @ w + b), (8, 16), (16, 32), (32,)),
        "softmax": (lambda x: jax.nn.softmax(x, axis=-1), (8, 100)),
        "constant": (lambda x: x * table + jnp.asarray(2.5 * table), (4, 8)),
        "several": (lambda x: (jnp.sin(x) * 2, jnp.sum(x, 0), jnp.sum(x)), (8, 100)),
        "counted_loop": (lambda x: lax.fori_loop(0, 10, lambda i, c: jnp.sin(c) + i, x), (8, 100)),
        "small_loop": (lambda x: lax.fori_loop(0, 40, lambda i, c: jnp.flip(c) * 0.5 + c.sum() * 0.01 + i, x), (24,)),
        "scan": (lambda x: lax.scan(lambda c, t: (c * 0.5 + t, c * t), jnp.zeros(100), x), (8, 100)),
        "while_loop": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 1e4, lambda c: c * 2, x), (8, 100)),
        "branch": (lambda x: lax.cond(x[0, 0] > 0, lambda v: v * 2, lambda v: v - 1, x), (8, 100)),
        "gather": (lambda x, i: x[i.astype(np.int32)], (8, 100), (5,)),
        "pieces": (lambda x, y: jnp.concatenate([jnp.sin(x[2:5]), y], 0) * 2, (8, 100), (4, 100)),
        "integers": (lambda x: (lax.argmax(x, 1, np.int32), (x * 10).astype(np.int32) % 7), (8, 100)),
    }


class Program:
    """A function with its arguments, its texts and the numbers that we get."""

    def __init__(self, name, function, shapes):
        rng = np.random.default_rng(len(name))
        self.name = name
        self.function = function
        self.arguments = [np.abs(rng.standard_normal(shape)).astype(np.float32) + 0.1 for shape in shapes]
        self._texts = {}
        self._vmfb = None

    def _source(self):
        import jax

        return jax.jit(self.function).lower(*self.arguments).compiler_ir("stablehlo")

    def text(self, phase):
        """The program after one of our phases, which goes on from the text of the one before."""
        from pyiree.compiler import pipeline

        if phase not in self._texts:
            before = pipeline.TEXT_PHASES[pipeline.TEXT_PHASES.index(phase) - 1]
            source = self._source() if before == "stablehlo" else self.text(before)
            self._texts[phase] = pipeline.compile(source, compile_from=before, compile_to=phase).text(phase)
        return self._texts[phase]

    @property
    def vmfb(self):
        from pyiree.compiler import pipeline

        if self._vmfb is None:
            self._vmfb = pipeline.compile(self._source()).vmfb
        return self._vmfb

    def expected(self):
        """The numbers of jax.jit."""
        import jax

        return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(self.function)(*self.arguments))]

    def ours(self, device="local-task"):
        """Our numbers on our runtime."""
        from pyiree.runtime import session

        results = session.load(self.vmfb, devices=device)["main"](*self.arguments)
        return [np.asarray(r) for r in (results if isinstance(results, tuple) else [results])]


@pytest.fixture(scope="session")
def programs():
    """The programs by name."""
    return {name: Program(name, function, shapes) for name, (function, *shapes) in _programs().items()}


@pytest.fixture(scope="session")
def compile_symbolic():
    """A function (function, shapes, dtypes or one of them) that compiles a function exported for symbolic shapes."""
    import jax
    import pyiree
    from jax import export

    def compile(function, shapes, dtypes=np.float32):
        scope = export.SymbolicScope()
        every = dtypes if isinstance(dtypes, list) else [dtypes] * len(shapes)
        arguments = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), d) for s, d in zip(shapes, every)]
        return pyiree.compile(export.export(jax.jit(function), platforms=["cpu"])(*arguments).mlir_module())

    return compile


def _array(described):
    dtype = dtype_of(described["type"])
    return np.fromfile(described["path"], dtype).reshape(described["shape"])


@pytest.fixture(scope="session")
def iree_jobs(tmp_path_factory):
    """A function (jobs) that lets one process of IREE compile and run them, and gives their results in order.

    A job is (text or bytes of a `.vmfb`, phase, argument arrays, devices); its result is a dict of device → arrays,
    or the text of an error, and the path of its `.vmfb`.
    """

    def run(jobs, timeout=250):
        folder = tmp_path_factory.mktemp("iree")
        described = []
        for number, (content, phase, arguments, devices) in enumerate(jobs):
            vmfb = folder / f"{number}.vmfb"
            source = None
            if isinstance(content, bytes):
                vmfb.write_bytes(content)
            else:
                source = folder / f"{number}.mlir"
                source.write_text(content)
            inputs = []
            for i, array in enumerate(map(np.asarray, arguments)):
                path = folder / f"{number}-in{i}"
                path.write_bytes(array.tobytes())
                inputs.append({"path": str(path), "shape": array.shape, "type": element_type_of(array.dtype)})
            described.append(
                {
                    "source": source and str(source), "phase": phase, "vmfb": str(vmfb), "devices": list(devices),
                    "inputs": inputs,
                }
            )  # fmt: skip
        (folder / "jobs.json").write_text(json.dumps(described))
        command = [sys.executable, str(WORKER), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, done.stderr[-3000:]
        found = []
        for job, result in zip(described, json.loads((folder / "results.json").read_text())):
            arrays = {device: [_array(item) for item in items] for device, items in result["outputs"].items()}
            found.append((result["error"] or arrays, job["vmfb"]))
        return found

    return run
