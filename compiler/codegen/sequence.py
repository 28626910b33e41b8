"""A kernel that calls other kernels: the function of a loop, as the stream phase makes it.

Enters: a func.func of counted loops, integer arithmetic and calls, with bindings and numbers as arguments, and the
kernels that it calls. Leaves: a kernel of one workgroup, which looks like any other from outside. It calls the bodies
of the others, workgroup by workgroup, by the symbols that they have in the executable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..ir.core import Operation, Value
from ..ir.printer import print_operation
from ..ir.types import bit_width
from .elements import constant_number, element_name, unsupported
from .llvm import objects
from .llvm import values as lv
from .llvm.emit import Module
from .llvm.executable_library import EntryPoint
from .llvm.kernel import BodyArgument, Kernel, call_body
from .loops import vector
from .plan import Plan
from .scalar_ops import emit_scalar_op
from .target import Target
from .translate import DispatchKernel, symbol_of

CALL, ENTRY, COMMAND, WORKLOAD = "func.call", "stream.entry", "stream.command", "stream.workload"


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

    @cached_property
    def _shared(self) -> tuple[str, tuple[BodyArgument, ...]]:
        """The module in which the kernel has no name of its own, and what its body is called with."""
        return self._module(objects.KERNEL_SYMBOL)

    @property
    def body_arguments(self) -> tuple[BodyArgument, ...]:
        """What a kernel that calls this one gives to its body."""
        return self._shared[1]

    def unit(self) -> objects.Unit:
        """What is compiled."""
        return objects.Unit(self._shared[0], symbol=self.symbol)

    def text(self, phase: str) -> str:
        """The kernel as text at "kernel", "llvm" or "asm"; its loops are those of its function."""
        if phase == "kernel":
            return print_operation(self.func)
        text, _ = self._module(self.symbol)
        return text if phase == "llvm" else objects.assembly(text, self.target)

    def _module(self, symbol: str) -> tuple[str, tuple[BodyArgument, ...]]:
        module = Module(self.target)
        kernel = Kernel(module, symbol)
        _Lowering(self, kernel).run()
        kernel.finish()
        return module.text(), tuple(kernel.arguments)


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
    def __init__(self, sequence: SequenceKernel, kernel: Kernel) -> None:
        self.sequence, self.kernel = sequence, kernel
        self.fn = kernel.body
        self.values: dict[Value, lv.Value] = {}

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

    def _while(self, op: Any) -> None:
        before, after = (region.blocks[0] for region in op.regions)
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

    def _call(self, call: Any) -> None:
        kernel = self.sequence.callees.get(call.callee.leaf)
        if kernel is None:
            self._move(call)
            return
        workload = call.get_attr(WORKLOAD)
        count = kernel.plan.count([] if workload is None else list(workload))
        if count == 1:
            self._workgroup(call, kernel, lv.i64(0), count)
            return
        with self.fn.for_(0, count) as loop:
            self._workgroup(call, kernel, loop.index, count)

    def _workgroup(self, call: Any, kernel: Any, number: lv.Value, count: int) -> None:
        """Runs one workgroup. A call has the kernel's constants, then its bindings, each with an offset."""
        operands = [self.values[v] for v in call.operands]

        def give(argument: BodyArgument) -> lv.Value:
            if argument.kind == "constant":
                return operands[argument.which]  # type: ignore[index]
            if argument.kind == "binding":
                first = kernel.constant_count + 2 * argument.which  # type: ignore[operator]
                return self.fn.gep(operands[first], operands[first + 1], lv.I8)
            if argument.kind == "local_memory":
                return self.kernel.local_memory()
            if argument.kind == "workgroup_id":
                return number if argument.which == "x" else lv.i64(0)
            if argument.kind == "workgroup_count":
                return lv.i64(count if argument.which == "x" else 1)
            raise unsupported(call, f"its kernel asks for a {argument.kind}, which calls between kernels do not give")

        call_body(self.fn, kernel.symbol, kernel.body_arguments, give)

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


def _llvm_type(value: Value) -> str:
    return "i64" if value.type.is_index else f"i{bit_width(value.type)}"
