"""Locations: where in the user's program an operation comes from.

What enters: file, line and column, names and call chains from the front end or the parser. What leaves: interned
location attributes, printed as MLIR's `loc(…)`, and the innermost file position for error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.interned import intern
from pyiree.compiler.ir.quoting import quote


class Location(Attribute):
    """Base of the locations; as text `body` is what stands inside `loc(…)`."""

    __slots__ = ()

    def body(self, printer: Any) -> str:
        """The text between the parentheses of `loc(…)`."""
        raise NotImplementedError

    def text(self, printer: Any) -> str:
        return f"loc({self.body(printer)})"

    @property
    def parts(self) -> tuple[Location, ...]:
        """The locations that this one is made of."""
        return ()

    def innermost_file(self) -> FileLineColLoc | None:
        """The file position that this location stands for, the first one in it, or None."""
        todo: list[Location] = [self]
        while todo:
            location = todo.pop()
            if isinstance(location, FileLineColLoc):
                return location
            todo.extend(reversed(location.parts))
        return None


class UnknownLoc(Location):
    """`loc(unknown)`."""

    __slots__ = ()

    def __new__(cls) -> UnknownLoc:
        return intern(cls, ())

    def body(self, printer: Any) -> str:
        return "unknown"


class FileLineColLoc(Location):
    """`loc("file.py":3:7)`."""

    parameters = ("filename", "line", "column")
    __slots__ = parameters

    def __new__(cls, filename: str, line: int, column: int = 0) -> FileLineColLoc:
        return intern(cls, (filename, line, column))

    def body(self, printer: Any) -> str:
        return f"{quote(self.filename)}:{self.line}:{self.column}"


class NameLoc(Location):
    """`loc("name"(child))`: a name for the position `child`."""

    parameters = ("name", "child")
    __slots__ = parameters

    def __new__(cls, name: str, child: Location | None = None) -> NameLoc:
        return intern(cls, (name, UNKNOWN if child is None else child))

    def body(self, printer: Any) -> str:
        if self.child is UNKNOWN:
            return quote(self.name)
        return f"{quote(self.name)}({printer.location_text(self.child)})"

    @property
    def parts(self) -> tuple[Location, ...]:
        return (self.child,)


class CallSiteLoc(Location):
    """`loc(callsite(callee at caller))`."""

    parameters = ("callee", "caller")
    __slots__ = parameters

    def __new__(cls, callee: Location, caller: Location) -> CallSiteLoc:
        return intern(cls, (callee, caller))

    def body(self, printer: Any) -> str:
        return f"callsite({printer.location_text(self.callee)} at {printer.location_text(self.caller)})"

    @property
    def parts(self) -> tuple[Location, ...]:
        return (self.callee, self.caller)


class FusedLoc(Location):
    """`loc(fused[a, b])`: several positions, with optional metadata."""

    parameters = ("locations", "metadata")
    __slots__ = parameters

    def __new__(cls, locations: Iterable[Location], metadata: Attribute | None = None) -> FusedLoc:
        return intern(cls, (tuple(locations), metadata))

    def body(self, printer: Any) -> str:
        metadata = "" if self.metadata is None else f"<{printer.attr_text(self.metadata)}>"
        return f"fused{metadata}[{', '.join([printer.location_text(at) for at in self.locations])}]"

    @property
    def parts(self) -> tuple[Location, ...]:
        return self.locations


UNKNOWN = UnknownLoc()


def visit_parts_first(location: Any, parts: Callable[[Any], Iterable[Any]], visit: Callable[[Any], None]) -> None:
    """Calls `visit` on a location after all that it is made of.

    Not by recursion: a call stack makes a chain as deep as itself, and is still there while we compile. `parts` gives
    those that were not visited yet, none for a location whose parts all were.
    """
    todo = [location]
    while todo:
        missing = list(parts(todo[-1]))
        if missing:
            todo.extend(reversed(missing))
        else:
            visit(todo.pop())


def fuse_locations(locations: Iterable[Location]) -> Location:
    """One location for several: unknown and repeated ones are dropped, a single one is itself."""
    distinct: dict[Location, None] = {}
    for location in locations:
        for part in location.locations if isinstance(location, FusedLoc) else (location,):
            if part is not UNKNOWN:
                distinct[part] = None
    if not distinct:
        return UNKNOWN
    return next(iter(distinct)) if len(distinct) == 1 else FusedLoc(distinct)
