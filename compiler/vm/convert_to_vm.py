"""iree-vm-conversion: every op as vm ops.

Before: a module of util functions, globals and initializers over hal, util, cf, arith and math ops; executables are
        binaries.
After:  one `vm.module` in it. Public functions have exports; functions of other modules that are called have imports
        (declarations that nothing calls go); strings, binaries and constants are data segments.

    util.func public @main(%arg0: !hal.buffer_view) -> … { … }
    →  vm.func private @main(%arg0: !vm.ref<!hal.buffer_view>) -> … { … }
       vm.export @main
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.util import FuncOp as UtilFuncOp
from pyiree.compiler.dialects.util import GlobalOp as UtilGlobalOp
from pyiree.compiler.dialects.util import InitializerOp as UtilInitializerOp
from pyiree.compiler.dialects.util_types import UninitializedAttr
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr, SymbolRefAttr, TypeAttr, UnitAttr
from pyiree.compiler.ir.core import Block, Operation, Region
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.dominance import reverse_post_order
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FunctionType
from pyiree.compiler.vm import convert_arith as _arith  # noqa: F401  (registers its conversions, as do those below)
from pyiree.compiler.vm import convert_cf as _cf  # noqa: F401
from pyiree.compiler.vm import convert_hal as _hal  # noqa: F401
from pyiree.compiler.vm import convert_util as _util  # noqa: F401
from pyiree.compiler.vm.conversion import Converter
from pyiree.compiler.vm.hal_imports import hal_import_position
from pyiree.compiler.vm.ops import ExportOp, FuncOp, ImportOp, InitializerOp, ModuleOp, ModuleTerminatorOp, global_op

#: What of a function's attributes stays.
_KEPT = ("iree.reflection", "inlining_policy", "nosideeffects")


@register_pass("iree-vm-conversion", on="builtin.module")
def convert_to_vm(root: Operation, context: PassContext) -> None:
    """Replaces the content of the module by a `vm.module`."""
    body = root.regions[0].entry
    if any(isinstance(op, ModuleOp) for op in body.ops):
        return
    name = root.symbol_name or "module"
    module = ModuleOp(
        sym_visibility="public",
        sym_name=name,
        body=Block((), [ModuleTerminatorOp(location=root.location)]),
        location=root.location,
    )
    end = module.entry_block.terminator
    symbols = list(body.ops)
    executables = {op.symbol_name: op for op in symbols if op.name == "hal.executable"}
    functions = {op.sym_name: op for op in symbols if isinstance(op, UtilFuncOp)}
    constant_globals = {op.sym_name for op in symbols if isinstance(op, UtilGlobalOp) and not op.is_mutable}
    conv = Converter(module, executables, functions, constant_globals)
    for op in symbols:
        if isinstance(op, UtilFuncOp):
            _convert_function(conv, op, end)
        elif isinstance(op, UtilInitializerOp):
            _convert_initializer(conv, op, end)
        elif isinstance(op, UtilGlobalOp):
            _convert_global(conv, op, end)
        elif op.name != "hal.executable":
            raise ConversionError(f"'{op.name}' has no counterpart in a vm.module", op.location)
    for op in module.entry_block.ops:
        if isinstance(op, ImportOp) and op.sym_name not in conv.called:
            op.erase()
    for import_name in sorted(conv.imports, key=hal_import_position, reverse=True):
        module.entry_block.prepend(conv.imports[import_name])
    for op in symbols:
        op.drop_all_references()
    for op in symbols:
        op.detach().take_apart()
    body.append(module)
    root.set_attr("vm.toplevel", UnitAttr())


def _convert_function(conv: Converter, op: UtilFuncOp, end: Operation) -> None:
    inputs = [conv.type(t, op) for t in op.function_type.inputs]
    results = [conv.type(t, op) for t in op.function_type.results]
    if op.is_declaration:
        end.block.insert_before(end, _import(op, FunctionType(inputs, results)))
        return
    kept = {name: value for name in _KEPT if (value := op.get_attr(name)) is not None}
    policy = kept.pop("inlining_policy", None)
    func = FuncOp.create(op.sym_name, inputs, results, "private", op.location, kept)
    if policy is not None:
        func.inlining_policy = policy
    end.block.insert_before(end, func)
    _convert_body(conv, op.body, func, func.body)
    if op.is_public:
        attributes = {k: v for k, v in op.attributes.items() if k.startswith("iree.")}
        export = ExportOp(SymbolRefAttr(op.sym_name), op.sym_name, location=op.location, attributes=attributes)
        end.block.insert_before(end, export)


def _import(op: UtilFuncOp, type: FunctionType) -> ImportOp:
    """A function of another module, `module.function`."""
    if "." not in op.sym_name:
        raise ConversionError(f"@{op.sym_name} has no body, and no module in its name to import it from", op.location)
    signature = op.attributes.get("vm.signature")
    version = op.attributes.get("vm.version")
    return ImportOp(
        sym_name=op.sym_name,
        function_type=signature if isinstance(signature, TypeAttr) else TypeAttr(type),
        sym_visibility="private",
        minimum_version=version.value if isinstance(version, IntegerAttr) else None,
        attributes={k: v for k, v in op.attributes.items() if k in ("nosideeffects", "vm.yield")},
        location=op.location,
    )


def _convert_initializer(conv: Converter, op: UtilInitializerOp, end: Operation) -> None:
    initializer = InitializerOp(body=Block(), location=op.location)
    end.block.insert_before(end, initializer)
    _convert_body(conv, op.body, initializer, initializer.body)


def _convert_body(conv: Converter, old: Region, holder: Operation, new: Region) -> None:
    """Converts the blocks of a function; `new` has its entry block already."""
    entry = new.entry
    conv.begin_function(holder, entry)
    # A value's definition comes before its uses in this order, whatever the order of the blocks is.
    order = reverse_post_order(old)
    reachable = set(order)
    for block in old.blocks:
        if block is old.entry:
            made = entry
        elif block in reachable:
            made = new.append(Block([conv.type(t, holder) for t in block.argument_types]))
        else:
            continue
        conv.blocks[block] = made
        for before, after in zip(block.arguments, made.arguments):
            conv.map(before, after)
            after.location = before.location
    for block in order:
        conv.builder.move_to_end(conv.blocks[block])
        for op in block.ops:
            conv.convert_op(op)


def _convert_global(conv: Converter, op: UtilGlobalOp, end: Operation) -> None:
    type = conv.type(op.type, op)
    made = global_op(
        op.sym_name,
        type,
        is_mutable=op.is_mutable,
        initial_value=_initial_value(op, type),
        location=op.location,
    )
    end.block.insert_before(end, made)


def _initial_value(op: UtilGlobalOp, type: Any) -> Attribute | None:
    value = op.initial_value
    if value is None or isinstance(value, UninitializedAttr):
        return None
    if isinstance(value, IntegerAttr):
        return IntegerAttr(value.value, type)
    if isinstance(value, FloatAttr):
        return value if value.type is type else IntegerAttr(value.bits, type)
    raise ConversionError(f"global @{op.sym_name} cannot start as {value}: an initializer must store it", op.location)
