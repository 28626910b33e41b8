"""iree-hal-initialize-devices: the program finds its devices when it is loaded.

Before: util.global private @__device_0 = #hal.device.target<"local", …> : !hal.device
After:  util.global private @__device_0 : !hal.device
        util.initializer { … }

The initializer goes through the devices that the program was given and takes the first whose id and executable format
fit (with `ordinal = n` the one after n others that fit); if there is none, loading fails and says which was wanted.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, CmpIOp, OrIOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.cf import BranchOp, CondBranchOp
from pyiree.compiler.dialects.hal import DeviceTargetAttr, DeviceType
from pyiree.compiler.dialects.util import (
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
    """A loop over the devices, with the number of those that have fit so far where not the first one is wanted."""
    location = device.location
    ordinal = _ordinal(target)
    counted = [index] if ordinal else []
    entry, head, check, formats = Block(), Block([index, *counted]), Block(), Block()
    fitting, following, failed, done = Block(), Block(counted), Block(), Block([DeviceType()])

    b = Builder.at_end(entry, location)
    count = b.insert(DevicesCountOp(result=index)).result
    zero = constant(b, 0)
    b.insert(BranchOp([zero, *[zero for _ in counted]], dest=head))

    b = Builder.at_end(head, location)
    position, *matches = head.arguments
    is_left = b.insert(CmpIOp(position, count, predicate="slt")).result
    b.insert(CondBranchOp(is_left, [], [], true_dest=check, false_dest=failed))

    b = Builder.at_end(check, location)
    candidate = b.insert(DevicesGetOp(position, result=DeviceType())).result
    has_id = _query(b, candidate, "hal.device.id", f"{target.device_id}*")
    b.insert(CondBranchOp(has_id, [], matches, true_dest=formats, false_dest=following))

    b = Builder.at_end(formats, location)
    answers = [_query(b, candidate, "hal.executable.format", t.binary_format) for t in target.executable_targets]
    fits = answers[0] if answers else constant(b, 1, i1)
    for answer in answers[1:]:
        fits = b.insert(OrIOp(answer, fits)).result
    taken, if_fits = ([], fitting) if ordinal else ([candidate], done)
    b.insert(CondBranchOp(fits, taken, matches, true_dest=if_fits, false_dest=following))

    if ordinal:
        b = Builder.at_end(fitting, location)
        is_wanted = b.insert(CmpIOp(matches[0], constant(b, ordinal), predicate="eq")).result
        more = b.insert(AddIOp(matches[0], constant(b, 1))).result
        b.insert(CondBranchOp(is_wanted, [candidate], [more], true_dest=done, false_dest=following))

    b = Builder.at_end(following, location)
    further = b.insert(AddIOp(position, constant(b, 1))).result
    b.insert(BranchOp([further, *following.arguments], dest=head))

    b = Builder.at_end(failed, location)
    wanted = ", ".join([t.binary_format for t in target.executable_targets])
    message = f"HAL device `{device.sym_name}` not found or unavailable: {target.device_id} with {wanted}"
    b.insert(StatusCheckOkOp(constant(b, _INCOMPATIBLE, i32), message))
    b.insert(BranchOp([b.insert(NullOp(result=DeviceType())).result], dest=done))

    b = Builder.at_end(done, location)
    b.insert(GlobalStoreOp(done.arguments[0], device.sym_name))
    b.insert(ReturnOp([]))
    blocks = [entry, head, check, formats, *([fitting] if ordinal else ()), following, failed, done]
    return InitializerOp(body=Region(blocks), location=location)


def _query(b: Builder, device: Value, category: str, key: str) -> Value:
    return b.insert(DeviceQueryOp(device, category, key, IntegerAttr(0, i1), ok=i1, value=i1)).value


def _ordinal(target: DeviceTargetAttr) -> int:
    if target.configuration is None:
        return 0
    found = target.configuration.get("ordinal")
    return 0 if found is None else found.value
