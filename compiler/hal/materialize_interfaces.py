"""iree-hal-materialize-interfaces: executables get the interface that the device gives them.

Before: stream.executable with functions of `!stream.binding`s and i32 operands.
After:  hal.executable with a variant for each target of the device; functions take nothing and ask for their
        bindings and constants.

    func.func @f(%arg0: !stream.binding, %arg1: i32) {
      %0 = stream.binding.subspan %arg0[%c0] : …
    →
    func.func @f() {
      %1 = hal.interface.constant.load layout(#layout) ordinal(0) : i32
      %0 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) flags(ReadOnly) : …

The function of a loop, which calls other kernels, keeps its arguments: they are what it hands on.
"""

from __future__ import annotations

from pyiree.compiler.codegen.llvm.kernel import MAX_BINDINGS, MAX_CONSTANTS
from pyiree.compiler.codegen.sequence import is_sequence
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.func import FuncOp
from pyiree.compiler.dialects.hal import DeviceTargetAttr, DeviceType, ExecutableTargetAttr
from pyiree.compiler.dialects.util import FuncOp as HostFuncOp
from pyiree.compiler.dialects.util import GlobalOp, InitializerOp
from pyiree.compiler.hal.bits import DESCRIPTOR_FLAG, PIPELINE_LAYOUT_FLAG
from pyiree.compiler.hal.ops_device import ReturnOp
from pyiree.compiler.hal.ops_executable import (
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ExecutableVariantEndOp,
    ExecutableVariantOp,
    InterfaceBindingSubspanOp,
    InterfaceConstantLoadOp,
    PipelineBindingAttr,
    PipelineLayoutAttr,
)
from pyiree.compiler.ir.attributes import ArrayAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FunctionType, i32
from pyiree.compiler.stream import ops as stream

_READ_ONLY = DESCRIPTOR_FLAG["ReadOnly"]
_INDIRECT = DESCRIPTOR_FLAG["Indirect"]


@register_pass("iree-hal-materialize-interfaces")
def materialize_interfaces(module: ModuleOp, context: PassContext) -> None:
    """Turns every stream.executable into a hal.executable."""
    executables = [op for op in module.body_block.ops if isinstance(op, stream.ExecutableOp)]
    if not executables:
        return
    target = _executable_target(module)
    dispatches = host_dispatches(module)
    read_only = _read_only_bindings(dispatches)
    for executable in executables:
        _materialize(executable, target, read_only)
    variant = target.symbol_name_fragment
    names = {op.sym_name for op in executables}
    for op in dispatches:
        op.entry_points = _through_variant(op.entry_points, names, variant)


def host_dispatches(module: ModuleOp) -> list[stream.CmdDispatchOp]:
    """The dispatches of the host program; executables, which are most of a module, have none."""
    hosts = [op for op in module.body_block.ops if isinstance(op, HostFuncOp | InitializerOp)]
    return [dispatch for op in hosts for dispatch in op.walk_type(stream.CmdDispatchOp)]


def _executable_target(module: ModuleOp) -> ExecutableTargetAttr:
    """The target of all devices; programs for devices of several kinds cannot be made yet."""
    targets = {
        target
        for op in module.body_block.ops
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DeviceTargetAttr)
        for target in op.initial_value.executable_targets
    }
    if len(targets) != 1:
        found = ", ".join(sorted(t.binary_format for t in targets)) or "none"
        raise CompileError(f"the devices of a program must share one executable target, found {found}", module.location)
    return targets.pop()


def _read_only_bindings(dispatches: list[stream.CmdDispatchOp]) -> dict[tuple[str, str], list[bool]]:
    """For each entry point, which bindings every dispatch of it only reads."""
    found: dict[tuple[str, str], list[bool]] = {}
    for op in dispatches:
        reads = [access.value == "ro" for access in op.resource_accesses]
        for entry in op.entry_points:
            key = (entry.root, entry.leaf)
            known = found.setdefault(key, reads)
            found[key] = [a and b for a, b in zip(known, reads)]
    return found


def _through_variant(entry_points: ArrayAttr, names: set[str], variant: str) -> ArrayAttr:
    return ArrayAttr(
        [SymbolRefAttr(e.root, variant, e.leaf) if e.root in names else e for e in entry_points]
    )


def _materialize(
    executable: stream.ExecutableOp, target: ExecutableTargetAttr, read_only: dict[tuple[str, str], list[bool]]
) -> None:
    inner = next(op for op in executable.body.entry.ops if isinstance(op, ModuleOp))
    functions = {op.sym_name: op for op in inner.body_block.ops if isinstance(op, FuncOp)}
    exports = [op for op in executable.body.entry.ops if isinstance(op, stream.ExecutableExportOp)]
    made = []
    for export in exports:
        function = functions[export.function_ref.leaf]
        reads = read_only.get((executable.sym_name, export.sym_name))
        layout = _convert_function(function, reads)
        made.append(_convert_export(export, layout))
    inner.detach()
    location = executable.location
    variant = ExecutableVariantOp(
        sym_name=target.symbol_name_fragment,
        target=target,
        sym_visibility="public",
        body=Block((), [*made, inner, ExecutableVariantEndOp(location=location)]),
        location=location,
    )
    new = ExecutableOp(
        sym_name=executable.sym_name,
        sym_visibility="private",
        body=Block((), [variant, ExecutableEndOp(location=location)]),
        location=location,
    )
    Builder.before(executable).insert(new)
    executable.erase()


def _convert_function(function: FuncOp, reads: list[bool] | None) -> PipelineLayoutAttr:
    block = function.entry_block
    bindings = [a for a in block.arguments if isinstance(a.type, stream.BindingType)]
    constants = [a for a in block.arguments if not isinstance(a.type, stream.BindingType)]
    for constant in constants:
        if constant.type is not i32:
            raise CompileError(
                f"'{function.sym_name}' takes a number of type {constant.type}; pack dispatch operands to i32 first",
                function.location,
            )
    for what, found, limit in (
        ("bindings", len(bindings), MAX_BINDINGS),
        ("push constants", len(constants), MAX_CONSTANTS),
    ):
        if found > limit:
            raise CompileError(
                f"dispatch '{function.sym_name}' has {found} {what}; a kernel can have {limit}", function.location
            )
    flags = [_flags(i, reads) for i in range(len(bindings))]
    layout = PipelineLayoutAttr(
        tuple([PipelineBindingAttr("storage_buffer", f) for f in flags]),
        len(constants),
        PIPELINE_LAYOUT_FLAG["Indirect"],
    )
    if is_sequence(function):
        return layout
    builder = Builder.at_start(block, function.location)
    for ordinal, constant in enumerate(constants):
        load = builder.insert(InterfaceConstantLoadOp(layout, ordinal, result=i32))
        constant.replace_all_uses_with(load.result)
    for number, binding in enumerate(bindings):
        alignment = function.argument_attributes(binding.index).get("stream.alignment")
        known = None if alignment is None else alignment.value
        for user in binding.users:
            assert isinstance(user, stream.BindingSubspanOp)
            _convert_subspan(user, layout, number, flags[number], known)
    for argument in reversed(list(block.arguments)):
        block.erase_argument(argument.index)
    function.function_type = FunctionType()
    function.set_argument_attributes([])
    return layout


def _flags(number: int, reads: list[bool] | None) -> int:
    return _READ_ONLY | _INDIRECT if reads is not None and reads[number] else _INDIRECT


def _convert_subspan(
    op: stream.BindingSubspanOp, layout: PipelineLayoutAttr, number: int, flags: int, alignment: int | None
) -> None:
    new = InterfaceBindingSubspanOp(
        [op.byte_offset], op.dynamic_dims, layout, number, alignment, flags, result=op.result.type,
        location=op.location,
    )  # fmt: skip
    Builder.before(op).insert(new)
    op.replace_all_uses_with(new.results)
    op.erase()


def _convert_export(export: stream.ExecutableExportOp, layout: PipelineLayoutAttr) -> ExecutableExportOp:
    region = export.workgroup_count
    count = Block()
    if region.blocks:
        count = region.entry
        count.region.blocks.remove(count)
        count.region = None
        count.insert_argument(0, DeviceType())
        end = count.terminator
        Builder.before(end).insert(ReturnOp(end.operands, location=end.location))
        end.erase()
    return ExecutableExportOp(
        sym_name=export.sym_name,
        layout=layout,
        sym_visibility="public",
        workgroup_count=count,
        location=export.location,
    )

