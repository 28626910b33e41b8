"""The device function of a loop: it does what the host did in every iteration, calling kernels for the commands.

Enters: a loop in blocks, whose iterations are arithmetic and commands. Leaves: an executable with one function, which
begins with declarations and calls them in its loops (`counted_function`, `control_function`):

    func.func private @f(!stream.binding, index, !stream.binding, index) attributes {stream.entry = @e::@f}
    func.func @loop(…, %a: !stream.binding, %b: !stream.binding) { … func.call @f(%x, %offset, %y, %offset) … }

Each declaration stands for a dispatch entry (`stream.entry`), or for `stream.command` "copy", "fill" or "load". A call
gives an entry its numbers, then each binding with an offset in bytes; a copy its source, target and length; a fill the
pattern, target and length; a load its source. Code generation makes of it a kernel that calls other kernels
(`codegen/sequence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.func import CallOp, ReturnOp
from pyiree.compiler.dialects.func import FuncOp as KernelFuncOp
from pyiree.compiler.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.types import FunctionType, IntegerType, Type, bit_width, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.dispatch_sites import set_signature
from pyiree.compiler.stream.pack_dispatch_operands import from_words
from pyiree.compiler.stream.types import BindingType, is_resource

ENTRY, COMMAND, WORKLOAD = "stream.entry", "stream.command", "stream.workload"
_ARITHMETIC = frozenset({
    "arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi",
    "arith.remui", "arith.andi", "arith.ori", "arith.xori", "arith.shli", "arith.shrsi", "arith.shrui", "arith.cmpi",
    "arith.select", "arith.extsi", "arith.extui", "arith.trunci", "arith.minsi", "arith.maxsi", "arith.minui",
    "arith.maxui", "arith.index_cast", "arith.index_castui",
})  # fmt: skip
_IGNORED = (ops.YieldOp, ops.CmdDiscardOp, ops.CmdFlushOp)


def is_host_arithmetic(op: Operation) -> bool:
    """Whether an op is arithmetic of integers that kernels know too."""
    return op.name in _ARITHMETIC and all(isinstance(r.type, IntegerType) or r.type.is_index for r in op.results)


def commands_of(execute: ops.CmdExecuteOp) -> list[Any] | None:
    """The commands of a region in an order in which they may run, or None if one of them can't be in a kernel."""
    found: list[Any] = []
    pending: list[Operation] = list(execute.body.entry.ops)
    while pending:
        op = pending.pop(0)
        if isinstance(op, ops.CmdSerialOp | ops.CmdConcurrentOp):
            pending = [*op.body.entry.ops, *pending]
        elif isinstance(op, ops.CmdDispatchOp):
            if len(op.entry_points) != 1 or any(not isinstance(v.defining_op, ConstantOp) for v in op.workload):
                return None
            found.append(op)
        elif isinstance(op, ops.CmdCopyOp | ops.CmdFillOp):
            found.append(op)
        elif not isinstance(op, _IGNORED):
            return None
    return found


class LoopFunction:
    """The function of one loop, and what a dispatch of it has to be given besides bounds: `numbers`, then `resources`
    of `sizes`, all in terms of the host's values, among them the header's arguments."""

    def __init__(self, blocks: Sequence[Block], name: str) -> None:
        self.header, self.blocks, self.name = blocks[0], blocks, name
        self.numbers: list[Value] = []
        self.resources: list[Value] = []
        self.sizes: list[Value] = []
        self.affinity: Attribute | None = None
        self.function = KernelFuncOp.create(name, [], [], location=blocks[-1].terminator.location)
        self._top = Builder.at_end(self.function.entry_block, self.function.location)
        self._values: dict[Value, Value] = {}
        self._bindings: dict[Value, Value] = {}
        self._declarations: dict[tuple, KernelFuncOp] = {}

    def edges(self) -> Iterable[tuple[BlockArgument, Value]]:
        """What each argument of a block in the loop may be, but for what the loop begins with."""
        raise NotImplementedError

    def _begin(self, apart: Sequence[int]) -> tuple[list[BlockArgument], list[Value]]:
        """The carried values but for some, and what they start with."""
        self._sizes_by_resource = self._known_sizes()
        carried = [a for a in self.header.arguments if a.index not in apart and self._is_needed(a)]
        starts = {a: self._number(a) for a in carried if not is_resource(a.type)}
        self._outer_numbers()
        starts.update({a: self._binding(a) for a in carried if is_resource(a.type)})
        for execute in self._executes():
            self.affinity = execute.affinity
            for resource in execute.resource_operands:
                if not self._is_inside(resource):
                    self._binding(resource)
        return carried, [starts[a] for a in carried]

    def _is_needed(self, carried: BlockArgument) -> bool:
        """Whether the function has to know a carried value: commands use no other resources."""
        return not is_resource(carried.type) or carried in self._sizes_by_resource

    def _executes(self) -> list[ops.CmdExecuteOp]:
        return [op for block in self.blocks for op in block.ops if isinstance(op, ops.CmdExecuteOp)]

    def _do(self, host_ops: Iterable[Operation], builder: Builder) -> None:
        """What ops of the host are on the device."""
        for op in host_ops:
            if isinstance(op, ops.CmdExecuteOp):
                self._commands(op, builder)
            elif is_host_arithmetic(op):
                builder.insert(op.clone(self._values))

    def _finish(self) -> None:
        self._top.insert(ReturnOp([]))
        set_signature(self.function, [{} for _ in self.function.entry_block.arguments])
        self.executable = self._executable()

    def written(self) -> set[Value]:
        """The resources that iterations write, as the first or as a later one names them."""
        found: set[Value] = set()
        for op in self._executes():
            captured = dict(zip(op.body.entry.arguments, op.resource_operands))
            for command in commands_of(op) or ():
                if isinstance(command, ops.CmdDispatchOp):
                    pairs = zip(command.resources, command.resource_accesses)
                    found.update(captured[r] for r, access in pairs if access.value != "ro")
                else:
                    found.add(captured[command.target])
        edges = list(self.edges())
        before = -1
        while len(found) != before:
            before = len(found)
            found.update(value for argument, value in edges if argument in found)
        return found

    def _is_inside(self, value: Value) -> bool:
        block = value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr]
        return block in self.blocks

    def _known_sizes(self) -> dict[Value, Value]:
        """The sizes of resources that commands use, and of those that are such in another iteration."""
        found: dict[Value, Value] = {}
        for op in self._executes():
            found.update(zip(op.resource_operands, op.resource_operand_sizes))
        edges = [(a, v) for a, v in self.edges() if is_resource(a.type)]
        before = -1
        while len(found) != before:
            before = len(found)
            for argument, value in edges:
                if argument in found:
                    found.setdefault(value, found[argument])
                elif value in found:
                    found[argument] = found[value]
        return found

    def _outer_numbers(self) -> None:
        """Numbers from outside that an iteration uses."""
        for op in [op for block in self.blocks for op in block.ops if is_host_arithmetic(op)]:
            for value in op.operands:
                if not self._is_inside(value):
                    self._value(value)

    def _number(self, value: Value) -> Value:
        """A number that the host gives."""
        self.numbers.append(value)
        return from_words(self._top, self.function.entry_block, value.type)

    def _binding(self, resource: Value) -> Value:
        found = self._bindings.get(resource)
        if found is None:
            self.resources.append(resource)
            self.sizes.append(self._sizes_by_resource[resource])
            found = self._bindings[resource] = self.function.entry_block.add_argument(BindingType())
        return found

    def _value(self, value: Value) -> Value:
        """A value of the host inside of the loop."""
        found = self._values.get(value)
        if found is None:
            op = value.defining_op
            if isinstance(op, ConstantOp):
                found = self._top.insert(op.clone()).results[0]
            elif is_resource(value.type):
                found = self._binding(value)
            else:
                found = self._number(value)
            self._values[value] = found
        return found

    # Commands.

    def _commands(self, execute: ops.CmdExecuteOp, builder: Builder) -> None:
        captured = dict(zip(execute.body.entry.arguments, execute.resource_operands))

        def memory(resource: Value, offset: Value) -> list[Value]:
            return self._memory(captured[resource], offset, builder)

        for op in commands_of(execute) or ():
            attributes: dict[str, Attribute] = {}
            if isinstance(op, ops.CmdDispatchOp):
                (entry,) = op.entry_points
                operands = [self._value(v) for v in op.uniform_operands]
                for resource, offset in zip(op.resources, op.resource_offsets):
                    operands += memory(resource, offset)
                if op.workload:
                    attributes[WORKLOAD] = DenseArrayAttr(i64, [v.defining_op.value.value for v in op.workload])
                callee = self._declared(entry.leaf, ENTRY, SymbolRefAttr(entry.root, entry.leaf), operands)
            elif isinstance(op, ops.CmdCopyOp):
                operands = memory(op.source, op.source_offset) + memory(op.target, op.target_offset)
                operands.append(self._value(op.length))
                callee = self._declared("copy", COMMAND, StringAttr("copy"), operands)
            else:
                operands = [self._value(op.value), *memory(op.target, op.target_offset), self._value(op.target_length)]
                name = f"fill_{bit_width(op.value.type)}"
                callee = self._declared(name, COMMAND, StringAttr("fill"), operands)
            builder.insert(CallOp(callee=callee, operands=operands, results=(), attributes=attributes))

    def _memory(self, resource: Value, offset: Value, builder: Builder) -> list[Value]:
        """A place in a resource: a binding and an offset in bytes."""
        return [self._value(resource), self._value(offset)]

    def _declared(
        self, name: str, kind: str, what: Attribute, operands: Sequence[Value], results: tuple[Type, ...] = ()
    ) -> str:
        types: tuple[Type, ...] = tuple([v.type for v in operands])
        key = (kind, what, types, results)
        found = self._declarations.get(key)
        if found is None:
            taken = {d.sym_name for d in self._declarations.values()} | {self.name}
            unique, number = name, 0
            while unique in taken:
                unique, number = f"{name}_{number}", number + 1
            found = self._declarations[key] = KernelFuncOp(
                sym_name=unique, function_type=FunctionType(types, results), sym_visibility="private", body=Region(),
                attributes={kind: what}, location=self.function.location,
            )  # fmt: skip
        return found.sym_name

    def _executable(self) -> ops.ExecutableOp:
        location = self.function.location
        count = Block()
        builder = Builder.at_end(count, location)
        one = builder.insert(ConstantOp(IntegerAttr(1, index))).result
        builder.insert(ops.ReturnOp([one, one, one]))
        export = ops.ExecutableExportOp(
            sym_name=self.name, function_ref=self.name, sym_visibility="public", workgroup_count=count,
            location=location,
        )  # fmt: skip
        inner = ModuleOp(Block((), [*self._declarations.values(), self.function]), location=location)
        body = Block((), [export, inner, ops.ExecutableEndOp(location=location)])
        return ops.ExecutableOp(sym_name=self.name, sym_visibility="private", body=body, location=location)
