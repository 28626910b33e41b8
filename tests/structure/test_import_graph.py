"""The structure of the project, read from the source: which way imports point, how long files are."""

import ast
import functools
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"pyiree": "jit", "pyiree.compiler": "compiler", "pyiree.runtime": "runtime"}
MAX_LINES = 700

# Each part of the compiler may import the parts named here (and itself); `dialects` and `ir` lie under all.
COMPILER_LAYERS = {
    "ir": set(),
    "dialects": {"ir"},
    "input": {"dialects", "ir"},
    "flow": {"dialects", "ir"},
    "codegen": {"dialects", "ir"},
    "stream": {"flow", "dialects", "ir"},
    "hal": {"stream", "flow", "codegen", "dialects", "ir"},
    "vm": {"hal", "stream", "flow", "dialects", "ir"},
}


def source_files():
    for folder in FOLDERS.values():
        yield from sorted((ROOT / folder).rglob("*.py"))


def module_name(path: pathlib.Path) -> str:
    for package, folder in FOLDERS.items():
        if (ROOT / folder) in path.parents:
            parts = list(path.relative_to(ROOT / folder).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            return ".".join([package, *parts])
    raise AssertionError(path)


@functools.cache
def parsed(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imports_of(path: pathlib.Path, modules: set[str]) -> set[str]:
    """The project's modules that a file imports anywhere in it, type-checking blocks excepted."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()

    def visit(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in modules else base)
        # An import is a statement, so only what holds statements is looked into.
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            for child in getattr(node, field, ()):
                visit(child)

    visit(parsed(path))
    return {m for m in found if m in modules and m != name}


@pytest.fixture(scope="module")
def graph():
    files = list(source_files())
    modules = {module_name(f) for f in files}
    return {module_name(f): imports_of(f, modules) for f in files}


def test_no_import_cycle(graph):
    state: dict[str, int] = {}

    def visit(module, trail):
        state[module] = 1
        for target in sorted(graph[module]):
            if state.get(target) == 1:
                start = trail.index(target) if target in trail else 0
                raise AssertionError("import cycle: " + " -> ".join([*trail[start:], target]))
            if target not in state:
                visit(target, [*trail, target])
        state[module] = 2

    for module in sorted(graph):
        if module not in state:
            visit(module, [module])


def test_runtime_imports_nothing_of_the_compiler_or_front_end(graph):
    bad = {
        (m, t)
        for m, targets in graph.items()
        if m.startswith("pyiree.runtime")
        for t in targets
        if not t.startswith("pyiree.runtime")
    }
    assert not bad


def test_compiler_imports_only_the_format_tables_of_the_runtime(graph):
    bad = {
        (m, t)
        for m, targets in graph.items()
        if m.startswith("pyiree.compiler")
        for t in targets
        if not t.startswith("pyiree.compiler") and not t.startswith("pyiree.runtime.vmfb")
    }
    assert not bad


def test_no_phase_imports_a_later_one(graph):
    bad = []
    for module, targets in graph.items():
        parts = module.split(".")
        if parts[:2] != ["pyiree", "compiler"] or len(parts) < 3 or parts[2] not in COMPILER_LAYERS:
            continue
        for target in targets:
            other = target.split(".")
            if other[:2] == ["pyiree", "compiler"] and len(other) > 2 and other[2] in COMPILER_LAYERS:
                if other[2] != parts[2] and other[2] not in COMPILER_LAYERS[parts[2]]:
                    bad.append(f"{module} imports {target}")
            elif target == "pyiree.compiler.pipeline":
                bad.append(f"{module} imports {target}")
    assert not bad


def test_files_are_short():
    long = {str(f.relative_to(ROOT)): n for f in source_files() if (n := f.read_text().count("\n")) > MAX_LINES}
    assert not long


def test_every_module_says_what_it_is():
    bare = [str(f.relative_to(ROOT)) for f in source_files() if not ast.get_docstring(parsed(f))]
    assert not bare


@pytest.mark.parametrize("name", ["jit", "compiler", "runtime"])
def test_source_folders_are_not_importable_by_their_own_name(name):
    assert str(ROOT) not in sys.path
    done = subprocess.run([sys.executable, "-P", "-c", f"import {name}"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr
