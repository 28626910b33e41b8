"""Fixtures of the code generation tests: running linked code here, targets that this CPU runs."""

import ctypes
import itertools
import os

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
def load_shared_object(tmp_path_factory):
    """A function from the bytes of a shared object to a ctypes library, through glibc's own loader."""
    folder = tmp_path_factory.mktemp("shared-objects")
    numbers = itertools.count()

    def load(image: bytes) -> ctypes.CDLL:
        # glibc knows a library by its path: no two may have the same.
        path = folder / f"{next(numbers)}.so"
        path.write_bytes(image)
        return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)

    return load


@pytest.fixture(scope="session")
def run_ir(load_shared_object):
    """A function that compiles IR texts, links them with the soft library and loads the result."""
    from pyiree.compiler.codegen.llvm import library
    from pyiree.compiler.codegen.llvm.objects import compile_objects
    from pyiree.runtime.vmfb.elf.link import link

    def build(texts, exports, target):
        objects = compile_objects(texts, target)
        return load_shared_object(link(objects, exports, lambda name: library.object_of(name, target)))

    return build
