"""Which source files the native code is made of, and digests of them: what the caches are keyed by.

Enters: names of modules of `pyiree.runtime`. Leaves: the modules that they import in turn, found by their
import lines (absolute imports, as everywhere here), and digests of their texts. Imports none of them.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

_RUNTIME = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from\s+pyiree\.runtime([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def with_imports(modules) -> list[str]:
    """The modules and all of the runtime that they import, sorted."""
    found: set[str] = set()
    todo = set(modules)
    while todo:
        module = todo.pop()
        if module not in found and _path(module) is not None:
            found.add(module)
            todo.update(_imports(module))
    return sorted(found)


def digest(modules, *facts: str) -> str:
    """A digest of the texts of the modules and all that they import, and of further facts."""
    state = hashlib.sha256("\0".join(facts).encode())
    for module in with_imports(modules):
        state.update(f"\0{module}\0{text(module)}".encode())
    return state.hexdigest()[:32]


@cache
def text(module: str) -> str:
    """A module's source."""
    return _path(module).read_text(encoding="utf-8")


@cache
def _path(module: str) -> Path | None:
    """The file of a module of the runtime; None for a name that is no module."""
    base = _RUNTIME.joinpath(*module.split(".")[2:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _imports(module: str) -> tuple[str, ...]:
    found = []
    for package, names in _IMPORT.findall(text(module)):
        base = f"pyiree.runtime{package}"
        found.append(base)
        listed = [name.split()[0] for name in names.strip("() \n").split(",") if name.strip()]
        found.extend(f"{base}.{name}" for name in listed)
    return tuple(found)
