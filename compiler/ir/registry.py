"""Where names meet classes: dialects and passes by name, loaded on first use.

What enters: `register_dialect(name, module)` with module paths as strings, and the classes that announce
themselves when their module is imported. What leaves: the op, type or attribute class of a textual name, loading
the dialect's module when its prefix is met for the first time. The IR package itself imports no dialect.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_dialect_modules: dict[str, list[str]] = {}
_loaded_dialects: set[str] = set()
_loading_dialects: set[tuple[int, str]] = set()  # which thread imports which
_operations: dict[str, type] = {}
_types: dict[str, type] = {}
_attributes: dict[str, type] = {}
_constant_materializers: dict[str, Callable[..., Any]] = {}
_operation_makers: dict[str, Callable[[str], type | None]] = {}


def register_dialect(name: str, module: str) -> None:
    """Says that `module` (a dotted path) declares the dialect `name`; it is imported when first needed.

    A dialect may be spread over several modules: each of them is registered under the same name.
    """
    modules = _dialect_modules.setdefault(name, [])
    if module not in modules:
        modules.append(module)
        _loaded_dialects.discard(name)


def register_dialects(table: Mapping[str, str]) -> None:
    """Registers a table of dialect name → module path."""
    for name, module in table.items():
        register_dialect(name, module)


def load_dialect(name: str) -> bool:
    """Imports the modules of a dialect; False when nothing by that name is registered."""
    if name in _loaded_dialects:
        return True
    modules = _dialect_modules.get(name)
    # A dialect whose module does not exist is as good as not registered: its text parses in generic form only.
    if modules is None or not all(_module_exists(module) for module in modules):
        return False
    # A dialect's own module may ask for it. Another thread must not take it for loaded until it is: it imports the
    # modules too, which waits for the first one.
    loading = (threading.get_ident(), name)
    if loading in _loading_dialects:
        return True
    _loading_dialects.add(loading)
    try:
        for module in modules:
            importlib.import_module(module)
    finally:
        _loading_dialects.discard(loading)
    _loaded_dialects.add(name)
    return True


def _module_exists(module: str) -> bool:
    if module in sys.modules:
        return True
    package, _, _ = module.rpartition(".")
    return (not package or _module_exists(package)) and importlib.util.find_spec(module) is not None


def registered_dialects() -> list[str]:
    """The names of all registered dialects."""
    return sorted(_dialect_modules)


def _lookup(table: dict[str, type], name: str) -> type | None:
    dialect, dot, _ = name.partition(".")
    # First: a class is in the table while another thread still imports the module around it.
    if dot and dialect not in _loaded_dialects:
        load_dialect(dialect)
    return table.get(name)


def lookup_operation(name: str) -> type | None:
    """The op class named `dialect.op`, or None."""
    found = _lookup(_operations, name)
    if found is None:
        make = _operation_makers.get(name.partition(".")[0])
        found = None if make is None else make(name)
    return found


def register_operation_maker(dialect: str, make: Callable[[str], type | None]) -> None:
    """Says how ops of a dialect are made that exist only when their name is met; `make` gives None for others."""
    _operation_makers[dialect] = make


def lookup_type(name: str) -> type | None:
    """The dialect type class named `dialect.mnemonic`, or None."""
    return _lookup(_types, name)


def lookup_attribute(name: str) -> type | None:
    """The dialect attribute class named `dialect.mnemonic`, or None."""
    return _lookup(_attributes, name)


def operation_text(op: Any) -> str:
    """The text of an op. The printer stands above the ops, so it is reached by name, as dialects are."""
    return importlib.import_module("pyiree.compiler.ir.printer").print_operation(op)  # type: ignore[no-any-return]


def operations_of(dialects: Iterable[str]) -> list[type]:
    """The op classes of loaded dialects."""
    wanted = set(dialects)
    # A copy: another thread may load a dialect meanwhile.
    return [cls for name, cls in list(_operations.items()) if name.partition(".")[0] in wanted]


def operation_count() -> int:
    """How many op classes there are; while it stays, `operations_of` gives the same."""
    return len(_operations)


def _announce(table: dict[str, type], name: str, cls: type, what: str) -> None:
    known = table.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{what} '{name}' is declared twice: {known.__module__} and {cls.__module__}")
    table[name] = cls


def announce_operation(name: str, cls: type) -> None:
    """Called by a declared op class when it is created."""
    _announce(_operations, name, cls, "op")


def announce_type(name: str, cls: type) -> None:
    """Called by a declared dialect type when its class is created."""
    _announce(_types, name, cls, "type")


def announce_attribute(name: str, cls: type) -> None:
    """Called by a declared dialect attribute when its class is created."""
    _announce(_attributes, name, cls, "attribute")


def register_constant_materializer(dialect: str, materialize: Callable[..., Any]) -> None:
    """Says how a dialect makes a constant op: `materialize(attribute, type, location) -> Operation | None`.

    Folding an op to an attribute asks the op's own dialect first and `arith` next.
    """
    _constant_materializers[dialect] = materialize


def constant_materializer(dialect: str) -> Callable[..., Any] | None:
    """The function registered for a dialect by `register_constant_materializer`, or None."""
    load_dialect(dialect)
    return _constant_materializers.get(dialect)
