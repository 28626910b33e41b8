"""How long every resource lives: decided by what is done with all the names that share its memory.

Enters: a module at the async level, resources of lifetime `*` beside those whose lifetime is known (imports, exports,
globals, staging memory). Leaves: a lifetime for each value.

Values share memory, and so a lifetime, when one is tied to the other or handed on by control flow, a call or a global.
A transfer separates them: it may copy. Contents of constants that are only read on the device where they are stay
constant behind a transfer, which then goes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pyiree.compiler.dialects import scf, util
from pyiree.compiler.dialects.arith import SelectOp
from pyiree.compiler.ir.core import Operation, OpResult, Value
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.stream.interfaces import access_ranges, is_streamable, tied_results
from pyiree.compiler.stream.ops import AsyncTransferOp
from pyiree.compiler.stream.types import CONSTANT, EXTERNAL, STAGING, TRANSIENT, UNKNOWN, VARIABLE, is_resource

#: Of several lifetimes that names of one memory have, the first one here is that of the memory.
_PRECEDENCE = (EXTERNAL, STAGING, VARIABLE, CONSTANT, TRANSIENT)


class SharedMemory:
    """Which values are names of one memory (a union-find over the resources of a module)."""

    def __init__(self, module: Operation) -> None:
        self._parent: dict[Value, Value] = {}
        self._symbols = SymbolTable(module)
        self._global_values: dict[str, Value] = {}
        for op in module.walk():
            for value in op.results:
                if is_resource(value.type):
                    self._find(value)
            for a, b in self._shared_by(op):
                if is_resource(a.type) and is_resource(b.type):
                    self._join(a, b)

    def _find(self, value: Value) -> Value:
        root = self._parent.setdefault(value, value)
        while self._parent[root] is not root:
            root = self._parent[root]
        while self._parent[value] is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def _join(self, a: Value, b: Value) -> None:
        self._parent[self._find(a)] = self._find(b)

    def _shared_by(self, op: Operation) -> Iterator[tuple[Value, Value]]:
        yield from tied_results(op)
        yield from handed_on(op)
        if isinstance(op, SelectOp):
            yield op.result, op.true_value
            yield op.result, op.false_value
        elif isinstance(op, util.GlobalLoadOp | util.GlobalStoreOp):
            value = op.result if isinstance(op, util.GlobalLoadOp) else op.value
            yield self._global_values.setdefault(op.global_.root, value), value
        elif isinstance(op, util.CallOp):
            callee = self._symbols.lookup(op.callee)
            if callee is not None and not callee.is_declaration:
                yield from zip(op.operands, callee.entry_block.arguments)
                for block in callee.body.blocks:
                    if isinstance(block.last_op, util.ReturnOp):
                        yield from zip(block.last_op.operands, op.results)

    def groups(self) -> list[list[Value]]:
        """The values of each memory."""
        found = defaultdict(list)
        for value in list(self._parent):
            found[self._find(value)].append(value)
        return list(found.values())


def handed_on(op: Operation) -> Iterator[tuple[Value, Value]]:
    """Pairs of values that structured control flow makes the same."""
    if isinstance(op, scf.ForOp):
        for group in zip(op.init_args, op.iter_args, op.yielded, op.results):
            yield from ((group[0], other) for other in group[1:])
    elif isinstance(op, scf.WhileOp):
        yield from zip(op.inits, op.before_block.arguments)
        yield from zip(op.after_block.terminator.operands, op.before_block.arguments)
        yield from zip(op.condition.args, op.after_block.arguments)
        yield from zip(op.condition.args, op.results)
    elif isinstance(op, scf.IfOp | scf.IndexSwitchOp):
        for region in op.regions:
            if not region.is_empty:
                yield from zip(region.entry.terminator.operands, op.results)


class ResourceUsageAnalysis:
    """The lifetime of every resource of a module."""

    def __init__(self, module: Operation) -> None:
        self._module = module
        self._lifetimes: dict[Value, str] = {}
        open_groups = []
        for group in SharedMemory(module).groups():
            known = {v.type.lifetime for v in group} - {UNKNOWN}  # type: ignore[attr-defined]
            if known:
                self._set(group, next(lifetime for lifetime in _PRECEDENCE if lifetime in known))
            else:
                open_groups.append(group)
        written = _written_values(module)
        progress = True
        while progress:
            progress = False
            for group in list(open_groups):
                if self._reads_constants_only(group, written):
                    self._set(group, CONSTANT)
                    open_groups.remove(group)
                    progress = True
        for group in open_groups:
            self._set(group, TRANSIENT)

    def _set(self, group: list[Value], lifetime: str) -> None:
        self._lifetimes.update(dict.fromkeys(group, lifetime))

    def _reads_constants_only(self, group: list[Value], written: set[Value]) -> bool:
        """Whether all that a group holds are constants, seen on their own device and never written."""
        makers = [v.op for v in group if isinstance(v, OpResult) and is_streamable(v.op)]
        return (
            bool(makers)
            and all(isinstance(op, AsyncTransferOp) and self.is_same_place(op) for op in makers)
            and all(self._lifetimes.get(op.source) == CONSTANT for op in makers)  # type: ignore[attr-defined]
            and written.isdisjoint(group)
        )

    @staticmethod
    def is_same_place(op: AsyncTransferOp) -> bool:
        """Whether a transfer stays on its device."""
        source, target = op.source_affinity, op.target_affinity
        return source is target or source is None or target is None

    def lifetime(self, value: Value) -> str:
        """How long the memory of a value lives."""
        return self._lifetimes[value]

    def __str__(self) -> str:
        lines = []
        for op in self._module.walk():
            found = [self._lifetimes[r] for r in op.results if r in self._lifetimes]
            if found:
                lines.append(f"{op.name}: {', '.join(found)}")
        return "\n".join(lines)


def _written_values(module: Operation) -> set[Value]:
    """The operands that async ops write into."""
    found: set[Value] = set()
    for op in module.walk():
        if is_streamable(op):
            operands = set(op.operands)
            found.update(r.resource for r in access_ranges(op) if r.writes and r.resource in operands)
    return found
