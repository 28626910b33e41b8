"""iree-stream-fuse-dispatch-bindings: ranges of one resource that a function only reads are one binding.

Before: a dispatch may bind several ranges of one resource.
After:  where all sites of a function bind ranges of one resource in the same places, it is bound once, as a whole; the
        function is given the offset of each range as a number.

    stream.cmd.dispatch @e::@f {                            func.func @f(%a: !stream.binding, %b: !stream.binding, …)
      ro %r[%c0 for %c64] …, ro %r[%c64 for %c64] …
    }
    →
    stream.cmd.dispatch @e::@f(%c0, %c64 : index, index) {  func.func @f(%a: !stream.binding, …, %oa: index, %ob: index)
      ro %r[%c0 for %c128] …
    }

An offset that is a number of the function costs more than one that comes with the binding, and constants in a function
make it another function. So this is done only where a function has more bindings than devices take; equal ranges are
always bound once. What is written is never fused: nothing else may be known of its bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pyiree.compiler.dialects.arith import AddIOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import index
from pyiree.compiler.stream.dispatch_sites import DispatchFunction, dispatch_functions, erase_arguments, set_signature
from pyiree.compiler.stream.encoding import IndexMath, constant_value
from pyiree.compiler.stream.ops import BindingSubspanOp, CmdDispatchOp, CmdExecuteOp

#: The bindings that a dispatch may have: IREE's VM module takes no more with one command.
MAX_BINDINGS = 32


@register_pass("iree-stream-fuse-dispatch-bindings")
class FuseDispatchBindings:
    """Binds resources once in the dispatches of a module; `limit` is the number of bindings that needs no more."""

    limit: int = MAX_BINDINGS

    def run(self, module: Operation, context: PassContext) -> None:
        """Changes every function and its sites."""
        for function in dispatch_functions(module):
            _fuse_equal(function)
            if len(function.bindings) > self.limit:
                _fuse_ranges(function)


def _number(value: Value) -> object:
    known = constant_value(value)
    return value if known is None else known


def _groups(function: DispatchFunction, with_range: bool) -> list[list[int]]:
    """Read bindings that are on one resource (on one range of it, if asked) at every site; others stand alone."""
    found: dict[tuple, list[int]] = defaultdict(list)
    for i in range(len(function.bindings)):
        keys: list[object] = []
        for site in function.sites:
            if site.resource_accesses[i].value != "ro":
                keys.append(i)
            keys.append(site.resources[i])
            if with_range:
                keys.extend([_number(site.resource_offsets[i]), _number(site.resource_lengths[i])])
        found[tuple(keys)].append(i)
    return list(found.values())


def _keep(function: DispatchFunction, groups: Sequence[Sequence[int]]) -> None:
    """Only the first binding of each group is left."""
    kept = sorted(group[0] for group in groups)
    bindings = function.bindings
    for group in groups:
        for other in group[1:]:
            bindings[other].replace_all_uses_with(bindings[group[0]])
    erase_arguments(function.function, [b for i, b in enumerate(bindings) if i not in kept])
    for site in function.sites:
        for name in ("resources", "resource_sizes", "resource_offsets", "resource_lengths"):
            values = getattr(site, name)
            setattr(site, name, [values[i] for i in kept])
        site.resource_accesses = type(site.resource_accesses)([site.resource_accesses[i] for i in kept])


def _fuse_equal(function: DispatchFunction) -> None:
    groups = _groups(function, with_range=True)
    if len(groups) < len(function.bindings):
        _keep(function, groups)


def _fuse_ranges(function: DispatchFunction) -> None:
    groups = [group for group in _groups(function, with_range=False) if len(group) > 1]
    if not groups:
        return
    block = function.function.entry_block
    attributes = [function.function.argument_attributes(i).value for i in range(len(block.arguments))]
    members = [i for group in groups for i in group]
    bindings = function.bindings
    for i in members:
        _offset_subspans(bindings[i], block.add_argument(index))
        attributes.append({})
    set_signature(function.function, attributes)
    for site in function.sites:
        _rebase(site, members)
    alone = [[i] for i in range(len(bindings)) if i not in members]
    _keep(function, [*groups, *alone])


def _offset_subspans(binding: BlockArgument, offset: BlockArgument) -> None:
    for span in binding.users:
        assert isinstance(span, BindingSubspanOp)
        if constant_value(span.byte_offset) == 0:
            span.byte_offset = offset
        else:
            span.byte_offset = Builder.before(span).insert(AddIOp(offset, span.byte_offset)).result


def _rebase(site: CmdDispatchOp, members: Sequence[int]) -> None:
    """The members are bound as whole resources, and their offsets passed."""
    execute = site.parent_of_type(CmdExecuteOp)
    assert execute is not None
    zero = IndexMath(Builder.before(execute)).value(0)
    offsets, lengths = list(site.resource_offsets), list(site.resource_lengths)
    site.uniform_operands = [*site.uniform_operands, *[offsets[i] for i in members]]
    for i in members:
        offsets[i], lengths[i] = zero, site.resource_sizes[i]
    site.resource_offsets, site.resource_lengths = offsets, lengths
