"""Whether native code that lies in a folder may be run: only the user, and root, may have put it there.

Enters: a folder. Leaves: None, or in words why nothing in it may be run.
"""

import os
import stat
from pathlib import Path


def refusal(folder: Path) -> str | None:
    """Why nothing in `folder` may be run; None if it may, or if there is no such folder yet."""
    if not hasattr(os, "geteuid"):  # Windows: the user's folders are private there
        return None
    try:
        status = os.stat(folder)
    except OSError:  # nothing can be read from it either
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user (chmod 700 makes it yours alone)"
    return None
