"""Warnings that point at the user's line, however deep in the package they arise.

What enters: a warning.  What leaves: the same, told of the nearest line of the stack that is not the package's own.
Python has this as `skip_file_prefixes` from 3.12 on.
"""

from __future__ import annotations

import sys
import warnings

#: Ours, and what stands between two of our frames: imports on demand, and attributes that are computed once.
_SKIPPED = frozenset(("pyiree", "importlib", "functools"))


def warn_at_user_line(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns of something that the user's line led to."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED:
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "__main__"),
        names.setdefault("__warningregistry__", {}),
    )
