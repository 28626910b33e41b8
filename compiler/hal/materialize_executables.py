"""iree-hal-materialize-resource-caches: executables are loaded once.

Before: %exe = hal.executable.lookup device(%device : !hal.device) executable(@linked) : !hal.executable
After:  util.global private @__device_0_executable_0_linked : !hal.executable
        util.initializer { … hal.executable.create …; util.global.store }
        %exe = util.global.load immutable @__device_0_executable_0_linked : !hal.executable

Loading fails with a message if the device does not take the executable's format; nobody asks again where the device is
yet to be chosen for it.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.hal import DeviceTargetAttr, DeviceType, ExecutableType
from pyiree.compiler.dialects.util import (
    GlobalLoadOp,
    GlobalOp,
    GlobalStoreOp,
    InitializerOp,
    ReturnOp,
    StatusCheckOkOp,
)
from pyiree.compiler.hal.device_values import ANY_QUEUE, constant
from pyiree.compiler.hal.ops_device import DeviceQueryOp
from pyiree.compiler.hal.ops_executable import (
    ExecutableCreateOp,
    ExecutableLookupOp,
    ExecutableOp,
    ExecutableVariantOp,
)
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import i1, i32, i64

_UNAVAILABLE = 14


@register_pass("iree-hal-materialize-resource-caches")
def materialize_resource_caches(module: ModuleOp, context: PassContext) -> None:
    """Makes a global of every executable on every device that looks it up."""
    symbols = SymbolTable(module)
    known: dict[tuple[str, str], str] = {}
    for lookup in list(module.walk_type(ExecutableLookupOp)):
        device = _device_name(lookup)
        key = (device, lookup.executable.root)
        name = known.get(key)
        if name is None:
            name = known[key] = _add_global(module, symbols, device, lookup, len(known))
        b = Builder.before(lookup)
        lookup.replace_all_uses_with(b.insert(GlobalLoadOp(name, True, result=ExecutableType())).results)
        lookup.erase()


def _device_name(lookup: ExecutableLookupOp) -> str:
    owner = lookup.device.defining_op
    if not isinstance(owner, GlobalLoadOp):
        raise CompileError("an executable can only be looked up on a device that a global holds", lookup.location)
    return owner.global_.root


def _add_global(module: ModuleOp, symbols: SymbolTable, device: str, lookup: ExecutableLookupOp, number: int) -> str:
    executable = symbols.lookup(lookup.executable.root)
    name = f"{device}_executable_{number}_{executable.sym_name}"
    place = _after_devices(module)
    target = symbols.lookup(device).initial_value
    made = GlobalOp(sym_visibility="private", sym_name=name, type=ExecutableType(), location=executable.location)
    place.insert(made)
    symbols.add(made)
    place.insert(_initializer(made.sym_name, device, target, executable))
    return made.sym_name


def _after_devices(module: ModuleOp) -> Builder:
    """Behind the initializers of devices and of executables made before."""
    last: Operation | None = None
    for op in module.body_block.ops:
        if isinstance(op, GlobalOp) and isinstance(op.type, DeviceType | ExecutableType):
            last = op.next_op if isinstance(op.next_op, InitializerOp) else op
    assert last is not None
    return Builder.after(last)


def _initializer(name: str, device: str, target: Attribute | None, executable: ExecutableOp) -> InitializerOp:
    (variant,) = [op for op in executable.body.entry.ops if isinstance(op, ExecutableVariantOp)]
    entry = Block()
    b = Builder.at_end(entry, executable.location)
    loaded = b.insert(GlobalLoadOp(device, False, result=DeviceType())).result
    blocks = [entry]
    if not _is_chosen_for(target, variant.target.binary_format):
        message = (
            f"HAL device `{device}` does not support executable `{executable.sym_name}` "
            f"of format {variant.target.binary_format}"
        )
        create, failed = Block(), Block()
        _branch_on_format(b, loaded, variant.target.binary_format, create, failed)
        b = Builder.at_end(failed, executable.location)
        b.insert(StatusCheckOkOp(constant(b, _UNAVAILABLE, i32), message))
        b.insert(BranchOp([], dest=create))
        b = Builder.at_end(create, executable.location)
        blocks += [failed, create]
    symbol = SymbolRefAttr(executable.sym_name, variant.sym_name)
    create_op = ExecutableCreateOp(loaded, constant(b, ANY_QUEUE, i64), [], symbol, result=ExecutableType())
    b.insert(GlobalStoreOp(b.insert(create_op).result, name))
    b.insert(ReturnOp([]))
    return InitializerOp(body=Region(blocks), location=executable.location)


def _is_chosen_for(target: Attribute | None, binary_format: str) -> bool:
    """Whether only devices that take the format come into question, as the search for the device asks for it."""
    if not isinstance(target, DeviceTargetAttr) or not len(target.executable_targets):
        return False
    return all(t.binary_format == binary_format for t in target.executable_targets)


def _branch_on_format(b: Builder, device: Value, binary_format: str, takes: Block, refuses: Block) -> None:
    query = DeviceQueryOp(device, "hal.executable.format", binary_format, IntegerAttr(0, i1), ok=i1, value=i1)
    b.insert(CondBranchOp(b.insert(query).value, [], [], true_dest=takes, false_dest=refuses))
