"""iree-hal-outline-memoize-regions: what depends on the device alone is made once, when the program is loaded.

Before: %cmd = hal.device.memoize<%device : !hal.device> affinity(%a) -> !hal.command_buffer { …; hal.return %cb }
After:  util.func private @__main_memoize_0_apply() -> !hal.command_buffer { …; util.return %cb }
        util.global private @__main_memoize_0_result : !hal.command_buffer
        util.initializer { call, store }
        %cmd = util.global.load immutable @__main_memoize_0_result : !hal.command_buffer
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import DeviceType, ExecutableType
from pyiree.compiler.dialects.util import (
    CallOp,
    FuncOp,
    GlobalLoadOp,
    GlobalOp,
    GlobalStoreOp,
    InitializerOp,
    ReturnOp,
)
from pyiree.compiler.hal.ops_device import DeviceMemoizeOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable


@register_pass("iree-hal-outline-memoize-regions")
def outline_memoize_regions(module: ModuleOp, context: PassContext) -> None:
    """Outlines every memoize region of the module's functions."""
    symbols = SymbolTable(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp):
            for number, region in enumerate(list(func.walk_type(DeviceMemoizeOp))):
                _outline(region, func, symbols, f"__{func.sym_name}_memoize_{number}")
        elif isinstance(func, InitializerOp):
            for region in list(func.walk_type(DeviceMemoizeOp)):
                _inline(region)


def _outline(region: DeviceMemoizeOp, func: FuncOp, symbols: SymbolTable, name: str) -> None:
    location = region.location
    types = list(region.result_types)
    apply = FuncOp.create(f"{name}_apply", [], types, "private", location)
    body = apply.entry_block
    _Copies(region).run()
    for op in list(region.body.entry.ops):
        op.move_to_end(body)
    end = body.terminator
    Builder.before(end).insert(ReturnOp(end.operands, location=location))
    end.erase()
    first_use = _behind_devices(func)
    place = Builder.before(first_use, location)
    symbols.insert(apply, before=first_use)
    names = []
    for i, type in enumerate(types):
        result = GlobalOp(sym_visibility="private", sym_name=f"{name}_result_{i}", type=type, location=location)
        names.append(symbols.insert(result, before=first_use))
    setup = Block()
    b = Builder.at_end(setup, location)
    call = b.insert(CallOp(callee=apply.sym_name, operands=[], results=types))
    for value, result_name in zip(call.results, names):
        b.insert(GlobalStoreOp(value, result_name))
    b.insert(ReturnOp([]))
    place.insert(InitializerOp(body=setup))
    b = Builder.before(region)
    loads = [b.insert(GlobalLoadOp(n, True, result=t)).result for n, t in zip(names, types)]
    region.replace_all_uses_with(loads)
    region.erase()


def _behind_devices(func: FuncOp) -> Operation:
    """The function, or the place behind the devices and executables that are made after it in the module."""
    place: Operation = func
    following: Operation | None = func
    while following is not None:
        if isinstance(following, GlobalOp) and isinstance(following.type, DeviceType | ExecutableType):
            last = following.next_op if isinstance(following.next_op, InitializerOp) else following
            place = last.next_op or last
        following = following.next_op
    return place


class _Copies:
    """Copies of what a region reads from outside: constants, immutable globals, and what is computed from them."""

    def __init__(self, region: DeviceMemoizeOp) -> None:
        self.region = region
        self.builder = Builder.at_start(region.body.entry, region.location)
        self.copies: dict[Value, Value] = {}

    def run(self) -> None:
        """Makes the region read nothing of the outside."""
        for op in list(self.region.body.entry.ops):
            for i, operand in enumerate(op.operands):
                if self._is_outside(operand):
                    op.set_operand(i, self._copy(operand, op))

    def _is_outside(self, value: Value) -> bool:
        owner = value.defining_op
        return owner is None or not self.region.is_ancestor_of(owner)

    def _copy(self, value: Value, reader: Operation) -> Value:
        found = self.copies.get(value)
        if found is None:
            owner = value.defining_op
            if owner is None or not _is_always_the_same(owner):
                raise CompileError("a memoize region reads a value that changes", reader.location)
            for operand in owner.operands:
                self._copy(operand, reader)
            self.builder.insert(owner.clone(self.copies))
            found = self.copies[value]
        return found


def _is_always_the_same(op: Operation) -> bool:
    """Whether an op gives the same for the same operands, whenever it runs."""
    if isinstance(op, GlobalLoadOp):
        return op.is_immutable
    return is_pure(op) and not op.regions


def _inline(region: DeviceMemoizeOp) -> None:
    """An initializer runs once anyway."""
    body: Block = region.body.entry
    end = body.terminator
    for op in list(body.ops):
        if op is not end:
            op.move_before(region)
    region.replace_all_uses_with(list(end.operands))
    end.erase()
    region.erase()
