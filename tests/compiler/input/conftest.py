"""The input phase beside two oracles: IREE finishes our text, JAX says what the numbers are."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from pyiree.compiler.input.pipeline import import_program

_TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O0",
)

_CHILD = """
import json, sys
import numpy as np
import iree.runtime as rt
folder = sys.argv[1]
names = json.load(open(folder + "/names.json"))
config = rt.Config("local-sync")
context = rt.SystemContext(config=config)
context.add_vm_module(rt.VmModule.mmap(config.vm_instance, folder + "/all.vmfb"))
module = context.modules.all
for name in names:
    given = np.load(f"{folder}/{name}.in.npz")
    results = module[name](*[given[k] for k in given.files])
    results = results if isinstance(results, (list, tuple)) else [results]
    np.savez(f"{folder}/{name}.out.npz", *[np.asarray(r) for r in results])
"""


def import_function(function, arguments):
    """Our module of a function traced for some arguments, or of StableHLO text."""
    if isinstance(function, str):
        return import_program(function)
    lowered = jax.jit(function).lower(*arguments)
    return import_program(lowered.compiler_ir("stablehlo"))


@pytest.fixture(scope="session")
def import_jax():
    return import_function


@pytest.fixture(scope="session")
def through_iree(iree_tool):
    """Runs many functions through IREE, from our input text: {name: (function, arguments)} → {name: results}."""

    def run(cases, folder: Path):
        texts = []
        for name, (function, arguments) in cases.items():
            module = import_function(function, arguments)
            texts.append(str(module).replace("@main(", f"@{name}("))
            np.savez(folder / f"{name}.in.npz", *[np.asarray(a) for a in arguments])
        (folder / "names.json").write_text(json.dumps(list(cases)))
        parts = [_as_function(text) for text in texts]
        (folder / "all.mlir").write_text("module @all {\n" + "\n".join(parts) + "\n}\n")
        source, output = folder / "all.mlir", folder / "all.vmfb"
        iree_tool("iree-compile", "--compile-from=input", *_TARGET, source, "-o", output, timeout=None)
        done = subprocess.run([sys.executable, "-c", _CHILD, str(folder)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        found = {}
        for name in cases:
            with np.load(folder / f"{name}.out.npz") as data:
                found[name] = [data[k] for k in data.files]
        return found

    return run


def _as_function(text):
    """The functions inside a module's text, their affine maps written out."""
    aliases = {}
    lines = []
    for line in text.splitlines():
        if line.startswith("#") and " = " in line:
            name, value = line.split(" = ", 1)
            aliases[name] = value
        else:
            lines.append(line)
    body = "\n".join(lines[1:])
    body = body[: body.rindex("}")]
    for name in sorted(aliases, key=len, reverse=True):
        body = body.replace(name + ",", aliases[name] + ",").replace(name + "]", aliases[name] + "]")
    return body
