"""Where the native runtime's object code comes from: the installation, the user's cache, or the compiler.

Leaves: the object code for this processor (a shared object), under a key of all sources, versions and the processor.
An installation brings it along (prebuild.py), together with the same program as bitcode, from which another processor's
code is made in a second or two. When sources have changed since, the first process compiles everything and keeps the
object in the user's cache. Only that imports numba, and nothing imports LLVM where the code is there.

Environment: PYIREE_RUNTIME_CACHE_DIR, else PYIREE_CACHE_DIR, moves the cache; PYIREE_RUNTIME=jit compiles
anew and stores nothing.
"""

import hashlib
import importlib.util
import os
import sys
import time
import warnings
from pathlib import Path

from pyiree.runtime import private_folder
from pyiree.runtime.hal.processor import host_architecture, host_cpu
from pyiree.runtime.native import sources
from pyiree.runtime.native.exports import EXPORTS
from pyiree.runtime.vmfb.errors import ConfigError, PyireeError

PREBUILT = Path(__file__).with_name("prebuilt")
_ONCE = "once"
_FOR_THIS_PROCESS = "for this process alone"


class NativeBuildError(PyireeError, RuntimeError):
    """The native runtime could not be built or loaded."""


def cache_directory() -> Path:
    """Where native objects are kept."""
    base = os.environ.get("PYIREE_RUNTIME_CACHE_DIR") or os.environ.get("PYIREE_CACHE_DIR")
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("pyiree", appauthor=False)
    return Path(base) / "native"


def object_code() -> bytes:
    """The object code of everything in EXPORTS, for this processor."""
    mode = os.environ.get("PYIREE_RUNTIME", "").strip() or "aot"
    if mode == "jit":
        return _build(None, _FOR_THIS_PROCESS)
    if mode != "aot":
        raise ConfigError(f"PYIREE_RUNTIME = {mode!r}: expected aot or jit")
    folder = cache_directory()
    reason = private_folder.refusal(folder.parent, folder)
    if reason is not None:
        return read(PREBUILT / f"runtime-{cache_key()}.so") or _uncached(reason)
    # The key is a digest of source texts; a note says which key goes with the files as they now are.
    note = folder / f"key-{_stamp()}"
    try:
        key = note.read_text()
    except OSError:  # none yet, or no readable cache, which is reported where it is written
        key = cache_key()
    path = folder / f"runtime-{key}.so"
    stored = read(PREBUILT / path.name) or read(path)
    if stored is not None:
        if not note.exists():
            _remember(note, key)
        return stored
    try:
        private_folder.make(folder)
        import filelock

        with filelock.FileLock(path.with_suffix(".lock")):
            code = read(path)  # another process may have been first
            if code is None:
                code = _emitted(_ONCE) or _build(folder, _ONCE)
                write(path, code)
            _write(note, key.encode())
            return code
    except OSError as error:
        return _uncached(str(error))


def _uncached(reason: str) -> bytes:
    text = f"the native runtime cannot be cached ({reason}); compiling it {_FOR_THIS_PROCESS}"
    warnings.warn(text, stacklevel=3)
    return _emitted(_FOR_THIS_PROCESS) or _build(None, _FOR_THIS_PROCESS)


def _remember(note: Path, key: str) -> None:
    """Keeps a key, if there is a place for it; finding it again costs a process some milliseconds."""
    try:
        private_folder.make(note.parent)
        _write(note, key.encode())
    except OSError:
        return


def _emitted(how_often: str) -> bytes | None:
    """The object code made from the bitcode of the installation; None where that has none of these sources."""
    bitcode = read(PREBUILT / f"runtime-{bitcode_key()}.bc")
    if bitcode is None:
        return None
    told = f"pyiree: compiling the native runtime for this processor, {how_often} (about 2 s)"
    print(told, file=sys.stderr, flush=True)
    import llvmlite.binding as llvm
    from pyiree.runtime.native.shared_object import make_shared_object

    return make_shared_object(llvm.parse_bitcode(bitcode))


def read(path: Path) -> bytes | None:
    """The stored object, or None if it is missing, unreadable or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(path: Path, code: bytes) -> None:
    """Stores code behind its digest: `read` takes nothing else."""
    _write(path, hashlib.sha256(code).digest() + code)


def _write(path: Path, content: bytes) -> None:
    """A whole file or none, whoever else writes it."""
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def _build(cache: Path | None, how_often: str) -> bytes:
    """Compiles in a process of its own; the cache, if given, has the bitcode of unchanged modules."""
    import subprocess
    import tempfile

    # Whole lines: a progress bar that holds back what is printed under it shows nothing less.
    told = f"pyiree: building the native runtime for this machine, {how_often} (about 20 s)"
    print(told, file=sys.stderr, flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "runtime.so"
        bitcode = cache or Path(folder)
        command = [sys.executable, "-P", "-m", "pyiree.runtime.native.build", str(output), str(bitcode)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        child = subprocess.run(command, env=environment, capture_output=True, text=True)
        if child.returncode != 0:
            raise NativeBuildError(f"the native runtime does not compile: {child.stderr.strip()}")
        code = output.read_bytes()
    print(f"pyiree: built the native runtime in {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return code


def cache_key() -> str:
    """A digest of all that the object code depends on."""
    return _key(facts())


def bitcode_key() -> str:
    """A digest of all that the bitcode depends on: not the processor."""
    return _key(portable_facts())


def _key(known: list[str]) -> str:
    exporting = {module for module, _, _ in EXPORTS.values()}
    modules = {"pyiree.runtime.native.build", "pyiree.runtime.native.exports", *exporting}
    return sources.digest(modules, *known)


def facts() -> list[str]:
    """What else than our sources the code depends on: numba, llvmlite, Python's ABI, the processor."""
    return [*portable_facts(), host_cpu()]


def portable_facts() -> list[str]:
    """The facts that hold for every processor of a kind."""
    return [
        _version_of("numba"),
        _version_of("llvmlite"),
        str(sys.implementation.cache_tag),
        str(object.__basicsize__),
        host_architecture(),
    ]


def _version_of(package: str) -> str:
    """The file that holds a package's version: read without importing it or the slow package metadata."""
    origin = importlib.util.find_spec(package).origin
    return Path(origin).with_name("_version.py").read_text(encoding="utf-8")


def _stamp() -> str:
    """A digest of the state of all source files: path, time, size; and of the facts."""
    state = hashlib.sha256("\0".join(facts()).encode())
    todo = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    todo.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    state.update(f"{entry.path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    return state.hexdigest()[:32]
