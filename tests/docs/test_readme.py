"""What the documents tell a reader to type works: every fenced command and Python block is run as it is written.

The blocks of one document are run in order in one empty folder, beside which only `examples/` can be seen. What
installs packages and what runs this test suite is not run; that it exists is checked instead.
"""

import importlib.util
import itertools
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tomllib
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# A fence without a language is a diagram; a command or program must say what it is, or nobody would run it.
LANGUAGES = {"sh", "python", ""}


def has_test_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {"pytest", "ruff"} <= {requirement.split(">")[0] for requirement in extras["test"]}


def has_module(name):
    return importlib.util.find_spec(name) is not None


# Command -> what is checked in its place.
NOT_RUN = {
    "python -m venv .venv": lambda: has_module("venv"),
    ". .venv/bin/activate": lambda: has_module("venv"),
    "pip install -e '.[test]'": has_test_extra,
    "python -m pytest -q": lambda: has_module("pytest"),
}
# Programs that follow each other run in one process, which imports jax once.
RUN_EACH = "import runpy, sys; [runpy.run_path(path, run_name=\"__main__\") for path in sys.argv[1:]]"
IN_THE_CHECKOUT = {"ruff check ."}


class Block(NamedTuple):
    """A fenced block; `line` is the number of its first line of content."""

    language: str
    line: int
    text: str


def fenced_blocks(path: pathlib.Path) -> list[Block]:
    """All fenced blocks of a file."""
    text = path.read_text()
    return [
        Block(found[1], text.count("\n", 0, found.start(2)) + 1, found[2])
        for found in re.finditer(r"^ *```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    ]


def commands(block: Block) -> list[str]:
    """The commands of a shell block: one a line, or joined by `&&`; comments are left out."""
    lines = [re.sub(r"(^|\s+)#.*", "", line).strip() for line in block.text.splitlines()]
    return [command.strip() for line in lines if line for command in line.split("&&")]


@pytest.fixture
def reader(tmp_path):
    """Runs what a reader types, in an empty folder; gives what it prints."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([os.path.dirname(sys.executable), sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "RUFF_NO_CACHE": "true"}

    def run(command, where):
        folder = ROOT if command in IN_THE_CHECKOUT else tmp_path
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{where}: {command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run


@pytest.fixture
def run_document(reader, tmp_path):
    """Runs all blocks of a document; gives what each command printed."""

    def run(path):
        printed = {}
        for language, blocks in itertools.groupby(fenced_blocks(path), lambda block: block.language):
            blocks = list(blocks)
            where = f"{path.name}:{blocks[0].line}"
            assert language in LANGUAGES, f"{where}: nobody runs a block of {language!r}"
            if language == "python":
                for block in blocks:
                    (tmp_path / f"line_{block.line:04}.py").write_text(block.text)
                names = " ".join(f"line_{block.line:04}.py" for block in blocks)
                printed[where] = reader(f"python -c '{RUN_EACH}' {names}", where)
            elif language == "sh":
                for where, command in [(f"{path.name}:{b.line}", c) for b in blocks for c in commands(b)]:
                    if command in NOT_RUN:
                        assert NOT_RUN[command](), f"{where}: {command} can't work"
                    else:
                        printed[command] = reader(command, where)
        return printed

    return run


@pytest.mark.parametrize("path", DOCUMENTS[1:], ids=lambda path: path.name)
def test_what_a_document_says_can_be_typed(run_document, path):
    run_document(path)


def test_readme(run_document):
    """Also what it says beside the commands: what the second run does, and what the dump holds."""
    printed = run_document(DOCUMENTS[0])
    training = [text for command, text in printed.items() if command.endswith("train_digits.py")]
    assert len(training) == 2 and all("test accuracy 0.9" in text for text in training)
    assert "compiles: step: loaded from the cache" in training[1]
    shown = printed["PYIREE_DUMP=ir python examples/inspect_ir.py flow"]
    assert "flow.executable" in shown and "stream.executable" not in shown
    assert "8x32xf32=[1 1 1" in next(text for command, text in printed.items() if command.startswith("pyiree run"))


def test_the_phases_example_ends_with_its_reader(reader):
    shown = reader("python examples/inspect_ir.py input | head -1; echo ${PIPESTATUS[1]}", "the example")
    assert shown == "// ---- input\n0\n"
    assert "the phases are stablehlo, input" in reader("! python examples/inspect_ir.py nothing", "the example")


@pytest.mark.parametrize(
    ("example", "library"), [("mixer_flax", "flax"), ("ode_diffrax", "diffrax"), ("train_digits", "sklearn")]
)
def test_an_example_names_the_extra_that_it_needs(reader, tmp_path, example, library):
    # A module that is None can't be imported, as if it were not installed.
    (tmp_path / "without.py").write_text(
        f"import runpy, sys; sys.path[0] = 'examples'; sys.modules[{library!r}] = None; del sys.argv[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    name = f"examples/{example}.py"
    told = reader(f"! python without.py {name}", "the example")
    assert told.startswith(f"{name} needs {library}") and told.count("\n") == 1
    assert told.endswith(", which comes with the extra: pip install -e '.[examples]'\n")


def test_a_wrong_command_is_found(run_document, tmp_path):
    document = tmp_path / "wrong.md"
    for block in ("```sh\npyiree fly\n```\n", "```python\nimport pyiree.nothing\n```\n", "```c\nint x;\n```\n"):
        document.write_text(f"Text\n\n{block}")
        with pytest.raises(AssertionError, match=r"wrong\.md:4"):
            run_document(document)


def test_files_that_are_linked_exist():
    for path in DOCUMENTS:
        for target in set(re.findall(r"\]\((?!http)([^)#]+)", path.read_text())):
            assert (path.parent / target).exists(), f"{path.name}: {target} is missing"
