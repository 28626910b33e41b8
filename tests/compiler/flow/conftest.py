"""Fixtures of the flow tests: passes run on text, programs at the flow phase, and their numbers on our runtime."""

import re

import numpy as np
import pytest


@pytest.fixture(scope="session")
def run_passes():
    """A function (text, *passes) that gives the text after the passes, verified after each."""
    from pyiree.compiler.flow import pipeline  # noqa: F401  (says where the passes are)
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.options import CompileOptions

    def run(text, *passes):
        module = parse_module(text)
        PassManager(passes).run(module, PassContext(verify_each=True, options=CompileOptions()))
        return str(module)

    return run


@pytest.fixture(scope="session")
def traced():
    """A function (function, *arguments) that gives the StableHLO of a function for arguments of these shapes."""
    import jax

    def trace(function, *arguments):
        shapes = [jax.ShapeDtypeStruct(np.shape(a), np.asarray(a).dtype) for a in arguments]
        return jax.jit(function, keep_unused=True).lower(*shapes).compiler_ir("stablehlo")

    return trace


@pytest.fixture(scope="session")
def flow_text():
    """A function (source, compile_from="stablehlo") that gives the text of a program at the flow phase."""
    from pyiree.compiler import pipeline
    from pyiree.compiler.options import CompileOptions

    def text(source, compile_from="stablehlo"):
        options = CompileOptions(verify_each=True)
        return pipeline.compile(source, options, compile_from=compile_from, compile_to="flow").text("flow")

    return text


@pytest.fixture(scope="session")
def dispatches():
    """A function (flow text) that gives the names of the entries that the host dispatches, in order."""

    def names(text):
        return re.findall(r"flow\.dispatch @\w+::@(\w+)", text)

    return names


class _KernelsInMemory:
    def __init__(self):
        self._kept = {}

    def get(self, key):
        return self._kept.get(key)

    def put(self, key, data):
        self._kept[key] = data


@pytest.fixture(scope="session")
def run_program(tmp_path_factory):
    """A function (source, *arguments, compile_from=) that runs `main` of a program on our runtime: a list of arrays."""
    from pyiree.compiler import pipeline
    from pyiree.compiler.options import CompileOptions
    from pyiree.runtime import session

    options = CompileOptions(object_cache=_KernelsInMemory())
    folder = tmp_path_factory.mktemp("programs")
    count = 0

    def run(source, *arguments, compile_from="stablehlo"):
        nonlocal count
        count += 1
        path = folder / f"{count}.vmfb"
        path.write_bytes(pipeline.compile(source, options, compile_from=compile_from).vmfb)
        results = session.load(path)["main"](*arguments)
        results = results if isinstance(results, (list, tuple)) else [results]
        return [np.array(r) for r in results]

    return run


@pytest.fixture
def in_order():
    """A function (text, *fragments) that asserts that the fragments occur in this order."""

    def check(text, *fragments):
        at = 0
        for fragment in fragments:
            found = text.find(fragment, at)
            assert found >= 0, f"{fragment!r} does not follow at {text[at : at + 200]!r} in\n{text}"
            at = found + len(fragment)

    return check
