"""Fixtures of the code generation tests: running linked code here, targets that this CPU runs."""

import ctypes
import os
import tempfile

import pytest

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


def pytest_generate_tests(metafunc):
    """`level` runs over the x86-64 levels, `any_level` over those and the AArch64 baseline."""
    if "level" in metafunc.fixturenames:
        metafunc.parametrize("level", LEVELS)
    if "any_level" in metafunc.fixturenames:
        metafunc.parametrize("any_level", (*LEVELS, "generic"))


@pytest.fixture
def runnable_target(level):
    """The target of `level`, if this machine can run its code."""
    from pyiree.compiler.codegen import target

    wanted, host = target.named(level), target.host()
    if not (host.is_x86 and wanted.features <= host.features):
        pytest.skip(f"this CPU does not run {level}")
    return wanted


@pytest.fixture(scope="session")
def load_shared_object():
    """A function from the bytes of a shared object to a ctypes library, through glibc's own loader."""
    opened = []

    def load(image: bytes) -> ctypes.CDLL:
        file = tempfile.NamedTemporaryFile(suffix=".so")  # noqa: SIM115 kept open: glibc knows a library by path
        file.write(image)
        file.flush()
        opened.append(file)
        return ctypes.CDLL(file.name, mode=os.RTLD_NOW | os.RTLD_LOCAL)

    yield load
    for file in opened:
        file.close()


@pytest.fixture(scope="session")
def run_ir(load_shared_object):
    """A function that compiles IR texts, links them with the soft library and loads the result."""
    from pyiree.compiler.codegen.elf.link import link
    from pyiree.compiler.codegen.llvm import library
    from pyiree.compiler.codegen.llvm.objects import compile_objects

    def build(texts, exports, target):
        objects = compile_objects(texts, target)
        return load_shared_object(link(objects, exports, lambda name: library.object_of(name, target)))

    return build
