"""The native image: loaded without numba, found in its cache, rebuilt when damaged; its primitives."""

import ctypes
import os
import subprocess
import sys
import threading

import pytest
from pyiree.runtime.native import image as image_module
from pyiree.runtime.native import object_code, sources
from pyiree.runtime.native.exports import EXPORTS
from pyiree.runtime.vmfb.errors import ConfigError


def test_a_later_process_needs_no_numba_llvm_or_jax(python_child):
    image_module.image()
    code = """
import sys
from pyiree.runtime.native.image import image
assert image().take_pending() == 0
print([name for name in ("numba", "llvmlite.binding", "jax", "pyiree.compiler") if name in sys.modules])
"""
    assert python_child(code).stdout.strip() == "[]"


def test_exports_resolve():
    loaded = image_module.image()
    assert all(loaded.address(name) for name in EXPORTS)
    with pytest.raises(AttributeError, match="exports no 'nothing'"):
        loaded.nothing  # noqa: B018


def test_damaged_object_is_not_loaded(tmp_path):
    path = tmp_path / "runtime.o"
    object_code.write(path, b"code")
    assert object_code.read(path) == b"code"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert object_code.read(path) is None
    assert object_code.read(tmp_path / "missing.so") is None


def test_unknown_mode(monkeypatch):
    monkeypatch.setenv("PYIREE_RUNTIME", "fast")
    with pytest.raises(ConfigError, match="PYIREE_RUNTIME = 'fast': expected aot or jit"):
        object_code.object_code()


def test_an_empty_mode_is_none(monkeypatch):
    expected = object_code.object_code()
    monkeypatch.setenv("PYIREE_RUNTIME", "")
    assert object_code.object_code() == expected


def test_key_covers_imported_sources():
    found = sources.with_imports(["pyiree.runtime.vm.interpreter"])
    assert {"pyiree.runtime.vmfb.isa", "pyiree.runtime.native.objects", "pyiree.runtime.vm.registers"} <= set(found)
    assert "pyiree.runtime.vm.context" not in found
    assert sources.digest(["pyiree.runtime.vm.interpreter"]) != sources.digest(["pyiree.runtime.vm.registers"])


def test_counts_are_atomic():
    native = image_module.image()
    ref = native.buffer_allocate(8, 16)

    def work():
        for _ in range(20000):
            native.retain(ref)
            native.release(ref)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ctypes.c_int64.from_address(ref).value == 1
    native.release(ref)


def test_an_installation_brings_code_along(tmp_path, monkeypatch):
    """For this processor as it is; for another one as bitcode, from which the same exports are made."""
    if not (object_code.PREBUILT / f"runtime-{object_code.cache_key()}.so").exists():
        pytest.skip("installed without numba, or the runtime's sources changed since")
    monkeypatch.setenv("PYIREE_RUNTIME_CACHE_DIR", str(tmp_path))
    object_code.object_code()
    assert not list((tmp_path / "native").glob("*.so")), "nothing had to be made"
    monkeypatch.setattr(object_code, "cache_key", lambda: "of-another-processor")
    for note in (tmp_path / "native").glob("key-*"):
        note.unlink()
    made = object_code.object_code()
    assert (tmp_path / "native" / "runtime-of-another-processor.so").exists()
    assert made == object_code.object_code()
    native = image_module.Image(made)
    ref = native.buffer_allocate(8, 16)
    native.release(ref)


BUILD = """
import pathlib
from pyiree.runtime.native import object_code
from pyiree.runtime.native.image import image
object_code.PREBUILT = pathlib.Path("nowhere")
ref = image().buffer_allocate(8, 16)
image().release(ref)
print("works")
"""


@pytest.mark.slow
def test_processes_that_start_at_once_build_once(tmp_path):
    environment = {**os.environ, "PYIREE_RUNTIME_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", BUILD]
    children = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [child.communicate(timeout=300) for child in children]
    assert [out for out, _ in outputs] == ["works\n"] * 3
    assert sum("building the native runtime" in err for _, err in outputs) == 1
    assert len(list((tmp_path / "native").glob("runtime-*.so"))) == 1


@pytest.mark.slow
def test_unwritable_cache_compiles_for_the_process(tmp_path, python_child):
    (tmp_path / "file").write_text("in the way of a folder")
    done = python_child(BUILD, env={"PYIREE_RUNTIME_CACHE_DIR": str(tmp_path / "file")}, timeout=300)
    assert done.stdout == "works\n"
    assert "cannot be cached" in done.stderr


@pytest.mark.slow
def test_jit_mode_stores_nothing(tmp_path, python_child):
    environment = {"PYIREE_RUNTIME": "jit", "PYIREE_RUNTIME_CACHE_DIR": str(tmp_path)}
    done = python_child(BUILD, env=environment, timeout=300)
    assert done.stdout == "works\n"
    assert "building the native runtime for this machine, for this process alone" in done.stderr
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("place", [".", "native"])
def test_code_that_others_may_have_put_there_is_not_read(tmp_path, monkeypatch, place):
    """Neither of the two folders may be another's: who can write to the outer one can exchange the inner one."""
    monkeypatch.setenv("PYIREE_RUNTIME_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_code, "PREBUILT", tmp_path / "nowhere")
    monkeypatch.setattr(object_code, "_build", lambda cache, how_often: f"{cache} {how_often}".encode())
    cached = object_code.object_code()
    assert cached == f"{tmp_path / 'native'} once".encode() == object_code.object_code()
    (tmp_path / place).chmod(0o777)
    with pytest.warns(UserWarning, match=r"cannot be cached \(.* can be written by other users"):
        assert object_code.object_code() == b"None for this process alone"
