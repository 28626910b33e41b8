"""Whether native code that lies in a folder may be run: only the user, and root, may have put it there.

Enters: folders. Leaves: None, or in words why nothing in them may be run; and folders of which that is not so.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path


def refusal(*folders: Path) -> str | None:
    """Why nothing in `folders` may be run, and which place is to blame; None if it may, or if there are none yet."""
    if not hasattr(os, "geteuid"):  # Windows: the user's folders are private there
        return None
    for folder in folders:
        status = None
        for look in (os.lstat, os.stat):  # a link, and the folder that it leads to
            status = _status(folder, look)
            if status is not None and status.st_uid not in (os.geteuid(), 0):
                return f"{folder} belongs to another user (uid {status.st_uid})"
        if status is not None and _others_can_write(status):
            return f"{folder} can be written by other users (chmod 700 makes it yours alone)"
    return None


def make(folder: Path) -> None:
    """Makes a folder, and what is missing above it, for the user alone, whatever the umask is."""
    for place in (*reversed(folder.parents), folder):
        place.mkdir(mode=0o700, exist_ok=True)


def _status(place: Path, look: Callable[[Path], os.stat_result]) -> os.stat_result | None:
    try:
        return look(place)
    except OSError:  # nothing can be read from it either
        return None


def _others_can_write(status: os.stat_result) -> bool:
    """The user's own group has nobody else in it where new folders are writable for it."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (os.getegid(), 0)
    return bool(status.st_mode & stat.S_IWOTH or by_group)
