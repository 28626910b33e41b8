"""Fixtures: modules assembled by hand, modules made by IREE's compiler, contexts over them."""

import functools

import pytest
from pyiree.runtime.vm.context import Context
from pyiree.runtime.vm.module import Module
from pyiree.runtime.vmfb import archive, isa
from pyiree.runtime.vmfb.assemble import FunctionAssembler, ModuleAssembler

TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)


@pytest.fixture(scope="session")
def iree_compile(iree_tool):
    """Text → the bytes of IREE's module for it."""

    @functools.cache
    def compile_text(text: str, *flags: str) -> bytes:
        return iree_tool("iree-compile", *TARGET, *flags, "-", "-o", "-", input=text.encode()).stdout

    return compile_text


@pytest.fixture
def iree_run(iree_tool, tmp_path):
    """(Module bytes, function, inputs) → what iree-run-module prints, and whether it succeeded."""

    def run(content: bytes, function: str, *inputs: str) -> tuple[str, bool]:
        path = tmp_path / "module.vmfb"
        path.write_bytes(content)
        arguments = ["--device=local-sync", f"--module={path}", f"--function={function}"]
        done = iree_tool("iree-run-module", *arguments, *(f"--input={i}" for i in inputs), check=False)
        return done.stdout + done.stderr, done.returncode == 0

    return run


@pytest.fixture
def assemble():
    """(body builder, convention) → the bytes of a module whose function `main` has that body."""

    def build(convention: str, body, prepare=None) -> bytes:
        module = ModuleAssembler("example")
        if prepare is not None:
            prepare(module)
        function = FunctionAssembler(convention)
        body(module, function)
        module.add_function(function, export="main")
        return archive.write_module(module.build())

    return build


@pytest.fixture
def context_of():
    """Module bytes → a context."""
    contexts = []

    def make(content: bytes, imports=None) -> Context:
        contexts.append(Context(Module(content), imports))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def all_ops_module() -> bytes:
    """A module with one function for each op that only computes values: its operands are the arguments."""
    module = ModuleAssembler("ops")
    for op in isa.OPS.values():
        kinds = [field.kind for field in op.fields]
        if set(kinds) <= set("iIfF") and op.fields[-1].is_result and "global" not in op.name:
            function = FunctionAssembler("0" + "".join(kinds[:-1]) + "_" + kinds[-1])
            registers, position = [], 0
            for kind in kinds:
                position += position & 1 if kind in "IF" else 0
                registers.append(position)
                position += 2 if kind in "IF" else 1
            function.block("entry")
            function.op(op.name, *registers)
            function.op("return", [registers[-1]])
            module.add_function(function, export=op.name)
    return archive.write_module(module.build())
