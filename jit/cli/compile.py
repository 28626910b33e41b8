"""`pyiree compile`: a file in one phase to a file in another."""

from __future__ import annotations

import sys

from pyiree.cli.output import CommandError, as_text, print_json, read, write
from pyiree.errors import CompileError, UnsupportedError
from pyiree.program import options_for
from pyiree.stages import PHASES


def compile_file(
    source: str,
    output: str,
    compile_from: str,
    compile_to: str,
    target_cpu: str | None,
    timing: bool,
    debug_info: bool,
    as_json: bool,
) -> None:
    """Compiles `source`; text and bytecode are told apart by their first bytes."""
    from pyiree import cache
    from pyiree.compiler import pipeline

    for flag, phase in (("--compile-from", compile_from), ("--compile-to", compile_to)):
        known = pipeline.SOURCE_PHASES if flag == "--compile-from" else (*PHASES, "vmfb")
        if phase not in known:
            raise CommandError(f"{flag}={phase}: the phases are {', '.join(known)}")
    order = (*PHASES, "vmfb")
    if order.index(compile_to) < order.index(compile_from):
        raise CommandError(f"--compile-to={compile_to}: a program at {compile_from} is behind that phase")
    if as_json and output == "-":
        raise CommandError("--json prints to standard output, and so would the result: name a file with -o")
    content = read(source)
    program = content if content.startswith(b"ML\xefR") else as_text(content, source)
    options = options_for(cpu=target_cpu).compile_options(cache.configured())
    try:
        compilation = pipeline.compile(program, options, compile_from=compile_from, compile_to=compile_to)
    except CompileError as error:
        raise _about_file(error, source, compile_from) from None
    result = bytes(compilation.vmfb) if compile_to == "vmfb" else compilation.text(compile_to, debug_info=debug_info)
    write(output, result)
    if as_json:
        print_json({str(phase): float(spent) for phase, spent in dict(compilation.timing).items()})
    if timing:
        for phase, spent in dict(compilation.timing).items():
            print(f"{phase:<12} {1e3 * spent:9.2f} ms", file=sys.stderr)


def _about_file(error: CompileError, source: str, phase: str) -> Exception:
    """An error of a parser, which saw text alone, with the file's name and how it was read."""
    for nameless in ("-:", "<text>:"):
        if str(error).startswith(nameless):
            place = str(error).removeprefix(nameless)
            return CommandError(f"{source}:{place} (read as {phase}; --compile-from names another phase)")
    return error.in_file(source) if isinstance(error, UnsupportedError) else error
