"""Executables of the flow dialect as executables of the stream dialect: dispatch functions take bindings.

    func.func @f(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>)
    →
    func.func @f(%arg0: !stream.binding) {
      %0 = stream.binding.subspan %arg0[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:…>

Part of iree-stream-conversion.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.func import FuncOp
from pyiree.compiler.dialects.iree_tensor_ext import DispatchTensorLoadOp, DispatchTensorStoreOp, DispatchTensorType
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import FunctionType, index
from pyiree.compiler.stream.ops import (
    BindingSubspanOp,
    BindingType,
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ReturnOp,
)


def convert_executables(module: Operation) -> None:
    """Replaces every `flow.executable` of a module."""
    for op in list(module.regions[0].ops):
        if op.name == "flow.executable":
            _convert_executable(op)


def _convert_executable(executable: Operation) -> None:
    for op in list(executable.regions[0].ops):
        if op.name == "flow.executable.export":
            _convert_export(op)
        elif op.name == "flow.executable_end":
            op.block.append(ExecutableEndOp(location=op.location))  # type: ignore[union-attr]
            op.erase()
        elif op.name == "builtin.module":
            for function in op.walk_type(FuncOp):
                if not function.is_declaration:
                    _convert_function(function)
    new = ExecutableOp(
        executable.properties["sym_name"], executable.properties.get("sym_visibility"),
        attributes=executable.attributes, location=executable.location,
    )  # fmt: skip
    new.body.take_body(executable.regions[0])
    executable.block.insert_before(executable, new)  # type: ignore[union-attr]
    executable.erase()


def _convert_export(export: Operation) -> None:
    properties = export.properties
    new = ExecutableExportOp(
        properties["sym_name"], properties["function_ref"], properties.get("sym_visibility"),
        attributes=export.attributes, location=export.location,
    )  # fmt: skip
    new.workgroup_count.take_body(export.regions[0])
    for op in list(new.workgroup_count.ops):
        if op.name == "flow.return":
            op.block.insert_before(op, ReturnOp(op.operands, location=op.location))  # type: ignore[union-attr]
            op.erase()
    export.block.insert_before(export, new)  # type: ignore[union-attr]
    export.erase()


def _convert_function(function: FuncOp) -> None:
    entry = function.entry_block
    zero: Value | None = None
    for argument in entry.arguments:
        bound = argument.type
        if not isinstance(bound, DispatchTensorType):
            continue
        argument.type = BindingType()
        users = [user for user in argument.users if user.name != "builtin.unrealized_conversion_cast"]
        if not users:
            continue
        if zero is None:
            zero = Builder.at_start(entry, function.location).insert(ConstantOp(IntegerAttr(0, index))).result
        anchor = _first_in(entry, users)
        dims = _dims_of(users[0], argument, bound)
        span = BindingSubspanOp(argument, zero, dims, result=bound, location=anchor.location)
        entry.insert_before(anchor, span)
        argument.replace_uses_if(span.result, lambda use, span=span: use.owner is not span)
    function.function_type = FunctionType(entry.argument_types, function.function_type.results)


def _first_in(block: Block, users: list[Operation]) -> Operation:
    """The first op of `block` that is, or holds, one of the users."""
    around = []
    for user in users:
        while user.block is not block:
            user = user.parent_op  # type: ignore[assignment]
        around.append(user)
    first = around[0]
    for other in around[1:]:
        if other.is_before_in_block(first):
            first = other
    return first


def _dims_of(user: Operation, argument: Value, bound: DispatchTensorType) -> tuple[Value, ...]:
    """The values of a binding's `?`, as its uses give them."""
    if None not in bound.shape:
        return ()
    if isinstance(user, DispatchTensorLoadOp):
        return user.source_dims
    if isinstance(user, DispatchTensorStoreOp):
        return user.target_dims
    raise CompileError(f"'{user.name}' does not say the dynamic dimensions of the binding it uses", user.location)
