"""Watching passes: IR printed or dumped around them, times, and a reproducer when one fails.

What enters: calls before and after each pass. What leaves: text on a stream, numbered files
(`07-stream-schedule-allocation.mlir`), a table of times, and a file with the IR before the failed pass whose first
line holds the rest of the pipeline, so that the failure can be run again by itself.
"""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.printer import print_operation

PIPELINE_LINE = "// pyiree-pipeline: "


class Instrumentation:
    """Belongs to one `PassContext`; counts on through all its pipelines."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.count = 0
        self.times: dict[str, list[float]] = {}
        directory = context.dump_dir or os.environ.get("PYIREE_DUMP")
        self.dump_dir = pathlib.Path(directory) if directory else None
        self._before: tuple[str, Callable[[], str], str] | None = None

    def before_pass(self, name: str, op: Operation, remaining: Callable[[], str]) -> None:
        """Called before a pass; `remaining` gives the pipeline from here on."""
        self.count += 1
        if _wanted(self.context.print_ir_before, name):
            self._print(f"// -----// IR before {name} //----- //\n", op)
        if self.context.crash_reproducer or self.dump_dir is not None:
            self._before = (name, remaining, self._snapshot(op))

    def after_pass(self, name: str, op: Operation, seconds: float) -> None:
        """Called after a pass that succeeded."""
        self.times.setdefault(name, []).append(seconds)
        self._before = None
        if _wanted(self.context.print_ir_after, name):
            self._print(f"// -----// IR after {name} //----- //\n", op)
        if self.dump_dir is not None:
            self.dump(name, _text(op))

    def dump(self, name: str, text: str, suffix: str = ".mlir") -> None:
        """Writes a numbered file into the dump folder, if there is one."""
        if self.dump_dir is not None:
            self.dump_dir.mkdir(parents=True, exist_ok=True)
            stem = name.removeprefix("iree-")
            (self.dump_dir / f"{self.count:02d}-{stem}{suffix}").write_text(text)

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
        else:
            assert self.dump_dir is not None
            self.dump_dir.mkdir(parents=True, exist_ok=True)
            path = self.dump_dir / f"{self.count:02d}-{name.removeprefix('iree-')}.crash.mlir"
        path.write_text(content)
        error.add_note(f"the IR before it and the remaining pipeline are in {path}")

    def _snapshot(self, op: Operation) -> str:
        # Asked for by name, a reproducer is complete; one that falls out of dumping need not hold the weights.
        return print_operation(op, elide_large_constants=False if self.context.crash_reproducer else 4096)

    def _print(self, header: str, op: Operation) -> None:
        stream = self.context.print_to or sys.stderr
        stream.write(header + _text(op))

    def timing_report(self) -> str:
        """Passes with their calls and seconds, the slowest first."""
        total = sum(sum(times) for times in self.times.values())
        lines = [f"{'seconds':>10}  {'share':>6}  {'calls':>5}  pass"]
        for name, times in sorted(self.times.items(), key=lambda item: -sum(item[1])):
            spent = sum(times)
            share = 100 * spent / total if total else 0
            lines.append(f"{spent:10.5f}  {share:5.1f}%  {len(times):5d}  {name}")
        lines.append(f"{total:10.5f}  100.0%  {sum(len(t) for t in self.times.values()):5d}  total")
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
