"""iree-vm-global-initialization: all initializers become one function.

Before: globals may have initial values, and `vm.initializer`s stand anywhere in the module.
After:  an exported function `__init` does what they did, in the order of the module; globals start as zero or null,
        and can be set.

    vm.global.i32 private @x = 5 : i32        vm.global.i32 private mutable @x : i32
                                         →    vm.export @__init
                                              vm.func private @__init() { … vm.global.store.i32 %c5, @x … }
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.vm.ops import (
    FAMILY_OPS,
    BranchOp,
    ExportOp,
    FuncOp,
    GlobalOp,
    InitializerOp,
    ModuleOp,
    ReturnOp,
    constant_op,
)

INIT = "__init"


@register_pass("iree-vm-global-initialization", on="vm.module")
def global_initialization(module: ModuleOp, context: PassContext) -> None:
    """Makes `__init` of the initializers and initial values of a module."""
    steps = [op for op in module.entry_block.ops if isinstance(op, InitializerOp | GlobalOp)]
    if not any(isinstance(op, InitializerOp) or op.initial_value is not None for op in steps):
        return
    if any(isinstance(op, FuncOp) and op.sym_name == INIT for op in module.entry_block.ops):
        raise CompileError(f"the module has both initializers and a function '{INIT}'", module.location)
    func = FuncOp.create(INIT, [], [], "private", module.location)
    end = func.entry_block
    for op in steps:
        if isinstance(op, InitializerOp):
            end = _append_initializer(func, end, op)
        else:
            _append_initial_value(end, op)
    end.append(ReturnOp([], location=module.location))
    terminator = module.entry_block.terminator
    module.entry_block.insert_before(terminator, ExportOp(INIT, INIT, location=module.location))
    module.entry_block.insert_before(terminator, func)


def _append_initial_value(block: Block, op: GlobalOp) -> None:
    value = op.initial_value
    op.initial_value = None
    op.is_mutable = True
    # State is zero at the start, so zeros need no store.
    constant = None if value is None else constant_op(value, op.type, op.location)
    if value is not None and constant is None:
        raise op.error(f"cannot start as {value}")
    if constant is None or constant.name.endswith(".zero"):
        return
    block.append(constant)
    block.append(FAMILY_OPS[f"global.store.{op.type}"](constant.result, op.sym_name, location=op.location))


def _append_initializer(func: FuncOp, end: Block, op: Any) -> Block:
    """Moves an initializer's code to the end of the function; gives the block where the next one goes on."""
    blocks = list(op.body.blocks)
    func.body.take_body(op.body)
    for moved in blocks[0].ops:
        moved.move_to_end(end)
    # Nothing branches to an entry block: its code simply goes on in the block before.
    blocks[0].erase()
    returns = [t for b in (end, *blocks[1:]) if isinstance(t := b.terminator, ReturnOp)]
    op.erase()
    if len(returns) == 1 and returns[0].block is func.body.blocks[-1]:
        end = returns[0].block
        returns[0].erase()
        return end
    following = func.body.append(Block())
    for done in returns:
        block = done.block
        done.erase()
        block.append(BranchOp([], following, location=done.location))
    return following
