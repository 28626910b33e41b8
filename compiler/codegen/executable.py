"""Kernels' IR to the bytes of one executable: what a `.vmfb` holds and a runtime maps.

Enters: entry points and the modules that define their symbols. Leaves: an ELF shared object that exports
IREE's library query and imports nothing; what kernels call beyond each other comes from `llvm.library`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyiree.compiler.errors import CompileError
from pyiree.runtime.vmfb.abi import LIBRARY_QUERY_SYMBOL

from .elf.link import link
from .llvm import library
from .llvm.executable_library import EntryPoint, library_tables, query_module
from .llvm.objects import KERNEL_SYMBOL, ObjectCache, Unit, compile_objects
from .target import Target


def build_executable(
    name: str,
    entry_points: Sequence[EntryPoint],
    kernels: Sequence[Unit | str],
    target: Target,
    cache: ObjectCache | None = None,
) -> bytes:
    """Compiles the kernels, cached and side by side, and links them with the tables of their entry points.

    An entry point names a kernel by its unit's `symbol`; kernels of equal text become one. A unit without a
    symbol keeps the names that its text gives."""
    distinct: dict[tuple[str, bool], Unit] = {}
    stands_for: dict[str, str] = {}
    for kernel in kernels:
        unit = Unit(kernel) if isinstance(kernel, str) else kernel
        first = distinct.setdefault((unit.text, unit.optimize), unit)
        if unit.symbol and stands_for.setdefault(unit.symbol, first.symbol) != first.symbol:
            raise CompileError(f"two kernels of {name} have the symbol {unit.symbol}")
    entry_points = [replace(e, symbol=stands_for.get(e.symbol, e.symbol)) for e in entry_points]
    units = list(distinct.values())
    # Kernels call each other by their symbols.
    merged = {symbol: first for symbol, first in stands_for.items() if symbol != first}
    return link(
        [
            library_tables(name, entry_points, target),
            _query_object(target, cache),
            *compile_objects(units, target, cache),
        ],
        [LIBRARY_QUERY_SYMBOL],
        lambda symbol: library.object_of(symbol, target, cache),
        ["", f"the query of {name}", *(f"kernel {unit.symbol or k} of {name}" for k, unit in enumerate(units))],
        [{}, {}, *({**merged, KERNEL_SYMBOL: unit.symbol} if unit.symbol else {} for unit in units)],
    )


_query_objects: dict[Target, bytes] = {}


def _query_object(target: Target, cache: ObjectCache | None) -> bytes:
    """The query function, which all executables of a target share."""
    found = _query_objects.get(target)
    if found is None:
        (found,) = compile_objects([Unit(query_module(target))], target, cache)
        _query_objects[target] = found
    return found
