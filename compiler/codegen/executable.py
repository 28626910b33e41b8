"""Kernels' IR to the bytes of one executable: what a `.vmfb` holds and a runtime maps.

Enters: entry points and the modules that define their symbols. Leaves: an ELF shared object that exports
IREE's library query and imports nothing; what kernels call beyond each other comes from `llvm.library`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.runtime.vmfb.abi import LIBRARY_QUERY_SYMBOL

from .elf.link import link
from .llvm import library
from .llvm.executable_library import EntryPoint, library_module
from .llvm.objects import ObjectCache, Unit, compile_object, compile_objects
from .target import Target


def build_executable(
    name: str,
    entry_points: Sequence[EntryPoint],
    units: Sequence[Unit | str],
    target: Target,
    cache: ObjectCache | None = None,
) -> bytes:
    """Compiles the units (cached, side by side) and links them; equal units become one, so their symbols must
    say what they are."""
    distinct = list(dict.fromkeys(u if isinstance(u, Unit) else Unit(u) for u in units))
    objects = compile_objects(distinct, target, cache)
    tables = compile_object(library_module(name, entry_points, target), target)
    return link(
        [tables, *objects],
        [LIBRARY_QUERY_SYMBOL],
        lambda symbol: library.object_of(symbol, target, cache),
        [f"tables of {name}", *(f"kernel module {k} of {name}" for k in range(len(objects)))],
    )
