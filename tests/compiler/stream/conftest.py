"""Fixtures of the stream tests: passes run on text, and fragments looked for in order."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.mlir"))


@pytest.fixture
def run_passes():
    """A function (text, *passes) that gives the text after the passes, verified after each."""
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.stream import pipeline  # noqa: F401  (says where the passes are)

    def run(text, *passes):
        module = parse(text if "\nmodule" in text or text.startswith("module") else f"module {{{text}}}", verify=True)
        PassManager(passes).run(module, PassContext(verify_each=True))
        return str(module)

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


@pytest.fixture
def accepted(iree_tool):
    """A function (*texts) that lets iree-opt parse and verify each text, in one process."""

    def check(*texts):
        iree_tool("iree-opt", "--split-input-file", "-", input="\n// -----\n".join(texts))

    return check


@pytest.fixture
def iree_passes(iree_tool):
    """A function (text, *passes) that gives the text after IREE's passes of these names."""

    def run(text, *passes):
        return iree_tool("iree-opt", "-", *[f"--{name}" for name in passes], input=text).stdout

    return run
