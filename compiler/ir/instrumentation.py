"""Watching passes: IR printed or dumped around them, times, and a reproducer when one fails.

What enters: calls before and after each pass. What leaves: text on a stream, numbered files
(`07-stream-schedule-allocation.mlir`), a table of times, and a file with the IR before the failed pass whose first
line holds the rest of the pipeline, so that the failure can be run again by itself.
"""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.printer import print_operation
from pyiree.runtime.vmfb.errors import ConfigError

PIPELINE_LINE = "// pyiree-pipeline: "


class Instrumentation:
    """Belongs to one `PassContext`; counts on through all its pipelines."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.count = 0
        #: Seconds of each run, by the path to the pass: phases, anchors of the pipeline, its name.
        self.times: dict[tuple[str, ...], list[float]] = {}
        self._phases: tuple[str, ...] = ()
        directory = context.dump_dir or os.environ.get("PYIREE_DUMP")
        self.dump_dir = pathlib.Path(directory) if directory else None
        self._before: tuple[str, Callable[[], str], str] | None = None

    def before_pass(self, name: str, op: Operation, remaining: Callable[[], str]) -> None:
        """Called before a pass; `remaining` gives the pipeline from here on."""
        self.count += 1
        if _wanted(self.context.print_ir_before, name):
            self._print(f"// -----// IR before {name} //----- //\n", op)
        is_watched = self.context.reproduced_pass in (None, self.count)
        if (self.context.crash_reproducer and is_watched) or self.dump_dir is not None:
            self._before = (name, remaining, self._snapshot(op))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Passes run inside the `with` are listed under `name` in the table of times."""
        outer, self._phases = self._phases, (*self._phases, name)
        try:
            yield
        finally:
            self._phases = outer

    def after_pass(self, name: str, op: Operation, seconds: float, anchors: tuple[str, ...] = ()) -> None:
        """Called after a pass that succeeded."""
        self.times.setdefault((*self._phases, *anchors, name), []).append(seconds)
        self._before = None
        if _wanted(self.context.print_ir_after, name):
            self._print(f"// -----// IR after {name} //----- //\n", op)
        if self.dump_dir is not None:
            self.dump(name, _text(op))

    def dump(self, name: str, text: str, suffix: str = ".mlir") -> None:
        """Writes a numbered file into the dump folder, if there is one."""
        if self.dump_dir is not None:
            self._write(self.dump_dir, name, text, suffix)

    def _write(self, folder: pathlib.Path, name: str, text: str, suffix: str) -> pathlib.Path:
        path = folder / f"{self.count:02d}-{name.removeprefix('iree-')}{suffix}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise ConfigError(
                f"the IR of every pass can't be written to {folder} ({error.strerror}):"
                " PYIREE_DUMP, config.dump or the option dump_dir must name another folder"
            ) from None
        return path

    def failed(self, error: Exception) -> None:
        """Called when a pass raised."""
        if self._before is None:
            return
        name, remaining, text = self._before
        message = str(error).replace("\n", " ")
        content = f"{PIPELINE_LINE}{remaining()}\n// pass '{name}' failed: {message}\n{text}"
        if self.context.crash_reproducer:
            path = pathlib.Path(self.context.crash_reproducer)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        else:
            assert self.dump_dir is not None
            path = self._write(self.dump_dir, name, content, ".crash.mlir")
        error.add_note(f"the IR before it and the remaining pipeline are in {path}")

    def _snapshot(self, op: Operation) -> str:
        # Asked for by name, a reproducer is complete; one that falls out of dumping need not hold the weights.
        return print_operation(op, elide_large_constants=False if self.context.crash_reproducer else 4096)

    def _print(self, header: str, op: Operation) -> None:
        stream = self.context.print_to or sys.stderr
        stream.write(header + _text(op))

    def timing_report(self) -> str:
        """A tree of phases, pipelines and passes with their seconds, in the order in which they first ran."""
        spent: dict[tuple[str, ...], float] = {}
        runs: dict[tuple[str, ...], int] = {}
        for path, times in self.times.items():
            for depth in range(len(path) + 1):
                spent[path[:depth]] = spent.get(path[:depth], 0.0) + sum(times)
                runs[path[:depth]] = runs.get(path[:depth], 0) + len(times)
        total = spent.get((), 0.0)
        lines = [f"{'seconds':>10}  {'share':>6}  {'runs':>5}  pass"]

        def show(path: tuple[str, ...]) -> None:
            share = 100 * spent[path] / total if total else 0.0
            label = "  " * (len(path) - 1) + path[-1] if path else "total"
            lines.append(f"{spent[path]:10.5f}  {share:5.1f}%  {runs[path]:5d}  {label}")

        def show_below(parent: tuple[str, ...]) -> None:
            for path in spent:
                if len(path) == len(parent) + 1 and path[: len(parent)] == parent:
                    show(path)
                    show_below(path)

        show_below(())
        if spent:
            show(())
        return "\n".join(lines) + "\n"


def _wanted(names: Any, name: str) -> bool:
    return names if isinstance(names, bool) else name in names or "all" in names


def _text(op: Operation) -> str:
    text = print_operation(op, elide_large_constants=True)
    return text if text.endswith("\n") else text + "\n"


def read_reproducer(text: str) -> str | None:
    """The pipeline that a reproducer asks for, or None for other text."""
    first = text.partition("\n")[0]
    return first.removeprefix(PIPELINE_LINE) if first.startswith(PIPELINE_LINE) else None
