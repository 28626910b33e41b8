"""iree-util-propagate-subranges: commands name ranges of whole resources instead of views.

Before: `stream.resource.subview` stands between a resource and whatever uses a part of it.
After:  regions, waits, loads and stores use the resource itself, with offsets; a global that held a view of a storage
        shares one global of that storage with the others. Views stay where they leave: exports and control flow.

    %v = stream.resource.subview %r[%o] : …{%total} -> …{%n}
    stream.cmd.execute with(%v as %a: …{%n}) { stream.cmd.fill %x, %a[%c0 for %n] : … }
    →
    stream.cmd.execute with(%r as %a: …{%total}) { stream.cmd.fill %x, %a[%o for %n] : … }

One storage that is captured several times is captured once then, and is one binding.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyiree.compiler.dialects.util import FuncOp, GlobalLoadOp, GlobalOp, GlobalStoreOp, InitializerOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.encoding import IndexMath, constant_value
from pyiree.compiler.stream.types import is_resource


@register_pass("iree-util-propagate-subranges")
def propagate_subranges(module: Operation, context: PassContext) -> None:
    """Removes the views of a module as far as they can be offsets."""
    hosts = [op for op in module.regions[0].ops if op.name in ("util.func", "util.initializer")]
    for host in hosts:
        _propagate(host)
    _share_globals(module)
    for host in hosts:
        _propagate(host)


def _propagate(host: Operation) -> None:
    for op in list(host.walk()):
        if isinstance(op, ops.ResourceSubviewOp):
            _compose(op)
        elif isinstance(op, ops.TimepointAwaitOp):
            _move_behind(op)
        elif isinstance(op, ops.CmdExecuteOp):
            _capture_storage(op)
        elif isinstance(op, ops.ResourceLoadOp | ops.FileWriteOp):
            _use_storage(op, "source")
        elif isinstance(op, ops.ResourceStoreOp | ops.FileReadOp):
            _use_storage(op, "target")
    for op in list(host.walk_type(ops.ResourceSubviewOp)):
        if op.block is not None and not op.result.has_uses:
            op.erase()


def _view(value: Value) -> ops.ResourceSubviewOp | None:
    op = value.defining_op
    return op if isinstance(op, ops.ResourceSubviewOp) else None


def _compose(op: ops.ResourceSubviewOp) -> None:
    """A view of a view is a view."""
    outer = _view(op.source)
    if outer is not None:
        math = IndexMath(Builder.before(op))
        op.source_offset = math.value(math.add(outer.source_offset, op.source_offset))
        op.source_size = outer.source_size
        op.source = outer.source


def _move_behind(op: ops.TimepointAwaitOp) -> None:
    """A wait for views is views of what was waited for; each storage is named once."""
    views = [_view(v) for v in op.resource_operands]
    if not any(views):
        return
    storages: dict[Value, Value] = {}
    for value, size, view in zip(op.resource_operands, op.resource_operand_sizes, views):
        storages.setdefault(value if view is None else view.source, size if view is None else view.source_size)
    builder = Builder.before(op)
    wait = ops.TimepointAwaitOp(list(storages), list(storages.values()), op.await_timepoint, op.sync)
    awaited = dict(zip(storages, builder.insert(wait).results))
    for result, value, view in zip(op.results, op.resource_operands, views):
        new: Value = awaited[value if view is None else view.source]
        if view is not None:
            again = ops.ResourceSubviewOp(new, view.source_size, view.source_offset, view.result_size)
            new = builder.insert(again).result
        result.replace_all_uses_with(new)
    op.erase()


def _capture_storage(op: ops.CmdExecuteOp) -> None:
    """The region captures each storage once; its commands have offsets."""
    block = op.body.entry
    math = IndexMath(Builder.before(op))
    resources: list[Value] = []
    sizes: list[Value] = []
    arguments: list[BlockArgument] = []
    merged: list[tuple[BlockArgument, BlockArgument]] = []
    for argument, value, size in zip(list(block.arguments), op.resource_operands, op.resource_operand_sizes):
        view = _view(value)
        if view is not None:
            _shift(argument, view, math)
            value, size = view.source, view.source_size
        if value in resources:
            merged.append((argument, arguments[resources.index(value)]))
        else:
            resources.append(value)
            sizes.append(size)
            arguments.append(argument)
    for argument, kept in merged:
        argument.replace_all_uses_with(kept)
        block.erase_argument(argument.index)
    op.resource_operands, op.resource_operand_sizes = resources, sizes


def _shift(argument: BlockArgument, view: ops.ResourceSubviewOp, math: IndexMath) -> None:
    """The commands on an argument address a view; now they address its storage."""
    for user in list(dict.fromkeys(argument.users)):
        if isinstance(user, ops.CmdDispatchOp):
            ours = [v is argument for v in user.resources]
            user.resource_sizes = [
                view.source_size if mine else size for mine, size in zip(ours, user.resource_sizes)
            ]
            user.resource_offsets = [
                math.value(math.add(view.source_offset, offset)) if mine else offset
                for mine, offset in zip(ours, user.resource_offsets)
            ]
        else:
            for name in ("source", "target"):
                if getattr(user, name, None) is argument:
                    _address(user, name, view, math)


def _address(op: Any, name: str, view: ops.ResourceSubviewOp, math: IndexMath) -> None:
    offset = getattr(op, f"{name}_offset")
    setattr(op, f"{name}_offset", math.value(math.add(view.source_offset, offset)))
    setattr(op, f"{name}_size", view.source_size)


def _use_storage(op: Any, name: str) -> None:
    """A host access of a view is one of its storage."""
    view = _view(getattr(op, name))
    if view is not None:
        _address(op, name, view, IndexMath(Builder.before(op)))
        setattr(op, name, view.source)


# Globals.


def _share_globals(module: Operation) -> None:
    """Globals that hold views of one storage become one global of that storage."""
    stores: dict[str, list[GlobalStoreOp]] = defaultdict(list)
    loads: dict[str, list[GlobalLoadOp]] = defaultdict(list)
    for op in module.walk():
        if isinstance(op, GlobalStoreOp):
            stores[op.global_.root].append(op)
        elif isinstance(op, GlobalLoadOp):
            loads[op.global_.root].append(op)
    groups: dict[Value, list[tuple[GlobalOp, GlobalStoreOp]]] = defaultdict(list)
    for op in module.regions[0].ops:
        if isinstance(op, GlobalOp) and is_resource(op.type) and not op.is_mutable and op.sym_visibility == "private":
            found = stores[op.sym_name]
            view = _view(found[0].value) if len(found) == 1 else None
            if view is not None and isinstance(found[0].parent_op, InitializerOp) and _is_constant(view):
                groups[view.source].append((op, found[0]))
    for storage, members in groups.items():
        _share(storage, members, loads)


def _is_constant(view: ops.ResourceSubviewOp) -> bool:
    """Whether any function can say the range again."""
    return all(constant_value(v) is not None for v in (view.source_size, view.source_offset, view.result_size))


def _share(
    storage: Value, members: list[tuple[GlobalOp, GlobalStoreOp]], loads: dict[str, list[GlobalLoadOp]]
) -> None:
    kept, kept_store = members[0]
    for held, store in members:
        view: Any = _view(store.value)
        for load in loads[held.sym_name]:
            after = Builder.after(load)
            math = IndexMath(after)
            size, offset, length = [
                math.value(constant_value(v)) for v in (view.source_size, view.source_offset, view.result_size)
            ]
            part = ops.ResourceSubviewOp(load.result, size, offset, length)
            after.insert(part)
            load.result.replace_uses_if(part.result, lambda use, part=part: use.owner is not part)
            load.global_ = kept.sym_name
        if held is not kept:
            store.erase()
            held.erase()
    kept_store.value = storage
    _load_once([load for held, _ in members for load in loads[held.sym_name]])


def _load_once(loads: list[GlobalLoadOp]) -> None:
    """A function loads a global that never changes once, first of all."""
    first: dict[Operation, GlobalLoadOp] = {}
    for load in loads:
        host: Any = load.parent_of_type(FuncOp)
        if host is None:
            continue
        if host not in first:
            first[host] = load
            load.move_before(host.entry_block.first_op)
        else:
            load.result.replace_all_uses_with(first[host].result)
            load.erase()
