"""iree-hal-translate-all-executables: kernels become machine code, all in one executable.

Before: a hal.executable for each dispatch, with the functions of its variant.
After:  one hal.executable whose variant holds an ELF (`pyiree.binary`), with an export for each kernel whose count
        region says how many workgroups run for a workload.

Equal kernels are compiled once; kernels compile side by side, and come from the object cache where it has them. They
are not waited for: LLVM makes them while the passes that follow go on, until something looks at the binary. The CPU is
that of the compile options; it must be of the kind that the program's devices load.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from pyiree.compiler.codegen.executable import ExecutableBuilder
from pyiree.compiler.codegen.sequence import SequenceKernel, is_sequence, translate_sequence
from pyiree.compiler.codegen.target import Target
from pyiree.compiler.codegen.translate import DispatchKernel, translate_dispatch
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.func import FuncOp
from pyiree.compiler.dialects.hal import DeviceType
from pyiree.compiler.hal.materialize_interfaces import host_dispatches
from pyiree.compiler.hal.ops_device import ReturnOp
from pyiree.compiler.hal.ops_executable import (
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ExecutableVariantEndOp,
    ExecutableVariantOp,
)
from pyiree.compiler.hal.workgroup_counts import emit_workgroup_count
from pyiree.compiler.ir.attributes import ArrayAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, PassManager, register_pass
from pyiree.compiler.ir.pending import PendingBytesAttr
from pyiree.compiler.options import CompileOptions

#: Where a variant keeps its machine code until it is serialized.
BINARY = "pyiree.binary"


@register_pass("iree-hal-translate-all-executables")
def translate_all_executables(module: ModuleOp, context: PassContext) -> None:
    """Compiles the kernels of all executables and links them into one."""
    executables = [op for op in module.body_block.ops if isinstance(op, ExecutableOp)]
    if not executables:
        return
    options = context.options or CompileOptions()
    variants = [v for op in executables for v in op.body.entry.ops if isinstance(v, ExecutableVariantOp)]
    first = variants[0]
    name = f"{module.sym_name or 'module'}_linked"
    builder = ExecutableBuilder(name, options.target, options.object_cache)
    context.cancel_on_failure(builder.cancel)
    kernels: list[DispatchKernel | SequenceKernel] = []
    translated: dict[tuple[str, str], DispatchKernel | SequenceKernel] = {}
    exports: dict[str, ExecutableExportOp] = {}
    renamed: dict[SymbolRefAttr, SymbolRefAttr] = {}
    for variant in variants:
        _check_format(variant, options.target)
        for export, function in _functions(variant):
            old = SymbolRefAttr(_executable_name(variant), variant.sym_name, export.sym_name)
            key = (old.root, old.leaf)
            unique = _unique_name(export.sym_name, old.root, exports)
            export.sym_name = function.sym_name = unique
            renamed[old] = SymbolRefAttr(name, first.sym_name, unique)
            kernel = translated[key] = _translate(function, translated, options.target)
            kernels.append(kernel)
            builder.add(kernel.unit())
            _set_count(export, kernel)
            export.detach()
            export.ordinal = len(exports)
            exports[unique] = export
    data = PendingBytesAttr(builder.close([kernel.entry_point for kernel in kernels]))
    location = executables[0].location
    variant = ExecutableVariantOp(
        sym_name=first.sym_name,
        target=first.target,
        sym_visibility="public",
        body=Block((), [*exports.values(), ExecutableVariantEndOp(location=location)]),
        attributes={BINARY: data},
        location=location,
    )
    body = Block((), [variant, ExecutableEndOp(location=location)])
    Builder.before(executables[0]).insert(
        ExecutableOp(sym_name=name, sym_visibility="private", body=body, location=location)
    )
    for executable in executables:
        executable.erase()
    for op in host_dispatches(module):
        op.entry_points = ArrayAttr([renamed.get(e, e) for e in op.entry_points])


def _check_format(variant: ExecutableVariantOp, target: Target) -> None:
    """The program says what its devices load; the options say for which CPU of that kind."""
    wanted = variant.target.binary_format
    if wanted != target.executable_format:
        raise CompileError(
            f"the program is for devices that load {wanted}, and the target CPU {target.cpu} makes "
            f"{target.executable_format}; name another target CPU",
            variant.location,
        )


def _translate(
    function: FuncOp, translated: dict[tuple[str, str], DispatchKernel | SequenceKernel], target: Target
) -> DispatchKernel | SequenceKernel:
    """The kernel of a function; those that it calls stand before it."""
    if is_sequence(function):
        return translate_sequence(function, translated, target)
    return translate_dispatch(function, target)


def _functions(variant: ExecutableVariantOp) -> list[tuple[ExecutableExportOp, FuncOp]]:
    """The exports of a variant with their functions."""
    inner = next(op for op in variant.body.entry.ops if isinstance(op, ModuleOp))
    functions = {op.sym_name: op for op in inner.body_block.ops if isinstance(op, FuncOp)}
    return [(op, functions[op.sym_name]) for op in variant.body.entry.ops if isinstance(op, ExecutableExportOp)]


def _executable_name(variant: ExecutableVariantOp) -> str:
    executable = variant.parent_op
    assert isinstance(executable, ExecutableOp)
    return executable.sym_name


def _unique_name(name: str, executable: str, taken: Container[str]) -> str:
    """The name of an export among those of all executables."""
    if name not in taken:
        return name
    found = f"{executable}_{name}"
    number = 0
    while found in taken:
        number += 1
        found = f"{executable}_{name}_{number}"
    return found


def _set_count(export: ExecutableExportOp, kernel: DispatchKernel | SequenceKernel) -> None:
    """Makes the count region say what the kernel says."""
    region = export.workgroup_count
    workload = list(region.entry.arguments[1:]) if region.blocks else []
    block = Block([DeviceType(), *[a.type for a in workload]])
    builder = Builder.at_end(block, export.location)
    builder.insert(ReturnOp(emit_workgroup_count(builder, kernel.plan.factors, block.arguments[1:])))
    for old in list(region.blocks):
        for op in list(old.reversed_ops):
            op.erase()
        region.blocks.remove(old)
    region.append(block)


def kernel_text(module: ModuleOp, kind: str, context: PassContext) -> str:
    """The kernels of a module at the stream phase as text: "kernel" (loop IR), "llvm" or "asm"."""
    PassManager(["iree-hal-materialize-interfaces"]).run(module, context)
    options: Any = context.options or CompileOptions()
    parts = []
    translated: dict[tuple[str, str], DispatchKernel | SequenceKernel] = {}
    for variant in module.walk_type(ExecutableVariantOp):
        for export, function in _functions(variant):
            kernel = _translate(function, translated, options.target)
            translated[_executable_name(variant), export.sym_name] = kernel
            parts.append(kernel.text(kind))
    return "\n".join(parts)
