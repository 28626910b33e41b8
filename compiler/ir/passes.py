"""Passes and pipelines.

What enters: functions or small classes marked by `@register_pass`, pipelines as text
(`builtin.module(util.func(cse,canonicalize),symbol-dce)`) and a context. What leaves: the IR, passed through each in
order; on request verified, printed, dumped, timed and, when a pass fails, saved with the rest of the pipeline.

A pass says by `on` which ops it works on; it runs on each of them in the op that the pipeline is at. A pipeline goes
pass by pass through the whole program, so one dump shows all functions at one stage.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.diagnostics import PassError
from pyiree.compiler.ir.instrumentation import Instrumentation
from pyiree.compiler.ir.pipeline_text import PassStep, Pipeline, parse_pipeline
from pyiree.compiler.ir.registry import lookup_operation
from pyiree.compiler.ir.traits import IsolatedFromAbove, SymbolTable
from pyiree.compiler.ir.verifier import verify
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_passes: dict[str, PassInfo] = {}
_pass_modules: dict[str, str] = {}
_imported_passes: set[str] = set()


@dataclass
class PassContext:
    """What passes and the manager share during one compilation.

    `print_ir_before` and `print_ir_after` are pass names, or True for all. `dump_dir` gets a numbered file for each
    pass; `crash_reproducer` is the file for the state before a pass that fails, which is the `reproduced_pass`-th if
    that is known. `failed_pass` says which one failed.
    """

    options: Any = None
    verify_each: bool = False
    print_ir_before: Iterable[str] | bool = ()
    print_ir_after: Iterable[str] | bool = ()
    print_to: Any = None
    dump_dir: Any = None
    timing: bool = False
    crash_reproducer: Any = None
    reproduced_pass: int | None = None
    failed_pass: int | None = None
    _analyses: dict[tuple[Any, Operation], Any] = dataclasses.field(default_factory=dict)
    _cancellations: list[Callable[[], None]] = dataclasses.field(default_factory=list)
    _instrumentation: Instrumentation | None = None

    def analysis(self, make: Callable[[Any], Any], op: Operation) -> Any:
        """`make(op)`, kept until a pass that may have changed the IR has run."""
        key = (make, op)
        found = self._analyses.get(key)
        if found is None:
            found = self._analyses[key] = make(op)
        return found

    def invalidate_analyses(self, keep: Sequence[Any] = ()) -> None:
        """Forgets analyses, those in `keep` aside."""
        if self._analyses:
            self._analyses = {key: value for key, value in self._analyses.items() if key[0] in keep}

    def cancel_on_failure(self, cancel: Callable[[], None]) -> None:
        """Something goes on beside the passes; `cancel` ends it if the compilation does not come to an end."""
        self._cancellations.append(cancel)

    def cancel(self) -> None:
        """Ends what goes on beside the passes."""
        for cancel in self._cancellations:
            cancel()

    @property
    def instrumentation(self) -> Instrumentation:
        """What watches the passes of this context; numbering and times go on over several pipelines."""
        if self._instrumentation is None:
            self._instrumentation = Instrumentation(self)
        return self._instrumentation

    def timing_report(self) -> str:
        """A table of the time that passes took."""
        return self.instrumentation.timing_report()


class PassInfo:
    """A registered pass: its name, the ops it runs on (None for any) and how to make it with options."""

    def __init__(self, name: str, on: tuple[str, ...] | None, implementation: Any, preserves: Sequence[Any]) -> None:
        self.name = name
        self.on = on
        self.implementation = implementation
        self.preserves = preserves
        self.summary = (implementation.__doc__ or "").strip().partition("\n")[0]

    def option_fields(self) -> dict[str, Any]:
        """The options by name, with their types."""
        if not isinstance(self.implementation, type):
            return {}
        return {f.name: f for f in dataclasses.fields(self.implementation)}

    def make(self, options: Mapping[str, str]) -> Callable[[Operation, PassContext], None]:
        """The function to run, with options given as text."""
        fields = self.option_fields() if options else {}
        values = {}
        for key, text in options.items():
            field = fields.get(key.replace("-", "_"))
            if field is None:
                known = ", ".join(fields) or "none"
                raise PassError(f"pass '{self.name}' has no option '{key}' (it has {known})")
            values[field.name] = _option_value(self.name, field, text)
        if isinstance(self.implementation, type):
            return self.implementation(**values).run  # type: ignore[no-any-return]
        return self.implementation


def _option_value(pass_name: str, field: Any, text: str) -> Any:
    kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    kind = kind.partition("|")[0].strip()
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
        if kind.startswith(("list", "tuple")):
            parts = [part.strip() for part in text.split(",") if part.strip()]
            items = [int(p) for p in parts] if "int" in kind else parts
            return tuple(items) if kind.startswith("tuple") else items
    except (KeyError, ValueError):
        raise PassError(f"pass '{pass_name}': option '{field.name}' is {kind}, given '{text}'") from None
    return text


def register_pass(
    name: str, *, on: str | tuple[str, ...] | None = "builtin.module", preserves: Sequence[Any] = ()
) -> Callable[[Any], Any]:
    """Registers a function `(op, context)`, or a class with `run(self, op, context)` whose annotated fields are
    options. `on` names the ops that it runs on, None for whatever op the pipeline is at. `preserves` are the analyses
    that stay valid after it."""

    def register(implementation: Any) -> Any:
        if isinstance(implementation, type) and not dataclasses.is_dataclass(implementation):
            implementation = dataclass(implementation)
        known = _passes.get(name)
        if known is not None and known.implementation.__module__ != implementation.__module__:
            raise ValueError(f"pass '{name}' is registered by {known.implementation.__module__} already")
        _passes[name] = PassInfo(name, (on,) if isinstance(on, str) else on, implementation, preserves)
        return implementation

    return register


def register_passes(modules: Mapping[str, str]) -> None:
    """Says which module registers each pass; it is imported when the name is used."""
    _pass_modules.update(modules)


def lookup_pass(name: str) -> PassInfo:
    """The pass of a name; an error if there is none."""
    # Even if it is registered: this waits where another thread is about to import the rest of the module.
    if name in _pass_modules and name not in _imported_passes:
        importlib.import_module(_pass_modules[name])
        _imported_passes.add(name)
    found = _passes.get(name)
    if found is None:
        raise PassError(f"there is no pass '{name}'")
    return found


def pass_names() -> list[str]:
    """All names that `lookup_pass` knows."""
    return sorted({*_passes, *_pass_modules})


register_passes(
    {
        "canonicalize": "pyiree.compiler.ir.canonicalize",
        "cse": "pyiree.compiler.ir.cse",
        "dce": "pyiree.compiler.ir.dce",
        "symbol-dce": "pyiree.compiler.ir.dce",
    }
)


class PassManager:
    """A pipeline ready to run."""

    def __init__(self, pipeline: Pipeline | str | Iterable[str]) -> None:
        if isinstance(pipeline, str):
            pipeline = parse_pipeline(pipeline)
        elif not isinstance(pipeline, Pipeline):
            pipeline = parse_pipeline(",".join(pipeline))
        self.pipeline = pipeline

    @classmethod
    def parse(cls, text: str) -> PassManager:
        """A manager for a pipeline in text."""
        return cls(parse_pipeline(text))

    def __str__(self) -> str:
        return str(self.pipeline)

    def run(self, op: Operation, context: PassContext | None = None) -> None:
        """Runs all passes on an op, in place."""
        context = context or PassContext()
        steps = _flatten(self.pipeline, ())
        infos = [lookup_pass(step.name) for step, _ in steps]
        prepared = [(info.make(step.options), info, step, anchors) for info, (step, anchors) in zip(infos, steps)]
        watch = context.instrumentation
        for position, (function, info, step, anchors) in enumerate(prepared):
            # Only the place of the pass decides what it sees; the op it starts from is always the same.
            watch.before_pass(step.name, op, lambda at=position: _remaining(self.pipeline, steps[at:]))
            start = time.perf_counter()
            try:
                for target in _targets(op, anchors, info):
                    function(target, context)
                    context.invalidate_analyses(info.preserves)
                if context.verify_each:
                    verify(op)
            except Exception as error:
                error.add_note(f"in pass '{step.name}'")
                context.failed_pass = watch.count
                watch.failed(error)
                raise
            watch.after_pass(step.name, op, time.perf_counter() - start, anchors)
        if context.timing:
            (context.print_to or sys.stderr).write(context.timing_report())


def _flatten(pipeline: Pipeline, anchors: tuple[str, ...]) -> list[tuple[PassStep, tuple[str, ...]]]:
    anchors = (*anchors, pipeline.anchor)
    flat: list[tuple[PassStep, tuple[str, ...]]] = []
    for step in pipeline.steps:
        if isinstance(step, Pipeline):
            flat.extend(_flatten(step, anchors))
        else:
            flat.append((step, anchors))
    return flat


def _remaining(pipeline: Pipeline, steps: list[tuple[PassStep, tuple[str, ...]]]) -> str:
    """The rest of a pipeline as text."""
    rest = Pipeline(pipeline.anchor, [])
    for step, anchors in steps:
        level = rest
        for anchor in anchors[1:]:
            last = level.steps[-1] if level.steps else None
            if not isinstance(last, Pipeline) or last.anchor != anchor:
                last = Pipeline(anchor, [])
                level.steps.append(last)
            level = last
        level.steps.append(step)
    return str(rest)


def _targets(op: Operation, anchors: tuple[str, ...], info: PassInfo) -> list[Operation]:
    """The ops that a pass runs on."""
    current = [op]
    for i, anchor in enumerate(anchors):
        if i == 0 and anchor in (op.name, "any"):
            continue
        current = [found for parent in current for found in _nested(parent, (anchor,))]
    if info.on is None:
        return current
    return [t for parent in current for t in ([parent] if parent.name in info.on else _nested(parent, info.on))]


def _nested(parent: Operation, names: tuple[str, ...]) -> list[Operation]:
    """Ops of these names inside another, not those inside each other."""
    # What is closed off itself, as functions are, is not inside of a function.
    classes = [lookup_operation(name) for name in names]
    closed = all(cls is not None and IsolatedFromAbove in cls.traits for cls in classes)  # type: ignore[attr-defined]
    found: list[Operation] = []
    _collect(parent, names, closed, found)
    return found


def _collect(parent: Operation, names: tuple[str, ...], closed: bool, found: list[Operation]) -> None:
    for region in parent.regions:
        for block in region.blocks:
            op = block._first
            while op is not None:
                if op.name in names:
                    found.append(op)
                elif op.regions and not (closed and IsolatedFromAbove in op.traits and SymbolTable not in op.traits):
                    _collect(op, names, closed, found)
                op = op._next


def functions_of(op: Operation, dialect: str) -> list[Operation]:
    """The ops of a dialect that stand in the body of `op` and have a body themselves; all of `op` if it is empty."""
    if not dialect:
        return [op]
    prefix = f"{dialect}."
    return [inner for region in op.regions for inner in region.ops if inner.regions and inner.name.startswith(prefix)]


def run_passes(op: Operation, pipeline: str, context: PassContext | None = None) -> None:
    """Runs a pipeline given as text."""
    PassManager.parse(pipeline).run(op, context)
