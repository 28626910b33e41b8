"""The device function of a loop: it does what the host did in every iteration, calling kernels for the commands.

Enters: a loop in blocks, whose body is arithmetic and commands. Leaves: an executable with one function:

    func.func private @f(!stream.binding, index, !stream.binding, index) attributes {stream.entry = @e::@f}
    func.func @loop(%lower: …, %upper: …, %a: !stream.binding, %b: !stream.binding) {
      scf.for %i = %lower to %upper step %c1 iter_args(%x = %a, %y = %b) -> (!stream.binding, !stream.binding) {
        func.call @f(%x, %offset, %y, %offset)
        scf.yield %y, %x
      }
    }

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
from pyiree.compiler.dialects.scf import ForOp, YieldOp
from pyiree.compiler.ir.attributes import Attribute, DenseArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.types import FunctionType, IntegerType, Type, bit_width, i64, index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.buffer_rounds import Round
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
    """The function of one loop, and what a dispatch of it has to be given: lower and upper bound, then `numbers`, then
    `resources` of `sizes`, all in terms of the host's values, among them the header's arguments."""

    def __init__(self, header: Block, body: Block, counter: int, time: int, step: int, name: str) -> None:
        self.header, self.body, self.counter, self.time, self.step, self.name = (
            header, body, counter, time, step, name,
        )  # fmt: skip
        self.numbers: list[Value] = []
        self.resources: list[Value] = []
        self.sizes: list[Value] = []
        self.affinity: Attribute | None = None
        self.function = KernelFuncOp.create(name, [], [], location=body.terminator.location)
        self._top = Builder.at_end(self.function.entry_block, self.function.location)
        self._values: dict[Value, Value] = {}
        self._bindings: dict[Value, Value] = {}
        self._declarations: dict[tuple, KernelFuncOp] = {}

    def build(self) -> None:
        """Makes the function and its executable."""
        header = self.header
        type = header.arguments[self.counter].type
        block = self.function.entry_block
        lower, upper = (from_words(self._top, block, type) for _ in range(2))
        step = self._top.insert(ConstantOp(IntegerAttr(self.step, type))).result
        carried, starts = self._begin((self.counter, self.time))
        inner = Block([type, *[v.type for v in starts]])
        self._values[header.arguments[self.counter]] = inner.arguments[0]
        self._values.update(zip(carried, inner.arguments[1:]))
        builder = Builder.at_end(inner, self.function.location)
        self._do((*header.ops, *self.body.ops), builder)
        builder.insert(YieldOp(self._handed_on(carried)))
        self._top.insert(ForOp(lower, upper, step, starts, None, inner))
        self._finish()

    def _begin(self, apart: Sequence[int]) -> tuple[list[BlockArgument], list[Value]]:
        """The carried values but for some, and what they start with."""
        self._sizes_by_resource = self._known_sizes()
        carried = [a for a in self.header.arguments if a.index not in apart]
        carried = [a for a in carried if not is_resource(a.type) or a in self._sizes_by_resource]
        starts = {a: self._number(a) for a in carried if not is_resource(a.type)}
        self._outer_numbers()
        starts.update({a: self._binding(a) for a in carried if is_resource(a.type)})
        for execute in self._executes():
            self.affinity = execute.affinity
            for resource in execute.resource_operands:
                if not self._is_carried(resource) and not self._is_own(resource):
                    self._binding(resource)
        return carried, [starts[a] for a in carried]

    def _executes(self) -> list[ops.CmdExecuteOp]:
        return [op for op in (*self.header.ops, *self.body.ops) if isinstance(op, ops.CmdExecuteOp)]

    def _do(self, host_ops: Iterable[Operation], builder: Builder) -> None:
        """What ops of the host are on the device."""
        for op in host_ops:
            if isinstance(op, ops.CmdExecuteOp):
                self._commands(op, builder)
            elif is_host_arithmetic(op):
                builder.insert(op.clone(self._values))

    def _handed_on(self, carried: Sequence[BlockArgument]) -> list[Value]:
        end = self.body.terminator.dest_operands  # type: ignore[attr-defined]
        return [self._value(end[a.index]) for a in carried]

    def _finish(self) -> None:
        self._top.insert(ReturnOp([]))
        set_signature(self.function, [{} for _ in self.function.entry_block.arguments])
        self.executable = self._executable()

    def written(self, around: Round) -> set[Value]:
        """The resources that an iteration writes, as the first or as a later one names them."""
        found: set[Value] = set()
        for op in self._executes():
            captured = dict(zip(op.body.entry.arguments, op.resource_operands))
            for command in commands_of(op) or ():
                if isinstance(command, ops.CmdDispatchOp):
                    pairs = zip(command.resources, command.resource_accesses)
                    found.update(captured[r] for r, access in pairs if access.value != "ro")
                else:
                    found.add(captured[command.target])
        pending = [v.index for v in found if self._is_carried(v)]
        while pending:
            following = self.header.arguments[around.following[pending.pop()]]
            if following not in found:
                found.add(following)
                pending.append(following.index)
        return found

    def _is_carried(self, value: Value) -> bool:
        return isinstance(value, BlockArgument) and value.block is self.header

    def _is_own(self, resource: Value) -> bool:
        """Whether a resource is no binding, since the function has other memory for it."""
        return False

    def _is_inside(self, value: Value) -> bool:
        block = value.block if isinstance(value, BlockArgument) else value.defining_op.block  # type: ignore[union-attr]
        return block is self.header or block is self.body

    def _known_sizes(self) -> dict[Value, Value]:
        """The sizes of resources, of carried ones that commands use, or that are such in another iteration."""
        found: dict[Value, Value] = {}
        for op in self._executes():
            found.update(zip(op.resource_operands, op.resource_operand_sizes))
        end = self.body.terminator.dest_operands  # type: ignore[attr-defined]
        resources = [a for a in self.header.arguments if is_resource(a.type)]
        for _ in resources:
            for argument in resources:
                following = end[argument.index]
                if argument in found:
                    found.setdefault(following, found[argument])
                elif following in found:
                    found[argument] = found[following]
        return found

    def _outer_numbers(self) -> None:
        """Numbers from outside that an iteration uses."""
        for op in (*self.header.ops, *self.body.ops):
            if is_host_arithmetic(op):
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
