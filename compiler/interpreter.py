"""How Python's interpreter is set while programs are compiled.

Its cycle collector rests: a compilation makes many objects that stay, and each of the collector's rounds walks all of
them and of JAX's (40 % of a large program's compile time). And it hands over between threads sooner than by default: a
thread that has finished a kernel in LLVM needs it for some microseconds only, to take the next.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SWITCH_INTERVAL = 2e-4


class _Settings:
    """Counts the compilations under way; the first sets the interpreter, the last puts it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.collects = True
        self.switch_interval = 0.0

    def enter(self) -> None:
        """One more compilation."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.collects, self.switch_interval = gc.isenabled(), sys.getswitchinterval()
                gc.disable()
                sys.setswitchinterval(min(_SWITCH_INTERVAL, self.switch_interval))

    def leave(self) -> None:
        """One fewer."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                sys.setswitchinterval(self.switch_interval)
                if self.collects:
                    gc.enable()


_settings = _Settings()


@contextmanager
def for_compilation() -> Iterator[None]:
    """Sets the interpreter for what is inside."""
    settings = _settings
    settings.enter()
    try:
        yield
    finally:
        settings.leave()


def _unlock() -> None:
    """In a forked child no other thread is compiling; the one that forked may be."""
    _settings.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
