"""Fixtures of the cmd-level tests: passes run on text, beside IREE's passes of the same names."""

import pathlib

import pytest

PROGRAMS = pathlib.Path(__file__).parent.parent / "programs"


@pytest.fixture
def program_at():
    """A function (name, pass or None) that gives the text of a program before a pass, or after all of them."""
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.stream.pipeline import PASSES

    def lower(name, before=None):
        passes = PASSES if before is None else PASSES[: PASSES.index(before)]
        module = parse((PROGRAMS / f"{name}.mlir").read_text(), name, verify=True)
        PassManager(passes).run(module, PassContext(verify_each=True))
        return str(module)

    return lower


@pytest.fixture
def run_passes():
    """A function (text, *passes) that gives the text after the passes, verified after each."""
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext, PassManager

    def run(text, *passes):
        module = parse_module(text, verify=True)
        PassManager(passes).run(module, PassContext(verify_each=True))
        return str(module)

    return run


@pytest.fixture
def iree_on_functions(iree_tool):
    """A function (text, *passes) that gives the text after IREE's passes of these names on every host function."""

    def run(text, *passes):
        pipeline = f"--pass-pipeline=builtin.module(util.func({','.join(passes)}))"
        return iree_tool("iree-opt", pipeline, "-", input=text).stdout

    return run
