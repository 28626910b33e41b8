"""Source to loaded program: through the cache if it holds the result, else through the compiler.

What enters: StableHLO (a jaxlib module, text or bytecode) or a `.vmfb` file, and options.  What leaves: a
loaded module, its bytes, and where they came from.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from pyiree import cache, config
from pyiree.errors import CompileError, ConfigError, MissingFileError, PyireeError, UnsupportedError
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

DEFAULT_DEVICE = "local-task"
#: Fields of the compiler's `CompileOptions` that users may give.
COMPILER_OPTIONS = ("target_cpu", "dump_dir", "print_ir_after", "verify_each")


class Options(NamedTuple):
    """What a program is compiled for and where it runs; `extra` are fields of `CompileOptions` that the user gave."""

    cpu: str
    device: str = DEFAULT_DEVICE
    extra: tuple[tuple[str, Any], ...] = ()

    def key(self) -> str:
        """Text that differs where the compiled program may; the device on which it runs is not part of it."""
        return f"cpu={self.cpu} {' '.join(f'{name}={value!r}' for name, value in self.extra)}"

    def compile_options(self, disk: cache.DiskCache | None) -> Any:
        """The compiler's own options."""
        from pyiree.compiler.codegen.target import UnknownTargetError
        from pyiree.compiler.ir.passes import pass_names
        from pyiree.compiler.pipeline import CompileOptions

        watched = config.print_after
        for name in watched:
            if name not in ("all", *pass_names()):
                raise ConfigError(
                    f"{config.given_as('print_after')}: there is no pass {name!r}; `pyiree opt --list-passes` has them"
                )
        settings: dict[str, Any] = {
            "target_cpu": self.cpu,
            "object_cache": None if disk is None else disk.objects,
            "dump_dir": config.dump,
            "print_ir_after": watched,
            "verify_each": config.verify,
        }
        options = CompileOptions(**{**settings, **dict(self.extra)})
        try:
            _ = options.target
        except UnknownTargetError as error:
            if self.cpu != config.cpu:
                raise
            raise ConfigError(f"{config.given_as('cpu')} = {self.cpu!r}: {error}") from None
        return options

    @contextlib.contextmanager
    def explaining_the_cpu(self) -> Iterator[None]:
        """Where a program of a CPU that is not this one can't be loaded, the error says so, and where it was chosen."""
        try:
            yield
        except PyireeError:
            from pyiree.compiler.codegen import target

            amiss = None if self.cpu == "host" else _why_not_here(target.named(self.cpu))
            if amiss is None:
                raise
            chosen = config.given_as("cpu") if self.cpu == config.cpu else "target_cpu"
            advice = "leave it out to run programs here; `pyiree compile --target-cpu` makes files for other machines"
            raise ConfigError(f"{chosen} = {self.cpu!r}: {amiss}; {advice}") from None


def _why_not_here(target: Any) -> str | None:
    """What keeps this machine from running what is compiled for a target."""
    from pyiree.runtime.hal.processor import host_architecture, host_features
    from pyiree.runtime.vmfb.abi import X86_64_FEATURE_BITS

    if target.arch != host_architecture():
        return f"that is a CPU of {target.arch}, and this machine has one of {host_architecture()}"
    lacking = target.features & X86_64_FEATURE_BITS.keys() - host_features()
    return f"this machine lacks {', '.join(sorted(lacking))}" if lacking else None


def options_for(device: str | None = None, cpu: str | None = None, extra: Mapping[str, Any] | None = None) -> Options:
    """Options from what the user gave and the settings. Options of XLA mean nothing here: a warning says so."""
    given = dict(extra or {})
    for name in sorted(given):
        if name.startswith("xla_"):
            del given[name]
            warnings.warn(f"{name} is an option of XLA; pyiree ignores it", stacklevel=3)
        elif name not in COMPILER_OPTIONS:
            raise ConfigError(f"the compiler has no option {name!r}; it has {', '.join(COMPILER_OPTIONS)}")
    cpu = given.pop("target_cpu", None) or cpu
    return Options(cpu or config.cpu, device or DEFAULT_DEVICE, tuple(sorted(given.items())))


@dataclass(slots=True)
class Built:
    """A compiled program: its `.vmfb`, the seconds each phase took, and whether it came from the cache."""

    name: str
    vmfb: bytes
    key: str
    from_cache: bool
    seconds: float
    timing: dict[str, float] = field(default_factory=dict)


def build(
    source: Any,
    source_bytes: bytes,
    name: str,
    options: Options,
    cacheable: bool = True,
    prior: Mapping[str, float] | None = None,
) -> Built:
    """The `.vmfb` of `source`; `source_bytes` says what it is, `prior` the seconds spent on it so far."""
    started = time.perf_counter()
    disk = cache.configured() if cacheable else None
    if not cacheable:
        config.say("cache", f"{name}: not kept on disk, since it calls functions of this process")
    watched = {"dump_dir": config.dump, "print_ir_after": config.print_after, **dict(options.extra)}
    watching = watched["dump_dir"] is not None or bool(watched["print_ir_after"])  # the passes must run to be seen
    key = cache.program_key(source_bytes, options.key())
    vmfb = disk.get(key) if disk is not None and not watching else None
    if vmfb is not None:
        built = Built(name, vmfb, key, True, time.perf_counter() - started)
        config.say("cache", f"{name}: served from {disk.folder}/{key}.vmfb")
    else:
        from pyiree.compiler import pipeline

        compilation = pipeline.compile(source, options.compile_options(disk), keep_module=False)
        seconds = time.perf_counter() - started
        built = Built(name, bytes(compilation.vmfb), key, False, seconds, _phase_seconds(compilation.timing))
        if disk is not None:
            disk.put(key, built.vmfb, name, seconds)
            config.say("cache", f"{name}: stored as {disk.folder}/{key}.vmfb ({len(built.vmfb)} bytes)")
    if config.logs("compiles"):
        phases = {**(prior or {}), **built.timing}
        listed = ", ".join(f"{phase} {1e3 * seconds:.1f} ms" for phase, seconds in phases.items())
        origin = "loaded from the cache" if built.from_cache else "compiled"
        config.say(
            "compiles",
            f"{name}: {origin} in {1e3 * built.seconds:.1f} ms" + (f" ({listed})" if listed else ""),
        )
    return built


def _phase_seconds(timing: Any) -> dict[str, float]:
    return {str(phase): float(seconds) for phase, seconds in dict(timing).items()}


class Program:
    """A loaded `.vmfb`: its functions are attributes, as in `program.main(x, y)`, which is `program(x, y)` too.

    They take NumPy arrays, `jax.Array`s or `pyiree.Array`s and give the same kind; one result comes as it is,
    several as a tuple.
    """

    def __init__(self, vmfb: bytes | Path, device: str = DEFAULT_DEVICE, name: str = "program"):
        from pyiree.runtime import session

        self._module = session.load(vmfb if isinstance(vmfb, bytes) else os.fspath(vmfb), devices=device)
        self._source = vmfb
        self._name = name

    @property
    def vmfb(self) -> bytes:
        """The bytes of the `.vmfb`."""
        return self._source if isinstance(self._source, bytes) else self._source.read_bytes()

    @property
    def exports(self) -> tuple[str, ...]:
        """The names of the functions that can be called."""
        return tuple(self._module.exports)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.vmfb`; `pyiree.load` and `iree-run-module` read it."""
        Path(path).write_bytes(self.vmfb)

    def __call__(self, *args: Any) -> Any:
        """Calls `main`."""
        return self.main(*args)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = self._module[name]
        except KeyError:
            raise AttributeError(
                f"{self._name} exports no function {name!r}; it has {', '.join(self.exports) or 'none'}"
            ) from None
        from pyiree.dispatch import of_callers_kind

        bound = of_callers_kind(function)
        setattr(self, name, bound)
        return bound

    def __repr__(self) -> str:
        return f"<pyiree.Program {self._name}: {', '.join(self.exports)}>"


def load(path: str | os.PathLike[str], device: str = DEFAULT_DEVICE) -> Program:
    """Opens a `.vmfb` file, made by pyiree or by `iree-compile` for `llvm-cpu`; what it exports are attributes, as in
    `program.main(x)`, and `program.exports` has their names."""
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(f"there is no file {path}")
    return Program(path, device, path.name)


def compile(
    source: str | bytes | os.PathLike[str],
    *,
    target_cpu: str | None = None,
    device: str = DEFAULT_DEVICE,
    **options: Any,
) -> Program:
    """Compiles StableHLO, given as text, as MLIR bytecode, or as the path of a file, and loads it.

    Of an exported program that is `exported.mlir_module()`, of a lowered one `lowered.as_text()`; dims may be `?`. The
    result has the module's public functions as attributes, as in `program.main(x)`. They take arrays of the types that
    the program names, and convert none.

    Raises `CompileError` for what is no program, and `UnsupportedError` for one that can't be compiled.
    """
    content, name = _read_source(source)
    chosen = options_for(device, target_cpu, options)
    identity = content if isinstance(content, bytes) else content.encode()
    try:
        built = build(content, identity, name, chosen)
    except UnsupportedError as error:
        if not isinstance(source, (str, os.PathLike)) or content is source:
            raise
        raise error.in_file(os.fspath(source)) from None
    with chosen.explaining_the_cpu():
        return Program(built.vmfb, device, name)


def _read_source(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, str]:
    """The program in `source`, and a name for it; a text that is one line and names a file is a path."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "program"
    if isinstance(source, str):
        if "\n" in source or "{" in source or "(" in source:
            return source, "program"
        if not source.strip():
            raise CompileError("the source is empty")
    if not isinstance(source, (str, os.PathLike)):
        kind = type(source).__name__
        raise TypeError(
            f"expected StableHLO as text, bytes or the path of a file, not {kind}: programs of jax have it as "
            "exported.mlir_module() or lowered.as_text(), functions are compiled by pyiree.jit"
        )
    path = Path(source)
    if not path.is_file():
        is_name = isinstance(source, str) and not path.suffix and len(path.parts) == 1
        raise CompileError(f"{source!r} is neither a program nor a file" if is_name else f"there is no file {path}")
    return path.read_bytes(), path.stem
