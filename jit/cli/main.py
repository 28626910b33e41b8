"""The commands and their flags, as one table; what each does is in the module that it imports when it runs.

What enters: the command line.  What leaves: an exit code: 0 done, 1 the work failed (or nobody reads on), 2 the
command line is wrong.  Errors are one line on stderr.

The parser is the standard library's: it is there before larger ones are imported, and most of a short run is imports.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Flag(NamedTuple):
    """An argument of a command, as `ArgumentParser.add_argument` takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class Command(NamedTuple):
    """A command: what it says of itself, its arguments, what it does with them, and whether it takes words beside."""

    help: str
    flags: tuple[Flag, ...]
    run: Callable[[argparse.Namespace], None]
    takes_words: bool


_COMMANDS: dict[str, Command] = {}


def _flag(*names: str, **settings: Any) -> Flag:
    return Flag(names, settings)


def _switch(*names: str, help: str) -> Flag:
    return Flag(names, {"help": help, "action": "store_true"})


def command(name: str, *flags: Flag, takes_words: bool = False) -> Callable[[Any], Any]:
    """Registers a function of the parsed arguments as a command."""

    def register(function: Any) -> Any:
        _COMMANDS[name] = Command(function.__doc__, flags, function, takes_words)
        return function

    return register


def _at_least_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, not {text!r}")
    return value


_JSON = _switch("--json", help="Print JSON.")
_MODULE = (
    _flag("positional", metavar="MODULE", nargs="?", type=Path, help="The .vmfb file."),
    _flag("--module", metavar="PATH", type=Path, help="The .vmfb file, as a flag."),
)
_FUNCTION = _flag("--function", metavar="NAME", default="main", help="The exported function.  [default: main]")
_INPUTS = _flag(
    "--input",
    metavar="TENSOR",
    action="append",
    default=[],
    help="An argument: 4xf32=1,2,3,4 or 4xf32=0 or f32=1 or @file.npy. Repeat it.",
)
_DEVICE = _flag(
    "--device", metavar="NAME", default="local-task", help="The device, see `pyiree devices`.  [default: local-task]"
)
_OUTPUT = _flag(
    "-o", "--output", metavar="PATH", default="-", help="Where the result goes; - is standard output.  [default: -]"
)


@command(
    "compile",
    _flag("source", metavar="FILE", help="The file to compile; - is standard input."),
    _OUTPUT,
    _flag(
        "--compile-from",
        metavar="PHASE",
        default="stablehlo",
        help="The phase of the source.  [default: stablehlo]",
    ),
    _flag("--compile-to", metavar="PHASE", default="vmfb", help="The phase to stop after.  [default: vmfb]"),
    _flag("--target-cpu", "--iree-llvmcpu-target-cpu", metavar="CPU", help="host, or a name of `pyiree targets`."),
    _switch("--timing", help="Tell on stderr how long each phase took."),
    _switch("--debug-info", help="Print source locations in text."),
    _switch("--json", help="Tell the seconds of each phase as JSON; needs -o."),
)
def compile_command(given: argparse.Namespace) -> None:
    """Compile a program, from any phase to any phase."""
    from pyiree.cli.compile import compile_file

    compile_file(
        given.source,
        given.output,
        given.compile_from,
        given.compile_to,
        given.target_cpu,
        given.timing,
        given.debug_info,
        given.json,
    )


@command(
    "run",
    *_MODULE,
    _FUNCTION,
    _INPUTS,
    _flag(
        "--output",
        metavar="PLACE",
        action="append",
        default=[],
        help="Where a result goes: @file.npy, or - to print it. Repeat it.",
    ),
    _DEVICE,
    _JSON,
)
def run_command(given: argparse.Namespace) -> None:
    """Run a function of a module."""
    from pyiree.cli.run import run

    run(given.module, given.function, given.input, given.output, given.device, given.json)


@command(
    "benchmark",
    *_MODULE,
    _FUNCTION,
    _INPUTS,
    _flag("--seconds", metavar="NUMBER", type=_at_least_zero, default=1.0, help="How long to measure.  [default: 1.0]"),
    _DEVICE,
    _JSON,
)
def benchmark_command(given: argparse.Namespace) -> None:
    """Time a function of a module."""
    from pyiree.cli.run import benchmark

    benchmark(given.module, given.function, given.input, given.seconds, given.device, given.json)


@command(
    "dump",
    *_MODULE,
    _flag("--function", metavar="NAME", help="Disassemble this function only."),
    _flag("--output", metavar="WHAT", default="all", help="all, metadata or disassembly.  [default: all]"),
    _JSON,
)
def dump_command(given: argparse.Namespace) -> None:
    """Show the tables of a module and its bytecode."""
    from pyiree.cli.dump import dump

    dump(given.module, given.function, given.output, given.json)


@command(
    "opt",
    _flag("--pass-pipeline", metavar="TEXT", help="The passes as text, such as builtin.module(cse)."),
    _OUTPUT,
    _switch("--list-passes", help="List the passes."),
    _flag("--print-ir-after", metavar="NAMES", help="Pass names, or all: print the IR after them."),
    _switch("--json", help="List the passes as JSON."),
    takes_words=True,
)
def opt_command(given: argparse.Namespace) -> None:
    """Run passes over IR text, in the order given: pyiree opt --canonicalize --cse FILE.

    Without FILE, or with -, the text comes from standard input. The file that a failed compilation left behind names
    its passes itself: pyiree opt FILE.
    """
    from pyiree.cli.opt import opt

    opt(given.words, given.pass_pipeline, given.output, given.list_passes, given.print_ir_after, given.json)


@command("devices", _JSON)
def devices_command(given: argparse.Namespace) -> None:
    """List the devices that programs can run on."""
    from pyiree.cli.machine import devices

    devices(given.json)


@command("targets", _JSON)
def targets_command(given: argparse.Namespace) -> None:
    """List the CPUs that programs can be compiled for."""
    from pyiree.cli.machine import targets

    targets(given.json)


@command("cache ls", _JSON)
def cache_ls(given: argparse.Namespace) -> None:
    """List the cached programs, most recently used first."""
    from pyiree.cli.cache import ls

    ls(given.json)


@command("cache show", _flag("key", metavar="KEY", help="The key, or its first digits."), _JSON)
def cache_show(given: argparse.Namespace) -> None:
    """Show one cached program."""
    from pyiree.cli.cache import show

    show(given.key, given.json)


@command("cache path")
def cache_path(given: argparse.Namespace) -> None:
    """Print the folder of the cache."""
    from pyiree.cli.cache import path

    path()


@command(
    "cache prune",
    _flag("--max-size", metavar="SIZE", help="Such as 500MB; else the setting."),
    _flag("--older-than", metavar="DAYS", type=_at_least_zero, help="Days without use."),
    _JSON,
)
def cache_prune(given: argparse.Namespace) -> None:
    """Remove leftovers, and what is old or over the size."""
    from pyiree.cli.cache import prune

    prune(given.max_size, given.older_than, given.json)


@command("cache clear", _JSON)
def cache_clear(given: argparse.Namespace) -> None:
    """Remove everything that is cached."""
    from pyiree.cli.cache import clear

    clear(given.json)


@command("cache verify", _JSON)
def cache_verify(given: argparse.Namespace) -> None:
    """Check every cached file; damaged ones are removed."""
    from pyiree.cli.cache import verify

    verify(given.json)


_ABOUT = "Compiles StableHLO to IREE modules and runs them, all in Python."
#: As wide as the longest command where it is indented, so that all of their lines begin alike.
_COMMAND = "COMMAND ..."
_GROUPS = {"cache": "Look after the compilation cache."}


class _Version(argparse.Action):
    """Asks for the version only where it is wanted: the lookup takes longer than the rest of the parser."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"pyiree {version('pyiree')}")
        parser.exit()


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of a description, and leaves room for the longest flag."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


def _add_parser(group: Any, name: str, help: str) -> argparse.ArgumentParser:
    return group.add_parser(  # type: ignore[no-any-return]
        name,
        help=help.partition("\n")[0].partition(", in the order")[0].rstrip("."),
        description=inspect.cleandoc(help),
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )


def _subparsers(parser: argparse.ArgumentParser, prog: str) -> Any:
    return parser.add_subparsers(prog=prog, metavar=_COMMAND, title="commands", required=True)


def _parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of all commands as "", and those of groups of commands by name."""
    parser = argparse.ArgumentParser(
        prog="pyiree",
        usage=f"%(prog)s [options] {_COMMAND}",
        description=_ABOUT,
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="Print the version.")
    parsers = {"": parser}
    groups = {"": _subparsers(parser, "pyiree")}
    for name, entry in _COMMANDS.items():
        group, _, leaf = name.rpartition(" ")
        if group not in groups:
            parsers[group] = _add_parser(groups[""], group, _GROUPS[group])
            parsers[group].usage = f"%(prog)s [options] {_COMMAND}"
            groups[group] = _subparsers(parsers[group], f"pyiree {group}")
        made = _add_parser(groups[group], leaf, entry.help)
        for flag in entry.flags:
            made.add_argument(*flag.names, **flag.settings)
        if entry.takes_words:
            made.usage = f"{made.prog} [options] [--PASS]... [FILE]"
        made.set_defaults(command=entry, parser=made)
    return parsers


def run_command_line(words: Sequence[str]) -> None:
    """Runs a command; `SystemExit` if its words are wrong, or ask for help."""
    parsers = _parsers()
    alone = parsers.get(" ".join(words))
    if alone is not None:  # no command
        alone.print_help()
        raise SystemExit(2)
    parser = parsers[""]
    given, beside = parser.parse_known_args(words)
    if beside and not given.command.takes_words:
        given.parser.error(f"unrecognized arguments: {' '.join(beside)}")
    given.words = beside
    if hasattr(given, "positional"):
        if (given.positional is None) == (given.module is None):
            given.parser.error("give one .vmfb file, as an argument or with --module")
        given.module = given.module or given.positional
    _check_settings()
    given.command.run(given)


def _check_settings() -> None:
    """A wrong value of a setting ends any command, also one that would not come to read it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # misspelled variables are told of here, in one line each
        from pyiree import config
    for line in config.unknown_variables():
        print(f"pyiree: warning: {line}", file=sys.stderr)
    config.check()


def main() -> None:
    """Runs the command line; a failure is one line and an exit code."""
    try:
        try:
            run_command_line(sys.argv[1:])
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
