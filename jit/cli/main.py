"""The commands and their flags, as one table; what each does is in the module that it imports when it runs.

What enters: the command line.  What leaves: an exit code: 0 done, 1 the work failed (or nobody reads on), 2 the
command line is wrong.  Errors are one line on stderr.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="pyiree",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Compiles StableHLO to IREE modules and runs them, all in Python.",
)
cache_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the compilation cache.")
app.add_typer(cache_app, name="cache")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Module = Annotated[Path | None, typer.Argument(metavar="MODULE", help="The .vmfb file.", show_default=False)]
ModuleFlag = Annotated[Path | None, typer.Option("--module", help="The .vmfb file, as a flag.")]
Function = Annotated[str, typer.Option("--function", help="The exported function.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="TENSOR", help="An argument: 4xf32=1,2,3,4 or 4xf32=0 or f32=1 or @file.npy. Repeat it."
    ),
]
Device = Annotated[str, typer.Option("--device", help="The device, see `pyiree devices`.")]


@app.command("compile")
def compile_command(
    source: Annotated[str, typer.Argument(metavar="FILE", help="The file to compile; - is standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Where the result goes; - is standard output.")] = "-",
    compile_from: Annotated[str, typer.Option("--compile-from", help="The phase of the source.")] = "stablehlo",
    compile_to: Annotated[str, typer.Option("--compile-to", help="The phase to stop after.")] = "vmfb",
    target_cpu: Annotated[
        str | None,
        typer.Option("--target-cpu", "--iree-llvmcpu-target-cpu", help="host, or a name of `pyiree targets`."),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Tell on stderr how long each phase took.")] = False,
    debug_info: Annotated[bool, typer.Option("--debug-info", help="Print source locations in text.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the seconds of each phase as JSON; needs -o.")] = False,
) -> None:
    """Compile a program, from any phase to any phase."""
    from pyiree.cli.compile import compile_file

    compile_file(source, output, compile_from, compile_to, target_cpu, timing, debug_info, as_json)


@app.command("run")
def run_command(
    module: Module = None,
    module_flag: ModuleFlag = None,
    function: Function = "main",
    inputs: Inputs = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="PLACE", help="Where a result goes: @file.npy, or - to print it. Repeat it."),
    ] = None,
    device: Device = "local-task",
    as_json: Json = False,
) -> None:
    """Run a function of a module."""
    from pyiree.cli.run import run

    run(_one_module(module, module_flag), function, inputs or [], outputs or [], device, as_json)


@app.command("benchmark")
def benchmark_command(
    module: Module = None,
    module_flag: ModuleFlag = None,
    function: Function = "main",
    inputs: Inputs = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0, help="How long to measure.")] = 1.0,
    device: Device = "local-task",
    as_json: Json = False,
) -> None:
    """Time a function of a module."""
    from pyiree.cli.run import benchmark

    benchmark(_one_module(module, module_flag), function, inputs or [], seconds, device, as_json)


@app.command("dump")
def dump_command(
    module: Module = None,
    module_flag: ModuleFlag = None,
    function: Annotated[str | None, typer.Option("--function", help="Disassemble this function only.")] = None,
    what: Annotated[str, typer.Option("--output", help="all, metadata or disassembly.")] = "all",
    as_json: Json = False,
) -> None:
    """Show the tables of a module and its bytecode."""
    from pyiree.cli.dump import dump

    dump(_one_module(module, module_flag), function, what, as_json)


@app.command(
    "opt",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    options_metavar="[OPTIONS] [--PASS]... [FILE]",
    short_help="Run passes over IR text.",
)
def opt_command(
    context: typer.Context,
    pass_pipeline: Annotated[
        str | None, typer.Option("--pass-pipeline", help="The passes as text, such as builtin.module(cse).")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="Where the result goes; - is standard output.")] = "-",
    list_passes: Annotated[bool, typer.Option("--list-passes", help="List the passes.")] = False,
    print_after: Annotated[
        str | None, typer.Option("--print-ir-after", help="Pass names, or all: print the IR after them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="List the passes as JSON.")] = False,
) -> None:
    """Run passes over IR text, in the order given: pyiree opt --canonicalize --cse FILE.

    Without FILE, or with -, the text comes from standard input. The file that a failed compilation left behind names
    its passes itself: pyiree opt FILE.
    """
    from pyiree.cli.opt import opt

    opt(context.args, pass_pipeline, output, list_passes, print_after, as_json)


@app.command("devices")
def devices_command(as_json: Json = False) -> None:
    """List the devices that programs can run on."""
    from pyiree.cli.machine import devices

    devices(as_json)


@app.command("targets")
def targets_command(as_json: Json = False) -> None:
    """List the CPUs that programs can be compiled for."""
    from pyiree.cli.machine import targets

    targets(as_json)


@cache_app.command("ls")
def cache_ls(as_json: Json = False) -> None:
    """List the cached programs, most recently used first."""
    from pyiree.cli.cache import ls

    ls(as_json)


@cache_app.command("show")
def cache_show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, or its first digits.")], as_json: Json = False
) -> None:
    """Show one cached program."""
    from pyiree.cli.cache import show

    show(key, as_json)


@cache_app.command("path")
def cache_path() -> None:
    """Print the folder of the cache."""
    from pyiree.cli.cache import path

    path()


@cache_app.command("prune")
def cache_prune(
    max_size: Annotated[str | None, typer.Option("--max-size", help="Such as 500MB; else the setting.")] = None,
    older_than: Annotated[float | None, typer.Option("--older-than", min=0, help="Days without use.")] = None,
    as_json: Json = False,
) -> None:
    """Remove leftovers, and what is old or over the size."""
    from pyiree.cli.cache import prune

    prune(max_size, older_than, as_json)


@cache_app.command("clear")
def cache_clear(as_json: Json = False) -> None:
    """Remove everything that is cached."""
    from pyiree.cli.cache import clear

    clear(as_json)


@cache_app.command("verify")
def cache_verify(as_json: Json = False) -> None:
    """Check every cached file; damaged ones are removed."""
    from pyiree.cli.cache import verify

    verify(as_json)


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Compiles StableHLO to IREE modules and runs them, all in Python."""
    if version:
        from importlib.metadata import version as version_of

        print(f"pyiree {version_of('pyiree')}")
        raise typer.Exit


def _one_module(positional: Path | None, flag: Path | None) -> Path:
    if (positional is None) == (flag is None):
        raise typer.BadParameter("give one .vmfb file, as an argument or with --module")
    return positional if positional is not None else flag


def main() -> None:
    """Runs the command line; a failure is one line and an exit code."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where it can be told that nobody takes it
    except BrokenPipeError:  # the reader of a pipe has seen enough
        _drop_output()
        sys.exit(1)
    except Exception as error:
        _drop_output()
        if not _is_expected(error):
            raise
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        print(f"pyiree: error: {' '.join(_text(error).split()).removeprefix('error: ')}{notes}", file=sys.stderr)
        sys.exit(1)


def _drop_output() -> None:
    """Keeps the interpreter from writing again, at its end, what could not be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_expected(error: Exception) -> bool:
    """Whether an error is about the user's input, so that its text says all; others keep their traceback."""
    return isinstance(error, (OSError, MemoryError)) or type(error).__module__.startswith("pyiree.")


def _text(error: Exception) -> str:
    """What an error says; one of the system names its file first, and no number."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
