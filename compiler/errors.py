"""The errors of the compiler: what every failed compilation raises.

Each carries one clear line; `UnsupportedError` lists every op that the compiler cannot take, with the user's
source line, before anything is lowered.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.runtime.vmfb.errors import PyireeError


class CompileError(PyireeError):
    """A program cannot be compiled; `location` is the user's `file:line` where it is known."""

    def __init__(self, message: str, location: str | None = None):
        super().__init__(message if location is None else f"{location}: {message}")
        self.location = location


class UnsupportedError(CompileError):
    """The program uses ops that the compiler does not support; `ops` holds (op name, location) pairs."""

    def __init__(self, ops: Sequence[tuple[str, str]], advice: str | None = None):
        listed = "; ".join(f"{name} at {location}" for name, location in ops)
        text = f"unsupported op {listed}"
        super().__init__(text if advice is None else f"{text} ({advice})")
        self.ops, self.advice = tuple(ops), advice

    def in_file(self, name: str) -> UnsupportedError:
        """The error about a text that was read from a file, whose places say so."""
        places = [(op, name + place[1:] if place.startswith("-:") else place) for op, place in self.ops]
        return UnsupportedError(places, self.advice)
