"""iree-dispatch-creation-form-dispatch-regions: decides what is one dispatch.

Before: tensor ops on the host.
After:  each group of tensor ops stands in a `flow.dispatch.region`; a region's results are the values that others use.

    %0 = linalg.matmul …                      %1 = flow.dispatch.region -> (tensor<8x32xf32>) {
    %1 = linalg.generic … math.tanh    →        %2 = linalg.matmul …
                                                %3 = linalg.generic … math.tanh
                                                flow.return %3 : tensor<8x32xf32>
                                              }

Ops are visited from the last to the first, so that consumers come before producers: an op joins the group that reads
it if the fusion model accepts it; an op with several readers joins one of them, its value becoming one more result,
unless that would make two groups wait for each other. Cheap values without inputs are copied into each reader. A group
that is too large, or in the end reads too many values, is cut, and the ops that it gives up are placed again. At the
end groups over equal domains that read the same, or that are small, become one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pyiree.compiler.dialects.iree_linalg_ext import SortOp
from pyiree.compiler.dialects.sort_runs import sort_runs
from pyiree.compiler.dialects.tensor import EmptyOp
from pyiree.compiler.flow.block_order import sort_block
from pyiree.compiler.flow.fused_ops import is_worth_copying
from pyiree.compiler.flow.fusion_model import FusionGroup
from pyiree.compiler.flow.host_tensor_ops import stays_on_host
from pyiree.compiler.flow.in_place import updates_itself
from pyiree.compiler.flow.op_kinds import RESHAPES, is_copied, kind_of
from pyiree.compiler.flow.ops import DispatchRegionOp, ReturnOp
from pyiree.compiler.flow.reachability import Reachability
from pyiree.compiler.flow.resolve_dims import dynamic_dims
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.location import fuse_locations
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FloatType, IntegerType, TensorType

#: How many groups of the same form one more is compared with.
_SIBLINGS = 8
#: Rows with more bits are sorted in memory of their own; shorter ones fit a workgroup's.
_LONG_SORT_BITS = 8 << 16


@register_pass("iree-dispatch-creation-form-dispatch-regions", on=("util.func", "util.initializer"))
def form_dispatch_regions(func: Operation, context: PassContext) -> None:
    """Groups the tensor ops of every block of a function."""
    for block in _host_blocks(func):
        _drop_unneeded(block)  # or a group would store what such an op reads
        _BlockGrouping(block).run()


def _host_blocks(op: Operation) -> Iterable[Block]:
    """The blocks of host code: of the function and of control flow in it."""
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                if nested.regions and nested.name.startswith("scf."):
                    yield from _host_blocks(nested)
            yield block


class _BlockGrouping:
    """The groups of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.order = {op: i for i, op in enumerate(block.ops)}
        self.group_of: dict[Operation, FusionGroup] = {}
        self.copied_into: dict[Operation, list[FusionGroup]] = {}
        self.groups: dict[FusionGroup, None] = {}
        #: Which groups and ops of the host come after which.
        self.graph = Reachability()
        #: The results of regions, by the values that they are.
        self._stored: dict[Value, Value] = {}
        #: For ops of groups that were cut, until they have a place again: what has one and comes before them.
        self._feeders: dict[Operation, tuple[set[Hashable], set[Hashable]]] = {}
        self._producers: dict[Operation, list[Operation | None]] = {}
        self._became: dict[Hashable, FusionGroup] = {}
        self._unused: set[Operation] = set()
        self._next_effect: Operation | None = None

    def run(self) -> None:
        for op in self.block.reversed_ops:
            if kind_of(op) is None or not op.results or is_copied(op):
                self._keep_on_host(op)
            else:
                self._place(op)
        if not self.groups:
            return
        while wide := self._wide_groups():
            for group in wide:
                self._cut(group)
        self._merge_rows()
        self._merge_siblings()
        self._merge_rows()
        for group in self.groups:
            self._make_region(group)
        _drop_unneeded(self.block)  # the ops that now stand in regions
        sort_block(self.block)

    def _wide_groups(self) -> list[FusionGroup]:
        """The groups to be cut, now that it is known what other groups read of each."""
        for group in self.groups:
            group.stored = dict.fromkeys(self._escaping(group))
        return [group for group in self.groups if group.is_to_be_cut]

    # Grouping.

    def _place(self, op: Operation) -> None:
        self._unite_readers(op)
        for group in self._readers(op):
            if isinstance(group, FusionGroup) and group.is_full:
                self._cut(group)
        readers = self._readers(op)
        groups = [node for node in readers if isinstance(node, FusionGroup) and self._may_follow(op, node)]
        if not readers:
            self._unused.add(op)
        elif len(readers) == len(groups) == 1 and groups[0].accepts(op):
            groups[0].add(op)
            self.group_of[op] = groups[0]
        elif len(groups) == len(readers) and is_worth_copying(op) and all(g.accepts(op) for g in groups):
            for group in groups:
                group.add(op, copied=True)
            self.copied_into[op] = [*self.copied_into.get(op, ()), *groups]
        elif not any(self._share(g, op, readers) for g in sorted(groups, key=lambda g: g.domain == g.rows)):
            self._stand_alone(op, readers)

    def _stand_alone(self, op: Operation, readers: list[Hashable]) -> None:
        if stays_on_host(op) and not updates_itself(op):
            self._keep_on_host(op)
            return
        group = FusionGroup(op)
        self.groups[group] = None
        self.group_of[op] = group
        self.graph.add(group, readers)

    def _keep_on_host(self, op: Operation) -> None:
        followers = self._readers(op)
        if not is_pure(op):
            if self._next_effect is not None:
                followers.append(self._next_effect)
            self._next_effect = op
        self.graph.add(op, followers)

    def _share(self, group: FusionGroup, op: Operation, readers: list[Hashable]) -> bool:
        """Has an op with readers outside of a group join it and its value stored as well, if that may be."""
        others = [reader for reader in readers if reader is not group]
        if not group.accepts(op) or self.graph.reaches(others, group):
            return False
        places = {group.result_place(r) for r in op.results if r.has_uses}
        if len(places) != 1 or None in places:
            return False
        group.add(op, stored=True)
        self.group_of[op] = group
        self.graph.extend(group, others)
        return True

    def _readers(self, op: Operation) -> list[Hashable]:
        """The groups without a copy of an op, and the ops of the host, that read its results."""
        found: dict[Hashable, None] = {}
        for result in op.results:
            for user in result.users:
                while user.block is not self.block:
                    user = user.parent_op  # type: ignore[assignment]
                groups = list(self.copied_into.get(user, ()))
                if user in self.group_of:
                    groups.append(self.group_of[user])
                found.update(dict.fromkeys([group for group in groups if op not in group.clones]))
                if user not in self.group_of and user not in self.copied_into and user not in self._unused:
                    found[user] = None
        return list(found)

    def _cut(self, group: FusionGroup) -> None:
        """Makes a group smaller, and places the ops that it gives up again."""
        copies = set(group.clones)
        again = sorted(group.cut(), key=self.order.__getitem__, reverse=True)
        for op in again:
            if op not in copies:
                del self.group_of[op]
            else:
                self.copied_into[op] = [g for g in self.copied_into[op] if g is not group]
        self._note_feeders(again)
        for op in again:
            self._place(op)
            # What it is made from may have been placed before; that then comes before another group than it did.
            nodes = self._nodes_of(op)
            for node in map(self._now, set().union(*self._feeders.pop(op))):
                self.graph.extend(node, [n for n in nodes if n is not node])
        self._note_feeders(())  # for what another cut, in the midst of which this one was, has still to place

    def _note_feeders(self, more: Iterable[Operation]) -> None:
        """Notes for ops without a place what has one and comes before them: what they read, and what they need through
        others that have none."""
        homeless = sorted({*self._feeders, *more}, key=self.order.__getitem__)
        self._feeders = {}
        for op in homeless:
            direct: set[Hashable] = set()
            indirect: set[Hashable] = set()
            for producer in self._producers_of(op):
                if producer in self._feeders:
                    indirect.update(*self._feeders[producer])
                else:
                    direct.update(self._nodes_of(producer))
            self._feeders[op] = direct, indirect

    def _producers_of(self, op: Operation) -> list[Operation | None]:
        found = self._producers.get(op)
        if found is None:
            found = self._producers[op] = [value.defining_op for value in (*op.operands, *_captures(op))]
        return found

    def _may_follow(self, op: Operation, group: FusionGroup) -> bool:
        """Whether what comes before an op would not come after it in a group."""
        if op not in self._feeders:
            return True
        direct, indirect = [set(map(self._now, nodes)) for nodes in self._feeders[op]]
        return group not in indirect and not any(self.graph.reaches([group], node) for node in direct | indirect)

    def _now(self, node: Hashable) -> Hashable:
        """What a group has become."""
        while node in self._became:
            node = self._became[node]
        return node

    def _nodes_of(self, op: Operation | None) -> list[Hashable]:
        """The groups that an op is part of, or the op on the host; none if it has no place yet."""
        if op is None or is_copied(op):
            return []
        groups = [*self.copied_into.get(op, ()), *([self.group_of[op]] if op in self.group_of else ())]
        return groups or ([op] if op in self.graph else [])

    # Groups that become one.

    def _merge_rows(self) -> None:
        """Joins groups with the reductions that made values of their rows."""
        gone: set[FusionGroup] = set()
        for group in list(self.groups):
            pending = [] if group in gone else list(group.inputs)
            while pending:
                made = self.group_of.get(pending.pop().defining_op)  # type: ignore[arg-type]
                if made is None or made is group or not group.may_absorb_rows(made):
                    continue
                others = {r for op in made.ops for r in self._readers(op)} - {group, made}
                if not self.graph.reaches(others, group):
                    pending += made.inputs
                    group.absorb_rows(made)
                    self._replace(made, group)
                    gone.add(made)

    def _merge_siblings(self) -> None:
        """Joins groups of equal form that do not wait for each other."""
        alike: dict[tuple, list[FusionGroup]] = {}
        for group in list(self.groups):
            form = group.form()
            if form is None:
                continue
            known = alike.setdefault(form, [])
            partner = next((g for g in known[-_SIBLINGS:] if self._are_siblings(g, group)), None)
            if partner is None:
                known.append(group)
            else:
                partner.absorb(group)
                self._replace(group, partner)

    def _are_siblings(self, group: FusionGroup, other: FusionGroup) -> bool:
        shared = [value for value in other.inputs if value in group.inputs]
        alike = group.is_small or any(group.reads_alike(other, value) for value in shared)
        return alike and group.has_room_for(other) and self._are_apart(group, other)

    def _unite_readers(self, op: Operation) -> None:
        """Makes one of groups of equal form that need a value at the same points."""
        groups = [node for node in self._readers(op) if isinstance(node, FusionGroup) and node.form() is not None]
        for number, group in enumerate(groups):
            for other in groups[:number]:
                if (
                    other in self.groups
                    and other.form() == group.form()
                    and all(other.reads_alike(group, r) for r in op.results if r.has_uses)
                    and other.has_room_for(group)
                    and self._are_apart(other, group)
                ):
                    other.absorb(group)
                    self._replace(group, other)
                    break

    def _are_apart(self, group: FusionGroup, other: FusionGroup) -> bool:
        return not self.graph.reaches([group], other) and not self.graph.reaches([other], group)

    def _replace(self, old: FusionGroup, group: FusionGroup) -> None:
        """Has a group stand for another whose ops it has taken over."""
        self.graph.unite(group, old)
        self._became[old] = group
        del self.groups[old]
        for op in old.ops:
            if op in old.clones:
                targets = [group if g is old else g for g in self.copied_into[op]]
                self.copied_into[op] = list(dict.fromkeys(targets))
            else:
                self.group_of[op] = group

    # Making regions.

    def _make_region(self, group: FusionGroup) -> DispatchRegionOp:
        members = self._without_outer_reshapes(group)
        mapping: dict[Value, Value] = {}
        body = Block()
        builder = Builder.at_end(body)
        own = [op for op in members if op not in group.clones]
        inside = set(own)
        escaping = self._escaping(group, own)
        place = Builder.before(own[-1], fuse_locations([op.location for op in own]))
        for op in members:
            for operand in (*op.operands, *_captures(op)):
                self._copy_inputs(operand, builder, mapping)
            copy = builder.insert(op.clone(mapping))
            # Who reads it may by now read what another group stores.
            mapping.update((self._stored[r], c) for r, c in zip(op.results, copy.results) if r in self._stored)
        work = [builder.insert(EmptyOp([], result=type)).result for op in own for type in _work_memory(op)]
        builder.insert(ReturnOp([*[mapping[v] for v in escaping], *work]))
        dims = [d for v in escaping for d in dynamic_dims(place, v)]
        region = DispatchRegionOp(dims, (), body, results=[v.type for v in (*escaping, *work)])
        place.insert(region)
        for old, new in zip(escaping, region.results):
            self._stored[old] = new
            old.replace_uses_if(new, lambda use: not _is_within(use.owner, inside))
        group.ops = dict.fromkeys(own)
        return region

    def _escaping(self, group: FusionGroup, own: Iterable[Operation] | None = None) -> list[Value]:
        """The values of a group's own ops, or of some of them, that others read."""
        ops = [op for op in group.ops if op not in group.clones] if own is None else own
        inside = set(ops)
        # A sort moves all of its tensors together, so each needs a place, read later or not.
        return [
            r
            for op in ops
            for r in op.results
            if isinstance(op, SortOp) or any(u not in inside for u in self._outer_users(r, group))
        ]

    def _without_outer_reshapes(self, group: FusionGroup) -> list[Operation]:
        """Leaves out reshapes of what the group reads: on the host they cost nothing. Not a copy, though, of one that
        may stand in another group: this one would have to wait for that."""
        inside: set[Operation] = set()
        kept = []
        for op in sorted(group.ops, key=self.order.__getitem__):
            is_outer = op.name in RESHAPES and op.operands[0].defining_op not in inside
            if is_outer and not (op in group.clones and op in self.group_of):
                continue
            inside.add(op)
            kept.append(op)
        return kept

    def _outer_users(self, value: Value, group: FusionGroup) -> list[Operation]:
        """The ops that read a value elsewhere: on the host, or in a group without a copy of what makes it."""
        users = []
        for user in value.users:
            while user.block is not self.block:
                user = user.parent_op  # type: ignore[assignment]
            homes = [*self.copied_into.get(user, ()), *([self.group_of[user]] if user in self.group_of else ())]
            if not homes or any(h is not group and value.defining_op not in h.clones for h in homes):
                users.append(user)
        return users

    def _copy_inputs(self, value: Value, builder: Builder, mapping: dict[Value, Value]) -> None:
        """Copies the constants and initial values that an op reads in front of it."""
        op = value.defining_op
        if op is None or value in mapping or not is_copied(op):
            return
        for operand in op.operands:
            self._copy_inputs(operand, builder, mapping)
        builder.insert(op.clone(mapping))


def _drop_unneeded(block: Block) -> None:
    """Drops the ops whose results nothing needs."""
    for op in list(block.reversed_ops):
        if is_pure(op) and op.results and not any(r.has_uses for r in op.results):
            op.erase()


def _work_memory(op: Operation) -> list[TensorType]:
    """Tensors beside its results in which a sort of long rows can move its elements; nobody reads them later."""
    if not isinstance(op, SortOp) or sort_runs(op) is not None:
        return []
    types = [v.type for v in op.outputs]
    bits = sum([element.width for t in types if (element := t.element_type).__class__ in (IntegerType, FloatType)])
    shape = types[0].shape
    return types if None not in shape and shape[op.dimension] * bits > _LONG_SORT_BITS else []


def _captures(op: Operation) -> list[Value]:
    """Values from outside that the regions of an op read."""
    if not op.regions:
        return []
    found: dict[Value, None] = {}
    for inner in op.walk():
        if inner is not op:
            for operand in inner.operands:
                owner = operand.defining_op
                if owner is not None and not op.is_ancestor_of(owner):
                    found[operand] = None
    return list(found)


def _is_within(op: Operation, ops: set[Operation]) -> bool:
    return op in ops or any(a in ops for a in op.ancestors())
