"""iree-hal-initialize-devices: the program finds its devices when it is loaded.

Before: util.global private @__device_0 = #hal.device.target<"local", …> : !hal.device
After:  util.global private @__device_0 : !hal.device
        util.initializer { … }

The initializer goes through the devices that the program was given and takes the first whose id and executable format
fit (with `ordinal = n` the one after n others that fit); if there is none, loading fails and says which was wanted.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, AndIOp, CmpIOp, SelectOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.hal import DeviceTargetAttr, DeviceType
from pyiree.compiler.dialects.util import (
    CmpEQOp,
    GlobalOp,
    GlobalStoreOp,
    InitializerOp,
    NullOp,
    ReturnOp,
    StatusCheckOkOp,
)
from pyiree.compiler.hal.device_values import constant
from pyiree.compiler.hal.ops_device import DeviceQueryOp, DevicesCountOp, DevicesGetOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import i1, i32, index

_INCOMPATIBLE = 18


@register_pass("iree-hal-initialize-devices")
def initialize_devices(module: ModuleOp, context: PassContext) -> None:
    """Gives every device global an initializer."""
    for op in list(module.body_block.ops):
        if isinstance(op, GlobalOp) and isinstance(op.initial_value, DeviceTargetAttr):
            target = op.initial_value
            op.initial_value = None
            Builder.after(op).insert(_initializer(op, target))


def _initializer(device: GlobalOp, target: DeviceTargetAttr) -> InitializerOp:
    """A loop over the devices: `found` is the device taken, `matches` how many have fit so far."""
    location = device.location
    entry, head, check, take, last, failed, done = (
        Block(),
        Block([index, index, DeviceType()]),
        Block(),
        Block(),
        Block([i1]),
        Block(),
        Block(),
    )
    format_block = Block()
    region = Region([entry, head, check, format_block, last, take, failed, done])

    b = Builder.at_end(entry, location)
    zero = constant(b, 0)
    null = b.insert(NullOp(result=DeviceType())).result
    count = b.insert(DevicesCountOp(result=index)).result
    b.insert(BranchOp([zero, zero, null], dest=head))

    b = Builder.at_end(head, location)
    position, matches, found = head.arguments
    is_missing = b.insert(CmpEQOp(found, null, result=i1)).result
    is_left = b.insert(CmpIOp(position, count, predicate="slt")).result
    b.insert(_branch(b.insert(AndIOp(is_missing, is_left)).result, check, take))

    b = Builder.at_end(check, location)
    candidate = b.insert(DevicesGetOp(position, result=DeviceType())).result
    has_id = _query(b, candidate, "hal.device.id", f"{target.device_id}*")
    never = constant(b, 0, i1)
    b.insert(CondBranchOp(has_id, [], [never], true_dest=format_block, false_dest=last))

    b = Builder.at_end(format_block, location)
    fits = constant(b, 0, i1)
    for executable_target in target.executable_targets:
        answer = _query(b, candidate, "hal.executable.format", executable_target.binary_format)
        fits = b.insert(SelectOp(answer, answer, fits)).result
    if not len(target.executable_targets):
        fits = constant(b, 1, i1)
    b.insert(BranchOp([fits], dest=last))

    b = Builder.at_end(last, location)
    fit = last.arguments[0]
    wanted = constant(b, _ordinal(target))
    is_wanted = b.insert(CmpIOp(matches, wanted, predicate="eq")).result
    one = constant(b, 1)
    step = b.insert(SelectOp(fit, one, constant(b, 0))).result
    more = b.insert(AddIOp(matches, step)).result
    chosen = b.insert(AndIOp(fit, is_wanted)).result
    taken = b.insert(SelectOp(chosen, candidate, null)).result
    b.insert(BranchOp([b.insert(AddIOp(position, one)).result, more, taken], dest=head))

    b = Builder.at_end(take, location)
    b.insert(_branch(is_missing, failed, done))

    b = Builder.at_end(failed, location)
    formats = ", ".join([t.binary_format for t in target.executable_targets])
    message = f"HAL device `{device.sym_name}` not found or unavailable: {target.device_id} with {formats}"
    b.insert(StatusCheckOkOp(constant(b, _INCOMPATIBLE, i32), message))
    b.insert(BranchOp([], dest=done))

    b = Builder.at_end(done, location)
    b.insert(GlobalStoreOp(found, device.sym_name))
    b.insert(ReturnOp([]))
    return InitializerOp(body=region, location=location)


def _branch(condition: Value, then: Block, otherwise: Block) -> CondBranchOp:
    return CondBranchOp(condition, [], [], true_dest=then, false_dest=otherwise)


def _query(b: Builder, device: Value, category: str, key: str) -> Value:
    return b.insert(DeviceQueryOp(device, category, key, IntegerAttr(0, i1), ok=i1, value=i1)).value


def _ordinal(target: DeviceTargetAttr) -> int:
    if target.configuration is None:
        return 0
    found = target.configuration.get("ordinal")
    return 0 if found is None else found.value
