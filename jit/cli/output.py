"""What the commands print: a table on a terminal, plain columns in a pipe, or JSON.

What enters: rows or a mapping.  What leaves: text on standard output, or bytes or text in a file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class CommandError(Exception):
    """What was asked for can't be done; the text says why."""


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool) -> None:
    """Prints rows under their columns."""
    if as_json:
        print_json([dict(zip(columns, row)) for row in rows])
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*[str(cell) for cell in row])
        Console().print(table)
    else:
        lines = [[str(cell) for cell in row] for row in (columns, *rows)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def print_mapping(values: Mapping[str, Any], as_json: bool) -> None:
    """Prints names and values, one a line."""
    if as_json:
        print_json(dict(values))
    else:
        width = max(map(len, values), default=0)
        for name, value in values.items():
            print(f"{name.ljust(width)}  {value}")


def print_json(value: Any) -> None:
    """Prints a value as JSON."""
    print(json.dumps(value, indent=1, default=str))


def write(output: str, content: str | bytes) -> None:
    """Writes to a file, or to standard output for `-`."""
    if isinstance(content, str):
        content = content if content.endswith("\n") else content + "\n"
    if not output:
        raise CommandError("-o is given no name")
    if output != "-":
        Path(output).write_bytes(content if isinstance(content, bytes) else content.encode())
    elif isinstance(content, str):
        sys.stdout.write(content)
    elif sys.stdout.isatty():
        raise CommandError("the result is binary: name a file with -o")
    else:
        sys.stdout.buffer.write(content)


def read(source: str) -> bytes:
    """The content of a file, or of standard input for `-`."""
    content = sys.stdin.buffer.read() if source == "-" else existing(Path(source)).read_bytes()
    if not content.strip():
        raise CommandError(f"{'standard input' if source == '-' else source} is empty")
    return content


def existing(path: Path) -> Path:
    """The path of a file that must be there."""
    if path.is_dir():
        raise CommandError(f"{path} is a folder, not a file")
    if not path.exists():
        raise CommandError(f"there is no file {path}")
    return path


def as_text(content: bytes, source: str) -> str:
    """The text that a file holds."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CommandError(f"{source} holds no text") from None


def counted(count: int, thing: str) -> str:
    """A count and its noun: 1 file, 2 files."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def readable_size(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
