"""Kernels' IR to the bytes of one executable: what a `.vmfb` holds and a runtime maps.

Enters: entry points and the modules that define their symbols. Leaves: an ELF shared object that exports
IREE's library query and imports nothing; what kernels call beyond each other comes from `llvm.library`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pyiree.compiler.errors import CompileError
from pyiree.runtime.vmfb.abi import LIBRARY_QUERY_SYMBOL
from pyiree.runtime.vmfb.elf.link import link
from pyiree.runtime.vmfb.errors import LinkError

from .llvm import library
from .llvm.executable_library import EntryPoint, library_tables, query_module
from .llvm.kernel import body_symbol
from .llvm.objects import KERNEL_SYMBOL, ObjectBatch, ObjectCache, Unit, compile_objects
from .target import Target


class ExecutableBuilder:
    """An executable in the making: kernels are compiled from when they are added, cached and side by side."""

    def __init__(self, name: str, target: Target, cache: ObjectCache | None = None) -> None:
        self._name = name
        self._target = target
        self._cache = cache
        self._batch = ObjectBatch(target, cache)
        self._distinct: dict[tuple[str, bool], Unit] = {}
        self._stands_for: dict[str, str] = {}

    def add(self, kernel: Unit | str) -> None:
        """One more kernel; those of equal text become one. A unit without a symbol keeps the names of its text."""
        unit = Unit(kernel) if isinstance(kernel, str) else kernel
        first = self._distinct.get((unit.text, unit.optimize))
        if first is None:
            first = self._distinct[unit.text, unit.optimize] = unit
            self._batch.add(unit)
        if unit.symbol and self._stands_for.setdefault(unit.symbol, first.symbol) != first.symbol:
            raise CompileError(f"two kernels of {self._name} have the symbol {unit.symbol}")

    def close(self, entry_points: Sequence[EntryPoint]) -> Callable[[], bytes]:
        """No more kernels; what this returns waits for them and links them with the tables of the entry points, each
        of which names a kernel by its unit's `symbol`."""
        name, target, cache, stands_for = self._name, self._target, self._cache, self._stands_for
        entry_points = [replace(e, symbol=stands_for.get(e.symbol, e.symbol)) for e in entry_points]
        tables = library_tables(name, entry_points, target)
        units = list(self._distinct.values())
        # Kernels call each other by their symbols.
        merged = {}
        for symbol, first in stands_for.items():
            if symbol != first:
                merged |= _names(symbol, first)

        def finish() -> bytes:
            objects = [tables, _query_object(target, cache), *self._batch.objects()]
            labels = ["", f"the query of {name}", *(f"kernel {u.symbol or k} of {name}" for k, u in enumerate(units))]
            names = [{}, {}, *(merged | _names(KERNEL_SYMBOL, u.symbol) if u.symbol else {} for u in units)]
            resolve = partial(library.object_of, target=target, cache=cache)
            try:
                return link(objects, [LIBRARY_QUERY_SYMBOL], resolve, labels, names)
            except LinkError as error:
                raise CompileError(str(error)) from error

        return finish

    def cancel(self) -> None:
        """Leaves undone what has not started."""
        self._batch.cancel()


def build_executable(
    name: str,
    entry_points: Sequence[EntryPoint],
    kernels: Sequence[Unit | str],
    target: Target,
    cache: ObjectCache | None = None,
) -> bytes:
    """An executable of kernels that are all there."""
    builder = ExecutableBuilder(name, target, cache)
    for kernel in kernels:
        builder.add(kernel)
    return builder.close(entry_points)()


def _names(symbol: str, name: str) -> dict[str, str]:
    """What the symbols of a kernel become when it is called `name`."""
    return {symbol: name, body_symbol(symbol): body_symbol(name)}


_query_objects: dict[Target, bytes] = {}


def _query_object(target: Target, cache: ObjectCache | None) -> bytes:
    """The query function, which all executables of a target share."""
    found = _query_objects.get(target)
    if found is None:
        (found,) = compile_objects([Unit(query_module(target))], target, cache)
        _query_objects[target] = found
    return found
