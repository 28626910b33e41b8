"""The native runtime in this process: the cached object file, loaded; its functions by name.

Enters: EXPORTS. Leaves: `image()`, whose attributes are callable from Python and whose `address(name)` gives
a function's address for native callers. The first process ever compiles everything (about 20 s) and
stores one object in the user's cache under a key of all sources, versions and the CPU; later ones load it
without importing numba.

Environment: PYIREE_RUNTIME_CACHE_DIR, else PYIREE_CACHE_DIR, moves the cache; PYIREE_RUNTIME=jit compiles
anew and stores nothing.
"""

import ctypes
import hashlib
import importlib.util
import os
import sys
import time
import warnings
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.native.exports import EXPORTS

_PREFIX = "pyiree_"
_CTYPES = {"int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double, "void": None}


class NativeBuildError(RuntimeError):
    """The native runtime could not be built or loaded."""


class Image:
    """The loaded native functions: `image.name(…)` calls one without the GIL; `address` and `holding_gil`."""

    def __init__(self, object_code: bytes):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if not llvm.address_of_symbol("erff"):
            llvm.load_library_permanently("libm.so.6")
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        # One allocation for all sections: near code must find its constants within 2 GiB.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        self._engine.finalize_object()
        self._addresses = {name: self._engine.get_function_address(_PREFIX + name) for name in EXPORTS}
        missing = [name for name, address in self._addresses.items() if not address]
        if missing:
            raise NativeBuildError(f"the native object lacks {', '.join(missing)}")

    def address(self, name: str) -> int:
        """The address of an export."""
        return self._addresses[name]

    def _callable(self, name: str, prototype):
        result, arguments = EXPORTS[name][2][:-1].split("(")
        types = [_CTYPES[a] for a in arguments.split(",") if a]
        return prototype(_CTYPES[result], *types)(self._addresses[name])

    def holding_gil(self, name: str):
        """The export as a callable that keeps the GIL: for short calls, at half the cost."""
        return self._callable(name, ctypes.PYFUNCTYPE)

    def __getattr__(self, name: str):
        if name not in EXPORTS:
            raise AttributeError(f"the native runtime exports no {name!r}")
        function = self._callable(name, ctypes.CFUNCTYPE)
        setattr(self, name, function)
        return function


_lock = fork_safe_lock()
_image: Image | None = None


def image() -> Image:
    """The native runtime of this process, built or loaded at the first call."""
    global _image
    if _image is None:
        with _lock:
            if _image is None:
                _image = Image(_object_code())
    return _image


def cache_directory() -> Path:
    """Where native objects are kept."""
    base = os.environ.get("PYIREE_RUNTIME_CACHE_DIR") or os.environ.get("PYIREE_CACHE_DIR")
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("pyiree", appauthor=False)
    return Path(base) / "native"


def _object_code() -> bytes:
    mode = os.environ.get("PYIREE_RUNTIME", "aot")
    if mode == "jit":
        return _build(None)
    if mode != "aot":
        raise NativeBuildError(f"PYIREE_RUNTIME={mode} is neither 'aot' nor 'jit'")
    folder = cache_directory()
    # The key is a digest of source texts; a note says which key goes with the files as they now are.
    note = folder / f"key-{_stamp()}"
    try:
        key = note.read_text()
    except OSError:  # none yet, or no readable cache, which is reported where it is written
        key = cache_key()
    path = folder / f"runtime-{key}.o"
    stored = _read(path)
    if stored is not None:
        return stored
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        import filelock

        with filelock.FileLock(path.with_suffix(".lock")):
            code = _read(path)  # another process may have been first
            if code is None:
                code = _build(folder)
                _write(path, hashlib.sha256(code).digest() + code)
            _write(note, key.encode())
            return code
    except OSError as error:
        text = f"the native runtime cannot be cached ({error}); compiling it for this process alone"
        warnings.warn(text, stacklevel=2)
        return _build(None)


def _read(path: Path) -> bytes | None:
    """The stored object, or None if it is missing, unreadable or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(path: Path, content: bytes) -> None:
    """A whole file or none, whoever else writes it."""
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def _build(cache: Path | None) -> bytes:
    """Compiles in a process of its own; the cache, if given, has the bitcode of unchanged modules."""
    import subprocess
    import tempfile

    # Whole lines: a progress bar that holds back what is printed under it shows nothing less.
    told = "pyiree: building the native runtime for this machine, once (about 20 s)"
    print(told, file=sys.stderr, flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "runtime.o"
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
    from pyiree.runtime.native import sources

    exporting = {module for module, _, _ in EXPORTS.values()}
    modules = {"pyiree.runtime.native.build", "pyiree.runtime.native.exports", *exporting}
    return sources.digest(modules, *facts())


def facts() -> list[str]:
    """What else than our sources the code depends on: numba, llvmlite, Python's ABI, the processor."""
    return [
        _numba_version().read_text(encoding="utf-8"),
        llvmlite.__version__,
        str(sys.implementation.cache_tag),
        str(object.__basicsize__),
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    ]


def _numba_version() -> Path:
    """The file that holds numba's version: found without importing numba or the slow package metadata."""
    return Path(importlib.util.find_spec("numba").origin).with_name("_version.py")


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
