"""What a failed compilation leaves: a file with the IR before the pass that failed, and the passes from there on.

Enters: the error, and the same compilation to be done again, watched this time. Leaves: a note on the error that names
the file; `pyiree opt FILE` runs it. Compilations are not watched from the start because the text of a program before
each pass costs more than the passes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.passes import PassContext


def leave_reproducer(error: Exception, context: PassContext, again: PassContext, compile: Callable[[], Any]) -> None:
    """Does a failed compilation over, in the context `again`, up to the pass that failed in `context`."""
    if isinstance(error, MemoryError):
        return
    number, path = tempfile.mkstemp(prefix="pyiree-reproducer-", suffix=".mlir")
    os.close(number)
    again.crash_reproducer, again.reproduced_pass = path, context.failed_pass
    try:
        compile()
    except Exception:  # which is expected: the first error is the one to tell
        left = os.path.getsize(path) > 0
    else:
        left = False
    if left:
        error.add_note(f"the IR before it is in {path}: run it again with 'pyiree opt {path}'")
    else:  # it does not fail twice, or not there
        os.unlink(path)
