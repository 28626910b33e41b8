"""LLVM IR text to relocatable objects, cached by what determines them, many at a time.

Enters: IR texts (one kernel each) and a Target. Leaves: object bytes in the same order. Kernels with explicit
vectors skip the middle end (code generation level 1: the same speed, a third to a half of the time); kernels
written as scalar loops ask for `optimize`, the O2 pipeline with LLVM's vectorisers. LLVM works on other threads from
the moment that it has a text, while this one goes on with the rest of the program in Python.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

from ..target import Target, usable_cores
from .binding import MachineOptions, compile_text, llvm_version

_EXPLICIT_LEVEL = 1
_OPTIMIZED_LEVEL = 2


KERNEL_SYMBOL = "kernel"


class ObjectCache(Protocol):
    """Where objects are kept between runs. `get` gives None for what it does not have (or no longer
    trusts)."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...


class Unit(NamedTuple):
    """One module to compile: its text and whether LLVM's middle end runs over it.

    A kernel's text calls it KERNEL_SYMBOL whatever it is; `symbol` is its name where it is linked, and no part
    of the cache key, so that equal kernels of any programs share one object."""

    text: str
    optimize: bool = False
    symbol: str = ""


def object_key(unit: Unit, target: Target) -> str:
    """Hash of everything that the object's bytes depend on."""
    digest = hashlib.sha256()
    parts = (llvm_version(), target.triple, target.cpu, target.feature_text, _level(unit), unit.text)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def compile_object(unit: Unit | str, target: Target) -> bytes:
    """One module to object bytes, uncached."""
    unit = Unit(unit) if isinstance(unit, str) else unit
    return compile_text(unit.text, _options(unit, target), unit.optimize, assembly=False)


def assembly(unit: Unit | str, target: Target) -> str:
    """The assembly of one module, for `as_text(phase="asm")` and dumps."""
    unit = Unit(unit) if isinstance(unit, str) else unit
    return compile_text(unit.text, _options(unit, target), unit.optimize, assembly=True).decode()


class ObjectBatch:
    """Objects of many modules. Each starts to be made when it is added; equal ones are made once in a process."""

    def __init__(self, target: Target, cache: ObjectCache | None = None, parallel: bool = True) -> None:
        self._target = target
        self._cache = cache
        self._parallel = parallel and usable_cores() > 1
        self._keys: list[str] = []
        self._done: dict[str, bytes] = {}
        self._cold: dict[str, Unit] = {}
        self._started: dict[str, Future] = {}

    def add(self, unit: Unit | str) -> None:
        """One more module."""
        unit = Unit(unit) if isinstance(unit, str) else unit
        key = object_key(unit, self._target)
        self._keys.append(key)
        if key in self._done or key in self._cold:
            return
        cache = self._cache
        data = cache.get(key) if cache is not None else None
        if data is None and (data := _recent.get(key)) is not None and cache is not None:
            cache.put(key, data)
        if data is not None:
            self._done[key] = data
            return
        self._cold[key] = unit
        if self._parallel:
            self._started[key] = _pool().submit(compile_object, unit, self._target)

    def objects(self) -> list[bytes]:
        """The objects in the order of their modules. An exception, Ctrl-C included, leaves what has not started
        undone."""
        try:
            # What no thread has begun is done here, from the other end: this thread would only wait.
            for key, unit in reversed(self._cold.items()):
                future = self._started.get(key)
                if key not in self._done and (future is None or future.cancel()):
                    self._keep(key, compile_object(unit, self._target))
            for key, future in self._started.items():
                if key not in self._done:
                    self._keep(key, future.result())
        except BaseException:
            self.cancel()
            raise
        return [self._done[key] for key in self._keys]

    def cancel(self) -> None:
        """Leaves undone what has not started."""
        for future in self._started.values():
            future.cancel()

    def _keep(self, key: str, data: bytes) -> None:
        self._done[key] = data
        _recent.put(key, data)
        if self._cache is not None:
            self._cache.put(key, data)


def compile_objects(
    units: Sequence[Unit | str], target: Target, cache: ObjectCache | None = None, parallel: bool = True
) -> list[bytes]:
    """Objects of many modules, in order; cold ones are compiled side by side on the usable cores."""
    batch = ObjectBatch(target, cache, parallel and len(units) > 1)
    for unit in units:
        batch.add(unit)
    return batch.objects()


class _Recent:
    """The objects that this process compiled last, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._size = 0
        self._objects: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            data = self._objects.get(key)
            if data is not None:
                self._objects.move_to_end(key)
            return data

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            known = self._objects.pop(key, b"")
            self._objects[key] = data
            self._size += len(data) - len(known)
            while self._size > self._limit:
                self._size -= len(self._objects.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._objects.clear()
            self._size = 0

    def unlock(self) -> None:
        """Forgets everything, whoever was about to change it; for a forked child."""
        self._lock = threading.Lock()
        self.clear()


_recent = _Recent(64 << 20)


def forget_objects() -> None:
    """Lets go of the objects that this process keeps; the next compilation is a cold one."""
    _recent.clear()


_pool_lock = threading.Lock()
_shared_pool: ThreadPoolExecutor | None = None


def _pool() -> ThreadPoolExecutor:
    """The compile threads, started at first need and kept with their target machines; one core is the caller's."""
    global _shared_pool
    with _pool_lock:
        if _shared_pool is None:
            _shared_pool = ThreadPoolExecutor(max(usable_cores() - 1, 1), thread_name_prefix="pyiree-compile")
        return _shared_pool


def _forget_threads() -> None:
    """Threads do not survive a fork: the child starts its own, and no lock is theirs."""
    global _shared_pool, _pool_lock
    _shared_pool, _pool_lock = None, threading.Lock()
    _recent.unlock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _level(unit: Unit) -> str:
    return "O2" if unit.optimize else "explicit"


def _options(unit: Unit, target: Target) -> MachineOptions:
    level = _OPTIMIZED_LEVEL if unit.optimize else _EXPLICIT_LEVEL
    return MachineOptions(target.triple, target.cpu, target.feature_text, level)
