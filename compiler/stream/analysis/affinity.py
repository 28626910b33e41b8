"""Which device every tensor is on, and every op that makes one runs on.

Enters: a module whose device is named by `stream.affinity.default` (on the module or a function), with affinities on
imports, exports, dispatches and transfers where the program names others. Leaves: an affinity for each op and value.

An op that names no device runs where its first operand with a known place is; values that come from nothing (a splat)
are made where they are used; what is left is on the default device. Loop-carried values stay where they start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import TensorType, Type
from pyiree.compiler.stream.types import is_resource

DEFAULT_AFFINITY = "stream.affinity.default"
AFFINITY = "stream.affinity"
#: What comes in and goes out is on the default device unless it says otherwise.
_BOUNDARY = ("hal.tensor.import", "hal.tensor.export")


def carries_data(type: Type) -> bool:
    """Whether values of a type live on a device."""
    return isinstance(type, TensorType) or is_resource(type)


def explicit_affinity(op: Operation) -> Attribute | None:
    """The device that an op itself names."""
    found = op.properties.get("affinity") or op.attributes.get(AFFINITY)
    if found is None and op.name == "flow.tensor.transfer":
        found = op.properties["target"]
    return found


def default_affinity(op: Operation) -> Attribute | None:
    """The device of ops inside `op` that name none and have no other reason to be elsewhere."""
    for around in (op, *op.ancestors()):
        found = around.attributes.get(DEFAULT_AFFINITY) or around.attributes.get(AFFINITY)
        if found is not None:
            return found
    return None


class AffinityAnalysis:
    """The devices of the ops and values of a module."""

    def __init__(self, module: Operation) -> None:
        self._module = module
        self._values: dict[Value, Attribute] = {}
        self._symbols = SymbolTable(module)
        if any(explicit_affinity(op) is not None for op in module.walk()):
            ops = [op for op in module.walk() if any(carries_data(v.type) for v in (*op.operands, *op.results))]
            self._settle(ops)

    def _pinned(self, op: Operation) -> Attribute | None:
        found = explicit_affinity(op)
        if found is None and op.name == "util.global.load":
            found = self.of_global(op.properties["global"].root)  # type: ignore[attr-defined]
        elif found is None and op.name in _BOUNDARY:
            found = default_affinity(op)
        return found

    def of_global(self, name: str) -> Attribute | None:
        """The device that a global's contents are on, if it says so."""
        target = self._symbols.lookup(name)
        return None if target is None else explicit_affinity(target)

    def _settle(self, ops: Sequence[Operation]) -> None:
        changed = True
        while changed:
            changed = False
            for op in ops:
                changed |= self._forward(op)
            if not changed:
                for op in reversed(ops):
                    changed |= self._backward(op)

    def _set(self, value: Value, affinity: Attribute | None) -> bool:
        if affinity is None or value in self._values or not carries_data(value.type):
            return False
        self._values[value] = affinity
        return True

    def _forward(self, op: Operation) -> bool:
        changed = False
        for source, target in _handed_on(op):
            changed |= self._set(target, self._values.get(source))
        if op.regions:
            return changed
        affinity = self._pinned(op) or self._first_operand(op)
        for result in op.results:
            changed |= self._set(result, affinity)
        return changed

    def _backward(self, op: Operation) -> bool:
        """A value that nothing places is made where it is first used."""
        changed = False
        for result in op.results:
            if result not in self._values and carries_data(result.type):
                for user in result.users:
                    if user.name != "flow.tensor.transfer":
                        changed |= self._set(result, self._pinned(user) or self._first_operand(user))
        return changed

    def _first_operand(self, op: Operation) -> Attribute | None:
        return next((self._values[v] for v in op.operands if v in self._values), None)

    def of_value(self, value: Value) -> Attribute | None:
        """The device that a value is on."""
        found = self._values.get(value)
        if found is not None:
            return found
        owner = value.defining_op or value.block.parent_op  # type: ignore[attr-defined]
        return default_affinity(owner if owner is not None else self._module)

    def place(self, value: Value, affinity: Attribute | None) -> None:
        """Says where a value is that was made after the analysis."""
        if affinity is not None:
            self._values[value] = affinity

    def of_op(self, op: Operation) -> Attribute | None:
        """The device that an op runs on."""
        found = self._pinned(op)
        if found is None:
            made = [r for r in op.results if carries_data(r.type)]
            found = self.of_value(made[0]) if made else self._first_operand(op)
        return default_affinity(op) if found is None else found

    def __str__(self) -> str:
        lines = []
        for op in self._module.walk():
            if not op.regions and any(carries_data(r.type) for r in op.results):
                lines.append(f"{op.name}: {self.of_op(op)}")
        return "\n".join(lines)


def _handed_on(op: Operation) -> Iterator[tuple[Value, Value]]:
    """Pairs of values of which the second is the first, seen by structured control flow from the other side."""
    if op.name == "scf.for":
        yield from zip(op.init_args, op.iter_args)  # type: ignore[attr-defined]
        yield from zip(op.init_args, op.results)  # type: ignore[attr-defined]
        yield from zip(op.yielded, op.results)  # type: ignore[attr-defined]
    elif op.name == "scf.while":
        passed = op.condition.args  # type: ignore[attr-defined]
        yield from zip(op.inits, op.before_block.arguments)  # type: ignore[attr-defined]
        yield from zip(passed, op.after_block.arguments)  # type: ignore[attr-defined]
        yield from zip(passed, op.results)
    elif op.name == "scf.if":
        for region in op.regions:
            if not region.is_empty:
                yield from zip(region.entry.terminator.operands, op.results)
