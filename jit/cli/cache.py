"""`pyiree cache`: the commands over `pyiree.cache`."""

from __future__ import annotations

import datetime

from pyiree import cache, config
from pyiree.cli.output import CommandError, counted, print_json, print_mapping, print_rows, readable_size


def ls(as_json: bool) -> None:
    """Lists the cached programs."""
    opened = cache.opened()
    entries = opened.entries()
    if as_json:
        columns = ("key", "name", "size", "created", "last_used", "hits", "compile_seconds")
        print_rows(columns, [[getattr(entry, column) for column in columns] for entry in entries], True)
        return
    rows = [
        (
            entry.key[:12],
            entry.name,
            readable_size(entry.size),
            _when(entry.created),
            _when(entry.last_used),
            entry.hits,
            f"{entry.compile_seconds:.2f} s",
        )
        for entry in entries
    ]
    print_rows(("KEY", "FUNCTION", "SIZE", "CREATED", "LAST USED", "HITS", "COMPILED IN"), rows, False)
    total, most = readable_size(opened.size()), readable_size(opened.max_size)
    print(f"{counted(len(entries), 'program')}, {total} with their kernels, of at most {most}")


def show(key: str, as_json: bool) -> None:
    """Shows one entry."""
    values = cache.show(key)
    if not as_json:
        values["created"], values["last_used"] = _when(values["created"]), _when(values["last_used"])
    print_mapping(values, as_json)


def path() -> None:
    """Prints the folder."""
    print(cache.path())


def prune(max_size: str | None, older_than: float | None, as_json: bool) -> None:
    """Removes what is left over, old, or over the size."""
    try:
        limit = None if max_size is None else config.SETTINGS["cache_max_size"].parse(max_size)
    except ValueError as error:
        raise CommandError(f"--max-size={max_size}: {error}") from None
    removed = cache.prune(limit, None if older_than is None else older_than * 86400.0)
    if as_json:
        print_json({"removed": removed})
    else:
        print(f"removed {counted(len(removed), 'file')}")


def clear(as_json: bool) -> None:
    """Removes everything."""
    count = cache.clear()
    if as_json:
        print_json({"removed": count})
    else:
        print(f"removed {counted(count, 'file')} from {cache.path()}")


def verify(as_json: bool) -> None:
    """Checks every file; damaged ones are an error, other people's files are only named."""
    report = cache.verify()
    if as_json:
        print_json({"sound": report.sound, "faulty": report.faulty, "strays": report.strays})
    else:
        print(counted(report.sound, "sound program"))
        for name in report.strays:
            print(f"not of the cache: {name}")
    if report.faulty:
        raise CommandError(f"removed {counted(len(report.faulty), 'damaged file')}: {', '.join(report.faulty)}")


def _when(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
