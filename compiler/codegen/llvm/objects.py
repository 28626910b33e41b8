"""LLVM IR text to relocatable objects, cached by what determines them, many at a time.

Enters: IR texts (one kernel each) and a Target. Leaves: object bytes in the same order. Kernels with explicit
vectors skip the middle end (code generation level 1: the same speed, a third to a half of the time); kernels
written as scalar loops ask for `optimize`, the O2 pipeline with LLVM's vectorisers.
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

# Handing work to threads pays once there are some milliseconds of it: about 1 ms for each 1,000 characters.
_PARALLEL_MIN_TEXT = 20_000

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


def compile_objects(
    units: Sequence[Unit | str], target: Target, cache: ObjectCache | None = None, parallel: bool = True
) -> list[bytes]:
    """Objects of many modules, in order. Equal modules compile once in a process; cold ones side by side on the
    usable cores. An exception, Ctrl-C included, leaves what has not started undone."""
    units = [Unit(u) if isinstance(u, str) else u for u in units]
    keys = [object_key(unit, target) for unit in units]
    done: dict[str, bytes] = {}
    cold: dict[str, Unit] = {}
    for key, unit in zip(keys, units):
        if key in done or key in cold:
            continue
        data = cache.get(key) if cache is not None else None
        if data is None and (data := _recent.get(key)) is not None and cache is not None:
            cache.put(key, data)
        if data is None:
            cold[key] = unit
        else:
            done[key] = data
    for key, data in zip(cold, _compile_cold(list(cold.values()), target, parallel)):
        done[key] = data
        _recent.put(key, data)
        if cache is not None:
            cache.put(key, data)
    return [done[key] for key in keys]


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


def _compile_cold(units: list[Unit], target: Target, parallel: bool) -> list[bytes]:
    large = sum(len(unit.text) for unit in units) >= _PARALLEL_MIN_TEXT
    if not parallel or len(units) < 2 or not large or usable_cores() < 2:
        return [compile_object(unit, target) for unit in units]
    # Longest first, so that the last thread to finish holds a short one.
    order = sorted(range(len(units)), key=lambda k: -len(units[k].text))
    pool = _pool()
    futures: dict[int, Future] = {k: pool.submit(compile_object, units[k], target) for k in order}
    try:
        done = {k: futures[k].result() for k in order}  # in the order of starting, to see an error early
        return [done[k] for k in range(len(units))]
    except BaseException:
        for future in futures.values():
            future.cancel()
        raise


_pool_lock = threading.Lock()
_shared_pool: ThreadPoolExecutor | None = None


def _pool() -> ThreadPoolExecutor:
    """The compile threads, started at first need and kept with their target machines."""
    global _shared_pool
    with _pool_lock:
        if _shared_pool is None:
            _shared_pool = ThreadPoolExecutor(usable_cores(), thread_name_prefix="pyiree-compile")
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
