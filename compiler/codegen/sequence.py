"""A kernel that calls other kernels: the function of a loop, as the stream phase makes it.

Enters: a func.func of counted loops, integer arithmetic and calls, with bindings and numbers as arguments, and the
kernels that it calls. Leaves: a kernel of one workgroup, which looks like any other from outside. For each call it
holds the state that a runtime would hand to the kernel; what does not change is written there once, and the workgroups
run one after the other. A kernel finds its code by the symbol that the other one has in the executable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyiree.runtime.vmfb.abi import DISPATCH_STATE, WORKGROUP_STATE
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..ir.core import Operation, Value
from ..ir.printer import print_operation
from ..ir.types import bit_width
from .elements import constant_number, element_name, unsupported
from .llvm import objects
from .llvm import values as lv
from .llvm.emit import Module
from .llvm.executable_library import EntryPoint
from .llvm.kernel import Kernel
from .loops import vector
from .plan import Plan
from .scalar_ops import emit_scalar_op
from .target import Target
from .translate import DispatchKernel, symbol_of

CALL, ENTRY, COMMAND, WORKLOAD = "func.call", "stream.entry", "stream.command", "stream.workload"

#: So much of the stack is for states that stay as they are from iteration to iteration; further calls share one.
_KEPT_STATE_BYTES = 8 << 10


@dataclass
class SequenceKernel:
    """A kernel that calls others."""

    name: str
    plan: Plan
    func: Operation
    callees: Mapping[str, Any]
    target: Target
    binding_count: int
    constant_count: int

    @property
    def symbol(self) -> str:
        """The name in the object."""
        return symbol_of(self.name)

    @property
    def local_memory_bytes(self) -> int:
        return max([kernel.local_memory_bytes for kernel in self.callees.values()], default=0)

    @property
    def entry_point(self) -> EntryPoint:
        return EntryPoint(self.symbol, self.name, self.constant_count, self.binding_count, self.local_memory_bytes)

    def unit(self) -> objects.Unit:
        """What is compiled."""
        return objects.Unit(self._text(objects.KERNEL_SYMBOL), symbol=self.symbol)

    def text(self, phase: str) -> str:
        """The kernel as text at "kernel", "llvm" or "asm"; its loops are those of its function."""
        if phase == "kernel":
            return print_operation(self.func)
        text = self._text(self.symbol)
        return text if phase == "llvm" else objects.assembly(text, self.target)

    def _text(self, symbol: str) -> str:
        module = Module(self.target)
        kernel = Kernel(module, symbol)
        _Lowering(self, module, kernel).run()
        kernel.finish()
        return module.text()


def is_sequence(func: Operation) -> bool:
    """Whether a dispatch function calls kernels."""
    return any(op.name == CALL for op in func.walk())


def translate_sequence(
    func: Operation, kernels: Mapping[tuple[str, str], DispatchKernel | SequenceKernel], target: Target
) -> SequenceKernel:
    """The kernel of a function that calls; `kernels` are those before it, by executable and export."""
    callees = {}
    for declaration in func.block.ops:  # type: ignore[union-attr]
        entry: Any = declaration.get_attr(ENTRY)
        if entry is not None:
            callees[declaration.get_attr("sym_name").value] = kernels[entry.root, entry.leaf]
    arguments = func.regions[0].blocks[0].arguments
    bindings = sum(_is_binding(a) for a in arguments)
    name = func.get_attr("sym_name").value  # type: ignore[union-attr]
    return SequenceKernel(name, Plan(None, [1]), func, callees, target, bindings, len(arguments) - bindings)


def _is_binding(value: Value) -> bool:
    return getattr(value.type, "mnemonic", None) == "stream.binding"


class _Lowering:
    def __init__(self, sequence: SequenceKernel, module: Module, kernel: Kernel) -> None:
        self.sequence, self.module, self.kernel = sequence, module, kernel
        self.fn = kernel.body
        self.values: dict[Value, lv.Value] = {}
        self.states: dict[Operation, _CallState] = {}
        self.kept_bytes = 0
        self.shared: _StateMemory | None = None

    def run(self) -> None:
        block = self.sequence.func.regions[0].blocks[0]
        bindings = constants = 0
        for argument in block.arguments:
            if _is_binding(argument):
                self.values[argument] = self.kernel.binding(bindings)
                bindings += 1
            else:
                self.values[argument] = self.kernel.constant(constants)
                constants += 1
        self._block(block)

    def _block(self, block) -> None:
        for op in block.ops:
            if op.name == "scf.for":
                self._loop(op)
            elif op.name == "scf.while":
                self._while(op)
            elif op.name == "scf.index_switch":
                self._switch(op)
            elif op.name == CALL:
                self._call(op)
            elif op.name == "arith.constant":
                self.values[op.result] = lv.const(constant_number(op), _llvm_type(op.result))
            elif op.name.startswith("arith."):
                self._arithmetic(op)
            elif op.name not in ("func.return", "scf.yield", "scf.condition"):
                raise unsupported(op, "it cannot stand between the calls of kernels")

    def _arithmetic(self, op: Operation) -> None:
        operands = [self.values[v] for v in op.operands]
        if op.name == "arith.select" and _is_binding(op.result):
            self.values[op.result] = self.fn.select(*operands)
            return
        attributes = op.predicate if op.name == "arith.cmpi" else None  # type: ignore[attr-defined]
        type = vector(element_name(op.result.type))
        self.values[op.result] = emit_scalar_op(self.fn, self.sequence.target, op.name, operands, type, attributes)

    def _prepare_calls(self, block) -> None:
        """Writes what the calls of an iteration always give, before the loop."""
        for call in block.ops:
            if call.name == "scf.index_switch":
                for region in call.regions:
                    self._prepare_calls(region.blocks[0])
            elif call.name == CALL and self._callee(call) is not None:
                size = _StateMemory.size(self._callee(call))
                if self.kept_bytes + size > _KEPT_STATE_BYTES:
                    return
                self.kept_bytes += size
                state = self.states[call] = _CallState(self, call, _StateMemory(self.fn, self._callee(call)))
                for number, value in enumerate(call.operands):
                    if value in self.values:
                        state.give(number)

    def _while(self, op: Any) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        self._prepare_calls(before)
        self._prepare_calls(after)
        with self.fn.while_([self.values[v] for v in op.operands]) as loop:
            self.values.update(zip(before.arguments, loop.carried, strict=True))
            self._block(before)
            condition, *passed = [self.values[v] for v in before.terminator.operands]
            loop.condition(condition)
            self.values.update(zip(after.arguments, passed, strict=True))
            self._block(after)
            loop.yield_(*[self.values[v] for v in after.terminator.operands])
        self.values.update(zip(op.results, passed, strict=True))

    def _loop(self, op: Any) -> None:
        body = op.regions[0].blocks[0]
        self._prepare_calls(body)
        lower, upper, step, *inits = [self.values[v] for v in op.operands]
        with self.fn.for_(lower, upper, step, inits) as loop:
            self.values.update(zip(body.arguments, [loop.index, *loop.carried], strict=True))
            self._block(body)
            loop.yield_(*[self.values[v] for v in body.terminator.operands])
        self.values.update(zip(op.results, loop.results, strict=True))

    def _switch(self, op: Any) -> None:
        def case(region) -> Callable[[], list[lv.Value]]:
            def emit() -> list[lv.Value]:
                block = region.blocks[0]
                self._block(block)
                return [self.values[v] for v in block.terminator.operands]

            return emit

        default, *regions = op.regions
        cases = {number: case(region) for number, region in zip(op.cases, regions, strict=True)}
        self.values.update(zip(op.results, self.fn.switch(self.values[op.arg], cases, case(default)), strict=True))

    # Calls.

    def _callee(self, call: Any) -> Any | None:
        """The kernel that is called, None for a copy or fill."""
        return self.sequence.callees.get(call.callee.leaf)

    def _call(self, call: Any) -> None:
        if self._callee(call) is None:
            self._move(call)
            return
        state = self.states.get(call)
        if state is None:
            if self.shared is None:
                self.shared = _StateMemory(self.fn, *self.sequence.callees.values())
            state = _CallState(self, call, self.shared)
        for number in range(len(call.operands)):
            state.give(number)
        state.call()

    def _move(self, call: Any) -> None:
        """A copy or fill of memory, or a number that is read from it."""
        fn = self.fn
        operands = [self.values[v] for v in call.operands]
        declared = next(o for o in self.sequence.func.block.ops if o.get_attr("sym_name").value == call.callee.leaf)  # type: ignore[union-attr]
        command = declared.get_attr(COMMAND).value  # type: ignore[union-attr]
        if command == "load":
            (result,) = call.results
            self.values[result] = fn.load(_llvm_type(result), fn.gep(operands[0], operands[1], lv.I8))
            return
        if command == "copy":
            source, source_offset, target, target_offset, length = operands
            fn.memmove(fn.gep(target, target_offset, lv.I8), fn.gep(source, source_offset, lv.I8), length)
            return
        value, target, offset, length = operands
        target = fn.gep(target, offset, lv.I8)
        if bit_width(call.operands[0].type) == 8:
            fn.memset(target, value, length)
            return
        size = bit_width(call.operands[0].type) // 8
        with fn.for_(0, fn.udiv(length, size)) as loop:
            fn.store(value, fn.gep(target, loop.index, value.ty))


class _StateMemory:
    """Memory for the states of calls to any of some kernels."""

    def __init__(self, fn: Any, *kernels: Any) -> None:
        self.constants = fn.alloca(lv.I32, max(1, *[kernel.constant_count for kernel in kernels]), 16)
        self.pointers = fn.alloca(lv.PTR, max(1, *[kernel.binding_count for kernel in kernels]), 16)
        self.dispatch = fn.alloca(lv.I8, DISPATCH_STATE.size, 16)
        self.workgroup = fn.alloca(lv.I8, WORKGROUP_STATE.size, 16)

    @staticmethod
    def size(kernel: Any) -> int:
        """About how many bytes it is for one kernel."""
        return DISPATCH_STATE.size + WORKGROUP_STATE.size + 4 * kernel.constant_count + 8 * kernel.binding_count + 32


class _CallState:
    """What one call hands to its kernel: the states of IREE's dispatches and workgroups."""

    def __init__(self, lowering: _Lowering, call: Any, memory: _StateMemory) -> None:
        self.lowering, self.call_op, self.fn = lowering, call, lowering.fn
        kernel = self.kernel = lowering._callee(call)
        workload = call.get_attr(WORKLOAD)
        self.count = kernel.plan.count([] if workload is None else list(workload))
        self.constants, self.pointers = memory.constants, memory.pointers
        self.dispatch, self.workgroup = memory.dispatch, memory.workgroup
        self.given: set[int] = set()
        one = {"workgroup_size_x": 1, "workgroup_size_y": 1, "workgroup_size_z": 1, "max_concurrency": 1}
        counts = {"workgroup_count_x": self.count, "workgroup_count_y": 1, "workgroup_count_z": 1}
        sizes = {"constant_count": kernel.constant_count, "binding_count": kernel.binding_count}
        self._fields(self.dispatch, DISPATCH_STATE, {
            **one, **counts, **sizes, "constants": self.constants, "binding_pointers": self.pointers,
            "binding_lengths": self.pointers,
        })  # fmt: skip
        local = kernel.local_memory_bytes
        self._fields(self.workgroup, WORKGROUP_STATE, {
            "workgroup_id_x": 0, "workgroup_id_y": 0, "workgroup_id_z": 0, "processor_id": 0,
            "local_memory": lowering.kernel.local_memory() if local else lv.zero(lv.PTR), "local_memory_size": local,
        })  # fmt: skip

    def _fields(self, at: lv.Value, layout, values: Mapping[str, int | lv.Value]) -> None:
        for name, value in values.items():
            offset, kind = layout.fields[name]
            if value.__class__ is int:
                value = lv.const(value, f"i{kind[1:]}")
            self.fn.store(value, self.fn.gep(at, offset, lv.I8))

    def give(self, number: int) -> None:
        """Writes an operand of the call, if that has not been done: a number, or a binding with its offset."""
        if number in self.given:
            return
        operands, values, fn = self.call_op.operands, self.lowering.values, self.fn
        if number < self.kernel.constant_count:
            self.given.add(number)
            fn.store(values[operands[number]], fn.gep(self.constants, number, lv.I32))
            return
        first = number - (number - self.kernel.constant_count) % 2
        if operands[first] in values and operands[first + 1] in values:
            self.given.update((first, first + 1))
            pointer = fn.gep(values[operands[first]], values[operands[first + 1]], lv.I8)
            fn.store(pointer, fn.gep(self.pointers, (first - self.kernel.constant_count) // 2, lv.PTR))

    def call(self) -> None:
        """Runs the workgroups."""
        fn = self.fn
        callee = self.lowering.module.declare(self.kernel.symbol, lv.I32, [lv.PTR] * 3)
        arguments = [lv.zero(lv.PTR), self.dispatch, self.workgroup]
        if self.count == 1:
            fn.call(callee, *arguments)
            return
        place = fn.gep(self.workgroup, WORKGROUP_STATE.offset("workgroup_id_x"), lv.I8)
        with fn.for_(0, self.count) as loop:
            fn.store(fn.trunc(loop.index, lv.I32), place)
            fn.call(callee, *arguments)


def _llvm_type(value: Value) -> str:
    return "i64" if value.type.is_index else f"i{bit_width(value.type)}"
