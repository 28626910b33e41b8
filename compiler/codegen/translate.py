"""From a dispatch function to machine code.

Enters: a dispatch's func.func (flow or hal form) and a `Target`. Leaves: a `DispatchKernel` (LLVM IR of one module,
how many bindings and constants it takes, its workgroup count); of many kernels, one ELF executable library. The
intermediate texts are those of the phases "kernel" (loop IR), "llvm" and "asm".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from ..ir.core import Operation
from .dispatch import DispatchGraph
from .executable import build_executable
from .llvm import objects
from .llvm.emit import Module
from .llvm.executable_library import EntryPoint
from .llvm.kernel import BodyArgument, Kernel
from .loop_printer import print_kernel
from .loops import KernelFunction
from .lower_loops import lower_kernel
from .plan import Plan
from .strategies.select import select_strategy
from .target import Target


@dataclass
class DispatchKernel:
    """One translated dispatch. Workgroups run along x only; `plan` says how many."""

    name: str
    plan: Plan
    binding_count: int
    constant_count: int
    target: Target

    @property
    def loops(self) -> KernelFunction:
        return self.plan.kernel

    @property
    def local_memory_bytes(self) -> int:
        return self.plan.kernel.local_bytes

    @property
    def workgroups(self) -> tuple[int, int, int] | None:
        """The workgroup count, None where it depends on the workload (`plan.factors` says how)."""
        count = self.plan.static_count
        return None if count is None else (count, 1, 1)

    @property
    def symbol(self) -> str:
        """The name in the object: the kernel's, as far as it is an identifier."""
        return symbol_of(self.name)

    @cached_property
    def llvm_text(self) -> str:
        """The kernel's module as LLVM IR."""
        return _llvm_module(self.symbol, self.plan.kernel, self.target)[0]

    @cached_property
    def _shared(self) -> tuple[str, tuple[BodyArgument, ...]]:
        """The module in which the kernel has no name of its own, and what its body is called with."""
        return _llvm_module(objects.KERNEL_SYMBOL, self.plan.kernel, self.target)

    @property
    def body_arguments(self) -> tuple[BodyArgument, ...]:
        """What a kernel that calls this one gives to its body."""
        return self._shared[1]

    def unit(self) -> objects.Unit:
        """What is compiled: in it the kernel has no name of its own, so that equal kernels share an object."""
        return objects.Unit(self._shared[0], symbol=self.symbol)

    def text(self, phase: str) -> str:
        """The kernel as text at "kernel", "llvm" or "asm"."""
        if phase == "kernel":
            return print_kernel(self.plan.kernel)
        if phase == "llvm":
            return self.llvm_text
        if phase == "asm":
            return objects.assembly(self.llvm_text, self.target)
        raise ValueError(f"a kernel has no phase {phase!r}; there are kernel, llvm and asm")

    @property
    def entry_point(self) -> EntryPoint:
        return EntryPoint(self.symbol, self.name, self.constant_count, self.binding_count, self.local_memory_bytes)


def symbol_of(name: str) -> str:
    """The symbol of a kernel in an object: its name, as far as that is an identifier."""
    return re.sub(r"[^A-Za-z0-9_.$]", "_", name)


def translate_dispatch(func: Operation, target: Target) -> DispatchKernel:
    """Generates the kernel of one dispatch function."""
    graph = DispatchGraph(func)
    plan = select_strategy(graph)(graph, target)
    return DispatchKernel(graph.name, plan, graph.binding_count, graph.constant_count, target)


class LinkedKernel(Protocol):
    """What is linked: a kernel's object and its entry in the tables."""

    @property
    def entry_point(self) -> EntryPoint: ...

    def unit(self) -> objects.Unit: ...


def link_executable(
    name: str, kernels: Sequence[LinkedKernel], target: Target, cache: objects.ObjectCache | None = None
) -> bytes:
    """One ELF executable library of all kernels, entry points in order."""
    entries = [kernel.entry_point for kernel in kernels]
    return build_executable(name, entries, [kernel.unit() for kernel in kernels], target, cache)


def _llvm_module(name: str, loops: KernelFunction, target: Target) -> tuple[str, tuple[BodyArgument, ...]]:
    module = Module(target)
    kernel = Kernel(module, name)
    lower_kernel(loops, kernel, target)
    kernel.finish()
    return module.text(), tuple(kernel.arguments)
