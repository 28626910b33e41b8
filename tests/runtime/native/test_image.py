"""The native image: loaded without numba, found in its cache, rebuilt when damaged; its primitives."""

import ctypes
import hashlib
import threading

import pytest
from pyiree.runtime.native import image as image_module
from pyiree.runtime.native import sources
from pyiree.runtime.native.exports import EXPORTS


def test_a_later_process_needs_neither_numba_nor_jax(python_child):
    image_module.image()
    code = """
import sys
from pyiree.runtime.native.image import image
assert image().take_pending() == 0
print([name for name in ("numba", "jax", "pyiree.compiler") if name in sys.modules])
"""
    assert python_child(code).stdout.strip() == "[]"


def test_exports_resolve():
    loaded = image_module.image()
    assert all(loaded.address(name) for name in EXPORTS)
    with pytest.raises(AttributeError, match="exports no 'nothing'"):
        loaded.nothing  # noqa: B018


def test_damaged_object_is_not_loaded(tmp_path):
    path = tmp_path / "runtime.o"
    image_module._write(path, hashlib.sha256(b"code").digest() + b"code")
    assert image_module._read(path) == b"code"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert image_module._read(path) is None
    assert image_module._read(tmp_path / "missing.o") is None


def test_unknown_mode(monkeypatch):
    monkeypatch.setenv("PYIREE_RUNTIME", "fast")
    with pytest.raises(image_module.NativeBuildError, match="neither 'aot' nor 'jit'"):
        image_module._object_code()


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
