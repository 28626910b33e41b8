"""Symbols: ops found by name in the op that holds them.

What enters: an op with the `SymbolTable` trait. What leaves: look-up, insertion under a unique name, and all uses of
a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.traits import SymbolTable as SymbolTableTrait


def symbol_name(op: Operation) -> str | None:
    """The name of a symbol op, or None for other ops."""
    name = op.properties.get("sym_name")
    return name.value if isinstance(name, StringAttr) else None


class SymbolTable:
    """The symbols directly in `op`, indexed by name; keep one while inserting and removing through it."""

    def __init__(self, op: Operation) -> None:
        if not op.has_trait(SymbolTableTrait):
            raise ValueError(f"{op.name} is not a symbol table")
        self.op = op
        self._symbols: dict[str, Operation] = {}
        self._suffix = 0
        for region in op.regions:
            for nested in region.ops:
                name = symbol_name(nested)
                if name is not None:
                    self._symbols.setdefault(name, nested)

    def lookup(self, name: str | SymbolRefAttr) -> Any:
        """The op of a name (or of a nested reference), or None."""
        if isinstance(name, str):
            return self._symbols.get(name)
        return _lookup_nested(self._symbols.get(name.root), name.path[1:])

    def __contains__(self, name: str) -> bool:
        return name in self._symbols

    def __iter__(self) -> Iterator[Operation]:
        return iter(list(self._symbols.values()))

    def unique_name(self, name: str) -> str:
        """`name`, or with a number behind it if that is taken."""
        unique = name
        while unique in self._symbols:
            unique = f"{name}_{self._suffix}"
            self._suffix += 1
        return unique

    def insert(self, op: Operation, before: Operation | None = None) -> str:
        """Adds a detached symbol op (before another, or at the end), renaming it if its name is taken."""
        name = symbol_name(op)
        if name is None:
            raise ValueError(f"{op.name} has no symbol name")
        unique = self.unique_name(name)
        if unique != name:
            op.properties["sym_name"] = StringAttr(unique)
        self.op.regions[0].entry.insert_before(before, op)
        self._symbols[unique] = op
        return unique

    def add(self, op: Operation) -> str:
        """Takes up a symbol op that is in the table's region already, renaming it if its name is taken."""
        name = symbol_name(op)
        if name is None:
            raise ValueError(f"{op.name} has no symbol name")
        unique = self.unique_name(name)
        if unique != name:
            op.properties["sym_name"] = StringAttr(unique)
        self._symbols[unique] = op
        return unique

    def remove(self, op: Operation) -> None:
        """Forgets a symbol op; the op stays where it is."""
        self._symbols.pop(symbol_name(op) or "", None)

    def erase(self, op: Operation) -> None:
        """Forgets and erases a symbol op."""
        self.remove(op)
        op.erase()

    def rename(self, op: Operation, new_name: str) -> None:
        """Renames a symbol and all references to it inside the table's op."""
        old = symbol_name(op)
        if old is None or new_name in self._symbols:
            raise ValueError(f"cannot rename '{old}' to '{new_name}'")
        replace_symbol_uses(self.op, {old: new_name})
        op.properties["sym_name"] = StringAttr(new_name)
        del self._symbols[old]
        self._symbols[new_name] = op


def _lookup_nested(op: Operation | None, path: tuple[str, ...]) -> Operation | None:
    for name in path:
        if op is None or not op.has_trait(SymbolTableTrait):
            return None
        op = next((n for region in op.regions for n in region.ops if symbol_name(n) == name), None)
    return op


def nearest_symbol_table(op: Operation) -> Operation | None:
    """The symbol table op around `op` (or `op` itself)."""
    found: Operation | None = op
    while found is not None and not found.has_trait(SymbolTableTrait):
        found = found.parent_op
    return found


def lookup_symbol(op: Operation, reference: SymbolRefAttr | str) -> Any:
    """The op that a reference at `op` means: looked up in the tables around it, innermost first. Linear in symbols."""
    path = (reference,) if isinstance(reference, str) else reference.path
    table = nearest_symbol_table(op)
    while table is not None:
        found = _lookup_nested(table, path)
        if found is not None:
            return found
        parent = table.parent_op
        table = None if parent is None else nearest_symbol_table(parent)
    return None


def map_attribute(attribute: Attribute, change: Callable[[Attribute], Attribute | None]) -> Attribute:
    """The attribute with `change` applied inside arrays, dictionaries and parameters; None leaves a part as it is."""
    changed = change(attribute)
    if changed is not None:
        return changed
    if isinstance(attribute, ArrayAttr):
        parts = [map_attribute(a, change) for a in attribute.value]
        return ArrayAttr(parts) if any(a is not b for a, b in zip(parts, attribute.value)) else attribute
    if isinstance(attribute, DictAttr):
        entries = [(k, map_attribute(a, change)) for k, a in attribute.items()]
        return DictAttr(entries) if any(a is not b for (_, a), (_, b) in zip(entries, attribute.items())) else attribute
    if hasattr(type(attribute), "kinds"):
        values = [getattr(attribute, name) for name in attribute.parameters]
        mapped = [map_attribute(v, change) if isinstance(v, Attribute) else v for v in values]
        if any(a is not b for a, b in zip(mapped, values)):
            return type(attribute)(*mapped)
    return attribute


def _references(attribute: Attribute) -> Iterator[SymbolRefAttr]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute
    elif isinstance(attribute, ArrayAttr):
        for part in attribute.value:
            yield from _references(part)
    elif isinstance(attribute, DictAttr):
        for _, part in attribute.items():
            yield from _references(part)
    elif hasattr(type(attribute), "kinds"):
        for name in attribute.parameters:
            part = getattr(attribute, name)
            if isinstance(part, Attribute):
                yield from _references(part)


def symbol_uses(root: Operation) -> Iterator[tuple[Operation, SymbolRefAttr]]:
    """Every (op, reference) inside `root`."""
    for op in root.walk():
        for entries in (op.properties, op.attributes):
            for attribute in entries.values():
                for reference in _references(attribute):
                    yield op, reference


def replace_symbol_uses(root: Operation, names: dict[str, str]) -> None:
    """Renames the roots of references inside `root`."""

    def change(attribute: Attribute) -> Attribute | None:
        if isinstance(attribute, SymbolRefAttr) and attribute.root in names:
            return SymbolRefAttr(names[attribute.root], *attribute.path[1:])
        return None

    for op in root.walk():
        for entries in (op.properties, op.attributes):
            for name, attribute in entries.items():
                entries[name] = map_attribute(attribute, change)
