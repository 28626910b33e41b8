"""`pyiree opt`: named passes over IR text, each spelled as a flag, in the order given."""

from __future__ import annotations

import difflib

from pyiree.cli.output import CommandError, as_text, print_rows, read, write
from pyiree.errors import CompileError
from pyiree.program import options_for


def opt(
    words: list[str],
    pass_pipeline: str | None,
    output: str,
    list_passes: bool,
    print_after: str | None,
    as_json: bool,
) -> None:
    """Runs passes on the one file among `words` (standard input if there is none)."""
    from pyiree.compiler import pipeline
    from pyiree.compiler.ir.instrumentation import read_reproducer
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext, PassManager, pass_names
    from pyiree.compiler.ir.printer import print_operation

    if list_passes:
        rows = [(item.name, item.summary) for item in pipeline.registered_passes()]
        print_rows(("PASS", "WHAT IT DOES"), rows, as_json)
        return
    if as_json:
        raise CommandError("--json goes with --list-passes")
    flags = [word[2:] for word in words if word.startswith("--")]
    files = [word for word in words if not word.startswith("--")]
    for word in files:
        if word.startswith("-") and word != "-":
            raise CommandError(f"opt has no option {word}; passes are spelled --NAME")
    if len(files) > 1:
        raise CommandError(f"opt takes one file, not {len(files)}: {', '.join(files)}")
    if pass_pipeline is not None and flags:
        raise CommandError("give passes as flags or as --pass-pipeline, not both")
    for flag in flags:
        if flag.partition("=")[0].partition("{")[0] not in pass_names():
            near = difflib.get_close_matches(flag, pass_names(), 1)
            hint = f", did you mean --{near[0]}?" if near else ", see --list-passes"
            raise CommandError(f"there is no pass --{flag}{hint}")
    watched = tuple((print_after or "").split(",")) if print_after else ()
    for name in watched:
        if name not in ("all", *pass_names()):
            raise CommandError(f"--print-ir-after={print_after}: there is no pass {name!r}, see --list-passes")
    source = files[0] if files else "-"
    text = as_text(read(source), source)
    # What a failed compilation left says itself which passes are to run, and need not be valid.
    reproduced = None if pass_pipeline is not None or flags else read_reproducer(text)
    try:
        module = parse_module(text, source, verify=reproduced is None)
    except CompileError as error:
        if "'stablehlo." in str(error):
            error.add_note("passes read later phases: pyiree compile --compile-to=input makes such text of StableHLO")
        raise
    context = PassContext(
        options=options_for().compile_options(None), verify_each=True, print_ir_after="all" in watched or watched
    )
    PassManager(pass_pipeline or reproduced or flags).run(module, context)
    write(output, print_operation(module))
