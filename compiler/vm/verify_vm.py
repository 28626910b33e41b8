"""iree-vm-verify: what must hold at the end of the vm phase.

Before: any vm module.
After:  the same; an error names the first op that breaks a rule. Symbols are defined and of the right kind, calls and
        branches pass what is taken, globals are loaded and stored as their type.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TupleType
from pyiree.compiler.vm.liveness import branch_targets
from pyiree.compiler.vm.ops import ExportOp, FuncOp, GlobalOp, ImportOp, ModuleOp, RodataOp

_CALLS = ("vm.call", "vm.call.yieldable")
_VARIADIC_CALLS = ("vm.call.variadic", "vm.call.variadic.yieldable")


@register_pass("iree-vm-verify", on="vm.module")
def verify_vm(module: ModuleOp, context: PassContext) -> None:
    """Checks a module."""
    symbols: dict[str, Any] = {}
    variadic: set[str] = set()  # imports that have spans
    for op in module.entry_block.ops:
        if op.symbol_name is not None:
            symbols[op.symbol_name] = op
        if isinstance(op, ImportOp) and op.is_variadic:
            variadic.add(op.sym_name)
    for op in module.entry_block.ops:
        if isinstance(op, ExportOp):
            _expect(op, symbols, op.function_ref, FuncOp, "a function")
        elif isinstance(op, FuncOp):
            for nested in op.body.ops:
                _verify_op(nested, symbols, variadic, op)


def _expect(op: Any, symbols: dict[str, Any], reference: Any, kind: Any, what: str) -> Any:
    found = symbols.get(reference.leaf)
    if not isinstance(found, kind):
        raise op.error(f"names {reference}, which is not {what} of the module")
    return found


def _verify_op(op: Any, symbols: dict[str, Any], variadic: set[str], func: FuncOp) -> None:
    if op.successors:
        _verify_branch(op)
    if op.name in _CALLS or op.name in _VARIADIC_CALLS:
        _verify_call(op, _expect(op, symbols, op.callee, FuncOp | ImportOp, "a function"), variadic)
    elif op.name.startswith("vm.global."):
        reference = op.properties.get("global")
        if reference is not None:
            _verify_global(op, _expect(op, symbols, reference, GlobalOp, "a global"))
    elif op.name == "vm.const.ref.rodata":
        _expect(op, symbols, op.rodata, RodataOp, "a data segment")
    elif op.name == "vm.import.resolved":
        _expect(op, symbols, op.import_, ImportOp, "an import")
    elif op.name == "vm.return" and op.operand_types != tuple(func.function_type.results):
        raise op.error(f"returns {_types(op.operand_types)} from a function of type {func.function_type}")


def _verify_branch(op: Any) -> None:
    produced = [entry.value for entry in op.result_types_] if op.name.endswith(".yieldable") else []
    for block, passed in branch_targets(op):
        types = [v.type for v in passed] + produced
        if types != list(block.argument_types):
            raise op.error(f"passes {_types(types)} to a block that takes {_types(block.argument_types)}")


def _verify_call(op: Any, callee: Any, variadic: set[str]) -> None:
    segmented = op.name in _VARIADIC_CALLS
    if segmented != (callee.sym_name in variadic):
        raise op.error(f"calls {callee.sym_name}, which {'has no' if segmented else 'has'} variable parameters")
    results = [e.value for e in op.result_types_] if op.name.endswith(".yieldable") else list(op.result_types)
    if results != list(callee.function_type.results):
        raise op.error(f"takes {_types(results)} from {callee.sym_name} of type {callee.function_type}")
    expected: list[Any] = []
    if segmented:
        if op.types != list(callee.function_type.inputs):
            raise op.error(f"passes {_types(op.types)} to {callee.sym_name} of type {callee.function_type}")
        for size, type in zip(op.sizes, op.types):
            members = list(type.types) if isinstance(type, TupleType) else [type]
            expected += members * (1 if size < 0 else size)
    else:
        expected = list(callee.function_type.inputs)
    if list(op.operand_types) != expected:
        raise op.error(f"passes {_types(op.operand_types)} to {callee.sym_name}, which takes {_types(expected)}")


def _verify_global(op: Any, target: Any) -> None:
    accessed = op.value.type if "value" in op.definition.by_name else None
    if accessed is not None and accessed is not target.type:
        raise op.error(f"accesses a global of type {target.type} as {accessed}")


def _types(types: Any) -> str:
    return f"({', '.join(map(str, types))})"
