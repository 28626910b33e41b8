"""Names and source locations of functions, for messages and disassembly.

Enters: functions and where the code of each op starts. Leaves: a `DebugDatabaseDef`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.location import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    Location,
    NameLoc,
    visit_parts_first,
)
from pyiree.compiler.vm.encode_bytecode import FunctionCode
from pyiree.runtime.vmfb import schema


class _Table:
    """Locations by number; equal ones share a row. Row 0 is "unknown"."""

    def __init__(self) -> None:
        self.kinds: list[int] = [0]
        self.rows: list[Any] = [None]
        self.known: dict[Location, int] = {}
        self.kind_of = {cls: kind for kind, cls in schema.LOCATIONS.items()}

    def number(self, location: Location) -> int:
        if location not in self.known:
            visit_parts_first(location, self._missing_parts, self._add)
        return self.known[location]

    def _missing_parts(self, location: Location) -> list[Location]:
        return [part for part in location.parts if part not in self.known]

    def _add(self, location: Location) -> None:
        if location in self.known:
            return
        row = self._row(location)
        self.known[location] = 0 if row is None else len(self.rows)
        if row is not None:
            self.rows.append(row)
            self.kinds.append(self.kind_of[type(row)])

    def _row(self, location: Location) -> Any:
        if isinstance(location, FileLineColLoc):
            return schema.FileLineColLocDef(location.filename, location.line, location.column)
        if isinstance(location, NameLoc):
            return schema.NameLocDef(location.name, self.known[location.child])
        if isinstance(location, CallSiteLoc):
            return schema.CallSiteLocDef(self.known[location.callee], self.known[location.caller])
        if isinstance(location, FusedLoc):
            return schema.FusedLocDef("", [self.known[part] for part in location.locations])
        return None


def debug_database(ops: list[Any], functions: list[FunctionCode]) -> schema.DebugDatabaseDef:
    """The names of functions and the locations of their code."""
    table = _Table()
    maps = []
    for op, function in zip(ops, functions):
        entries = [schema.BytecodeLocation(offset, table.number(loc)) for offset, loc in function.locations]
        maps.append(schema.FunctionSourceMapDef(op.sym_name, entries))
    return schema.DebugDatabaseDef(table.kinds, table.rows, maps)
